"""Tables of [Wang2023] §5: total revenue, fairness, running time, prices, admission, utilization, tenants.

All are made of the runs of `market_runs`, which says what is sampled and how large each scale is.

[Wang2023] Wang et al., Online Scheduling of Distributed Machine Learning Jobs for Incentivizing Sharing in
Multi-Tenant Systems, IEEE Transactions on Computers 72(3).
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from astraea.studies.market.runs import (
    LEMMA,
    LOADS,
    REVENUE_COLUMNS,
    SCHEDULERS,
    Cell,
    Measure,
    admission,
    alphas,
    market_scale,
    revenue,
    sensitivity,
    tabulated,
    use,
)


def revenue_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Fig 4: total revenue over the number of jobs and of servers, with both forms of utility.

    Parameters
    ----------
    trace : str
        As in `workloads.named_trace`.
    scale : {"small", "paper", "full"}
    **computing
        jobs, backend, scheduler: where it is computed; the numbers do not depend on it.

    Returns
    -------
    DataFrame, columns varied (jobs, servers), value, utility, scheduler, trial, revenue, revenue_per_job, makespan
    [s], shared, seconds_per_job [s]
        `shared` jobs run outside their tenant's share. The last column depends on the machine.

    Raises
    ------
    InputError
        If there is no such trace or scale, or the trace has too few jobs or tenants.
    """
    size = market_scale(scale)
    jobs, servers = size.usual
    points = [("jobs", n, (n, servers)) for n in size.jobs] + [("servers", s, (jobs, s)) for s in size.servers]
    cells = [
        Cell(scheduler, trial, *at, utility=utility)
        for at in dict.fromkeys(at for _, _, at in points)
        for utility in ("linear", "convex")
        for scheduler in (*SCHEDULERS, *((LEMMA,) if at == size.usual else ()))
        for trial in range(size.trials)
    ]
    found = tabulated(trace, scale, cells, revenue)
    kept = [(found["jobs"] == at[0]) & (found["servers"] == at[1]) for _, _, at in points]
    parts = [found[k].assign(varied=varied, value=n) for k, (varied, n, _) in zip(kept, points, strict=True)]
    columns = ["varied", "value", "utility", "scheduler", "trial", *REVENUE_COLUMNS]
    return pd.concat(parts, ignore_index=True)[columns]


def fairness_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Figs 7 and 8: revenue fairness of every tenant; parameters as in `revenue_table`.

    Returns
    -------
    DataFrame, columns scheduler, trial, tenant, alpha
        `alpha` is NaN for a tenant that brought in nothing, and for all where the total revenue is not above 0.
    """
    return _usual(trace, scale, SCHEDULERS, alphas)[["scheduler", "trial", "tenant", "alpha"]]


def time_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Figs 9 and 10: how long Astraea takes to plan one job; depends on the machine.

    Returns
    -------
    DataFrame, columns jobs, servers, trial, seconds_per_job [s]
    """
    size = market_scale(scale)
    points = dict.fromkeys([(n, size.usual[1]) for n in size.jobs] + [(size.usual[0], s) for s in size.servers])
    cells = [Cell("astraea-market", trial, *at) for at in points for trial in range(size.trials)]
    return tabulated(trace, scale, cells, revenue)[["jobs", "servers", "trial", "seconds_per_job"]]


def theta_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Fig 11: revenue with maximal prices that are wrong by some percent.

    The actual value is that of §4.4 (`feasible_theta`) with lambda 1, since prices up to 0.02 make no difference, and
    the percentage is that of the price theta - 1.

    Returns
    -------
    DataFrame, columns load (moderate, high), percent [%], trial, revenue
    """
    size = market_scale(scale)
    cells = [
        Cell("astraea-market", trial, n, size.usual[1], percent=percent)
        for n in (size.jobs[0], size.jobs[-1]) for percent in size.percents for trial in range(size.trials)
    ]  # fmt: skip
    found = tabulated(trace, scale, cells, revenue)
    found["load"] = found["jobs"].map(dict(zip((size.jobs[0], size.jobs[-1]), LOADS, strict=True)))
    return found[["load", "percent", "trial", "revenue"]]


def admission_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Fig 12: ideal revenue and cost of every admitted job, and of Astraea as written too, where prices are felt.

    Returns
    -------
    DataFrame, columns scheduler, trial, job_id, ideal, cost
    """
    columns = ["scheduler", "trial", "job_id", "ideal", "cost"]
    return _usual(trace, scale, ("astraea-market", LEMMA), admission)[columns]


def utilization_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Fig 13: part of all workers that jobs hold, in every hour until the schedulers that share are done.

    Returns
    -------
    DataFrame, columns scheduler, trial, hour, utilization
        0 after a scheduler's makespan; what BatchSche has after the last of the others is left out.
    """
    found = _usual(trace, scale, SCHEDULERS, use)
    last = int(found.loc[found["scheduler"] != "batch-sche", "hour"].max())
    size = market_scale(scale)
    hours = [(scheduler, k, t) for scheduler in SCHEDULERS for k in range(size.trials) for t in range(1, last + 1)]
    every = pd.MultiIndex.from_tuples(hours, names=["scheduler", "trial", "hour"])
    return found.set_index(list(every.names))[["utilization"]].reindex(every, fill_value=0.0).reset_index()


def tenants_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Table 2: Astraea with more and fewer tenants.

    Returns
    -------
    DataFrame, columns tenants, trial, revenue_per_job, variance
        Variance of revenue fairness over tenants, NaN where there is none (`fairness_table`).
    """
    size = market_scale(scale)
    cells = [Cell("astraea-market", k, *size.usual, tenants=n) for n in size.tenants for k in range(size.trials)]
    found = tabulated(trace, scale, cells, sensitivity)
    return found[["tenants", "trial", "revenue_per_job", "variance"]]


def _usual(trace: str, scale: str, schedulers: Sequence[str], measure: Measure) -> pd.DataFrame:
    """What is measured at the default point."""
    size = market_scale(scale)
    cells = [Cell(scheduler, trial, *size.usual) for scheduler in schedulers for trial in range(size.trials)]
    return tabulated(trace, scale, cells, measure)
