"""What becomes of the figures of [Wang2023] where its text can be read in more than one way: a row for each setting."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from papers.market.study.runs import SCHEDULERS
from papers.market.study.tables import SETTINGS, plans

OURS: Final = SCHEDULERS[0]

FIGURES: Final = (
    "Fig 4, real",
    "Fig 4, one-sided",
    "Fig 7, tenants within 0.1 of 1",
    "Fig 8, variance",
    "Fig 13, peak",
    "Fig 13, makespan",
)


def settings_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Figs 4, 7, 8 and 13 under each of `tables.SETTINGS`, with the usual numbers of jobs, servers and tenants.

    Returns
    -------
    DataFrame, columns setting, figure, scheduler, value
        Fig 4: Astraea's revenue over the scheduler's, sums over trials, NaN where the latter is not above 0; "Fig 4,
        one-sided": its ideal revenue over the scheduler's, of which no job's is less than 0. Fig 7: how many tenants
        have a ratio within 0.1 of 1, mean over trials, and Fig 8: variance over tenants, mean over trials in which the
        total revenue is above 0. Fig 13, peak: most workers in use, mean over trials; Fig 13, makespan: its mean over
        trials over that of the scheduler. NaN also where a scheduler is not shown.
    """
    once = ["revenue", "ideal_revenue", "floored_revenue", "makespan"]

    def row(numbers: pd.DataFrame) -> dict[str, float]:
        alpha = numbers.loc[numbers["tenant"].notna(), "alpha"].dropna()
        is_fair = float((abs(alpha - 1) <= 0.1).sum()) if len(alpha) else np.nan
        found = {"fair": is_fair, "variance": alpha.var(ddof=0), "peak": numbers["utilization"].max()}
        return {name: float(numbers[name].iloc[0]) for name in once} | found

    found = plans(trace, scale, "settings").table(row)
    rows: list[tuple[str, str, str, float]] = []
    for setting in SETTINGS:
        mine = found[found["setting"] == setting].groupby("scheduler")
        total: dict[Any, dict[Any, float]] = mine[once].sum().to_dict("index")
        mean: dict[Any, dict[Any, float]] = mine[["fair", "variance", "peak"]].mean().to_dict("index")
        ours = total[OURS]
        for name, theirs in total.items():
            figures = {
                "Fig 7, tenants within 0.1 of 1": mean[name]["fair"],
                "Fig 8, variance": mean[name]["variance"],
                "Fig 13, peak": mean[name]["peak"],
            }
            if name != OURS:
                figures |= {
                    "Fig 4, real": ours["revenue"] / theirs["revenue"] if theirs["revenue"] > 0 else np.nan,
                    "Fig 4, one-sided": ours["ideal_revenue"] / theirs["floored_revenue"],
                    "Fig 13, makespan": ours["makespan"] / theirs["makespan"],
                }
            rows += [(setting, figure, name, value) for figure, value in figures.items()]
    rows.sort(key=lambda row: FIGURES.index(row[1]))
    return pd.DataFrame(rows, columns=["setting", "figure", "scheduler", "value"])
