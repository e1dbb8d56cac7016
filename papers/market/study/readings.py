"""Our tables in the form of the paper's Table 2 and Fig 4."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from papers.market.study.runs import SCHEDULERS
from papers.market.study.tables import TABLE2, USUAL


def table2(found: pd.DataFrame) -> pd.DataFrame:
    """Table 2 beside what was found: means over trials of `tenants_table`, the paper's, and theirs over ours.

    Returns
    -------
    DataFrame, index tenants and, last, "max / min"; columns revenue per job, variance of alpha, each with ours, paper
    and paper / ours
        The last row has the ratio that §5.2 speaks of. NaN where the paper has no such number of tenants.
    """
    ours = found.groupby("tenants")[["revenue_per_job", "variance"]].mean()
    names = {"revenue_per_job": "revenue per job", "variance": "variance of alpha"}
    columns: dict[tuple[str, str], pd.Series[float]] = {}
    for k, (column, name) in enumerate(names.items()):
        here = ours[column]
        paper = pd.Series({n: values[k] for n, values in TABLE2.items()}).reindex(here.index)
        here, paper = (pd.concat([x, pd.Series({"max / min": x.max() / x.min()})]) for x in (here, paper))
        columns |= {(name, "ours"): here, (name, "paper"): paper, (name, "paper / ours"): paper / here}
    return pd.DataFrame(columns).rename_axis("tenants")


def fig4_readings(revenue: pd.DataFrame, published: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """Astraea's total over each of the others' with linear revenue, in three readings, and what the paper prints.

    Parameters
    ----------
    revenue : DataFrame
        As of `revenue_table`.
    published : mapping
        What is varied -> scheduler -> the paper's value.

    Returns
    -------
    DataFrame, index scheduler, columns what is varied, reading
        Real; Astraea's ideal revenue over the others' real one, of which no job's is less than 0; ideal of both. NaN
        where the other's total is not above 0.
    """
    kinds = ["revenue", "ideal_revenue", "floored_revenue"]
    linear = revenue[revenue["utility"] == "linear"]
    total = linear.pivot_table(index="scheduler", columns="varied", values=kinds, aggfunc="sum")
    columns: dict[tuple[str, str], pd.Series[float]] = {}
    for varied, values in published.items():
        others = [name for name in values if name in total.index]
        for reading, mine, theirs in (
            ("real", "revenue", "revenue"),
            ("ideal over floored real", "ideal_revenue", "floored_revenue"),
            ("ideal", "ideal_revenue", "ideal_revenue"),
        ):
            base: pd.Series[float] = total[theirs, varied].loc[others]
            columns[varied, reading] = float(total[mine, varied][SCHEDULERS[0]]) / base.where(base > 0)
        columns[varied, "the paper"] = pd.Series(dict(values)).loc[others]
    return pd.DataFrame(columns)


def last_use(used: pd.DataFrame) -> pd.DataFrame:
    """Fig 13: last hour with any use with D_j as requested, mean over trials, and the highest use in each setting [%].

    NaN for BatchSche's last use: the table ends when those that share are done.
    """
    requested = used[(used["setting"] == USUAL) & (used["utilization"] > 0)]
    ends = requested.groupby(["scheduler", "trial"])["hour"].max().groupby("scheduler").mean()
    ends["batch-sche"] = np.nan
    peak = 100 * used.pivot_table(index="scheduler", columns="setting", values="utilization", aggfunc="max")
    return pd.DataFrame({"last use [h]": ends}).join(peak.add_prefix("highest [%], "))
