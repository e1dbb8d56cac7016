"""A flaw of the simulator that ASTRAEA's authors released: it removes jobs from a list while it walks it.

The list is that of the running jobs, in the order in which they were launched. The job behind a removed one is not
looked at before the next round, and keeps its GPUs, and its lease, until then. `Settings.list_removal_flaw` puts it in.
"""

from __future__ import annotations

from astraea.cluster.engine.leases import finish_time
from astraea.cluster.engine.queues import move_event
from astraea.cluster.engine.state import Private, View
from astraea.core.compilation import inlined


@inlined
def hold_back_neighbours(s: View, x: Private, round_time: float) -> None:
    """Of jobs launched one after the other that all end a lease or complete by this round, every second one is late."""
    due = note_due(s, x, round_time)
    first = 0  # of those, the ones that follow a job that is not due
    last_round = (x.engine[0].round_number - 1) * s.clock[0].interval
    for k in range(due):
        j = s.expired[k]
        if x.heap[x.job[j].heap_position].time <= last_round:  # nothing was left of it when it got its lease
            move_event(x, j, round_time)
        if not is_due(s, x, x.link[j].earlier, round_time):
            s.expired[first] = j
            first += 1
    late = (x.engine[0].round_number + 1) * s.clock[0].interval
    for k in range(first):
        j = x.link[s.expired[k]].later
        while is_due(s, x, j, round_time):
            following = x.link[j].later
            s.job[j].lease_end = max(s.job[j].lease_end, late)
            # who has had all its service leaves when it is looked at; else it may get there before
            finish = finish_time(s, x, j)
            move_event(x, j, late if finish <= round_time else min(finish, late))
            j = x.link[following].later if is_due(s, x, following, round_time) else len(s.job)


@inlined
def note_due(s: View, x: Private, round_time: float) -> int:
    """How many jobs have an event by this round, the top of the heap; into `View.expired`, which is empty then."""
    due = int(x.engine[0].heap_size > 0 and x.heap[0].time <= round_time)
    s.expired[0] = 0
    k = 0
    while k < due:
        position = s.expired[k]
        for child in range(2 * position + 1, min(2 * position + 3, x.engine[0].heap_size)):
            if x.heap[child].time <= round_time:
                s.expired[due] = child
                due += 1
        s.expired[k] = x.heap[position].job
        k += 1
    return due


@inlined
def is_due(s: View, x: Private, j: int, round_time: float) -> bool:
    """Whether `j` is a job, and its next event comes by this round."""
    return j < len(s.job) and x.heap[x.job[j].heap_position].time <= round_time
