"""Measures of each run in the notebooks on [Ye2022] §6, and tables of means, ratios and curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.core.intervals import mean_interval
from astraea.core.metrics import SLACK, has_sharing_loss, hourly, sharing_loss, summary, tenant_windows
from astraea.core.result import Result
from astraea.core.units import DAY
from astraea.plots import order

EFFICIENCY: Final = (
    "average_jct", "median_jct", "average_slowdown", "average_queueing_delay", "utilization", "overhead_share",
)  # fmt: skip
"""Figures that `efficiency_figures` takes from `metrics.summary`."""

LARGE_GANG: Final = 8  # GPUs from which on a gang counts as large: a whole node
# figure -> the rho_tenant below which a case counts
TENANT_LEVELS: Final = {"tenant_sharing_loss": 1.0, "tenant_below_99": 0.99, "tenant_below_95": 0.95}


def fairness_figures(result: Result) -> dict[str, Any]:
    """Return shares of jobs with rho_job < 0.95, and of (tenant, window) cases below `TENANT_LEVELS`; Figs 10 and 11.

    Of the cases, only those count in which the tenant is owed something.
    """
    rho = tenant_windows(result)["rho_tenant"].dropna()
    return {
        "sharing_loss": sharing_loss(result),
        **{name: float((rho < level - SLACK).mean()) for name, level in TENANT_LEVELS.items()},
    }


def efficiency_figures(result: Result) -> dict[str, Any]:
    """Return slowdown, completion time, use of the cluster and overheads, Figs 12 and 13; times in s, shares in [0, 1].

    `busy_utilization` ends at the last submission, because the whole run includes the days in which a few long jobs
    run out. `slowdown_one_node` is the average over jobs that one node can hold, `slowdown_more_nodes` over the others
    (NaN without one). `slowdown_other_99` is that of all but the slowest hundredth, `slowdown_slowest_share` the part
    of that hundredth in the sum.
    """
    jobs, figures = result.jobs, summary(result)
    rising = np.sort(jobs["slowdown"].to_numpy())
    other = rising[: len(rising) - math.ceil(len(rising) / 100)]
    in_a_node = jobs["demand"] <= int(result.provenance["gpus_per_node"])
    return {
        **{name: figures[name] for name in EFFICIENCY},
        "slowdown_99": float(jobs["slowdown"].quantile(0.99)),
        "slowdown_one_node": float(jobs.loc[in_a_node, "slowdown"].mean()),
        "slowdown_more_nodes": float(jobs.loc[~in_a_node, "slowdown"].mean()),
        "slowdown_other_99": float(other.mean()) if len(other) else float("nan"),
        "slowdown_slowest_share": float(1 - other.sum() / rising.sum()),
        "busy_utilization": busy_utilization(result),
        "leases_per_job": float(jobs["leases"].mean()),
        "preemptions_per_job": float(jobs["preemptions"].mean()),
    }


def longest_waits(result: Result) -> dict[str, float]:
    """Return the longest waits of any job, and of any gang of `LARGE_GANG` GPUs: an average does not show starvation.

    A first wait is the time from submission to the first start, a total wait all waits of a job together [s].
    `longest_waiting_demand` is that of the job with the longest first wait [GPU], the first submitted of equals. NaN
    without such a job.
    """
    jobs = result.jobs.assign(first_wait=result.jobs["first_start_time"] - result.jobs["submit_time"])
    large = jobs[jobs["demand"] >= LARGE_GANG]
    return {
        "first_wait": float(jobs["first_wait"].max()),
        "first_wait_large": float(large["first_wait"].max()),
        "total_wait": float(jobs["queueing_delay"].max()),
        "total_wait_large": float(large["queueing_delay"].max()),
        "longest_waiting_demand": float(jobs["demand"].iloc[int(jobs["first_wait"].argmax())]),
    }


def weekly_figures(result: Result) -> pd.DataFrame:
    """Return the means of Figs 10 to 13 week by week: columns week (from 0), figure, mean, n (jobs or cases).

    A job belongs to the week of its submission, a case of `fairness_figures` to that in which its window starts, after
    the last submission to the last of them. The mean over weeks, weighted with `n`, is the figure of the whole run.
    """
    jobs, week = result.jobs, _week(result)
    cases = tenant_windows(result).dropna(subset=["rho_tenant"])
    started = (cases["window_start"] // (7 * DAY)).astype(int).clip(upper=week.max()).rename("week")
    parts = {
        "average_jct": (jobs["jct"], week),
        "average_slowdown": (jobs["slowdown"], week),
        "sharing_loss": (has_sharing_loss(result), week),
        **{name: ((cases["rho_tenant"] < level - SLACK) * 1.0, started) for name, level in TENANT_LEVELS.items()},
    }
    return _stacked({name: values.groupby(by).agg(mean="mean", n="count") for name, (values, by) in parts.items()})


def weekly_jobs(result: Result) -> pd.DataFrame:
    """Return the measures of Figs 9 and 14 week by week, in the columns of `weekly_figures`.

    They are ``average_jct``, ``sharing_loss`` and ``overhead_share``. `n` counts jobs; of an overhead, which is a share
    of completion times, it is their sum [s].
    """
    week = _week(result)
    both = result.jobs[["overhead", "jct"]].groupby(week).sum()
    parts = {"average_jct": result.jobs["jct"], "sharing_loss": has_sharing_loss(result)}
    means = {name: values.groupby(week).agg(mean="mean", n="count") for name, values in parts.items()}
    share = pd.DataFrame({"mean": both["overhead"] / both["jct"], "n": both["jct"]})
    return _stacked({**means, "overhead_share": share})


def _week(result: Result) -> pd.Series[int]:
    """Return the week of submission of each job, from 0."""
    return (result.jobs["submit_time"] // (7 * DAY)).astype(int).rename("week")


def _stacked(means: Mapping[str, Any]) -> pd.DataFrame:
    together: pd.DataFrame = pd.concat(means, names=["figure"])
    return together.reset_index()


def busy_utilization(result: Result) -> float:
    """GPU-time held over the GPU-time that there is until the last full hour of submissions; in [0, 1]."""
    whole = cluster_timeline(result)
    until = whole[(whole["time"] > 0) & (whole["time"] <= result.jobs["submit_time"].max())]
    if until.empty:
        return float("nan")
    last = until.iloc[-1]
    return float(last["attained_service"] / (result.gpus * last["time"]))


def cluster_timeline(result: Result) -> pd.DataFrame:
    """Sums over all tenants at every whole hour: columns time [s], attained_service [GPU-s], held, waiting [GPU]."""
    columns = ["attained_service", "held", "waiting"]
    return hourly(result).groupby("time", sort=True)[columns].sum().reset_index()


def plus_minus(frame: pd.DataFrame, by: str, columns: Mapping[str, tuple[str, float]], digits: int = 3) -> pd.DataFrame:
    """Means over seeds as text, ``mean ± half width of the 95 % interval``; the mean alone below three seeds.

    `columns` have a heading each, and the factor to its unit. The mean has so many significant `digits`.
    """
    shown = {}
    for column, (heading, factor) in columns.items():
        rows = mean_interval(frame, by, column).set_index(by)
        mean, half = factor * rows["mean"], factor * (rows["high"] - rows["mean"]).where(rows["n"] > 2)
        shown[heading] = pd.Series({k: _plus_minus(mean[k], half[k], digits) for k in rows.index})
    return pd.DataFrame(shown).rename_axis(by)


def _plus_minus(mean: float, half: float, digits: int) -> str:
    # 0.996 is written like 1.00, so that a column of ratios has the same decimals on both sides of 1
    size = np.floor(np.log10(1.05 * abs(mean))) if np.isfinite(mean) and mean != 0 else 0
    decimals = int(np.clip(digits - 1 - size, 0, 6))
    text = f"{mean:.{decimals}f}"
    return f"{text} ± {half:.{decimals}f}" if np.isfinite(half) else text


def each_reading(frame: pd.DataFrame, reduce: Callable[[pd.DataFrame], pd.DataFrame]) -> pd.DataFrame:
    """Reduce the rows of each reading for themselves; the first column tells which it is."""
    parts = [(reading, reduce(part)) for reading, part in frame.groupby("reading", sort=False)]
    return pd.concat([pd.DataFrame({"reading": reading}, part.index).join(part) for reading, part in parts])


def by_reading(frame: pd.DataFrame, table: Callable[[pd.DataFrame], pd.DataFrame]) -> pd.DataFrame:
    """Tables by scheduler, one of each reading, side by side; empty where a reading does not have a scheduler."""
    found = pd.concat({reading: table(part) for reading, part in frame.groupby("reading", sort=False)}, axis=1)
    return found.loc[[name for name in order(frame["scheduler"]) if name in found.index]].astype(object).fillna("")


def across(frame: pd.DataFrame, by: str, column: str, factor: float = 1.0) -> pd.DataFrame:
    """`plus_minus` of one column for each reading and scheduler, a column for each value of `by`."""
    rows = frame.assign(row=frame["reading"] + ": " + frame["scheduler"])
    return pd.DataFrame(
        {f"{at:g}": plus_minus(part, "row", {column: ("value", factor)})["value"] for at, part in rows.groupby(by)}
    )


def times_as_much(frame: pd.DataFrame, columns: Mapping[str, str]) -> pd.DataFrame:
    """Mean over seeds of each scheduler over that of ASTRAEA, under headings; NaN where that is 0."""
    means = frame.groupby("scheduler", sort=False)[list(columns)].mean()
    return means.div(means.loc["astraea"].replace(0.0, np.nan), axis=1).rename(columns=dict(columns)).drop("astraea")


def relative_to(frame: pd.DataFrame, x: str, y: str, reference: float | str, by: str = "seed") -> pd.DataFrame:
    """`frame` with the column ``relative``: `y` over its value at `x` = `reference`, within each seed (or `by`)."""
    base = frame[frame[x] == reference].set_index(by)[y]
    return frame.assign(relative=(frame[y] / frame[by].map(base)).to_numpy())


def compared(frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """Compare a positive `value` of schedulers with ASTRAEA's, seed by seed, so that what seeds differ in cancels.

    Returns
    -------
    DataFrame, index scheduler, columns ratio, low, high, lower, n, finding
        Mean of `value` over that of ASTRAEA, with its 95 % interval (geometric mean and Student's t; NaN below three
        seeds). `lower` counts the seeds, of `n`, in which it is lower; `finding` is ``lower``, ``higher``, ``not shown
        to differ`` or ``too few to tell``.
    """
    wide = frame.pivot_table(index="seed", columns="scheduler", values=value)
    logs = wide.div(wide["astraea"], axis=0).drop(columns="astraea").apply(np.log)
    long = logs.melt(value_name="log", ignore_index=False).dropna()
    table = mean_interval(long, "scheduler", "log").set_index("scheduler")
    low, high = (np.exp(table[c].where(table["n"] > 2)) for c in ("low", "high"))
    finding = np.select([high < 1, low > 1, high.isna()], ["lower", "higher", "too few to tell"], "not shown to differ")
    order = [name for name in frame["scheduler"].unique() if name in table.index]
    columns = {"ratio": np.exp(table["mean"]), "low": low, "high": high, "lower": (logs < 0).sum(), "n": table["n"]}
    return pd.DataFrame(columns).assign(finding=finding).loc[order]


def box_stats(frame: pd.DataFrame, value: str, by: Sequence[str]) -> pd.DataFrame:
    """Return a summary of each class: its 5 % (end of a whisker), 25 %, 50 %, 75 %, 95 % quantile, number of values.

    Returns
    -------
    DataFrame, columns `by`, low, q1, median, q3, high, n
    """
    groups = frame.dropna(subset=[value]).groupby(list(by), sort=False, observed=True)[value]
    quantiles = {"low": 0.05, "q1": 0.25, "median": 0.5, "q3": 0.75, "high": 0.95}
    columns = {name: groups.quantile(q) for name, q in quantiles.items()}
    return pd.DataFrame({**columns, "n": groups.size()}).reset_index()
