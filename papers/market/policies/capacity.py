"""Servers, quotas and posted prices (§4.4): what a job could have of an empty cluster, and what is left in a round."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from astraea.core.arrays import BoolArray, FloatArray, IntArray
from astraea.core.checks import number
from astraea.core.compilation import compiled
from papers.market.model import Market

NEVER: Final = 2**40
"""More slots than any round has."""

Table = npt.NDArray[np.int32]
"""Least value in slots t + 1, ..., t + 2**k of a column, shape (levels, slots, columns)."""

Theta = tuple[float, float]
"""Bases of the prices of workers and of parameter servers: theta - 1 is that of a unit when all of them are in use."""


class Demand(NamedTuple):
    """A job as Algorithm 3 sees it; arrays have an entry for 0, 1, ..., D_j workers, shape (D_j + 1,).

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
    """Compute a `Demand`; distributed, a server has all parameter servers and one worker less than fits (Alg. 4)."""
    jobs, most = market.jobs, int(market.jobs.chunks[job])
    fits, needed, fewest = _room(market, most)
    slots = np.full((2, most + 1), NEVER)
    slots[:, 1:] = np.where(fits, market.duration(job, np.arange(1, most + 1)).T, NEVER)
    shortest = int(slots.min())
    revenue = float(jobs.value(job, shortest))
    return Demand(job, int(jobs.tenant[job]), slots[0], slots[1], shortest, revenue, needed, fewest)


@lru_cache(maxsize=64)
def _room(market: Market, most: int) -> tuple[BoolArray, IntArray, IntArray]:
    """Return a mask of 1, ..., `most` workers that fit, distributed and centralized, (2, most); `needed`; `fewest`."""
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
    """Return the maximal prices at which no job would run, times `factor` (Fig 11).

    §4.4 asks for theta_w - 1 >= f_j / (worker slots of j) and theta_p - 1 >= f_j / (parameter-server slots of j), and
    both at least 1. The bound is over every placement that the empty cluster allows, with one parameter server, at the
    greatest revenue there is, that of a start with the round. `factor` scales theta - 1, the price itself.
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
    return 1.0 + factor * worker, 1.0 + factor * ps


def price(used: IntArray | int, total: int, theta: float) -> FloatArray:
    """Price of one unit for one slot, theta ** (used / total) - 1 (Eq. 8); `total` units on all servers."""
    return np.asarray(theta ** (np.asarray(used, np.float64) / max(total, 1)) - 1.0)


class Round(NamedTuple):
    """One round of D slots, of which nothing outlasts the end; of workers first, then of parameter servers.

    Columns 0 to U - 1 of `own` are what own-share jobs leave of each tenant's quota; column U is what is unused by all,
    a_w(t) and a_p(t).
    """

    free: tuple[Table, Table]  # C_sw - h_sw(t) and C_sp - h_sp(t), free on each server
    own: tuple[Table, Table]
    sums: FloatArray  # sums of eta_w and eta_p over the first t slots, shape (2, D + 1)
    prices: tuple[FloatArray, FloatArray]  # price at each number of units in use (Eq. 8)

    @property
    def everyone(self) -> int:
        """Column of what is unused by all."""
        return self.own[0].shape[2] - 1

    @property
    def unused(self) -> IntArray:
        """Workers and parameter servers that own-share jobs leave of each quota, shape (2, D, U)."""
        return np.stack([table[0, :, :-1] for table in self.own]).astype(np.int64)


def empty_round(market: Market, slots: int, theta: Theta) -> Round:
    """A round in which nothing runs yet."""

    def table(columns: IntArray) -> Table:
        return np.full((slots.bit_length(), slots, len(columns)), columns, np.int32)

    all_w, all_p = int(market.workers.sum()), int(market.ps.sum())
    return Round(
        free=(table(market.workers), table(market.ps)),
        own=(table(np.append(market.worker_quota, all_w)), table(np.append(market.ps_quota, all_p))),
        sums=np.zeros((2, slots + 1)),
        prices=(price(np.arange(all_w + 1), all_w, theta[0]), price(np.arange(all_p + 1), all_p, theta[1])),
    )


@compiled
def least(table: Table, a: int, b: int, column: int) -> int:
    """Least value of a column in slots a + 1, ..., b."""
    k = level(b - a)
    return min(table[k, a, column], table[k, b - (1 << k), column])


@compiled
def window(table: Table, a: int, b: int) -> IntArray:
    """Least value of every column in slots a + 1, ..., b."""
    k = level(b - a)
    out = np.zeros(table.shape[2], np.int64)
    for column in range(table.shape[2]):
        out[column] = min(table[k, a, column], table[k, b - (1 << k), column])
    return out


@compiled
def level(slots: int) -> int:
    """Greatest k with 2**k <= slots."""
    k = 0
    while 2 << k <= slots:
        k += 1
    return k


@compiled
def take(table: Table, a: int, b: int, column: int, amount: int) -> None:
    """Take from a column in slots a + 1, ..., b."""
    slots = table.shape[1]
    for t in range(a, b):
        table[0, t, column] -= amount
    for k in range(1, table.shape[0]):
        half = 1 << (k - 1)
        for t in range(max(a - 2 * half + 1, 0), min(b, slots - 2 * half + 1)):
            table[k, t, column] = min(table[k - 1, t, column], table[k - 1, t + half, column])


@compiled
def occupy(r: Round, a: int, b: int, tenant: int, workers: IntArray, ps: IntArray) -> None:
    """Give `workers` and `ps` on each server in slots a + 1, ..., b to a job of a tenant, or of all; post prices."""
    everyone = r.own[0].shape[2] - 1
    for k, units in enumerate((workers, ps)):
        amount = 0
        for s in range(len(units)):
            if units[s] > 0:
                take(r.free[k], a, b, s, units[s])
                amount += units[s]
        take(r.own[k], a, b, everyone, amount)
        if tenant != everyone:
            take(r.own[k], a, b, tenant, amount)
        total = r.prices[k].shape[0] - 1
        for t in range(a, r.own[k].shape[1]):
            r.sums[k, t + 1] = r.sums[k, t] + r.prices[k][total - r.own[k][0, t, everyone]]
