"""HiveD in the market of [Wang2023] §5.1: virtual private clusters, and idle cells for who wants more.

A tenant's quota is its virtual private cluster. A gang within it is guaranteed: it goes to the fewest servers, the
fullest one that holds it whole if there is any (affinity, as buddy cells have it), and which servers these are is
decided when it starts. Other gangs are opportunistic: they get whole idle servers (cells), as many as other tenants
have no use for.

[Zhao2020] takes an opportunistic job off its cells when their owner asks for them. Jobs of this market are never
preempted; instead a tenant lends nothing while a job waits that could run in its virtual private cluster.

[Zhao2020] Zhao et al., HiveD: Sharing a GPU Cluster for Deep Learning with Guarantees, OSDI 2020.
"""

from __future__ import annotations

import numpy as np

from astraea.core.arrays import BoolArray, IntArray
from astraea.market.model import Market, checked
from astraea.market.policies.list_scheduling import NEVER, Place, Start, State, dispatch, gangs, place
from astraea.market.schedule import Plan


def hived(market: Market) -> Plan:
    """Run every job; within a tenant first come first served, smaller gangs going ahead where larger do not fit.

    Opportunistic jobs are `is_shared`; nothing is paid.
    """
    fits = _fits(checked(market))
    return dispatch(market, "hived", lambda state: _guaranteed(state) or _opportunistic(state, fits))


def _fits(market: Market) -> BoolArray:
    """Whether each job would start with its tenant's virtual private cluster to itself."""
    out = np.zeros(len(market.jobs), np.bool_)
    for job, size in enumerate(gangs(market)):
        put = _fewest_servers(market, int(size), market.workers, market.ps)
        tenant = market.jobs.tenant[job]
        out[job] = put is not None and size <= market.worker_quota[tenant] and put.ps <= market.ps_quota[tenant]
    return out


def _guaranteed(state: State) -> Start | None:
    market = state.market
    for tenant, queue in enumerate(state.waiting):
        too_large = NEVER
        for job in queue:
            size = int(state.gang[job])
            if size >= too_large:
                continue
            put = None
            if state.own[tenant] + size <= market.worker_quota[tenant]:
                put = _fewest_servers(market, size, state.workers, state.ps)
            if put is not None and state.own_ps[tenant] + put.ps <= market.ps_quota[tenant]:
                return job, put, False
            too_large = size
    return None


def _opportunistic(state: State, fits: BoolArray) -> Start | None:
    market = state.market
    idle = (state.workers == market.workers) & (state.ps == market.ps)
    workers, ps = np.where(idle, state.workers, 0), np.where(idle, state.ps, 0)
    spare, spare_ps = market.worker_quota - state.own, market.ps_quota - state.own_ps
    needs_own = np.array([fits[queue].any() for queue in state.waiting])
    too_large = NEVER
    for tenant, queue in enumerate(state.waiting):
        # its own spare part counts: it waits because that alone does not do
        lends = ~needs_own | (np.arange(len(spare)) == tenant)
        most = int(spare[lends].sum() - state.shared.sum())
        most_ps = int(spare_ps[lends].sum() - state.shared_ps.sum())
        for job in queue:
            size = int(state.gang[job])
            if size >= too_large or size > most:
                continue
            put = _fewest_servers(market, size, workers, ps)
            if put is None:
                too_large = size
            elif put.ps <= most_ps:
                return job, put, True
    return None


def _fewest_servers(market: Market, size: int, workers: IntArray, ps: IntArray) -> Place | None:
    """The fullest server that holds the gang whole, or else the emptiest servers."""
    whole = np.flatnonzero((workers >= size) & (ps > 0))
    if len(whole):
        best = whole[np.argmin(workers[whole])]
        return place(market, size, np.where(np.arange(len(workers)) == best, workers, 0), ps, whole, whole)
    emptiest = np.argsort(-workers, kind="stable")
    return place(market, size, workers, ps, emptiest, emptiest)
