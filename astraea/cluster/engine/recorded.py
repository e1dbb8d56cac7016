"""What a log says happened, event by event, through the integrals of a simulation: no rounds, no policy, no nodes."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from astraea.cluster.engine import accounting, leases
from astraea.cluster.engine.queues import delete_one, enqueue_one, start_to_run
from astraea.cluster.engine.state import PENDING, RUNNING, Private, View
from astraea.core.compilation import borrowed, inlined

# what happens at one time happens in this order: who ends makes room for who starts
STOPS, ENDS, ARRIVES, STARTS = range(4)

MOMENT: Final = np.dtype([("time", float), ("kind", int), ("job", int)])
"""An event; STOPS is the end of a run that is not the job's last."""


@inlined
def walk(view: View, private: Private, moments: npt.NDArray[np.void]) -> None:
    """Let everything happen, in order."""
    s, x = borrowed(view), borrowed(private)
    for m in range(len(moments)):
        time, kind, j = moments[m].time, moments[m].kind, moments[m].job
        accounting.record_hours(s, time)
        s.clock[0].now = time
        if kind == ARRIVES:
            leases.arrive(s, x, j, time)
        elif kind == STARTS:
            start(s, x, j, time)
        else:
            leases.charge(s, x, j, time, time)
            if kind == STOPS:
                s.job[j].status = PENDING
                x.job[j].preemptions += 1
                enqueue_one(s, j)
            else:
                leases.depart(s, x, j, time, time)


@inlined
def start(s: View, x: Private, j: int, time: float) -> None:
    """Job `j` is given its GPUs."""
    delete_one(s, s.job[j].tenant, j)
    delete_one(s, len(s.tenant), j)
    if s.job[j].leases == 0:
        x.job[j].first_start = time
    s.job[j].leases += 1
    s.job[j].lease_start = time
    s.job[j].status = RUNNING
    start_to_run(s, x, j)
    accounting.change_held(s, s.job[j].tenant, s.job[j].demand, time)
