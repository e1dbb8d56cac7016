"""The rounds of one interval: own shares first, then what is left for whoever pays (Algorithm 2, A_round)."""

from __future__ import annotations

import numpy as np

from astraea.core.arrays import FloatArray
from astraea.market.model import Market
from astraea.market.policies.astraea.capacity import empty_round
from astraea.market.policies.astraea.income import division
from astraea.market.policies.astraea.max_revenue import Admitted, Demand, max_ideal_revenue
from astraea.market.policies.astraea.prices import Theta
from astraea.market.schedule import Schedule


def schedule_batch(
    market: Market, batch: list[Demand], tau: int, rounds: int, theta: Theta
) -> tuple[list[Schedule], FloatArray]:
    """Schedules in (rounds * tau, 2 rounds * tau] and what each tenant earns from each, shape (U, U).

    Round i has the slots ((rounds + i - 1) tau, (rounds + i) tau], as in Algorithm 2, line 4; the input line of
    Algorithm 3 counts them differently. Nothing outlasts its round, so that each begins with all resources. The unused
    shares of Eq. 2 are those of line 4, after the own-share jobs and before the first that pays: they are never
    negative and add up to a(t), and so a job's payments go out completely. A round that admits nobody is the last: the
    next would be the same. Slots of a round in which no job of the batch is worth anything any more are left out.
    """
    tenants = len(market.worker_quota)
    income = np.zeros((tenants, tenants))
    batch = [d for d in batch if d.shortest <= tau]
    if not batch:
        return [], income
    slots = int(min(tau, max(market.jobs.lifetime[d.job] for d in batch)))
    ideal = {d.job: _ideal(market, d.job, slots) for d in batch}
    out: list[Schedule] = []
    for i in range(rounds):
        begin = (rounds + i) * tau
        left = [(d, ideal[d.job]) for d in batch]
        r = empty_round(market, slots, theta)
        own = max_ideal_revenue(r, left, is_shared=False)
        done = {a.demand.job for a in own}
        paying = max_ideal_revenue(r, [(d, f) for d, f in left if d.job not in done], is_shared=True)
        for a in paying:
            span = slice(a.choice.start, a.choice.end)
            unused = np.stack([r.own_workers[0, span, :tenants], r.own_ps[0, span, :tenants]]).astype(np.int64)
            income[:, a.demand.tenant] += division(unused, a.cost)
        done |= {a.demand.job for a in paying}
        out += [_schedule(a, begin, ideal, is_shared=False) for a in own]
        out += [_schedule(a, begin, ideal, is_shared=True) for a in paying]
        batch = [d for d in batch if d.job not in done]
        if not batch or not done:
            break
    return out, income


def _ideal(market: Market, job: int, slots: int) -> FloatArray:
    """f_j of 0, 1, ..., `slots` since the beginning of a round; entry 0 is not used."""
    f = np.zeros(slots + 1)
    f[1:] = market.jobs.value(job, np.arange(1.0, slots + 1))
    return f


def _schedule(a: Admitted, begin: int, ideal: dict[int, FloatArray], *, is_shared: bool) -> Schedule:
    """The same in slots since time 0; what lies within the own share costs nothing (§3.2)."""
    server = np.flatnonzero((a.workers > 0) | (np.arange(len(a.workers)) == a.choice.server))
    worker_cost, ps_cost = a.cost.sum(axis=1) if is_shared else (0.0, 0.0)
    return Schedule(
        job=a.demand.job,
        start=begin + a.choice.start,
        end=begin + a.choice.end,
        server=server,
        workers=a.workers[server],
        ps=np.where(server == a.choice.server, a.choice.ps, 0),
        worker_cost=float(worker_cost),
        ps_cost=float(ps_cost),
        is_shared=is_shared,
        ideal=float(ideal[a.demand.job][a.choice.end]),
    )
