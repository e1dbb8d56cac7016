"""Batches at geometrically increasing times (Algorithm 1), and the rounds of one interval (Algorithm 2, A_round).

In a round, own shares come first, then what is left for whoever pays.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.checks import number, whole_number
from astraea.core.errors import InputError
from astraea.traces.columns import rank
from papers.market.model import NEARLY, Market, MarketPlan, Schedule, checked
from papers.market.policies.capacity import Demand, Theta, demand, empty_round, feasible_theta
from papers.market.policies.max_revenue import max_ideal_revenue

FAR: Final = 2**50
"""Latest time that is exact in a float and leaves room for a round [slot]."""


def rounds_needed(demands: Iterable[Demand], theta: Theta) -> int:
    """Return the number of rounds after which the rest is worth less than the cheapest job (lambda of Lemma 1).

    f of all jobs is the sum of their greatest revenues and f_min the least of them, of the jobs with any. sigma, the
    approximation ratio of A_maxIrev, is 2 (log theta_w + log theta_p) (Lemma 3), with natural logarithms, at least 1.
    """
    revenue = np.array([d.revenue for d in demands if d.revenue > 0])
    sigma = max(2.0 * (math.log(theta[0]) + math.log(theta[1])), 1.0)
    if sigma == 1.0 or len(revenue) == 0:
        return 1
    return math.ceil(math.log(revenue.sum() / revenue.min()) / -math.log1p(-1.0 / sigma)) + 1


def posted_prices(
    market: Market,
    *,
    theta: Theta | None = None,
    rounds: int | None = None,
    is_own_priced: bool = True,
) -> MarketPlan:
    """Plan a market by the paper's algorithm: schedules and payments.

    Interval l = 1, 2, ... takes the jobs that arrived by tau_l = 2**l and are still waiting, and runs those it admits
    in (lambda tau_l, lambda tau_(l+1)]. (§4.2 writes tau_l = 2**(l-1), but its tau_1 = 2 and its example are these.)
    Line 4 has both borders in an interval and would count a job twice; here it comes into the first that has it. A
    job that takes longer than tau_l waits for an interval with longer rounds. A job that is worth nothing even alone on
    the empty cluster is never admitted (Eq. 7) and has no schedule; every other has one in the end, since a round takes
    at least the first that fits into it. It may be worth less than nothing by then: admission is by ideal revenue.

    Parameters
    ----------
    theta : pair of float, optional
        theta_w and theta_p, above 1; by default `feasible_theta`.
    rounds : int, optional
        lambda; by default that of Lemma 1, which delays every job to at least 2 lambda.
    is_own_priced : bool
        If true, prices also decide which schedule a job takes within its tenant's own share, which it does not pay for
        (Algorithm 3). If false, it takes the one that ends first, and hardly any tenant loses by sharing (ours).

    Raises
    ------
    InputError
        If the market is not one, theta or lambda is too small, or jobs wait until times can no longer be counted. With
        linear utility a round of any length has room only for jobs that are worth something in its first slots. With
        few rounds a long queue then doubles the interval for every few jobs.
    """
    jobs = checked(market).jobs
    theta = feasible_theta(market) if theta is None else theta
    if len(theta) != 2:
        raise InputError(f"theta must be two numbers, theta_w and theta_p, got {theta!r}")
    for name, value in zip(("theta_w", "theta_p"), theta, strict=True):
        number(value, f"{name}:", above=1, expected="above 1, so that what is in use has a price")
    demands = [demand(market, job) for job in range(len(jobs))]
    lam = whole_number(rounds_needed(demands, theta) if rounds is None else rounds, "rounds: lambda", 1)
    order = np.lexsort((rank(np.array(jobs.job_id, dtype=object)), jobs.arrival))
    # more than rounding between its greatest revenue and nothing
    left = [demands[j] for j in order if demands[j].revenue > 2 * NEARLY * abs(jobs.value(j, 1.0))]
    schedules: list[Schedule] = []
    income = np.zeros((len(market.worker_quota), len(market.worker_quota)))
    tau = 1
    while left:
        tau *= 2
        if 2 * lam * tau > FAR:
            raise InputError(
                f"market {market.name!r}: {FAR} slots are too short for {lam} rounds an interval; {len(left)} jobs, "
                f"{jobs.job_id[left[0].job]!r} the first, are left for ({lam * tau}, {2 * lam * tau}]"
            )
        batch = [d for d in left if jobs.arrival[d.job] <= tau]
        admitted, paid = schedule_batch(market, batch, tau, lam, theta, is_own_priced)
        schedules += admitted
        income += paid
        done = {s.job for s in admitted}
        left = [d for d in left if d.job not in done]
    return MarketPlan(market, tuple(schedules), income)


def schedule_batch(
    market: Market, batch: list[Demand], tau: int, rounds: int, theta: Theta, is_own_priced: bool = True
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
        own = max_ideal_revenue(r, [(d, ideal[d.job]) for d in batch], is_shared=False, is_priced=is_own_priced)
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
    alone, as in the paper's example.

    `unused`, shape (types, slots, U), is q^u minus what the tenant's own-share jobs use, at least 0. `cost`, shape
    (types, slots), is what the job pays for all its units of a type in a slot. The income, shape (U,), adds up to it.
    """
    total = unused.sum(axis=2)
    if ((total == 0) & (cost > 0)).any():
        raise ValueError("a job pays for resources in a slot in which no tenant left any unused")
    per_unit = cost / total.clip(1)
    return (unused * per_unit[:, :, None]).sum(axis=(0, 1))
