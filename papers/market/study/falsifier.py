"""The smallest markets that reverse [Wang2023] Figs 5 and 8.

Fig 8 compares the variance of revenue fairness (`metrics.revenue_fairness`) over tenants. Random small markets are
planned by Astraea, with the theta and lambda of `runs`, and by a rival. Where the rival's variance is strictly lower,
the market is shrunk for as long as it stays so. In Fig 5 the rival is the optimum, and what is compared the part of its
revenue that is missed, with the part that the paper allows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.experiments.grid import Grid
from papers.market.metrics import makespan, revenue_fairness, total_revenue
from papers.market.model import Market, MarketPlan
from papers.market.optimum import optimum
from papers.market.study.example import small_market
from papers.market.study.properties import ARRIVAL, in_words
from papers.market.study.runs import SCHEDULERS, planner
from papers.shrinking import reversal_grid, reversal_table

OURS: Final = SCHEDULERS[0]
OPTIMUM: Final = "optimum"

ALLOWED: Final = 0.4
"""Part of the optimum's revenue that may be missed: [Wang2023] §5.2 says that more than 0.6 is earned."""

FIG8: Final = "the market: variance of revenue fairness"
RIVALS: Final = {
    "gandiva-fair": FIG8, "hived": FIG8, OPTIMUM: "the market: part of the optimum's revenue that is missed",
}  # fmt: skip
"""The ordering of each rival."""

SEARCHED: Final = {"small": (20, 1), "paper": (200, 1)}
"""Random markets for each rival, and how many of those that reverse the ordering are shrunk."""


class Job(NamedTuple):
    """A job from slot `ARRIVAL` on: its tenant, epochs and chunks, and its worth, `height` - `fall` t."""

    tenant: int
    epochs: int
    chunks: int
    fall: int
    height: int


class Jobs(NamedTuple):
    """A market in which each tenant has a server of two workers and a parameter server."""

    tenants: int
    jobs: tuple[Job, ...]

    @property
    def size(self) -> tuple[int, ...]:
        """Measures of size in order of importance: jobs, tenants, then the sums of all numbers."""
        return len(self.jobs), self.tenants, *(sum(job[k] for job in self.jobs) for k in range(5))

    @property
    def market(self) -> Market:
        """The same for a planner."""
        tenant, epochs, chunks, fall, height = np.array(self.jobs).T
        return small_market(
            "example", [2] * self.tenants, [1] * self.tenants, [(2, 1)] * self.tenants,
            tenant=tenant, epochs=epochs, chunks=chunks, slope=-fall.astype(float), height=height.astype(float),
            arrival=ARRIVAL,
        )  # fmt: skip

    @property
    def text(self) -> str:
        """The market in words."""
        return ": ".join(in_words(self.market))


def random_jobs(seed: int) -> Jobs:
    """Two or three tenants with two to five jobs."""
    rng = np.random.default_rng([seed])
    tenants, n = int(rng.integers(2, 4)), int(rng.integers(2, 6))
    columns = (
        rng.integers(0, tenants, n), rng.integers(1, 4, n), rng.integers(1, 4, n), rng.choice([1, 2, 4], n),
        rng.choice([20, 60, 100], n),
    )  # fmt: skip
    return Jobs(tenants, tuple(Job(*row) for row in np.array(columns).T.tolist()))


def smaller(m: Jobs) -> Iterator[Jobs]:
    """Markets of less `size`: without a job, or the last tenant and its jobs, or with one number of a job lower."""
    for k in range(len(m.jobs)):
        yield m._replace(jobs=m.jobs[:k] + m.jobs[k + 1 :])
    yield Jobs(m.tenants - 1, tuple(job for job in m.jobs if job.tenant < m.tenants - 1))
    values = {"tenant": range(3), "epochs": (1, 2), "chunks": (1, 2), "fall": (1, 2), "height": (20, 60)}
    for k, job in enumerate(m.jobs):
        for field, lower in values.items():
            for value in lower:
                if value < getattr(job, field):
                    yield m._replace(jobs=(*m.jobs[:k], job._replace(**{field: value}), *m.jobs[k + 1 :]))


@lru_cache(maxsize=1 << 16)
def spread(m: Jobs, scheduler: str) -> float:
    """Return the variance of revenue fairness over tenants; NaN without two tenants, a job or any revenue."""
    if m.tenants < 2 or not m.jobs:
        return float("nan")
    market = m.market
    return float(revenue_fairness(planner(market, scheduler)(market)).var())


@lru_cache(maxsize=1 << 16)
def missed(m: Jobs) -> float:
    """Return the part of the optimum's revenue that the market misses; NaN without two tenants or any revenue."""
    best = best_plan(m) if m.tenants > 1 and m.jobs else None
    if best is None or total_revenue(best) <= 0:
        return float("nan")
    return 1 - total_revenue(planner(m.market, OURS)(m.market)) / total_revenue(best)


def best_plan(m: Jobs) -> MarketPlan | None:
    """Return the optimum of the slots until the market's last job ends; None if no servers were found for it."""
    ours = planner(m.market, OURS)(m.market)
    return optimum(m.market, horizon=makespan(ours), known=total_revenue(ours))[1]


def values(rival: str, m: Jobs) -> tuple[float, float]:
    """Return what is compared, lower is better: the market's value, and that of a rival."""
    return (missed(m), ALLOWED) if rival == OPTIMUM else (spread(m, OURS), spread(m, rival))


def reversals(rival: str, instances: int, starts: int) -> pd.DataFrame:
    """Search the markets of seeds 0 to `instances` - 1; the row is as of `reversal_table`."""
    drawn = [random_jobs(seed) for seed in range(instances)]
    return reversal_table(drawn, partial(values, rival), smaller, starts)


def instance_of(row: Any) -> Jobs:
    """The market of a row of `reversals`."""
    tenants, jobs = json.loads(row.instance)
    return Jobs(tenants, tuple(Job(*job) for job in jobs))


def falsifier_grid(scale: str = "paper") -> Grid:
    """The search of each rival; columns ordering, rival."""
    return reversal_grid(reversals, RIVALS, SEARCHED, scale)
