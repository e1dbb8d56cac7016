"""Events from elsewhere, in the simulator's own records: the log of a cluster instead of rounds and a policy."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from astraea.cluster.engine import accounting, leases, queues
from astraea.cluster.engine.state import Private, View
from astraea.core.compilation import borrowed, inlined

# order of events at one time: jobs that end make room for jobs that start
STOPS, ENDS, ARRIVES, STARTS = range(4)

HAPPENS: Final = np.dtype([("time", float), ("kind", int), ("job", int), ("lease_end", float)])
"""An event, with the end of the lease of a job that starts [s]; STOPS is the loss of its GPUs, before its end."""


@inlined
def walk(view: View, private: Private, events: npt.NDArray[np.void]) -> None:
    """Feed a whole log, in order, through the integrals of a simulation: no rounds, no policy, no nodes."""
    s, x = borrowed(view), borrowed(private)
    for e in range(len(events)):
        time, kind, j = events[e].time, events[e].kind, events[e].job
        accounting.record_hours(s, time)
        s.now = time
        if kind == ARRIVES:
            leases.arrive(s, x, j, time)
        elif kind == STARTS:
            take_out(s, x, j)
            leases.start_lease(s, x, j, time)
        else:
            queues.remove_event(x, j)
            leases.charge(s, x, j, time, time)
            if kind == STOPS:
                leases.lose(s, x, j, time)
                queues.enqueue_one(s, j)
            else:
                leases.depart(s, x, j, time, time)


@inlined
def take_out(s: View, x: Private, j: int) -> None:
    """Remove job `j` from the candidates."""
    x.started[0] = j
    queues.dequeue(s, x.started, 1)
