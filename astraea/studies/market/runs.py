"""The evaluation of [Wang2023] §5: which markets are sampled, who plans them, and what is measured of a plan.

Every market is drawn from one trace with D_j as requested (`workload`), by default 600 jobs of 14 tenants on 100
servers; a trial is a seed, which decides the stretch of the trace and all that is drawn. Astraea runs with lambda 1 and
theta 1.02: at the default point lambda 2 or theta 1.05 earns less, and a theta down to 1.001 the same. As written, with
Lemma 1's lambda and the theta of §4.4, every job starts after hundreds of slots. BatchSche has the same lambda and
theta.

Scales
------
small
    2 trials, some tens of jobs; a few seconds for all tables together.
paper
    The paper's 5 trials.
full
    As `paper`, with 20 trials.

[Wang2023] Wang et al., Online Scheduling of Distributed Machine Learning Jobs for Incentivizing Sharing in
Multi-Tenant Systems, IEEE Transactions on Computers 72(3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray
from astraea.core.errors import InputError
from astraea.experiments.parallel import parallel_map
from astraea.market.example import ROUNDS as EXAMPLE_ROUNDS
from astraea.market.example import THETA as EXAMPLE_THETA
from astraea.market.example import worked_example
from astraea.market.metrics import gains, ideal_and_cost, makespan, revenue_per_job, shares, total_revenue, utilization
from astraea.market.model import SLOT, Market, Utility
from astraea.market.policies.astraea.batches import astraea_market
from astraea.market.policies.astraea.prices import Theta, feasible_theta
from astraea.market.policies.batch_sche import batch_sche
from astraea.market.policies.gandiva_fair import gandiva_fair
from astraea.market.policies.hived import hived
from astraea.market.schedule import Plan
from astraea.market.workload import sample_market
from astraea.studies.ye2022.evaluation import SCALES, load_workload

THETA: Final = Theta(1.02, 1.02)
ROUNDS: Final = 1

SCHEDULERS: Final = ("astraea-market", "gandiva-fair", "hived", "batch-sche")
"""The four that §5 compares."""

LEMMA: Final = "astraea-market-lemma"
"""Astraea as written; at the default point only."""

LOADS: Final = ("moderate", "high")
"""Of Fig 11: the fewest and the most jobs of Fig 4."""


class MarketScale(NamedTuple):
    """How much is simulated.

    Attributes
    ----------
    trials : how many seeds
    jobs, servers : of Fig 4
    usual : number of jobs and of servers where they are not varied
    tenants : of Table 2
    percents : of Fig 11 [%]
    small_jobs, small_servers : of Figs 5 and 6
    instances : random markets for each property
    """

    trials: int
    jobs: tuple[int, ...]
    servers: tuple[int, ...]
    usual: tuple[int, int]
    tenants: tuple[int, ...]
    percents: tuple[int, ...]
    small_jobs: tuple[int, ...]
    small_servers: tuple[int, ...]
    instances: int


_PAPER: Final = MarketScale(5, (200, 400, 600, 800), (60, 100, 140), (600, 100), (5, 8, 11, 14),
                            (60, 80, 100, 120, 140), (5, 10, 15), (5, 25, 45), 1000)  # fmt: skip
MARKET_SCALES: Final[dict[str, MarketScale]] = {
    "small": MarketScale(2, (30, 60), (10, 20), (60, 20), (5, 14), (80, 100, 120), (3, 6), (2, 5), 40),
    "paper": _PAPER,
    "full": _PAPER._replace(trials=20, instances=5000),
}


class Cell(NamedTuple):
    """One plan: which market, and who makes it; `percent` scales the theta - 1 of §4.4 [%], 0 for `THETA`."""

    scheduler: str
    trial: int
    jobs: int
    servers: int
    tenants: int = 14
    utility: Utility = "linear"
    percent: int = 0


Row = dict[str, Any]
REVENUE_COLUMNS: Final = ("revenue", "revenue_per_job", "makespan", "shared", "seconds_per_job")

Measure = Callable[[Plan], list[Row]]


def market_scale(scale: str) -> MarketScale:
    """How much is simulated; `InputError` for a scale that does not exist."""
    if scale not in SCALES:
        raise InputError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")
    return MARKET_SCALES[scale]


def market_of(trace: str, scale: str, cell: Cell) -> Market:
    """Market of a cell, with D_j as requested."""
    return sample_market(
        load_workload(trace, scale)[0], jobs=cell.jobs, servers=cell.servers, tenants=cell.tenants,
        utility=cell.utility, seed=cell.trial, chunks="requested",
    )  # fmt: skip


def planned(market: Market, scheduler: str, percent: int = 0) -> Plan:
    """Plan of one of `SCHEDULERS` or of `LEMMA`."""
    theta = feasible_theta(market, percent / 100) if percent else THETA
    if scheduler == "astraea-market":
        return astraea_market(market, theta=theta, rounds=ROUNDS)
    if scheduler == "batch-sche":
        return batch_sche(market, theta=theta, rounds=ROUNDS)
    return {"gandiva-fair": gandiva_fair, "hived": hived, LEMMA: astraea_market}[scheduler](market)


def revenue_fairness_or_nan(plan: Plan) -> FloatArray:
    """`metrics.revenue_fairness`, NaN where there is no such ratio, shape (U,)."""
    total, share = total_revenue(plan), shares(plan)
    out = np.full(len(share), np.nan)
    return np.divide(gains(plan) / total, share, out=out, where=share > 0) if total > 0 else out


def tabulated(trace: str, scale: str, cells: Sequence[Cell], measure: Measure) -> pd.DataFrame:
    """Rows of all cells, with the cell's own columns."""
    found = parallel_map(_measured, [(trace, scale, cell, measure) for cell in cells])
    return pd.DataFrame([{**cell._asdict(), **row} for cell, rows in zip(cells, found, strict=True) for row in rows])


