"""The two fair schedulers that [Wang2023] §5.1 compares with, in its market: list scheduling without preemption.

Both ask for a fixed number of workers per job and start a job as soon as they can; they differ in the next tenant and
in the place of a gang. Within a tenant it is first come first served, smaller gangs going ahead where larger do not
fit. `astraea.cluster.policies` has both for leases of GPUs. They cannot be used here: no job is preempted, and how long
it runs depends on parameter servers and placement. Nothing is priced or paid, and no job is refused for its utility.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from astraea.core.arrays import IntArray
from astraea.core.compilation import compiled
from papers.market.model import Market, MarketPlan, Schedule, checked


@dataclass
class State:
    """The view of a scheduler; resources are workers, then parameter servers, and running jobs' are not free."""

    market: Market
    gang: list[int]  # workers that each job asks for, length n
    waiting: list[list[int]]  # jobs of each tenant that arrived and wait, first come first, length U
    quota: IntArray  # shape (2, U)
    free: IntArray  # shape (2, S)
    used: IntArray  # by jobs of each tenant, shape (2, 2, U); row 1 of each resource: by those started as shared
    needed: IntArray  # fewest parameter servers on one server for 0, 1, ... workers on others (3i)
    slots: list[list[int]]  # time of each gang, distributed and centralized, shape (n, 2) [slot]
    now: int = 0  # [slot]

    def hold(self, s: Schedule, sign: int) -> None:
        """Take (1) or give back (-1) what a job uses."""
        units = sign * np.array([s.workers, s.ps])
        self.free[:, s.server] -= units
        self.used[:, int(s.is_shared), self.market.jobs.tenant[s.job]] += units.sum(axis=1)


def gandiva_fair(market: Market) -> MarketPlan:
    """Run every job by a fair division of GPUs that does not look at placement.

    Whenever workers are free, the tenant that holds least for its share is next, with its first job whose gang can
    start. A tenant that is alone gets everything; idle workers are lent for nothing and come back when the jobs on them
    complete. Servers are filled by their number, so that a gang may spread where one server could have held it. A job
    is `is_shared` if its tenant then holds more than its quota of workers or of parameter servers.

    [Chaudhary2020] divides the GPUs by time slices and migrates jobs to balance load. Jobs of this market are never
    preempted, so neither is here, and fairness is as coarse as jobs are long. Its trading between GPU generations needs
    several.
    """
    return _dispatch(checked(market), _least_held)


def _least_held(state: State) -> Schedule | None:
    held, servers, room = state.used.sum(axis=1), np.arange(state.free.shape[1]), int(state.free[0].sum())

    def put(job: int) -> Schedule | None:
        return _start(state, job, *spread(*state.free, servers, state.gang[job], state.needed))

    for tenant in np.argsort(held[0] / np.maximum(state.quota[0], 0.5), kind="stable"):
        if found := _first_that_fits(state, tenant, room, put):
            more = held[:, tenant] + (found.workers.sum(), found.ps.sum())
            return replace(found, is_shared=bool((more > state.quota[:, tenant]).any()))
    return None


def hived(market: Market) -> MarketPlan:
    """Run every job in virtual private clusters; opportunistic jobs, which get idle cells, are `is_shared`.

    A tenant's quota is its virtual private cluster. A gang within it is guaranteed: it goes to the fewest servers, or
    to the fullest one that holds it whole (affinity, as buddy cells have it). The servers are chosen when it starts.
    Other gangs are opportunistic: they get whole idle servers (cells), as many as other tenants have no use for.

    [Zhao2020] takes an opportunistic job off its cells when their owner asks for them. Jobs of this market are never
    preempted; instead a tenant lends nothing while a job waits that could run in its virtual private cluster.
    """
    alone = _empty_cluster(checked(market))
    fits = [
        gang <= alone.quota[0, tenant] and _fewest_servers(alone, job, alone.free, alone.quota[1, tenant]) is not None
        for job, (gang, tenant) in enumerate(zip(alone.gang, market.jobs.tenant, strict=True))
    ]
    return _dispatch(market, partial(_guaranteed_first, fits))


def _guaranteed_first(fits: list[bool], state: State) -> Schedule | None:
    """Guaranteed jobs, then opportunistic ones; `fits` says which would start in an empty virtual private cluster."""
    left = state.quota - state.used[:, 0]
    for tenant, queue in enumerate(state.waiting):
        if queue and (found := _within(state, tenant, state.free, left[:, tenant])):
            return found
    # opportunistic jobs get whole idle servers, as many as tenants that lend have no use for
    idle = np.where((state.free == (state.market.workers, state.market.ps)).all(axis=0), state.free, 0)
    needs_own = np.array([any([fits[job] for job in queue]) for queue in state.waiting])
    lent = left[:, ~needs_own].sum(axis=1) - state.used[:, 1].sum(axis=1)
    for tenant, queue in enumerate(state.waiting):
        # its own spare part counts: it waits because that alone does not do
        most = lent + left[:, tenant] if needs_own[tenant] else lent
        if queue and (found := _within(state, tenant, idle, most)):
            return replace(found, is_shared=True)
    return None


