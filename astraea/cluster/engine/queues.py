"""Queues of waiting jobs, the list of running jobs, and the heap of next events.

The queues of candidates, one per tenant and one for all, are in job order. The queue for all may contain thousands of
jobs while a few ask for renewal in every round, so all jobs that enter or leave it in a round do so in one pass. The
next events of the running jobs are a binary heap by (time, job), with removal.
"""

from __future__ import annotations

import numpy as np

from astraea.cluster.engine.state import I, Private, View
from astraea.core.compilation import inlined


@inlined
def enqueue(s: View, jobs: I, n: int) -> None:
    """Make the first `n` of some jobs, in job order, candidates: in their tenants' queues, and in that for all."""
    for k in range(n):
        insert_one(s, s.job[jobs[k]].tenant, jobs[k])
        s.open_gangs[s.job[jobs[k]].demand] += 1
    region = len(s.tenant)
    first, end = s.region[region].start, s.region[region].start + s.region[region].length
    for k in range(n - 1, -1, -1):
        place = first + np.searchsorted(s.queue[first:end], jobs[k])
        for q in range(end - 1, place - 1, -1):
            s.queue[q + k + 1] = s.queue[q]
        s.queue[place + k] = jobs[k]
        end = place
    s.region[region].length += n


@inlined
def enqueue_one(s: View, j: int) -> None:
    """Make job `j` a candidate; a new arrival belongs at the end."""
    insert_one(s, s.job[j].tenant, j)
    insert_one(s, len(s.tenant), j)
    s.open_gangs[s.job[j].demand] += 1


@inlined
def dequeue(s: View, jobs: I, n: int) -> None:
    """Remove the first `n` of some candidates, in job order, from the queues."""
    for k in range(n):
        remove(s, s.job[jobs[k]].tenant, jobs[k:], 1)
        s.open_gangs[s.job[jobs[k]].demand] -= 1
    if n > 0:
        remove(s, len(s.tenant), jobs, n)


@inlined
def remove(s: View, region: int, jobs: I, n: int) -> None:
    """Remove the first `n` of some jobs, in job order, from a queue."""
    first, end = s.region[region].start, s.region[region].start + s.region[region].length
    place = first + np.searchsorted(s.queue[first:end], jobs[0])
    for k in range(n):
        after = place + 1
        place = after + np.searchsorted(s.queue[after:end], jobs[k + 1]) if k + 1 < n else end
        for q in range(after, place):
            s.queue[q - k - 1] = s.queue[q]
    s.region[region].length -= n


@inlined
def some_job_fits(s: View) -> bool:
    """Return whether any candidate that is not yet granted has a gang no larger than the free GPUs."""
    if s.region[len(s.tenant)].length == 0:
        return False
    for gpus in range(1, s.free + 1):
        if s.open_gangs[gpus] > 0:
            return True
    return False


@inlined
def put(jobs: I, n: int, j: int) -> None:
    """Insert job `j` into the first `n` of a list in job order."""
    while n > 0 and jobs[n - 1] > j:
        jobs[n] = jobs[n - 1]
        n -= 1
    jobs[n] = j


@inlined
def insert_one(s: View, region: int, j: int) -> None:
    """Insert job `j` into a queue in job order."""
    put(s.queue[s.region[region].start :], s.region[region].length, j)
    s.region[region].length += 1


@inlined
def stop_to_run(s: View, j: int) -> None:
    """Remove job `j` from the jobs under a running lease."""
    running = s.running[: s.n_running]
    place = 0
    while running[place] != j:
        place += 1
    behind = running[place:]
    for k in range(len(behind) - 1):
        behind[k] = behind[k + 1]
    s.n_running -= 1


@inlined
def is_before(x: Private, time: float, j: int, position: int) -> bool:
    """Return whether an event of job `j` at `time` comes before the one at `position` of the heap."""
    other = x.heap[position]
    return time < other.time or (time == other.time and j < other.job)


@inlined
def write_event(x: Private, position: int, time: float, j: int) -> None:
    """Write an event at `position` of the heap."""
    x.heap[position].time = time
    x.heap[position].job = j
    x.job[j].heap_position = position


@inlined
def settle(x: Private, position: int, time: float, j: int) -> None:
    """Move an event to where it belongs, starting from the hole at `position`."""
    size = x.heap_size
    while position > 0 and is_before(x, time, j, (position - 1) // 2):
        parent = (position - 1) // 2
        write_event(x, position, x.heap[parent].time, x.heap[parent].job)
        position = parent
    while 2 * position + 1 < size:
        child = 2 * position + 1
        if child + 1 < size and is_before(x, x.heap[child + 1].time, x.heap[child + 1].job, child):
            child += 1
        if is_before(x, time, j, child):
            break
        write_event(x, position, x.heap[child].time, x.heap[child].job)
        position = child
    write_event(x, position, time, j)


@inlined
def push_event(x: Private, j: int, time: float) -> None:
    """Set the next event of job `j`, at `time`."""
    x.heap_size += 1
    settle(x, x.heap_size - 1, time, j)


@inlined
def move_event(x: Private, j: int, time: float) -> None:
    """Move the next event of job `j` to `time`."""
    settle(x, x.job[j].heap_position, time, j)


@inlined
def remove_event(x: Private, j: int) -> None:
    """Remove the next event of job `j`."""
    x.heap_size -= 1
    hole, last = x.job[j].heap_position, x.heap[x.heap_size]
    if hole < x.heap_size:
        settle(x, hole, last.time, last.job)
