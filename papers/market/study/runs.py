"""Runs behind the tables of [Wang2023] §5: the schedulers' plans of a market, and the figures read of each.

A plan is made once, whichever tables ask for it. Astraea runs with theta 2, the least that §4.4 allows ("by assuming
theta_w - 1 >= 1"), and with lambda 1. The paper leaves lambda open: its example has 2 where Lemma 1 gives 24, and the
logarithm in sigma has no base. As written, with Lemma 1's lambda and the theta of §4.4, every job starts after hundreds
of slots. BatchSche has the same lambda and theta.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np
import pandas as pd

from papers.market.metrics import ideal_revenue, makespan, revenue_fairness, total_revenue, utilization
from papers.market.model import SLOT, Market, MarketPlan
from papers.market.optimum import optimum
from papers.market.policies.astraea.batches import astraea_market
from papers.market.policies.astraea.capacity import feasible_theta
from papers.market.policies.batch_sche import batch_sche
from papers.market.policies.fair import gandiva_fair, hived
from papers.market.study.example import worked_example

THETA: Final = (2.0, 2.0)
LAMBDA: Final = 1

SCHEDULERS: Final = ("astraea-market", "gandiva-fair", "hived", "batch-sche")
"""The four that §5 compares."""

LEMMA: Final = "astraea-market-lemma"
"""Astraea as written."""

HOURS: Final = 10_000
"""After so many hours no linear revenue is above 0, and of what is in use only the last hour is noted."""

TIME_LIMIT: Final = 3600.0
"""Time limit of an optimum [s]; no market of the studies takes a minute, so a busy machine changes no result."""


def planner(market: Market, scheduler: str, percent: int = 0) -> Callable[[Market], MarketPlan]:
    """One of `SCHEDULERS` or `LEMMA`; `percent` scales the theta - 1 of §4.4 [%], 0 stands for `THETA`."""
    theta = feasible_theta(market, percent / 100) if percent else THETA
    planners: dict[str, Callable[[Market], MarketPlan]] = {
        "astraea-market": partial(astraea_market, theta=theta, rounds=LAMBDA),
        "batch-sche": partial(batch_sche, theta=theta, rounds=LAMBDA),
        "gandiva-fair": gandiva_fair,
        "hived": hived,
        LEMMA: astraea_market,
    }
    return planners[scheduler]


def plan_numbers(market: Market, scheduler: str, percent: int = 0) -> pd.DataFrame:
    """Everything that a table reads of one plan; parameters as of `planner`.

    The first row has what there is once; floored_revenue counts no job's as less than 0, revenue_per_job also jobs that
    never run, and shared are those that run outside their tenant's share. Then comes a row for each tenant, each
    admitted job in order of admission, and each hour until the makespan, but after `HOURS` only the last one, and none
    of `LEMMA`.
    """
    astraea_market(worked_example(), theta=THETA, rounds=LAMBDA)  # loads compiled functions, which are not measured
    make = planner(market, scheduler, percent)
    began = time.perf_counter()
    plan = make(market)
    seconds = time.perf_counter() - began
    n, admitted, alpha = len(market.jobs), plan.schedules, revenue_fairness(plan)
    used = np.empty(0) if scheduler == LEMMA else utilization(plan, HOURS)
    once = {
        "revenue": total_revenue(plan), "ideal_revenue": ideal_revenue(plan),
        "floored_revenue": float(plan.revenues.clip(min=0).sum()), "revenue_per_job": total_revenue(plan) / n,
        "makespan": makespan(plan) * SLOT, "shared": sum(s.is_shared for s in admitted), "seconds_per_job": seconds / n,
    }  # fmt: skip
    hours = np.arange(1, len(used) + 1)
    if len(used) == HOURS and (end := makespan(plan)) > HOURS:
        until_the_end = sum(int(s.workers.sum()) for s in admitted if s.end == end)
        hours, used = np.append(hours, end), np.append(used, until_the_end / market.workers.sum())
    jobs = [(market.jobs.job_id[s.job], s.ideal, s.cost) for s in admitted]
    parts = [
        pd.DataFrame([once]),
        pd.DataFrame({"tenant": range(len(alpha)), "alpha": alpha}),
        pd.DataFrame(jobs, columns=["job_id", "ideal", "cost"]),
        pd.DataFrame({"hour": hours, "utilization": used}),
    ]
    return pd.concat(parts, ignore_index=True)


def ratios(market: Market) -> pd.DataFrame:
    """Return each of `SCHEDULERS`' revenue over that of an offline optimum (Figs 5 and 6).

    The optimum may use every slot until the last job of those schedulers that share has ended. Where the time limit is
    over, the ratio is to a bound, and thus too small, and not `is_exact`. Columns scheduler, ratio, is_exact.
    """
    plans = {name: planner(market, name)(market) for name in SCHEDULERS}
    sharing = [plan for name, plan in plans.items() if name != "batch-sche"]
    horizon, known = max(map(makespan, sharing)), max(map(total_revenue, sharing))
    bound, plan = optimum(market, horizon=horizon, time_limit=TIME_LIMIT, known=known)
    ratio = [total_revenue(theirs) / bound for theirs in plans.values()]
    return pd.DataFrame({"scheduler": list(plans), "ratio": ratio, "is_exact": plan is not None})
