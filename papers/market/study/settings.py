"""Figures of [Wang2023] under each reading of its text, and our tables in the form of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from papers.market.study.runs import SCHEDULERS
from papers.market.study.tables import SETTINGS, TABLE2, plans
from papers.market.workload import HERE

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

    Columns setting, figure, scheduler, value. Fig 4: Astraea's revenue over the scheduler's, sums over trials, NaN
    where the latter is not above 0; one-sided: its ideal revenue over the scheduler's, of which no job's is less than
    0. Fig 7: how many tenants have a ratio within 0.1 of 1, and Fig 8: variance over tenants, means over trials in
    which the total revenue is above 0. Fig 13: most workers in use, mean over trials, and Astraea's makespan over the
    scheduler's.
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


def table2(found: pd.DataFrame) -> pd.DataFrame:
    """Return Table 2 of one reading of `tenants_table`: means over trials, the paper's values, and the ratio.

    Index tenants and, last, "max / min", the ratio that §5.2 speaks of; NaN where the paper has no such number, and for
    ratios of what is not above 0.
    """
    ours = found.groupby("tenants")[["revenue_per_job", "variance"]].mean()
    names = {"revenue_per_job": "revenue per job", "variance": "variance of alpha"}
    columns: dict[tuple[str, str], pd.Series[float]] = {}
    for k, (column, name) in enumerate(names.items()):
        here = ours[column]
        paper = pd.Series({n: values[k] for n, values in TABLE2.items()}).reindex(here.index)
        ratios = [x.max() / x.min() if x.min() > 0 else np.nan for x in (here, paper)]
        here, paper = (pd.concat([x, pd.Series({"max / min": r})]) for x, r in zip((here, paper), ratios, strict=True))
        over = (paper / here).where(here > 0)
        columns |= {(name, "ours"): here, (name, "paper"): paper, (name, "paper / ours"): over}
    return pd.DataFrame(columns).rename_axis("tenants")


def fig4_readings(revenue: pd.DataFrame, published: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """Astraea's total over each of the others', linear revenue as here, in three metrics, and what the paper prints.

    `revenue` is of `revenue_table`, `published` what is varied -> scheduler -> value. Index scheduler, columns what is
    varied, metric: real; Astraea's ideal revenue over the others' real one, of which no job's is less than 0; ideal of
    both. NaN where the other's total is not above 0.
    """
    kinds = ["revenue", "ideal_revenue", "floored_revenue"]
    linear = revenue[(revenue["utility"] == "linear") & (revenue["reading"] == HERE)]
    total = linear.pivot_table(index="scheduler", columns="varied", values=kinds, aggfunc="sum")
    columns: dict[tuple[str, str], pd.Series[float]] = {}
    for varied, values in published.items():
        others = [name for name in values if name in total.index]
        for metric, mine, theirs in (
            ("real", "revenue", "revenue"),
            ("ideal over floored real", "ideal_revenue", "floored_revenue"),
            ("ideal", "ideal_revenue", "ideal_revenue"),
        ):
            base: pd.Series[float] = total[theirs, varied].loc[others]
            columns[varied, metric] = float(total[mine, varied][OURS]) / base.where(base > 0)
        columns[varied, "the paper"] = pd.Series(dict(values)).loc[others]
    return pd.DataFrame(columns)


def last_use(used: pd.DataFrame) -> pd.DataFrame:
    """Fig 13 in each reading: last hour with any use, mean over trials [h], and the highest use, the most of them [%].

    Index scheduler, columns quantity, reading.
    """
    last = used[used["utilization"] > 0].groupby(["scheduler", "reading", "trial"], as_index=False)["hour"].max()
    ends = last.pivot_table(index="scheduler", columns="reading", values="hour")
    peak = 100 * used.pivot_table(index="scheduler", columns="reading", values="utilization", aggfunc="max")
    return pd.concat({"last use [h]": ends, "highest [%]": peak}, axis=1)
