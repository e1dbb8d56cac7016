"""What the tables of [Wang2023] §5 are made of: the schedulers' plans of a market, and what is read of each.

A plan is made once, whichever tables ask for it. Astraea runs with lambda 1 and theta 1.02: at the default point
lambda 2 or theta 1.05 earns less, and a theta down to 1.001 the same. As written, with Lemma 1's lambda and the theta
of §4.4, every job starts after hundreds of slots. BatchSche has the same lambda and theta.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, partial
from typing import Final

import numpy as np
import pandas as pd

from astraea.market.example import ROUNDS as EXAMPLE_ROUNDS
from astraea.market.example import THETA as EXAMPLE_THETA
from astraea.market.example import worked_example
from astraea.market.metrics import (
    ideal_and_cost,
    makespan,
    performance_ratio,
    revenue_fairness,
    revenue_per_job,
    total_revenue,
    utilization,
)
from astraea.market.model import SLOT, Market
from astraea.market.optimum import optimum
from astraea.market.policies.astraea.batches import astraea_market
from astraea.market.policies.astraea.prices import Theta, feasible_theta
from astraea.market.policies.batch_sche import batch_sche
from astraea.market.policies.gandiva_fair import gandiva_fair
from astraea.market.policies.hived import hived
from astraea.market.schedule import Plan

THETA: Final = Theta(1.02, 1.02)
ROUNDS: Final = 1

SCHEDULERS: Final = ("astraea-market", "gandiva-fair", "hived", "batch-sche")
"""The four that §5 compares."""

LEMMA: Final = "astraea-market-lemma"
"""Astraea as written."""

TIME_LIMIT: Final = 60.0
"""Of one optimum [s]."""


def planner(market: Market, scheduler: str, percent: int = 0) -> Callable[[Market], Plan]:
    """One of `SCHEDULERS` or `LEMMA`; `percent` scales the theta - 1 of §4.4 [%], 0 stands for `THETA`."""
    theta = feasible_theta(market, percent / 100) if percent else THETA
    planners: dict[str, Callable[[Market], Plan]] = {
        "astraea-market": partial(astraea_market, theta=theta, rounds=ROUNDS),
        "batch-sche": partial(batch_sche, theta=theta, rounds=ROUNDS),
        "gandiva-fair": gandiva_fair,
        "hived": hived,
        LEMMA: astraea_market,
    }
    return planners[scheduler]


def plan_numbers(market: Market, scheduler: str, percent: int = 0) -> pd.DataFrame:
    """Everything that a table reads of one plan; parameters as of `planner`.

    Returns
    -------
    DataFrame, columns quantity, item, value
        `item` is a text. Once, with no item: revenue, revenue_per_job, makespan [s], shared (jobs that run outside
        their tenant's share), and seconds_per_job [s], which depends on the machine. For each tenant: alpha. For each
        admitted job, in order of admission: ideal, cost. For each hour until the makespan: utilization.
    """
    _warm()
    make = planner(market, scheduler, percent)
    began = time.perf_counter()
    plan = make(market)
    seconds = time.perf_counter() - began
    once = {
        "revenue": total_revenue(plan),
        "revenue_per_job": revenue_per_job(plan),
        "makespan": makespan(plan) * SLOT,
        "shared": float(sum(s.is_shared for s in plan.schedules)),
        "seconds_per_job": seconds / len(market.jobs),
    }
    admitted = ideal_and_cost(plan)
    alpha, used = revenue_fairness(plan), utilization(plan)
    parts = [
        pd.DataFrame({"quantity": list(once), "item": "", "value": list(once.values())}),
        pd.DataFrame({"quantity": "alpha", "item": np.arange(len(alpha)).astype(str), "value": alpha}),
        *(pd.DataFrame({"quantity": q, "item": admitted["job_id"], "value": admitted[q]}) for q in ("ideal", "cost")),
        pd.DataFrame({"quantity": "utilization", "item": np.arange(1, len(used) + 1).astype(str), "value": used}),
    ]
    return pd.concat([part.astype({"item": object}) for part in parts if len(part)], ignore_index=True)


@cache
def _warm() -> None:
    """Load the compiled functions, so that the first plan of a process is not measured with them."""
    astraea_market(worked_example(), theta=EXAMPLE_THETA, rounds=EXAMPLE_ROUNDS)


def ratios(market: Market) -> pd.DataFrame:
    """What each of `SCHEDULERS` earns of what an offline optimum earns (Figs 5 and 6).

    The optimum may use every slot until the last job of those schedulers that share has ended. It is seconds of HiGHS
    for 15 jobs; where the time limit is over, the ratio is to a bound that no plan which ends by then exceeds, and is
    thus too small.

    Returns
    -------
    DataFrame, columns scheduler, ratio, is_exact
        `is_exact` where the optimum was found, not only a bound of it.
    """
    plans = {name: planner(market, name)(market) for name in SCHEDULERS}
    horizon = max(makespan(plan) for name, plan in plans.items() if name != "batch-sche")
    best = optimum(market, horizon=horizon, time_limit=TIME_LIMIT)
    ratio = [performance_ratio(plan, best.bound) for plan in plans.values()]
    return pd.DataFrame({"scheduler": list(plans), "ratio": ratio, "is_exact": best.plan is not None})
