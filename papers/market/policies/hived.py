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

from astraea.core.arrays import IntArray
from astraea.core.compilation import compiled
from papers.market.model import Market, Plan, Schedule, checked
from papers.market.policies.list_scheduling import State, dispatch, empty_cluster, first_that_fits, spread, start


def hived(market: Market) -> Plan:
    """Run every job; within a tenant first come first served, smaller gangs going ahead where larger do not fit.

    Opportunistic jobs are `is_shared`; nothing is paid.
    """
    alone, tenant = empty_cluster(checked(market)), market.jobs.tenant.tolist()
    kinds = list(zip(tenant, alone.gang, strict=True))
    one_of_each = {kind: job for job, kind in enumerate(kinds)}
    order = _emptiest_first(alone.free)
    starts = {
        (u, gang): gang <= alone.quota[0, u]
        and _fewest_servers(alone, job, alone.free, order, alone.quota[1, u], is_shared=False) is not None
        for (u, gang), job in one_of_each.items()
    }
    return dispatch(market, "hived", partial(_choose, [starts[kind] for kind in kinds]))


def _choose(fits: list[bool], state: State) -> Schedule | None:
    """Guaranteed jobs, then opportunistic ones; `fits` says which would start in an empty virtual private cluster."""
    left = state.quota - state.used[:, 0]
    for tenant, queue in enumerate(state.waiting):
        if queue and (found := _first(state, tenant, state.free, left[:, tenant], is_shared=False)):
            return found
    # opportunistic jobs get whole idle servers, as many as tenants that lend have no use for
    idle = np.where((state.free == (state.market.workers, state.market.ps)).all(axis=0), state.free, 0)
    needs_own = np.array([any([fits[job] for job in queue]) for queue in state.waiting])
    lent = left[:, ~needs_own].sum(axis=1) - state.used[:, 1].sum(axis=1)
    for tenant, queue in enumerate(state.waiting):
        # its own spare part counts: it waits because that alone does not do
        most = lent + left[:, tenant] if needs_own[tenant] else lent
        if queue and (found := _first(state, tenant, idle, most, is_shared=True)):
            return found
    return None


def _first(state: State, tenant: int, free: IntArray, most: IntArray, *, is_shared: bool) -> Schedule | None:
    """First job of a tenant that fits on some free units, no more than `most` in all, shape (2,)."""
    room = min(int(most[0]), int(free[0].sum()))
    if room < 1 or most[1] < 1:  # every gang needs a parameter server
        return None
    order = _emptiest_first(free)
    return first_that_fits(
        state, tenant, room, lambda job: _fewest_servers(state, job, free, order, most[1], is_shared=is_shared)
    )


def _emptiest_first(free: IntArray) -> IntArray:
    """Servers by their free workers."""
    return np.argsort(-free[0], kind="stable")


def _fewest_servers(
    state: State, job: int, free: IntArray, order: IntArray, most_ps: int, *, is_shared: bool
) -> Schedule | None:
    """The fullest server that holds the gang whole, or else the emptiest servers; at most so many parameter servers."""
    size, needed = state.gang[job], state.needed
    host, taken = _fullest_or_emptiest(*free, order, size, needed)
    if host < 0 or needed[size - taken[host]] > most_ps:
        return None
    return start(state, job, host, taken, is_shared)


@compiled
def _fullest_or_emptiest(
    workers: IntArray, ps: IntArray, order: IntArray, size: int, needed: IntArray
) -> tuple[int, IntArray]:
    """As `spread`, with all workers on one server if any has room; `order` has the emptiest servers first."""
    best = -1
    for server in range(len(workers)):
        if workers[server] >= size and ps[server] > 0 and (best < 0 or workers[server] < workers[best]):
            best = server
    if best < 0:
        return spread(workers, ps, order, size, needed)
    taken = np.zeros_like(workers)
    taken[best] = size
    host = 0  # the first with as many workers that can feed them, wherever they are
    while host != best and not (workers[host] >= size and ps[host] >= needed[size]):
        host += 1
    return host, taken
