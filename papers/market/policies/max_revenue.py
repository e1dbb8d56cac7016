"""Each job in turn takes the schedule of greatest income at the posted prices (Algorithm 3, A_maxIrev); compiled.

A schedule has the cheapest placement for its start and number of workers (Algorithms 4 and 5). Given both, the price of
the workers is settled; the fewest parameter servers and the places of everything are left to choose. Among servers that
serve equally well, where the pseudo-code leaves a choice, the one with fewest free workers is taken, then the first.
Line 16 of Algorithm 4 does so to keep whole servers free; no number of the worked example depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.compilation import compiled
from papers.market.model import NEARLY, Schedule
from papers.market.policies.capacity import Demand, Round, least, occupy, window

NOWHERE = -1


class Choice(NamedTuple):
    """Slots start + 1 to end of the round, `workers` in all, `ps` on `server`; `server` is `NOWHERE` if rejected."""

    start: int
    end: int
    workers: int
    ps: int
    server: int
    is_central: bool
    income: float


@compiled
def best_schedule(r: Round, whose: int, ideal: FloatArray, d: Demand) -> Choice:
    """Schedule with the greatest ideal revenue minus cost of one job (Algorithm 3, lines 3-13).

    Among equals the earliest start, then the fewest workers, then centralized placement. Two incomes are equal if they
    differ by less than 1e-9 of the revenue after one slot, so that rounding decides nothing. A placement is only looked
    for where the least it could cost leaves more than the best so far.

    `whose` is the column of the quota that the job may use, its tenant's or that of all; `ideal`, shape (D + 1,), f_j
    of each time since the beginning of the round.
    """
    slots = ideal.shape[0] - 1
    margin = NEARLY * abs(ideal[1])
    best = 0.0
    found = Choice(0, 0, 0, 0, NOWHERE, False, 0.0)
    for a in range(slots - d.shortest + 1):
        if ideal[a + d.shortest] <= best + margin:
            break
        for workers in range(1, d.central.shape[0]):
            b = a + d.central[workers]
            # too many workers for one server may do distributed
            income = ideal[b] - cost(r, a, b, workers, 1) if b <= slots else best
            if income > best + margin and least(r.own[0], a, b, whose) >= workers and least(r.own[1], a, b, whose) >= 1:
                server = min_cost_c(r, a, b, workers)
                if server != NOWHERE:
                    best = income
                    found = Choice(a, b, workers, 1, server, True, income)
            b = a + d.distributed[workers]
            if b > slots:
                continue
            income = ideal[b] - cost(r, a, b, workers, d.fewest[workers])
            own_ps = least(r.own[1], a, b, whose)
            if income > best + margin and least(r.own[0], a, b, whose) >= workers and own_ps >= d.fewest[workers]:
                server, ps = min_cost_d(r, a, b, workers, own_ps, d.needed)
                if server != NOWHERE:
                    income = ideal[b] - cost(r, a, b, workers, ps)
                    if income > best + margin:
                        best = income
                        found = Choice(a, b, workers, ps, server, False, income)
    return found


def max_ideal_revenue(
    r: Round, jobs: Iterable[tuple[Demand, FloatArray]], is_shared: bool, is_priced: bool = True
) -> list[tuple[Schedule, FloatArray]]:
    """Jobs that are admitted, in the order given: by arrival, then by name.

    Each job comes with its ideal revenue at each time since the beginning of the round, shape (D + 1,). It leaves with
    its schedule, in slots since then, and the cost of workers and parameter servers in each slot at the posted prices,
    shape (2, slots). Resources within the tenant's share are free (§3.2).

    With `is_shared` jobs may use what all tenants leave unused, instead of their tenant's own share. With a_w(t) = 0,
    max{q - used, a_w(t)} of lines 4 and 8 is the tenant's share; afterwards a_w(t) is never the smaller of the two.
    Without `is_priced` the choice among schedules goes by ideal revenue alone, not by the posted prices.
    """
    seen = r if is_priced else r._replace(sums=np.zeros_like(r.sums))
    out = []
    for d, ideal in jobs:
        whose = r.everyone if is_shared else d.tenant
        c = best_schedule(seen, whose, ideal, d)
        if c.server == NOWHERE:
            continue
        workers = spread(r, c.start, c.end, c.workers, c.server, c.is_central)
        ps = np.zeros_like(workers)
        ps[c.server] = c.ps
        price = np.diff(r.sums[:, c.start : c.end + 1]) * [[c.workers], [c.ps]]
        occupy(r, c.start, c.end, whose, workers, ps)
        server = np.flatnonzero(workers + ps)
        paid = float(price.sum(axis=1).sum()) if is_shared else 0.0
        put = Schedule(d.job, c.start, c.end, server, workers[server], ps[server], paid, is_shared, float(ideal[c.end]))
        out.append((put, price))
    return out


@compiled
def cost(r: Round, a: int, b: int, workers: int, ps: int) -> float:
    """Return the cost of workers and parameter servers in slots a + 1, ..., b at the posted prices (10).

    Algorithm 5, line 12, charges the price of the first slot for all of them; it is meant for constant prices.
    """
    return workers * (r.sums[0, b] - r.sums[0, a]) + ps * (r.sums[1, b] - r.sums[1, a])


@compiled
def min_cost_d(r: Round, a: int, b: int, workers: int, own_ps: int, needed: IntArray) -> tuple[int, int]:
    """Server for the parameter servers under distributed placement, and how many (Algorithm 4, lines 7-15).

    Line 8 takes what parameter servers a server has left where that is fewer than (3i) needs, and line 10 would even
    prefer it; here such a server does not qualify. The tenant may use `own_ps` in all these slots.
    """
    free, free_ps = window(r.free[0], a, b), window(r.free[1], a, b)
    total = 0
    for s in range(free.shape[0]):
        total += free[s]
    best, fewest, tightest = NOWHERE, own_ps + 1, 0
    for s in range(free.shape[0]):
        if free_ps[s] == 0:
            continue
        near = min(workers - 1, free[s])
        ps = needed[workers - near]
        if ps > free_ps[s] or near + total - free[s] < workers:
            continue
        if ps < fewest or (ps == fewest and best != NOWHERE and free[s] < tightest):
            best, fewest, tightest = s, ps, free[s]
    return best, fewest


@compiled
def min_cost_c(r: Round, a: int, b: int, workers: int) -> int:
    """Server for all workers and one parameter server, or `NOWHERE` (Algorithm 5, lines 7-11)."""
    free, free_ps = window(r.free[0], a, b), window(r.free[1], a, b)
    best = NOWHERE
    for s in range(free.shape[0]):
        if free[s] >= workers and free_ps[s] >= 1 and (best == NOWHERE or free[s] < free[best]):
            best = s
    return best


@compiled
def spread(r: Round, a: int, b: int, workers: int, server: int, is_central: bool) -> IntArray:
    """Workers on each server; the rest where fewest are free, so that whole servers stay free (lines 16-20)."""
    free = window(r.free[0], a, b)
    out = np.zeros(free.shape[0], np.int64)
    out[server] = workers if is_central else min(workers - 1, free[server])
    rest = workers - out[server]
    while rest > 0:
        fullest = NOWHERE
        for s in range(free.shape[0]):
            is_left = s != server and out[s] == 0 and free[s] > 0
            if is_left and (fullest == NOWHERE or free[s] < free[fullest]):
                fullest = s
        if fullest == NOWHERE:
            break
        out[fullest] = min(free[fullest], rest)
        rest -= out[fullest]
    return out
