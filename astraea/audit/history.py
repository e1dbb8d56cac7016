"""The audit over time: waits, and GPU-time owed and attained, by tenant and month."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from astraea.audit import scenarios
from astraea.core.arrays import FloatArray
from astraea.core.result import Result
from astraea.core.units import DAY
from astraea.traces.trace import Trace

MONTH: Final = 30 * DAY
"""Length of a month of a log without dates [s]."""

COLUMNS: Final = {
    "jobs": "of the month's jobs, those that started", "waiting": "those still waiting at the end of the log",
    "mean_wait": "s", "median_wait": "s", "longest_wait": "s", "owed": "GPU-h", "attained": "GPU-h",
}  # fmt: skip
"""Columns of `by_month` for each tenant and month, besides their names."""


def by_month(
    trace: Trace, waits: pd.DataFrame, was: Result, quota: dict[str, float], waiting: pd.DataFrame, end: float
) -> pd.DataFrame:
    """Return waits, GPU-time owed and GPU-time attained of each tenant in each calendar month until `end` [s].

    `waits` are those of `recorded.waits`: a job counts in the month in which it was submitted; one that is still
    waiting counts with its wait so far. `was`, `quota` and `waiting` are as in `scenarios.owed`. The columns are month,
    tenant and `COLUMNS`; waits of a tenant that submitted nothing are NaN.
    """
    bounds, names = months(trace.origin, end)
    table = scenarios.owed(was, quota, bounds, waiting)
    table = table[table["period"] > 0].rename(columns={"got": "attained"}).drop(columns="rho")
    at = np.minimum(np.searchsorted(bounds, waits["since"].to_numpy(), side="right"), len(names))
    tenant = np.array(trace.tenants, dtype=object)[waits["tenant"].to_numpy()]
    lasted = (waits["until"] - waits["since"]).to_numpy()
    still = waits["still"].to_numpy(dtype=bool)
    rows = pd.DataFrame({"period": at, "tenant": tenant, "wait": lasted, "jobs": ~still, "waiting": still})
    figures = rows.groupby(["period", "tenant"]).agg(
        jobs=("jobs", "sum"), waiting=("waiting", "sum"), mean_wait=("wait", "mean"), median_wait=("wait", "median"),
        longest_wait=("wait", "max"),
    )  # fmt: skip
    table = table.join(figures, on=["period", "tenant"])
    table[["jobs", "waiting"]] = table[["jobs", "waiting"]].fillna(0).astype(int)
    table["month"] = np.array(names, dtype=object)[table["period"].to_numpy() - 1]
    return table[["month", "tenant", *COLUMNS]].reset_index(drop=True)


def months(origin: pd.Timestamp | None, end: float) -> tuple[FloatArray, list[str]]:
    """Return bounds [s] and names of the calendar months of a log that ends at `end` [s]; 30 days if undated."""
    if origin is None:
        bounds = np.append(np.arange(0.0, max(end, 1.0), MONTH), max(end, 1.0))
        return bounds, [str(k) for k in range(1, len(bounds))]
    last = origin + pd.Timedelta(seconds=max(end, 1.0))
    firsts = pd.date_range(origin.normalize().replace(day=1), last, freq="MS", inclusive="left")
    starts = [max((first - origin).total_seconds(), 0.0) for first in firsts]
    return np.array([*starts, max(end, 1.0)]), [f"{first:%Y-%m}" for first in firsts]
