"""The two numbers that [Wang2023] leaves open, theta and lambda, and what they make of a market.

§4.4 wants theta so high that nobody can pay when everything is in use, Lemma 1 has a lambda for which the guarantee is
proven; the paper's own example has neither. One market of `JOBS` jobs is enough to see what hangs on them.
"""

from __future__ import annotations

from itertools import product
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray
from papers.market.metrics import revenue_fairness, total_revenue, utilization
from papers.market.model import Market, Plan
from papers.market.policies.astraea.batches import astraea_market
from papers.market.policies.astraea.capacity import Theta
from papers.market.study.runs import LEMMA, planner
from papers.market.study.tables import market_of

JOBS: Final = 150
SERVERS: Final = 25
TRIALS: Final = 3

PRICES: Final = (0.02, 1.0, 3.0, 15.0, 63.0, 255.0)
"""theta - 1, the maximal price."""

TRIED_ROUNDS: Final = (1, 2, 4, 8)
"""lambda."""

AS_WRITTEN: Final = 0
"""In the place of lambda: that of Lemma 1, with the theta of §4.4."""


class Point(NamedTuple):
    """A theta and a lambda."""

    theta: float
    rounds: int


EXAMPLE: Final = Point(16.0, 2)
"""Of the paper's worked example."""

HERE: Final = Point(2.0, 1)
"""Of the figures (`runs.THETA`, `runs.ROUNDS`)."""


class Choice(NamedTuple):
    """What came of one theta and one lambda."""

    revenue: float
    alpha: FloatArray  # revenue fairness of each tenant; NaN if the total revenue is not above 0
    admitted: int  # jobs
    used: FloatArray  # part of all workers, in each hour


def market(trace: str = "philly", scale: str = "paper", trial: int = 0) -> Market:
    """A market that is planned in a fiftieth of a second: `JOBS` jobs of 14 tenants on `SERVERS` servers."""
    return market_of(trace, scale, trial, JOBS, SERVERS)


def choose(of: Market, theta: float, rounds: int, hours: int = 1000) -> Choice:
    """Plan a market with one theta for workers and parameter servers, and one lambda; use is noted for `hours`."""
    plan = astraea_market(of, theta=Theta(theta, theta), rounds=rounds)
    return Choice(total_revenue(plan), revenue_fairness(plan), len(plan.schedules), utilization(plan, hours))


def table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Every theta with every lambda, the algorithm as written, and Gandiva_fair, which has neither.

    Returns
    -------
    DataFrame, columns scheduler, theta, rounds, trial, revenue, variance
        `variance` of revenue fairness over tenants, NaN where total revenue is not above 0.
    """
    rows = []

    def add(scheduler: str, theta: float, rounds: float, trial: int, plan: Plan) -> None:
        rows.append((scheduler, theta, rounds, trial, total_revenue(plan), float(np.var(revenue_fairness(plan)))))

    for trial in range(TRIALS):
        mine = market(trace, scale, trial)
        for price, rounds in product(PRICES, TRIED_ROUNDS):
            theta = 1.0 + price
            plan = astraea_market(mine, theta=Theta(theta, theta), rounds=rounds)
            add("astraea-market", theta, rounds, trial, plan)
        add(LEMMA, np.nan, AS_WRITTEN, trial, planner(mine, LEMMA)(mine))
        add("gandiva-fair", np.nan, np.nan, trial, planner(mine, "gandiva-fair")(mine))
    return pd.DataFrame(rows, columns=["scheduler", "theta", "rounds", "trial", "revenue", "variance"])
