"""Exceptions for bad input: one sentence with the place, the value and what is expected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class InputError(ValueError):
    """Unusable input from the user; the message gives the place, the value and what is expected."""


class PolicyError(RuntimeError):
    """A policy broke a rule of the engine; the message names the policy, the job and the time."""


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Import the libraries of an extra, such as ``audit``, in the ``with`` block; `InputError` names a missing one."""
    try:
        yield
    except ModuleNotFoundError as err:
        raise InputError(f"{err.name} is not installed; install it with: pip install 'astraea[{name}]'") from None
