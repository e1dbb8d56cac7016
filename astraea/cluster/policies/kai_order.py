"""KAI's order of queues: which of two goes first, and which queue has the next job or the next victim.

Source: the behaviour of KAI's package queue_order (github.com/kai-scheduler/KAI-Scheduler, v0.17).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from astraea.cluster.engine.state import F, I
from astraea.cluster.policies.kai_division import Queues
from astraea.core.compilation import compiled, inlined

WITHOUT_SHARE: Final = 1000.0
"""Dominant share per unit of a resource of which a queue may have nothing."""

NO_QUEUE: Final = -1


@compiled
def goes_first(q: Queues, a: int, b: int, job_a: F, job_b: F, victims_a: F, victims_b: F, total: F) -> bool:
    """Return whether queue `a` goes before queue `b`, by the first rule that distinguishes them.

    Each is judged with its next job, or without the amounts of its victims; all have shape (R,), like `total`.
    """
    if is_over_share(q, a) != is_over_share(q, b):
        return is_over_share(q, b)
    if stays_within_deserved(q, a, job_a) != stays_within_deserved(q, b, job_b):
        return stays_within_deserved(q, a, job_a)
    if q.priority[a] != q.priority[b]:
        return q.priority[a] > q.priority[b]
    if takes_without_share(q, a, job_a) != takes_without_share(q, b, job_b):
        return takes_without_share(q, b, job_b)
    for with_job in (1.0, 0.0):
        share_a = dominant_share(q, a, with_job * (job_a - victims_a), total)
        share_b = dominant_share(q, b, with_job * (job_b - victims_b), total)
        if share_a != share_b:
            return share_a < share_b
    if is_weaker(q, a, b) != is_weaker(q, b, a):
        return is_weaker(q, a, b)
    return q.created[a] < q.created[b]


@compiled
def next_leaf(q: Queues, ready: I, job: F, victims: F, total: F, reverse: bool) -> int:
    """Go from the top to the first (with `reverse` the last) child, down to a leaf; `NO_QUEUE` if none is ready.

    An inner queue is judged by the job, or the victims, of its own first leaf. `ready` are leaves, in any order.
    """
    leaf, chosen = np.full(len(q.parent), NO_QUEUE), np.full(len(q.parent) + 1, NO_QUEUE)
    for i in ready:
        leaf[i] = i
    for i in range(len(q.parent)):
        if chosen[i] != NO_QUEUE:
            leaf[i] = leaf[chosen[i]]
        if leaf[i] == NO_QUEUE:
            continue
        other, a = chosen[q.parent[i]], leaf[i]
        b = leaf[other]
        if other == NO_QUEUE or reverse != goes_first(q, i, other, job[a], job[b], victims[a], victims[b], total):
            chosen[q.parent[i]] = i
    return NO_QUEUE if chosen[-1] == NO_QUEUE else leaf[chosen[-1]]


@inlined
def allocatable(q: Queues, i: int, r: int) -> float:
    """Return the most of a resource that a queue may claim: its fair share or its quota, at most its limit."""
    return min(q.limit[i, r], max(q.deserved[i, r], q.share[i, r]))


@inlined
def is_over_share(q: Queues, i: int) -> bool:
    """Return whether a queue holds more than its fair share of every resource."""
    return (q.allocated[i] > q.share[i]).all()


@inlined
def stays_within_deserved(q: Queues, i: int, job: F) -> bool:
    """Return whether a queue with a job holds at most its quota of every resource."""
    return (q.allocated[i] + job <= q.deserved[i]).all()


@inlined
def takes_without_share(q: Queues, i: int, job: F) -> bool:
    """Return whether a queue with a job holds some of a resource of which it may have nothing."""
    for r in range(len(job)):
        if allocatable(q, i, r) == 0 and q.allocated[i, r] + job[r] > 0:
            return True
    return False


@inlined
def dominant_share(q: Queues, i: int, more: F, total: F) -> float:
    """Return the largest part, over resources, of its claim that a queue holds, with `more` than it holds now."""
    share = 0.0
    for r in range(len(more)):
        most = allocatable(q, i, r)
        if np.isinf(most):
            most = total[r]
        held = q.allocated[i, r] + more[r]
        share = max(share, held / most if most > 0 else held * WITHOUT_SHARE)
    return share


@inlined
def is_weaker(q: Queues, a: int, b: int) -> bool:
    """Return whether queue `a` may claim less of some resource than queue `b`, and more of none."""
    less = False
    for r in range(q.share.shape[1]):
        if allocatable(q, a, r) > allocatable(q, b, r):
            return False
        less = less or allocatable(q, a, r) < allocatable(q, b, r)
    return less