def _measured(trace: str, scale: str, cell: Cell, measure: Measure) -> list[Row]:
    _warm()
    return measure(planned(market_of(trace, scale, cell), cell.scheduler, cell.percent))


@cache
def _warm() -> None:
    """Load the compiled functions, so that the first plan of a process is not measured with them."""
    astraea_market(worked_example(), theta=EXAMPLE_THETA, rounds=EXAMPLE_ROUNDS)


def revenue(plan: Plan) -> list[Row]:
    """`REVENUE_COLUMNS` of a plan (Fig 4)."""
    shared = sum(s.is_shared for s in plan.schedules)
    seconds = plan.seconds / len(plan.market.jobs)
    values = (total_revenue(plan), revenue_per_job(plan), makespan(plan) * SLOT, shared, seconds)
    return [dict(zip(REVENUE_COLUMNS, values, strict=True))]


def alphas(plan: Plan) -> list[Row]:
    """Revenue fairness of each tenant (Fig 7)."""
    return [{"tenant": u, "alpha": float(a)} for u, a in enumerate(revenue_fairness_or_nan(plan))]


def admission(plan: Plan) -> list[Row]:
    """Ideal revenue and cost of each admitted job (Fig 12)."""
    columns = ("job_id", "ideal", "cost")
    return [dict(zip(columns, row, strict=True)) for row in ideal_and_cost(plan)[list(columns)].to_numpy()]


def use(plan: Plan) -> list[Row]:
    """Part of all workers in use in each hour (Fig 13)."""
    return [{"hour": t, "utilization": float(u)} for t, u in enumerate(utilization(plan), 1)]


def sensitivity(plan: Plan) -> list[Row]:
    """Revenue per job and the variance of revenue fairness (Table 2)."""
    alpha = revenue_fairness_or_nan(plan)
    known = alpha[np.isfinite(alpha)]
    variance = float(np.var(known)) if len(known) else float("nan")
    return [{"revenue_per_job": revenue_per_job(plan), "variance": variance}]
