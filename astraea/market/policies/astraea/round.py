"""The rounds of one interval: own shares first, then what is left for whoever pays (Algorithm 2, A_round)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.market.model import Market, Schedule
from astraea.market.policies.astraea.capacity import Theta, empty_round
from astraea.market.policies.astraea.empty_cluster import Demand
from astraea.market.policies.astraea.max_revenue import max_ideal_revenue


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
    ideal = {d.job: market.jobs.ideal(d.job, slots) for d in batch}
    out: list[Schedule] = []
    for i in range(rounds):
        begin = (rounds + i) * tau
        r = empty_round(market, slots, theta)
        own = max_ideal_revenue(r, [(d, ideal[d.job]) for d in batch], is_shared=False)
        done = {s.job for s, _ in own}
        paying = max_ideal_revenue(r, [(d, ideal[d.job]) for d in batch if d.job not in done], is_shared=True)
        unused = r.unused
        for s, cost in paying:
            income[:, market.jobs.tenant[s.job]] += division(unused[:, s.start : s.end], cost)
        done |= {s.job for s, _ in paying}
        out += [replace(s, start=begin + s.start, end=begin + s.end) for s, _ in own + paying]
        batch = [d for d in batch if d.job not in done]
        if not batch or not done:
            break
    return out, income


def division(unused: IntArray, cost: FloatArray) -> FloatArray:
    """Income of each tenant from one job, rho summed over slots: in proportion to what it left unused.

    One formula for both: with one type of worker and one of parameter server there are two types of resource (Eq. 2);
    with several, a job pays for its own types and nothing for the others (Eq. 11). c in Eq. 2 is the cost of slot t
    alone, as in the paper's example. Nobody left anything where the denominator a(t) is 0, and then nothing may cost
    anything.

    Parameters
    ----------
    unused : array of int, shape (types, slots, U)
        q^u minus what the tenant's own-share jobs use, at least 0.
    cost : array of float, shape (types, slots)
        What the job pays for all its units of a type in a slot.

    Returns
    -------
    array of float, shape (U,)
        Adds up to all that is paid.
    """
    total = unused.sum(axis=2)
    if ((total == 0) & (cost > 0)).any():
        raise ValueError("a job pays for resources in a slot in which no tenant left any unused")
    per_unit = cost / total.clip(1)
    return (unused * per_unit[:, :, None]).sum(axis=(0, 1))
