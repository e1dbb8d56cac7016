"""Each job in turn takes the schedule of greatest income at the posted prices (Algorithm 3, A_maxIrev)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from astraea.core.arrays import FloatArray
from astraea.core.compilation import compiled
from astraea.market.model import NEARLY, Schedule
from astraea.market.policies.astraea.capacity import Round, least, occupy
from astraea.market.policies.astraea.empty_cluster import Demand
from astraea.market.policies.astraea.placement import NOWHERE, cost, min_cost_c, min_cost_d, spread


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
    for where the least it could cost leaves more than the best so far, and no start where not even a free schedule
    would.

    Parameters
    ----------
    whose : int
        Column of the quota that the job may use: its tenant's, or that of all.
    ideal : array of float, shape (D + 1,)
        f_j of each time since the beginning of the round.
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
            if income > best + margin and least(r.own[0], a, b, whose) >= workers:
                server, ps = min_cost_d(r, a, b, workers, least(r.own[1], a, b, whose), d.needed)
                if server != NOWHERE:
                    income = ideal[b] - cost(r, a, b, workers, ps)
                    if income > best + margin:
                        best = income
                        found = Choice(a, b, workers, ps, server, False, income)
    return found


def max_ideal_revenue(
    r: Round, jobs: Iterable[tuple[Demand, FloatArray]], is_shared: bool
) -> list[tuple[Schedule, FloatArray]]:
    """Jobs that are admitted, in the order given: by arrival, then by name.

    Parameters
    ----------
    jobs : iterable of (Demand, array of float, shape (D + 1,))
        Jobs and their ideal revenue at each time since the beginning of the round.
    is_shared : bool
        Whether jobs may use what all tenants leave unused, instead of their tenant's own share. With a_w(t) = 0,
        max{q - used, a_w(t)} of lines 4 and 8 is the own share; afterwards a_w(t) is never the smaller of the two.

    Returns
    -------
    list of (Schedule, array of float, shape (2, slots))
        Slots count from the beginning of the round. At the posted prices, workers and parameter servers cost so much in
        each slot; what lies within the own share is free (§3.2).
    """
    out = []
    for d, ideal in jobs:
        whose = r.everyone if is_shared else d.tenant
        c = best_schedule(r, whose, ideal, d)
        if c.server == NOWHERE:
            continue
        workers = spread(r, c.start, c.end, c.workers, c.server, c.is_central)
        ps = np.where(np.arange(len(workers)) == c.server, c.ps, 0)
        price = np.diff(r.sums[:, c.start : c.end + 1]) * [[c.workers], [c.ps]]
        occupy(r, c.start, c.end, whose, workers, ps)
        server = np.flatnonzero(workers + ps)
        paid = float(price.sum(axis=1).sum()) if is_shared else 0.0
        put = Schedule(d.job, c.start, c.end, server, workers[server], ps[server], paid, is_shared, float(ideal[c.end]))
        out.append((put, price))
    return out
