"""The four schedulers of [Wang2023] §5, called by name, and their distance from the optimum."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import pandas as pd

from astraea.core.checks import one_of
from papers.market.metrics import makespan, total_revenue
from papers.market.model import Market, MarketPlan
from papers.market.optimum import optimum
from papers.market.policies.batch_sche import batch_sche
from papers.market.policies.batches import posted_prices
from papers.market.policies.capacity import Theta, feasible_theta
from papers.market.policies.fair import gandiva_fair, hived

OURS: Final = "astraea-market"
SCHEDULERS: Final = (OURS, "gandiva-fair", "hived", "batch-sche")
"""The market and its rivals."""

TIME_LIMIT: Final = 3600.0
"""Time limit of an optimum [s]; no market of the figures takes a minute, so a busy machine changes no result."""


def simulate(market: Market, scheduler: str, *, theta: Theta | None = None, rounds: int | None = 1) -> MarketPlan:
    """Plan a market with one of `SCHEDULERS`.

    Parameters
    ----------
    theta : pair of float, optional
        theta_w and theta_p of the market and of BatchSche; by default those of §4.4, `feasible_theta`.
    rounds : int or None, optional
        lambda of both, the rounds of an interval; None for that of Lemma 1. §5 does not say its lambda. With Lemma 1's
        a job starts after hundreds of slots, so it is 1 here.
    """
    if scheduler in (OURS, "batch-sche"):
        theta = feasible_theta(market) if theta is None else theta
    planners: dict[str, Callable[[Market], MarketPlan]] = {
        OURS: partial(posted_prices, theta=theta, rounds=rounds),
        "batch-sche": partial(batch_sche, theta=theta, rounds=rounds),
        "gandiva-fair": gandiva_fair,
        "hived": hived,
    }
    return planners[one_of(scheduler, SCHEDULERS, "scheduler")](market)


def ratios(market: Market, *, theta: Theta | None = None, rounds: int | None = 1) -> pd.DataFrame:
    """Return each scheduler's revenue over that of an offline optimum (Figs 5 and 6): scheduler, ratio, is_exact.

    `theta` and `rounds` are those of `simulate`. The optimum may use every slot until the last job of the schedulers
    that share has ended. Where the time limit is over, the ratio is to a bound, and thus too small, and not `is_exact`.
    """
    plans = {name: simulate(market, name, theta=theta, rounds=rounds) for name in SCHEDULERS}
    sharing = [plan for name, plan in plans.items() if name != "batch-sche"]
    horizon, known = max(map(makespan, sharing)), max(map(total_revenue, sharing))
    bound, plan = optimum(market, horizon=horizon, time_limit=TIME_LIMIT, known=known)
    ratio = [total_revenue(theirs) / bound for theirs in plans.values()]
    return pd.DataFrame({"scheduler": list(plans), "ratio": ratio, "is_exact": plan is not None})
