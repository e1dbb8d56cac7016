"""List scheduling of gangs without preemption: what the two fair schedulers that [Wang2023] §5.1 compares with share.

Both ask for a fixed number of workers per job and start a job as soon as they can; they differ in who is next and where
a gang goes. Nothing is priced, and no job is refused for its utility.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from astraea.core.arrays import IntArray
from astraea.core.compilation import compiled
from astraea.core.errors import PolicyError
from papers.market.model import Market, Plan, Schedule


@dataclass
class State:
    """What a scheduler sees; resources are workers, then parameter servers, and those of running jobs are not free."""

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


def empty_cluster(market: Market) -> State:
    """Time 0, before any job arrives."""
    quota = np.array([market.worker_quota, market.ps_quota])
    free, used = np.array([market.workers, market.ps]), np.zeros((2, 2, quota.shape[1]), np.int64)
    gang, needed = gangs(market), market.ps_needed(int(market.workers.sum()))
    slots = market.duration(np.arange(len(gang)), gang).tolist()
    return State(market, gang.tolist(), [[] for _ in quota.T], quota, free, used, needed, slots)


def dispatch(market: Market, name: str, choose: Callable[[State], Schedule | None]) -> Plan:
    """Start jobs whenever some arrived or completed, until `choose` finds none.

    `PolicyError` if jobs wait in an empty cluster and it starts none.
    """
    jobs, state = market.jobs, empty_cluster(market)
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
        if not running and any(waiting):
            job = next(queue[0] for queue in waiting if queue)
            raise PolicyError(f"{name}: at time {now}, job {jobs.job_id[job]!r} waits and nothing runs")
    return Plan(market, tuple(done), np.zeros((len(waiting), len(waiting))))


def first_that_fits(state: State, tenant: int, room: int, put: Callable[[int], Schedule | None]) -> Schedule | None:
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


def gangs(market: Market) -> IntArray:
    """Workers that each job asks for: as many as chunks, or as one server's parameter servers can feed (3i)."""
    workers = market.workers
    fed = np.searchsorted(market.ps_needed(int(workers.sum())), market.ps, side="right") - 1
    remote = np.minimum(fed, workers.sum() - workers)
    most = np.where(market.ps > 0, workers + remote, 0).max()
    return np.asarray(np.minimum(market.jobs.chunks, most))


def place(state: State, job: int, free: IntArray, order: IntArray, is_shared: bool = False) -> Schedule | None:
    """Start a gang on the first host that can feed it, if there is one, with some `free` units, shape (2, S).

    `order` has the servers in the order in which they are tried for the parameter servers and give workers.
    """
    if free[0].sum() < state.gang[job]:
        return None
    host, taken = spread(*free, order, state.gang[job], state.needed)
    return start(state, job, host, taken, is_shared) if host >= 0 else None


def start(state: State, job: int, host: int, taken: IntArray, is_shared: bool) -> Schedule:
    """Schedule of a gang that takes so many workers of each server, and has its parameter servers on the host."""
    size = state.gang[job]
    server = np.flatnonzero((taken > 0) | (np.arange(len(taken)) == host))
    ps = np.where(server == host, state.needed[size - taken[host]], 0)
    end = state.now + state.slots[job][int(taken[host] == size)]
    return Schedule(job, state.now, end, server, taken[server], ps, is_shared=is_shared)


@compiled
def spread(workers: IntArray, ps: IntArray, order: IntArray, size: int, needed: IntArray) -> tuple[int, IntArray]:
    """First host that can feed a gang, -1 if there is none, and the workers that each server gives.

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
