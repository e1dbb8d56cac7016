"""Validators for single numbers and words that a user gives, with uniform error messages."""

from __future__ import annotations

from collections.abc import Collection
from math import inf, isfinite, nan
from numbers import Integral, Real
from typing import TypeGuard

from astraea.core.errors import InputError


def is_number(value: object) -> TypeGuard[float]:
    """Return whether the value is a real number of Python or NumPy; text and booleans are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether the value has an integer type of Python or NumPy; 2.0 and booleans do not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def whole_number(value: object, name: str, least: int = 0, most: float = inf, expected: str = "") -> int:
    """Return a whole number from `least` to `most`.

    `InputError`: ``NAME must be a whole number of at least 1, got 2.5``, or ``from 1 to 9`` if there is a `most`; the
    text of `expected` replaces the limits where they do not say enough.
    """
    if is_whole(value) and least <= value <= most:
        return int(value)
    raise InputError(f"{name} must be {expected or f'a whole number {_limits(least, -inf, most)}'}, got {value!r}")


def number(
    value: object, name: str, *, least: float = -inf, above: float = -inf, most: float = inf, below: float = inf,
    expected: str = "",
) -> float:  # fmt: skip
    """Return a finite number from `least` to `most` that is also above `above` and below `below`.

    `InputError` as in `whole_number`: ``NAME must be a number of at least 0, got nan``.
    """
    try:
        given = float(value) if is_number(value) else nan
    except OverflowError:  # a whole number beyond all floats
        given = nan
    if isfinite(given) and least <= given <= most and above < given < below:
        return given
    raise InputError(f"{name} must be {expected or f'a number {_limits(least, above, most)}'}, got {value!r}")


def one_of(value: str, known: Collection[str], name: str) -> str:
    """Return a known word; `InputError`: ``NAME must be one of a, b, got 'c'``."""
    if value in known:
        return value
    raise InputError(f"{name} must be one of {', '.join(known)}, got {value!r}")


def _limits(least: float, above: float, most: float) -> str:
    """Return the range in words."""
    if above > -inf:
        return f"above {above:g}" + (f" and at most {most:g}" if most < inf else "")
    return f"from {_text(least)} to {_text(most)}" if most < inf else f"of at least {_text(least)}"


def _text(limit: float) -> str:
    return str(limit) if is_whole(limit) else f"{limit:g}"