def _within(state: State, tenant: int, free: IntArray, most: IntArray) -> Schedule | None:
    """First job of a tenant that fits on some free units, no more than `most` in all, shape (2,)."""
    room = min(int(most[0]), int(free[0].sum()))
    if room < 1 or most[1] < 1:  # every gang needs a parameter server
        return None
    return _first_that_fits(state, tenant, room, lambda job: _fewest_servers(state, job, free, most[1]))


def _fewest_servers(state: State, job: int, free: IntArray, most_ps: int) -> Schedule | None:
    """The fullest server that holds the gang whole, or else the emptiest servers; at most so many parameter servers."""
    size, needed = state.gang[job], state.needed
    host, taken = _fullest_or_emptiest(*free, np.argsort(-free[0], kind="stable"), size, needed)
    return _start(state, job, host, taken) if needed[size - taken[host]] <= most_ps else None


def _empty_cluster(market: Market) -> State:
    """Time 0, before any job arrives."""
    quota = np.array([market.worker_quota, market.ps_quota])
    free, used = np.array([market.workers, market.ps]), np.zeros((2, 2, quota.shape[1]), np.int64)
    gang, needed = gangs(market), market.ps_needed(int(market.workers.sum()))
    slots = market.duration(np.arange(len(gang)), gang).tolist()
    return State(market, gang.tolist(), [[] for _ in quota.T], quota, free, used, needed, slots)


def gangs(market: Market) -> IntArray:
    """Workers that each job asks for: as many as chunks, or as one server's parameter servers can feed (3i)."""
    workers = market.workers
    fed = np.searchsorted(market.ps_needed(int(workers.sum())), market.ps, side="right") - 1
    remote = np.minimum(fed, workers.sum() - workers)
    most = np.where(market.ps > 0, workers + remote, 0).max()
    return np.asarray(np.minimum(market.jobs.chunks, most))


def _dispatch(market: Market, choose: Callable[[State], Schedule | None]) -> MarketPlan:
    """Start jobs whenever some arrived or completed, until `choose` finds none; in an empty cluster it finds one."""
    jobs, state = market.jobs, _empty_cluster(market)
    waiting = state.waiting
    coming = sorted(range(len(jobs)), key=lambda i: (jobs.arrival[i], i), reverse=True)
    running: list[Schedule] = []
    done: list[Schedule] = []
    while coming or running:
        state.now = now = int(min([s.end for s in running] + [int(jobs.arrival[i]) for i in coming[-1:]]))
        for s in [s for s in running if s.end == now]:
            state.hold(s, -1)
            running.remove(s)
        while coming and jobs.arrival[coming[-1]] <= now:
            job = coming.pop()
            waiting[jobs.tenant[job]].append(job)
        while (schedule := choose(state)) is not None:
            waiting[jobs.tenant[schedule.job]].remove(schedule.job)
            state.hold(schedule, 1)
            running.append(schedule)
            done.append(schedule)
    return MarketPlan(market, tuple(done), np.zeros((len(waiting), len(waiting))))


def _first_that_fits(state: State, tenant: int, room: int, put: Callable[[int], Schedule | None]) -> Schedule | None:
    """First waiting job of a tenant that `put` finds a place for.

    No gang of more than `room` workers is tried, and none again of the size of one without a place.
    """
    gang, most = state.gang, room
    for job in state.waiting[tenant]:
        if gang[job] <= most:
            if (schedule := put(job)) is not None:
                return schedule
            most = gang[job] - 1
    return None


def _start(state: State, job: int, host: int, taken: IntArray) -> Schedule | None:
    """Schedule of a gang that takes so many workers of each server; its parameter servers are on the host, if any."""
    if host < 0:
        return None
    size = state.gang[job]
    server = np.flatnonzero((taken > 0) | (np.arange(len(taken)) == host))
    ps = np.where(server == host, state.needed[size - taken[host]], 0)
    end = state.now + state.slots[job][int(taken[host] == size)]
    return Schedule(job, state.now, end, server, taken[server], ps)


@compiled
def _fullest_or_emptiest(
    workers: IntArray, ps: IntArray, order: IntArray, size: int, needed: IntArray
) -> tuple[int, IntArray]:
    """Place all workers on one server if any has room, else as `spread`; `order` has the emptiest servers first."""
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


@compiled
def spread(workers: IntArray, ps: IntArray, order: IntArray, size: int, needed: IntArray) -> tuple[int, IntArray]:
    """Return the first host that can feed a gang, -1 if there is none, and the workers that each server gives.

    Its parameter servers reach as many workers elsewhere as `needed` allows (`Market.ps_needed`, 3i); the others are
    its own.
    """
    taken = np.zeros_like(workers)
    for host in order:
        if ps[host] == 0:
            continue
        near = 0
        while needed[size - near] > ps[host]:
            near += 1
        if near > workers[host]:
            continue
        taken[host] = near
        left = size - near
        for server in order:
            more = min(left, workers[server] - taken[server])
            taken[server] += more
            left -= more
        return host, taken
    return -1, taken
