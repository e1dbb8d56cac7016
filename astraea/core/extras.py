"""Libraries that only some commands need: an extra of the installation brings them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from astraea.core.errors import InputError


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Import the libraries of an extra, such as ``audit``, in the ``with`` block; `InputError` names a missing one."""
    try:
        yield
    except ModuleNotFoundError as err:
        raise InputError(f"{err.name} is not installed; install it with: pip install 'astraea[{name}]'") from None
