"""Events of a real cluster at each round, in the simulator's own records; the policy then chooses.

Running times are unknown there: a job ends when the cluster says so. The cluster places gangs itself, so all GPUs are
one pool, node 0 of the state; GPUs that are not available for leases (nodes that are down, other jobs) are taken out of
that pool.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from astraea.cluster.engine import accounting, decisions, leases, loop, placement, queues
from astraea.cluster.engine.events import ARRIVES, ENDS, STARTS, STOPS, take_out
from astraea.cluster.engine.state import EVERY_ROUND, NOT_YET, PENDING, RUNNING, I, Private, View
from astraea.core.compilation import borrowed, inlined


@inlined
def resume(view: View, private: Private) -> None:
    """Put every job where its record says that it is: in the queues, or on its GPUs under its lease."""
    s, x = borrowed(view), borrowed(private)
    for j in np.argsort(s.job.launch.copy(), kind="mergesort"):
        if s.job[j].status == PENDING:
            queues.enqueue_one(s, j)
        elif s.job[j].status == RUNNING:
            s.running[s.n_running] = j
            s.n_running += 1
            placement.take(s, j, 0, s.job[j].demand)
            queues.push_event(x, j, s.job[j].lease_end)
    s.free = placement.free_gpus(s)


@inlined
def hear(view: View, private: Private, events: npt.NDArray[np.void], number: int) -> None:
    """Record what happened since the last round, in order of time; leases that are over ask for renewal."""
    s, x = borrowed(view), borrowed(private)
    for e in range(len(events)):
        time, kind, j = events[e].time, events[e].kind, events[e].job
        accounting.record_hours(s, time)
        s.now = time
        if kind == ARRIVES and s.job[j].status == NOT_YET:
            leases.arrive(s, x, j, time)
        elif kind == STARTS and s.job[j].status == PENDING:
            take_out(s, x, j)
            placement.take(s, j, 0, s.job[j].demand)
            s.lease_end = events[e].lease_end
            leases.start_lease(s, x, j, time)
        elif kind == STOPS and s.job[j].status == RUNNING:
            leases.revoke_lease(s, x, j, time)
        elif kind == ENDS and s.job[j].status == RUNNING:
            queues.remove_event(x, j)
            leases.complete(s, x, j, time)
        elif kind == ENDS and s.job[j].status == PENDING:
            take_out(s, x, j)
            leases.depart(s, x, j, time, time)
    now = leases.time_of_round(s, number)
    accounting.record_hours(s, now)
    s.now = now
    x.round_number = number
    while x.heap_size > 0 and x.heap[0].time <= now:
        j = x.heap[0].job
        queues.remove_event(x, j)
        leases.end_lease(s, x, j, now)  # including time beyond its lease, if this round is late
    queues.enqueue(s, s.expired, s.n_expired)
    s.lease_end = leases.end_of_leases(s, x)


@inlined
def choose(view: View, private: Private, aside: I, select: Any) -> bool:
    """Let the policy choose among all candidates except `aside` (in job order); return whether it kept the rules."""
    s, x = borrowed(view), borrowed(private)
    queues.dequeue(s, aside, len(aside))
    if s.region[len(s.tenant)].length > 0 or x.revisit == EVERY_ROUND:
        s.free = placement.free_gpus(s)
        select(s)
    good = decisions.are_valid(s, x)
    queues.enqueue(s, aside, len(aside))
    return good


def refuse(s: View, k: int) -> None:
    """Undo the grant number `k`: the cluster has no place for that gang."""
    j = s.granted[k]
    s.job[j].decided = False
    s.open_gangs[s.job[j].demand] += 1
    s.tenant[s.job[j].tenant].granted -= s.job[j].demand
    s.n_granted -= 1
    s.granted[k : s.n_granted] = s.granted[k + 1 : s.n_granted + 1]


def keep(s: View, k: int) -> None:
    """Undo the revocation number `k`: the cluster cannot stop that job."""
    j = s.revoked[k]
    s.job[j].decided = False
    s.tenant[s.job[j].tenant].revoked -= s.job[j].demand
    s.n_revoked -= 1
    s.revoked[k : s.n_revoked] = s.revoked[k + 1 : s.n_revoked + 1]


@inlined
def carry_out(view: View, private: Private) -> None:
    """Give and take the chosen leases in the records."""
    s, x = borrowed(view), borrowed(private)
    decisions.apply(s, x)
    decisions.end_round(s, x)


@inlined
def never_ends(view: View, private: Private, j: int) -> None:
    """Let the lease of job `j` last until the job ends."""
    s, x = borrowed(view), borrowed(private)
    queues.remove_event(x, j)
    s.job[j].lease_end = np.inf
    queues.push_event(x, j, np.inf)


@inlined
def next_round(view: View, private: Private) -> int:
    """Return the next round at which the policy's choice may differ; 0 if no lease ends and time changes nothing.

    Until then, nothing happens except that leases end.
    """
    s, x = borrowed(view), borrowed(private)
    x.next_arrival = len(s.job)
    if not loop.looks_again(s, x) and (x.heap_size == 0 or x.heap[0].time == np.inf):
        return 0
    return loop.next_round(s, x)


def compiled_for(select: Any, s: View, x: Private) -> tuple[Any, Any]:
    """Return `choose` and a policy, compiled for each other."""
    return loop.compiled_for(select, s, x, choose, types.boolean, (types.Array(types.int64, 1, "C"),))
