"""Titles of pictures of [Ye2022]: what came out, from the numbers that are drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pandas as pd

from astraea.core.wording import listed
from astraea.plots import look
from papers.ye2022.readings import PAPERS, PROGRAM

IN: Final = {PROGRAM: "in the authors' program", PAPERS: "from the papers"}
"""Words for a reading, in the order of the panels."""


def several_seeds(table: pd.DataFrame) -> bool:
    """Return true if a table has more than one seed; a recorded log has one run, which has none."""
    return bool(table["seed"].min() < table["seed"].max())


def same_seed(table: pd.DataFrame) -> str:
    """Say that a comparison is within a seed, where there are several."""
    return ", same seed" if several_seeds(table) else ""


def leaders(table: pd.DataFrame, column: str) -> str:
    """Name the schedulers with the lowest mean over seeds, in each reading that the table has."""
    means = table.groupby(["reading", "scheduler"], sort=False)[column].mean()
    found = {
        where: listed(look(str(name)).label for name in here.index[here == here.min()])
        for reading, where in IN.items()
        if reading in means.index and not (here := means[reading]).empty
    }
    if len(found) == len(IN) and len(set(found.values())) == 1:
        return f"{next(iter(found.values()))} {listed(found)}"
    return ", ".join(f"{names} {where}" for where, names in found.items())


def times_ahead(table: pd.DataFrame, by: str, column: str, rivals: Iterable[str]) -> str:
    """Count, in each reading, at how many of the values of `by` the mean of ASTRAEA is below that of each rival."""
    parts = []
    for reading, where in IN.items():
        mine = table[table["reading"] == reading]
        if mine.empty:
            parts.append(f"at none {where}")
            continue
        wide = mine.pivot_table(index=by, columns="scheduler", values=column)
        others = wide[[name for name in rivals if name in wide and name != "astraea"]].min(axis=1)
        parts.append(f"at {(wide['astraea'] < others).sum()} of {len(wide)} {where}")
    return ", ".join(parts)
