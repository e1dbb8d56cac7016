"""HiveD in the market of [Wang2023] §5.1: virtual private clusters, and idle cells for who wants more.

A tenant's quota is its virtual private cluster. A gang within it is guaranteed: it goes to the fewest servers, the
fullest one that holds it whole if there is any (affinity, as buddy cells have it), and which servers these are is
decided when it starts. Other gangs are opportunistic: they get whole idle servers (cells), as many as other tenants
have no use for.

[Zhao2020] takes an opportunistic job off its cells when their owner asks for them. Jobs of this market are never
preempted; instead a tenant lends nothing while a job waits that could run in its virtual private cluster.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from astraea.core.arrays import BoolArray, IntArray
from astraea.market.model import Market, Plan, Schedule, checked
from astraea.market.policies.list_scheduling import State, dispatch, empty_cluster, first_that_fits, place


def hived(market: Market) -> Plan:
    """Run every job; within a tenant first come first served, smaller gangs going ahead where larger do not fit.

    Opportunistic jobs are `is_shared`; nothing is paid.
    """
    alone = empty_cluster(checked(market))
    fits = np.array([_guaranteed(alone, job) is not None for job in range(len(market.jobs))])
    return dispatch(market, "hived", partial(_choose, fits))


def _choose(fits: BoolArray, state: State) -> Schedule | None:
    """Guaranteed jobs, then opportunistic ones; `fits` says which would start in an empty virtual private cluster."""
    tenants = range(len(state.waiting))
    for tenant in tenants:
        if start := first_that_fits(state, tenant, partial(_guaranteed, state)):
            return start
    needs_own = np.array([any(fits[job] for job in queue) for queue in state.waiting])
    for tenant in (tenant for tenant in tenants if state.waiting[tenant]):
        # its own spare part counts: it waits because that alone does not do
        lends = ~needs_own | (np.arange(len(tenants)) == tenant)
        if start := _opportunistic(state, tenant, lends):
            return start
    return None


def _guaranteed(state: State, job: int) -> Schedule | None:
    """Within the tenant's virtual private cluster."""
    tenant = state.market.jobs.tenant[job]
    return _fewest_servers(state, job, state.free, (state.quota - state.used[:, 0])[:, tenant], is_shared=False)


def _opportunistic(state: State, tenant: int, lends: BoolArray) -> Schedule | None:
    """On whole idle servers, as many as tenants that lend have no use for."""
    idle = (state.free == (state.market.workers, state.market.ps)).all(axis=0)
    most = (state.quota - state.used[:, 0])[:, lends].sum(axis=1) - state.used[:, 1].sum(axis=1)
    free = np.where(idle, state.free, 0)
    return first_that_fits(state, tenant, lambda job: _fewest_servers(state, job, free, most, is_shared=True))


def _fewest_servers(state: State, job: int, free: IntArray, most: IntArray, *, is_shared: bool) -> Schedule | None:
    """The fullest server that holds the gang whole, or else the emptiest servers; no more than `most` in all, (2,)."""
    workers, ps = free
    if state.gang[job] > most[0] or most[1] < 1:  # every gang needs a parameter server
        return None
    whole = np.flatnonzero((workers >= state.gang[job]) & (ps > 0))
    if len(whole):
        best = whole[np.argmin(workers[whole])]
        only = np.where(np.arange(len(workers)) == best, workers, 0)
        put = place(state, job, np.array([only, ps]), whole, is_shared)
    else:
        put = place(state, job, free, np.argsort(-workers, kind="stable"), is_shared)
    return put if put and put.ps.sum() <= most[1] else None
