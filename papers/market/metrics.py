"""Revenues of a plan and of its tenants ([Wang2023] §5.1, Metrics, and §5.2)."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray
from papers.market.model import MarketPlan

PEAK: Final = 10_000
"""Slots in which the largest use is looked for; later, a round holds the jobs that are left over."""


def total_revenue(plan: MarketPlan) -> float:
    """Objective of problem (3)."""
    return float(plan.revenues.sum())


def ideal_revenue(plan: MarketPlan) -> float:
    """Sum of f_j from the beginning of the job's round (Definition 1), or of the job itself where there are no rounds.

    Waiting before that does not count.
    """
    value = plan.market.jobs.value
    return float(sum(value(s.job, float(s.end - s.start)) if np.isnan(s.ideal) else s.ideal for s in plan.schedules))


def gains(plan: MarketPlan) -> pd.Series[float]:
    """g_u by the names of the U tenants (§5.1): utility of its jobs, less what they pay, and its income from others.

    A tenant may own a part of the idle resources that its own job pays for (§3.1). §5.1 does not count this part as
    income, so the gains add up to the total revenue less what tenants pay to themselves; §3.2 says to all of it.
    """
    tenant = plan.market.jobs.tenant
    out = np.bincount(tenant, plan.revenues, len(plan.market.worker_quota))
    out += plan.income.sum(axis=1) - plan.income.diagonal()
    for s in plan.schedules:
        out[tenant[s.job]] -= s.cost
    return pd.Series(out, index=pd.Index(plan.market.tenants, name="tenant"), name="gain")


def revenue_fairness(plan: MarketPlan) -> FloatArray:
    """alpha_u: the tenant's part of the total revenue over its share, shape (U,); above 1, it gains from sharing.

    The share is the mean of its parts of the workers and of the parameter servers. NaN for a tenant that brought in
    nothing, and for all where the total revenue is not above 0.
    """
    m, total = plan.market, total_revenue(plan)
    share = (m.worker_quota / m.worker_quota.sum() + m.ps_quota / m.ps_quota.sum()) / 2
    out = np.full(len(share), np.nan)
    return np.divide(gains(plan).to_numpy() / total, share, out=out, where=share > 0) if total > 0 else out


def makespan(plan: MarketPlan) -> int:
    """Time at which the last job completes, 0 if none runs [slot]."""
    return max((s.end for s in plan.schedules), default=0)


def utilization(plan: MarketPlan, most: int) -> FloatArray:
    """Part of all workers that jobs hold, shape (min(makespan, most),); entry t is slot t + 1 (Fig 13)."""
    slots = min(makespan(plan), most)
    change = np.zeros(slots + 1)
    for s in plan.schedules:
        change[min(s.start, slots)] += s.workers.sum()
        change[min(s.end, slots)] -= s.workers.sum()
    return np.asarray(np.cumsum(change)[:-1] / plan.market.workers.sum())


def summary(plan: MarketPlan) -> dict[str, float]:
    """Revenue of a plan, which is counted in three ways, its variance over tenants, and its makespan.

    Returns
    -------
    dict
        revenue; ideal_revenue; floored_revenue, in which no job counts less than 0; revenue_per_job, of all jobs of the
        market. variance is that of `revenue_fairness` over tenants, NaN where that is not defined. makespan [slot];
        peak, the largest part of the workers in use; shared, the number of jobs on what tenants do not use.
    """
    revenue = total_revenue(plan)
    return {
        "revenue": revenue, "ideal_revenue": ideal_revenue(plan),
        "floored_revenue": float(plan.revenues.clip(min=0).sum()), "revenue_per_job": revenue / len(plan.market.jobs),
        "variance": float(np.var(revenue_fairness(plan))), "makespan": makespan(plan),
        "peak": float(utilization(plan, PEAK).max(initial=0.0)), "shared": sum(s.is_shared for s in plan.schedules),
    }  # fmt: skip
