"""AlloX: shortest jobs first by min-cost matching, within the tenants that are behind (Le et al., EuroSys 2020).

At each round only the part alpha of the tenants that has made the least progress is eligible. Their jobs are matched
to (slot, position from the end) at the cost position × estimated GPU-time, so that the matching of minimum cost has
the least sum of estimated completion times; the jobs that stand first in their slots start ([Ye2022] §6.1.5).

Departures: on equal GPUs the matching splits by demand, into slots of the gang's size, and its minimum is known
without a solver: the longest jobs stand last (`plan`). A gang that does not fit is passed over, as there are no gangs
in the original; alpha keeps a tenant from starving, nothing keeps a large gang from being overtaken while small jobs
come without end. GPUs that the eligible tenants leave go to the jobs of the others, planned likewise; the original
lets them idle. Progress is attained GPU-time over quota. Leases: a running job stays until its lease ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from astraea.cluster.engine.state import AT_EVENTS, F, I, View
from astraea.cluster.policy import (
    attained_by_tenant,
    candidates,
    fits,
    grant,
    level,
    policy,
    remaining_service,
    some_job_fits,
    unpack,
)
from astraea.core.compilation import inlined


class Parameters(NamedTuple):
    """Parameters of AlloX.

    lease_term : s, length of a lease
    alpha : part of the tenants with jobs in the queue that is eligible, those with the least progress; at least one is
    """

    lease_term: float = 900.0
    alpha: float = 0.3


# After a round nothing that waits fits, so only an event can change the answer.
@policy("allox", Parameters, needs_estimates=True, revisit=lambda _: AT_EVENTS, at_most={"alpha": 1})
def allox(s: View) -> None:
    """AlloX with fairness (Le et al., EuroSys 2020; [Ye2022] §6.1.5)."""
    if not some_job_fits(s):
        return
    p = unpack(Parameters, s.parameters)
    tenants = by_progress(s)
    eligible = max(1, int(np.ceil(p.alpha * len(tenants) - 1e-9)))  # 0.1 × 30 is 3, whatever floats make of it
    start_shortest(s, tenants[:eligible])
    if some_job_fits(s):
        start_shortest(s, tenants[eligible:])


@inlined
def by_progress(s: View) -> I:
    """Tenants with candidates, the one with the least progress first."""
    tenants = np.array([t for t in range(len(s.tenant)) if len(candidates(s, t)) > 0])
    progress = np.array([level(attained_by_tenant(s, t, 0.0) / s.tenant[t].quota) for t in tenants])
    return tenants[np.argsort(progress, kind="mergesort")]


@inlined
def start_shortest(s: View, tenants: I) -> None:
    """Match the candidates of some tenants to slots, and start those that stand first while they fit."""
    # a demand above what is free has a matching of its own, of which nothing can start
    jobs = np.array([j for t in tenants for j in candidates(s, t) if fits(s, j)], np.int64)
    jobs.sort()  # of equals, the first submitted
    cost = np.empty(len(jobs))
    demand = np.empty(len(jobs), np.int64)
    for k, j in enumerate(jobs):
        demand[k] = s.job[j].demand
        cost[k] = level(demand[k] * remaining_service(s, j))
    for k in plan(cost, demand, s.clock[0].free)[1]:
        if fits(s, jobs[k]):
            grant(s, jobs[k])


@inlined
def plan(cost: F, demand: I, free: int) -> tuple[I, I]:
    """Match jobs to (slot, position from the end) at the least sum of position × cost.

    Parameters
    ----------
    cost : array of float, shape (n,)
        Estimated GPU-time of each job [GPU-s].
    demand : array of int, shape (n,)
        Size of its gang [GPU]; its slots are the `free // demand` places for gangs of this size, at least one.
    free : int
        GPUs to give [GPU].

    Returns
    -------
    position : array of int, shape (n,)
        1 is last in its slot. A slot of each demand holds every position up to its length once.
    first : array of int
        The jobs that stand first in their slots, by increasing cost, then index.
    """
    jobs = np.bincount(demand, minlength=1)  # of each demand
    shorter = np.zeros(len(jobs), np.int64)  # of each demand, those passed so far
    position = np.empty(len(cost), np.int64)
    first = np.empty(len(cost), np.int64)
    n_first = 0
    for k in np.argsort(cost, kind="mergesort"):
        d = demand[k]
        slots = max(1, free // d)
        # the longest of each demand are last, one per slot, the next longest stand before them, and so on
        position[k] = (jobs[d] - 1 - shorter[d]) // slots + 1
        if shorter[d] < slots:
            first[n_first] = k
            n_first += 1
        shorter[d] += 1
    return position, first[:n_first]
