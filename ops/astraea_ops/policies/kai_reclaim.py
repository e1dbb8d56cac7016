"""KAI's reclaim: the jobs that may claim GPUs that queues hold beyond their fair share, and the jobs evicted for them.

Victims are found one by one in KAI's order, until there are enough.

Source: the behaviour of KAI's packages reclaimable and strategies (github.com/kai-scheduler/KAI-Scheduler, v0.17). Its
documentation still says that saturation keeps its order, which has not been true since v0.8.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from astraea.cluster.engine.state import F, I, View
from astraea.cluster.policy import NO_JOB, in_use, is_open, running
from astraea.core.compilation import compiled, inlined
from astraea_ops.policies.kai_queues import (
    NO_QUEUE,
    Queues,
    add_held,
    allocatable,
    next_leaf,
    stays_within_deserved,
)


@inlined
def may_reclaim(q: Queues, i: int, job: F, preemptible: bool) -> bool:
    """Return whether queue `i` may claim the resources of a job, shape (R,): it must stay within its fair share."""
    within = (q.allocated[i] + job <= q.share[i]).all()
    return within and (preemptible or (q.fixed[i] + job <= q.deserved[i]).all())


@inlined
def siblings(q: Queues, i: int, v: int) -> tuple[int, int]:
    """Return the first two different queues on the paths from the top to two queues; the upper one twice if none."""
    while q.parent[i] != q.parent[v]:
        if q.parent[v] < 0 or 0 <= q.parent[i] < q.parent[v]:  # every queue comes before its parent
            i = q.parent[i]
        else:
            v = q.parent[v]
    return i, v


@compiled
def is_candidate(q: Queues, i: int, job: F, v: int) -> bool:
    """Return whether jobs of queue `v` may be evicted for a job of queue `i`."""
    own, other = siblings(q, i, v)
    if stays_within_deserved(q, own, job):
        return could_exceed_deserved(q, other, job)
    return exceeds_allocatable(q, other, q.allocated[other])


@inlined
def could_exceed_deserved(q: Queues, v: int, job: F) -> bool:
    """Return whether, of the resources a job needs, a queue holds more than its quota of one, or less of none."""
    has_less = False
    for r in range(len(job)):
        if job[r] > 0 and q.allocated[v, r] > q.deserved[v, r]:
            return True
        has_less = has_less or (job[r] > 0 and q.allocated[v, r] < q.deserved[v, r] < np.inf)
    return not has_less


@inlined
def exceeds_allocatable(q: Queues, v: int, held: F) -> bool:
    """Return whether a queue with these amounts has more of a resource than it may claim."""
    for r in range(len(held)):
        if held[r] > allocatable(q, v, r):
            return True
    return False


@inlined
def exceeds_deserved(q: Queues, v: int, held: F) -> bool:
    """Return whether a queue with these amounts has more of a resource than its quota."""
    return (held > q.deserved[v]).any()


@compiled
def may_lose(q: Queues, i: int, job: F, v: int, left: F) -> bool:
    """Return whether queue `v` may lose a victim; `left`, shape (Q, R), is what every queue holds before that.

    It may, to keep fair shares or to give queue `i` its quota; what it has afterwards does not matter. Queues with
    different parents are judged by those above them that are siblings.
    """
    own, other = siblings(q, i, v)
    if exceeds_allocatable(q, other, left[other]):
        return True
    return stays_within_deserved(q, own, job) and exceeds_deserved(q, other, left[other])


@compiled
def is_reclaimable(q: Queues, i: int, job: F, preemptible: bool, queues: I, victims: F, multiplier: float) -> bool:
    """Return whether a job of queue `i` may replace victims, shape (V, R), of these queues, taken in this order."""
    left = q.allocated.copy()
    involved, loses = np.zeros(left.shape, np.bool_), np.zeros(len(left), np.bool_)
    for k in range(len(queues)):
        v = queues[k]
        if not may_lose(q, i, job, v, left):
            return False
        while v >= 0:
            left[v] -= victims[k]
            involved[v] |= victims[k] > 0
            loses[v] = True
            v = q.parent[v]
    while i >= 0:
        for v in np.flatnonzero(loses):
            if v != i and q.parent[v] == q.parent[i] and upsets(q, i, job, v, left, involved[v], multiplier):
                return False
        if not (preemptible or (q.fixed[i] + job <= q.deserved[i]).all()):
            return False
        i = q.parent[i]
    return True


@inlined
def upsets(q: Queues, i: int, job: F, v: int, left: F, involved: F, multiplier: float) -> bool:
    """Return whether queue `i` with its job would exceed its share and not be less saturated than its sibling."""
    for r in range(len(job)):
        if (involved[r] or job[r] > 0) and 0 < q.share[v, r] < np.inf:
            own = saturation(left[i, r] + job[r], q.share[i, r])
            if own > 1 and own * multiplier >= saturation(left[v, r], q.share[v, r]):
                return True
    return False


@inlined
def saturation(held: float, share: float) -> float:
    """Return the held amount over the fair share, infinite if that is 0."""
    if share == 0:
        return np.inf if held > 0 else 0.0
    return held / share


@compiled
def victims_for(s: View, p: Any, q: Queues, t: int, j: int, total: F) -> tuple[bool, I]:
    """Return whether there are enough victims so that job `j` of tenant `t` fits, and the victims."""
    job, nothing = np.zeros(len(total)), np.zeros(q.share.shape)
    job[0] = s.job[j].demand
    pool = np.sort(running(s))[::-1].copy()  # in each queue, the last submitted first
    found, n = np.empty(len(pool), np.int64), 0
    spare = s.free - s.job[j].demand
    place = np.full(len(s.tenant), NO_JOB)
    for v in range(len(s.tenant)):
        if spare < 0 and v != t and in_use(s, v) > 0 and is_candidate(q, t, job, v):
            place[v] = next_victim(s, p, v, pool, 0)
    lost, left = np.zeros(q.share.shape), q.allocated.copy()
    while spare < 0 or n > 0:
        ready = np.flatnonzero(place != NO_JOB)
        with_next = lost.copy()
        for u in ready:
            with_next[u, 0] += s.job[pool[place[u]]].demand
        v = next_leaf(q, ready, nothing, with_next, total, True)
        if v == NO_QUEUE:
            return False, found[:0]
        k = pool[place[v]]
        place[v] = next_victim(s, p, v, pool, place[v] + 1)
        lost[v] = with_next[v]
        if may_lose(q, t, job, v, left):
            found[n] = k
            n += 1
            spare += s.job[k].demand
            add_held(q, left, v, -s.job[k].demand)
            if spare >= 0:
                victims = needed(s, found[:n], spare)
                held = np.zeros((len(victims), len(total)))
                held[:, 0] = s.job.demand[victims]
                if is_reclaimable(q, t, job, True, s.job.tenant[victims], held, p.saturation):
                    return True, victims
    return True, found[:0]


@inlined
def needed(s: View, found: I, spare: int) -> I:
    """Return the victims found, in order, whose GPUs are needed."""
    victims, n = np.empty(len(found), np.int64), 0
    for k in found:
        if s.job[k].demand > spare:
            victims[n] = k
            n += 1
        else:
            spare -= s.job[k].demand
    return victims[:n]


@compiled
def next_victim(s: View, p: Any, v: int, pool: I, first: int) -> int:
    """Return the position of the next running job of tenant `v`, from a position on, that has run long enough."""
    for place in range(first, len(pool)):
        k = pool[place]
        if s.job[k].tenant == v and is_open(s, k):
            ran = s.now - s.job[k].lease_start + (s.job[k].streak - 1) * p.lease_term
            if ran >= p.min_runtime:
                return place
    return NO_JOB
