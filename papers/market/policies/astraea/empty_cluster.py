"""What a job could have if the cluster were empty: placements, durations, worth, and the prices that keep it out."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from astraea.core.arrays import BoolArray, IntArray
from astraea.core.checks import number
from astraea.core.errors import InputError
from papers.market.model import Market
from papers.market.policies.astraea.capacity import Theta

NEVER: Final = 2**40
"""More slots than any round has."""


class Demand(NamedTuple):
    """What Algorithm 3 has to know of a job; arrays have an entry for 0, 1, ..., D_j workers, shape (D_j + 1,).

    Times in slots are `NEVER` for 0 workers, and where not even the empty cluster can place so many.
    """

    job: int
    tenant: int
    distributed: IntArray  # time with distributed placement [slot]
    central: IntArray  # time with centralized placement [slot]
    shortest: int  # least of both [slot]
    revenue: float  # greatest revenue: f_j of the shortest time
    needed: IntArray  # fewest parameter servers for so many workers on other servers
    fewest: IntArray  # fewest parameter servers with so many workers, distributed, on any server of this cluster


def demand(market: Market, job: int) -> Demand:
    """Durations and parameter servers for each number of workers.

    Distributed, a server keeps all parameter servers and as many workers as it can but one, as in Algorithm 4.
    """
    jobs, most = market.jobs, int(market.jobs.chunks[job])
    fits, needed, fewest = _room(market, most)
    slots = np.full((2, most + 1), NEVER)
    slots[:, 1:] = np.where(fits, market.duration(job, np.arange(1, most + 1)).T, NEVER)
    shortest = int(slots.min())
    revenue = float(jobs.value(job, shortest))
    return Demand(job, int(jobs.tenant[job]), slots[0], slots[1], shortest, revenue, needed, fewest)


@lru_cache(maxsize=64)
def _room(market: Market, most: int) -> tuple[BoolArray, IntArray, IntArray]:
    """Whether 1, ..., `most` workers fit, distributed and centralized, shape (2, most), then `needed` and `fewest`."""
    workers = np.arange(1, most + 1)
    needed = market.ps_needed(most)
    near = np.minimum(workers[:, None] - 1, market.workers)
    others = market.workers.sum() - market.workers
    fits = (needed[workers[:, None] - near] <= market.ps) & (near + others >= workers[:, None])
    fits_whole = (market.workers >= workers[:, None]) & (market.ps >= 1)
    gang = np.arange(most + 1)
    fewest = needed[gang - np.clip(gang - 1, 0, int(market.workers.max()))]
    return np.array([fits.any(axis=1), fits_whole.any(axis=1)]), needed, fewest


def feasible_theta(market: Market, factor: float = 1.0) -> Theta:
    """Maximal prices at which no job would run, times `factor` (Fig 11).

    §4.4 asks for theta_w - 1 >= f_j / (worker slots of j) and theta_p - 1 >= f_j / (parameter-server slots of j), and
    both at least 1. The bound is taken over every placement that the empty cluster allows, at the greatest revenue
    there is, which is that of a start with the round, and with one parameter server. `factor` scales theta - 1, the
    price itself, so that an underestimate is still a price.
    """
    number(factor, "factor:", above=0, expected="above 0")
    worker = ps = 1.0
    for job in range(len(market.jobs)):
        d = demand(market, job)
        for durations in (d.distributed, d.central):
            workers = np.flatnonzero(durations < NEVER)
            slots = durations[workers]
            revenue = market.jobs.value(job, slots.astype(np.float64))
            worker = max(worker, float((revenue / (workers * slots)).max(initial=0.0)))
            ps = max(ps, float((revenue / slots).max(initial=0.0)))
    return Theta(1.0 + factor * worker, 1.0 + factor * ps)


def checked_theta(theta: tuple[float, float]) -> Theta:
    """Both above 1, or `InputError`."""
    if len(theta) != 2:
        raise InputError(f"theta must be two numbers, theta_w and theta_p, got {theta!r}")
    for name, value in zip(("theta_w", "theta_p"), theta, strict=True):
        number(value, f"{name}:", above=1, expected="above 1, so that what is in use has a price")
    return Theta(*theta)
