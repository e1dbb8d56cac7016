"""A search for the smallest instance on which a system is not better than its rival."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd

from astraea.experiments.grid import Grid
from astraea.experiments.run import Call
from papers.scales import at_scale

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


def reversal_table(
    drawn: Sequence[Any],
    values: Callable[[Any], tuple[float, float]],
    smaller: Callable[[Any], Iterable[Any]],
    starts: int,
) -> pd.DataFrame:
    """Search instances for those on which the rival has the lower one of two `values`, ours and the rival's.

    One row: counts as of `reversal`, ours and other, the values of the smallest reversal, and that instance in words
    and as JSON; NaN without one. Instances are named tuples with a `size` and a `text`.
    """

    def lead(instance: Any) -> float:
        ours, other = values(instance)
        return ours - other

    counts, small = reversal(drawn, lead, smaller, attrgetter("size"), starts)
    row: dict[str, Any] = {**counts}
    if small:
        row |= dict(zip(("ours", "other"), values(small[0]), strict=True))
        row |= {"workload": small[0].text, "instance": json.dumps(small[0])}
    return pd.DataFrame([row]).reindex(columns=[*counts, "ours", "other", "workload", "instance"])


def reversal_grid(
    search: Callable[[str, int, int], pd.DataFrame],
    orderings: Mapping[str, str],
    sizes: Mapping[str, tuple[int, int]],
    scale: str,
) -> Grid:
    """Return the search of each rival, a key of `orderings`; columns ordering, rival."""
    rows = [{"ordering": ordering, "rival": rival} for rival, ordering in orderings.items()]
    return Grid.of((Call(search, (row["rival"], *at_scale(sizes, scale)), row), row) for row in rows)
