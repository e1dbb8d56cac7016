"""List scheduling of gangs without preemption: what the two fair schedulers that [Wang2023] §5.1 compares with share.

Both ask for a fixed number of workers per job and start a job as soon as they can; they differ in who is next and where
a gang goes. Nothing is priced, and no job is refused for its utility.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from astraea.core.arrays import IntArray
from astraea.core.errors import PolicyError
from astraea.market.model import Market
from astraea.market.schedule import Plan, Schedule

NEVER: Final = 1 << 60
"""More workers than any gang has."""


class Place(NamedTuple):
    """Workers of one gang and the one server of its parameter servers.

    Attributes
    ----------
    workers : array of int, shape (S,)
    host : int
        Server of the parameter servers.
    ps : int
        How many (constraint 3i).
    """

    workers: IntArray
    host: int
    ps: int


class State(NamedTuple):
    """What a scheduler sees; workers and parameter servers of running jobs are not free.

    Attributes
    ----------
    market : Market
    gang : array of int, shape (n,)
        Workers that each job asks for.
    waiting : tuple of list of int, length U
        Jobs of each tenant that arrived and wait, first come first.
    workers, ps : array of int, shape (S,)
        Free ones.
    own, own_ps, shared, shared_ps : array of int, shape (U,)
        Workers and parameter servers in use by jobs of each tenant, those started as shared apart.
    """

    market: Market
    gang: IntArray
    waiting: tuple[list[int], ...]
    workers: IntArray
    ps: IntArray
    own: IntArray
    own_ps: IntArray
    shared: IntArray
    shared_ps: IntArray


#: job, place, and whether it uses what is not its tenant's; None if no job can start now
Start = tuple[int, Place, bool]
Choose = Callable[[State], Start | None]


def dispatch(market: Market, name: str, choose: Choose) -> Plan:
    """Start jobs whenever some arrived or completed, until `choose` finds none.

    Raises
    ------
    PolicyError
        Jobs wait in an empty cluster and `choose` starts none.
    """
    jobs = market.jobs
    users = len(market.worker_quota)
    zeros = (np.zeros(users, np.int64) for _ in range(4))
    waiting: tuple[list[int], ...] = tuple([] for _ in range(users))
    state = State(market, gangs(market), waiting, market.workers.copy(), market.ps.copy(), *zeros)
    coming = sorted(range(len(jobs)), key=lambda i: (jobs.arrival[i], i), reverse=True)
    running: list[Schedule] = []
    done: list[Schedule] = []
    while coming or running:
        now = int(min([s.end for s in running] + [int(jobs.arrival[i]) for i in coming[-1:]]))
        for s in [s for s in running if s.end == now]:
            _hold(state, s, -1)
            running.remove(s)
        while coming and jobs.arrival[coming[-1]] <= now:
            job = coming.pop()
            state.waiting[jobs.tenant[job]].append(job)
        while (start := choose(state)) is not None:
            schedule = _schedule(market, now, start)
            state.waiting[jobs.tenant[schedule.job]].remove(schedule.job)
            _hold(state, schedule, 1)
            running.append(schedule)
            done.append(schedule)
        if not running and any(state.waiting):
            job = next(queue[0] for queue in state.waiting if queue)
            raise PolicyError(f"{name}: at time {now}, job {jobs.job_id[job]!r} waits and nothing runs")
    return Plan(market, tuple(done), np.zeros((users, users)), name)


def gangs(market: Market) -> IntArray:
    """Workers that each job asks for: as many as chunks, or as one server's parameter servers can feed (3i)."""
    workers = market.workers
    remote = np.minimum(reach(market, market.ps), workers.sum() - workers)
    most = np.where(market.ps > 0, workers + remote, 0).max()
    return np.asarray(np.minimum(market.jobs.chunks, most))


def reach(market: Market, ps: IntArray) -> IntArray:
    """Workers on other servers that so many parameter servers have the bandwidth for (3i)."""
    needed = market.ps_needed(int(market.workers.sum()))
    return np.asarray(np.where(ps > 0, np.searchsorted(needed, ps, side="right") - 1, 0), np.int64)


def place(market: Market, size: int, workers: IntArray, ps: IntArray, hosts: IntArray, order: IntArray) -> Place | None:
    """Put a gang on free workers and parameter servers.

    Parameters
    ----------
    market : Market
    size : int
        Workers of the gang.
    workers, ps : array of int, shape (S,)
        Free ones that it may use.
    hosts, order : array of int, shape (S,)
        Servers in the order in which they are tried for the parameter servers, and in which they give workers.

    Returns
    -------
    Place or None
        On the first host that can feed the gang; workers are on other servers as far as `order` puts them there.
    """
    if workers.sum() < size:
        return None
    near = np.maximum(size - reach(market, ps), 0)
    can = hosts[((ps > 0) & (near <= workers))[hosts]]
    if len(can) == 0:
        return None
    host = int(can[0])
    taken = np.zeros_like(workers)
    taken[host] = near[host]
    left = size - int(near[host])
    free = (workers - taken)[order]
    taken[order] += np.clip(left - (np.cumsum(free) - free), 0, free)
    return Place(taken, host, int(market.ps_needed(size)[size - taken[host]]))


def _schedule(market: Market, now: int, start: Start) -> Schedule:
    job, put, is_shared = start
    size = int(put.workers.sum())
    is_central = int(put.workers[put.host] == size)
    server = np.flatnonzero((put.workers > 0) | (np.arange(len(put.workers)) == put.host))
    ps = np.where(server == put.host, put.ps, 0)
    end = now + int(market.duration(job, size)[is_central])
    return Schedule(job, now, end, server, put.workers[server], ps, is_shared=is_shared)


def _hold(state: State, schedule: Schedule, sign: int) -> None:
    """Take (1) or give back (-1) what a job uses."""
    state.workers[schedule.server] -= sign * schedule.workers
    state.ps[schedule.server] -= sign * schedule.ps
    tenant = state.market.jobs.tenant[schedule.job]
    used, used_ps = (state.shared, state.shared_ps) if schedule.is_shared else (state.own, state.own_ps)
    used[tenant] += sign * int(schedule.workers.sum())
    used_ps[tenant] += sign * int(schedule.ps.sum())
