"""The leaderboard of a workload in words: values with intervals, ranks, and policies that another one rules out."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd

from astraea.core.units import HOUR
from astraea.experiments.leaderboard import MEASURES

WORDS: Final[dict[str, tuple[str, float]]] = {
    "sharing_loss": ("jobs short [%]", 100.0),
    "tenant_below_99": ("tenant cases below 0.99 [%]", 100.0),
    "average_jct": ("average JCT [h]", 1 / HOUR),
    "slowdown_99": ("99 % slowdown", 1.0),
    "longest_wait": ("longest wait [h]", 1 / HOUR),
    "preemptions_per_job": ("preemptions per job", 1.0),
}
"""Words for each measure of a leaderboard with the unit, and the factor to this unit."""


def in_words(row: pd.Series[Any]) -> str:
    """Return a value with its 95 % interval in the unit of `WORDS`, of a row of `standings`: "8.7 (7.0 to 10.4)"."""
    factor = WORDS[str(row["measure"])][1]
    found = [factor * float(row[name]) for name in ("value", "low", "high")]
    value, low, high = (f"{x:,.0f}" if x >= 99.95 else f"{x:.3g}" for x in found)
    return "-" if pd.isna(row["value"]) else value if pd.isna(row["low"]) else f"{value} ({low} to {high})"


def place(row: pd.Series[Any]) -> str:
    """Return the rank and the ranks in 95 % of the draws, of a row of `standings`: "4 (4-7)"; "-" without a rank."""
    if pd.isna(row["rank"]):
        return "-"
    is_sure = pd.isna(row["rank_low"]) or row["rank_low"] == row["rank_high"]
    return f"{row['rank']:.0f}" if is_sure else f"{row['rank']:.0f} ({row['rank_low']:.0f}-{row['rank_high']:.0f})"


def ruled_out(ranked: pd.DataFrame) -> dict[str, list[str]]:
    """Return each dominated policy with those that rule it out: they are no worse in any measure, and better in one.

    Parameters
    ----------
    ranked : DataFrame, columns scheduler, measure, value
        Rows of `standings`; less is better. A measure that is undefined for some policy is left out.
    """
    wide = ranked.pivot_table(index="scheduler", columns="measure", values="value", sort=False)
    values = wide[[measure for measure in MEASURES if measure in wide]].dropna(axis=1)
    found = {}
    for name, own in values.iterrows():
        better = values.index[(values <= own).all(axis=1) & (values < own).any(axis=1)]
        if len(better):
            found[str(name)] = better.tolist()
    return found
