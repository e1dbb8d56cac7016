"""Compiled functions of users, such as a policy in a notebook: compiled again when what they read has changed."""

from __future__ import annotations

from collections.abc import MutableMapping
from contextlib import suppress
from types import CellType, FunctionType
from typing import Any, Final
from weakref import WeakKeyDictionary

import numba

from astraea.core.errors import InputError
from astraea.core.fingerprint import fingerprint, is_foreign, names, plain


def current(function: Any) -> Any:
    """Return a compiled function that reads its globals as they are now; numba reads them once, when it compiles.

    A function of a user is compiled again, with the functions of users that it calls, if anything that they read has
    changed since; any other is returned as it is.
    """
    if plain(function) is function or not is_foreign(plain(function)):
        return function
    try:
        mark = fingerprint(function)
    except InputError:  # it reads what is not data: numba says so, or does not mind
        return function
    known = _CURRENT.get(function)
    if known is None or known[0] != mark:
        known = _CURRENT[function] = mark, _again(function, {})
    return known[1]


_CURRENT: Final[MutableMapping[Any, tuple[str, Any]]] = WeakKeyDictionary()


def _again(function: Any, made: dict[Any, Any]) -> Any:
    """Compile a function of a user from its Python text, with its globals of now; and those that it calls."""
    if plain(function) is function or not is_foreign(plain(function)):
        return function
    if function not in made:
        python = plain(function)
        copy = FunctionType(python.__code__, {**python.__globals__}, python.__name__, python.__defaults__,
                            python.__closure__ and tuple(CellType() for _ in python.__closure__))  # fmt: skip
        copy.__module__, copy.__qualname__, copy.__doc__ = python.__module__, python.__qualname__, python.__doc__
        made[function] = numba.jit(**function.targetoptions)(copy)
        copy.__globals__.update({k: _again(v, made) for k, v in names(python).items() if k in copy.__globals__})
        for cell, old in zip(copy.__closure__ or (), python.__closure__ or (), strict=True):
            with suppress(ValueError):  # not filled yet
                cell.cell_contents = _again(old.cell_contents, made)
    return made[function]
