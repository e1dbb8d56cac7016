"""Revenues of a plan and of its tenants ([Wang2023] §5.1, Metrics, and §5.2)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray
from papers.market.model import MarketPlan


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
    """g_u by the names of the U tenants: utility of the tenant's jobs less what they pay, and its income.

    §5.1 counts income from other tenants only, but all that a tenant pays. What it pays to itself is no loss, so here
    it is income too; only then is the sum of all gains the total revenue, as §3.2 has it.
    """
    tenant = plan.market.jobs.tenant
    out = np.bincount(tenant, plan.revenues, len(plan.market.worker_quota)) + plan.income.sum(axis=1)
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
