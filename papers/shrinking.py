"""A counter-example made as small as it gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def shrunk(instance: T, fails: Callable[[T], bool], smaller: Callable[[T], Iterable[T]]) -> T:
    """Take the first smaller instance that still fails, as long as there is one: a local minimum.

    `smaller` gives instances in order of preference; each is to be smaller by some measure that has a least value.
    """
    while (found := next(filter(fails, smaller(instance)), None)) is not None:
        instance = found
    return instance
