"""A flaw of the simulator that ASTRAEA's authors released: it removes jobs from a list while it walks it.

The list is that of the running jobs, in the order in which they were launched. The job behind a removed one is not
looked at before the next round, and keeps its GPUs, and its lease, until then. `Settings.list_removal_flaw` puts it in.
"""

from __future__ import annotations

from astraea.cluster.engine.leases import finish_time
from astraea.cluster.engine.queues import push_event, remove_event
from astraea.cluster.engine.state import Private, View
from astraea.core.compilation import inlined


@inlined
def hold_back_neighbours(s: View, x: Private, round_time: float) -> None:
    """Of two jobs launched one after the other that both end a lease or complete by this round, the second is late."""
    due = 0
    while x.engine[0].heap_size > 0 and x.heap[0].time <= round_time:
        s.expired[due] = x.heap[0].job
        remove_event(x, s.expired[due])
        due += 1
    is_removed = False
    for k in range(due):
        least = k
        for i in range(k + 1, due):
            if s.job[s.expired[i]].launch < s.job[s.expired[least]].launch:
                least = i
        s.expired[k], s.expired[least] = s.expired[least], s.expired[k]
        j = s.expired[k]
        if is_removed and is_next_in_launch_order(s, s.expired[k - 1], j):
            late = (x.engine[0].round_number + 1) * s.clock[0].interval
            s.job[j].lease_end = max(s.job[j].lease_end, late)
            push_event(x, j, late)
            is_removed = False
        else:
            time = min(finish_time(s, x, j), s.job[j].lease_end)
            was_passed_over = time <= (x.engine[0].round_number - 1) * s.clock[0].interval
            push_event(x, j, round_time if was_passed_over else time)
            is_removed = True


@inlined
def is_next_in_launch_order(s: View, i: int, j: int) -> bool:
    """Whether no running job was launched between jobs `i` and `j`."""
    first, last = s.job[i].launch, s.job[j].launch
    if last - first > 1:
        for k in range(s.clock[0].n_running):
            if first < s.job[s.running[k]].launch < last:
                return False
    return True
