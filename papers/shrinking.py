"""A search for the smallest instance on which a system is not better than its rival."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

import numpy as np

T = TypeVar("T")

MARGIN: Final = 1e-9
"""Least lead of a rival that counts."""


def shrunk(instance: T, fails: Callable[[T], bool], smaller: Callable[[T], Iterable[T]]) -> T:
    """Take the first smaller instance that still fails, as long as there is one: a local minimum.

    `smaller` gives instances in order of preference; each is to be smaller by some measure that has a least value.
    """
    while (found := next(filter(fails, smaller(instance)), None)) is not None:
        instance = found
    return instance


def reversal(
    drawn: Sequence[T],
    lead: Callable[[T], float],
    smaller: Callable[[T], Iterable[T]],
    size: Callable[[T], Any],
    starts: int,
) -> tuple[dict[str, int], list[T]]:
    """Count where a rival leads, and shrink the smallest `starts` of these instances.

    Parameters
    ----------
    lead : function
        By how much the rival is ahead on an instance; NaN if one of both values is undefined.
    smaller, size : functions
        As of `shrunk`; `size` sorts instances.

    Returns
    -------
    dict, list
        instances, and in how many the system is behind, equal and ahead; what the starts became, smallest first.
    """
    leads = np.array([lead(x) for x in drawn])
    behind = sorted((x for x, by in zip(drawn, leads, strict=True) if by > MARGIN), key=size)
    counts = {
        "instances": len(drawn), "behind": len(behind), "equal": int((np.abs(leads) <= MARGIN).sum()),
        "ahead": int((leads < -MARGIN).sum()),
    }  # fmt: skip
    found = [shrunk(start, lambda x: lead(x) > MARGIN, smaller) for start in behind[:starts]]
    return counts, sorted(found, key=size)
