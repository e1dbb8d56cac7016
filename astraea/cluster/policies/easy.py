"""EASY backfilling: FIFO, and later jobs may pass the first in the queue if they do not delay it.

From D. Lifka, The ANL/IBM SP scheduling system, JSSPP 1995, as A. W. Mu'alem and D. G. Feitelson state it in section 2
of Utilization, Predictability, Workloads, and User Runtime Estimates in Scheduling the IBM SP2 with Backfilling, IEEE
TPDS 12(6), 2001. Jobs start in order of submission. The first that does not fit, the head, has a reservation from the
shadow time on. At that time enough GPUs are free for it if every running job ends at its time limit; the extra GPUs are
those that it leaves free. A later job may start now if it ends by the shadow time, or needs extra GPUs only.

A job without a limit is planned as if it never ended. If the head needs GPUs of such a job, its start cannot be
foreseen, and no job passes it; so on a trace without limits this is FIFO. A job that runs past its limit is expected to
end at any moment. No job is preempted.

Departures: the policy counts GPUs, and the engine chooses the nodes. The head starts at the first round after enough
GPUs are free, which is up to one interval later than planned.
"""

from __future__ import annotations

import numpy as np

from astraea.cluster.engine.state import AT_EVENTS, View
from astraea.cluster.policy import all_candidates, fits, grant, policy, running, some_job_fits
from astraea.core.compilation import inlined


# Only an event can open the way: while nothing happens, the shadow time comes closer and the extra GPUs stay the same.
@policy(
    "easy",
    about="EASY backfilling by the time limits of the jobs: a later job may start if it does not delay the first in "
    "the queue. A job without a limit is planned as if it never ended.",
    paper="Lifka, JSSPP 1995; Mu'alem and Feitelson, TPDS 2001",
    revisit=lambda _: AT_EVENTS,
)
def easy(s: View) -> None:
    """EASY backfilling by time limits, without preemption (Lifka, JSSPP 1995; Mu'alem and Feitelson, TPDS 2001)."""
    queue, head = all_candidates(s), 0
    while head < len(queue) and fits(s, queue[head]):
        grant(s, queue[head])
        head += 1
    if head == len(queue) or not some_job_fits(s):
        return
    shadow_time, extra = reservation(s, queue[head])
    if shadow_time == np.inf:
        return
    for j in queue[head + 1 :]:
        if not fits(s, j):
            continue
        if s.now + limit(s, j) <= shadow_time:
            grant(s, j)
        elif s.job[j].demand <= extra:
            extra -= s.job[j].demand
            grant(s, j)


@inlined
def reservation(s: View, head: int) -> tuple[float, int]:
    """Return when enough GPUs are free for the head [s], infinite if unknown, and how many it leaves free [GPU]."""
    holders = np.concatenate((running(s), s.granted[: s.n_granted]))
    ends = np.array([expected_end(s, j) for j in holders])
    shadow_time, free = -np.inf, s.free
    for k in np.argsort(ends, kind="mergesort"):
        if free >= s.job[head].demand and ends[k] > shadow_time:
            break
        shadow_time = ends[k]
        free += s.job[holders[k]].demand
    return shadow_time, free - s.job[head].demand


@inlined
def expected_end(s: View, j: int) -> float:
    """Return when a job that runs, or starts in this round, reaches its limit [s]."""
    start = s.now if s.job[j].leases == 0 else s.job[j].lease_start
    return start + limit(s, j)


@inlined
def limit(s: View, j: int) -> float:
    """Return the time limit of job `j`, infinite if it has none [s]."""
    return np.inf if np.isnan(s.job[j].time_limit) else s.job[j].time_limit
