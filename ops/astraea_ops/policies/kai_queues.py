"""KAI's queues: their fair shares, and their order: which of two goes first, which has the next job or victim.

The division takes any number of resources, each on its own.

Sources: docs/fairness and docs/developer/designs/time-aware-fairness of github.com/kai-scheduler/KAI-Scheduler, and the
behaviour of its packages resource_division, the only source for the rounding of shares, and queue_order (v0.17).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from astraea.cluster.engine.state import F, I
from astraea.core.compilation import compiled, inlined

WITHOUT_SHARE: Final = 1000.0
"""Dominant share per unit of a resource of which a queue may have nothing."""

NO_QUEUE: Final = -1


class Queues(NamedTuple):
    """Queues of a tree: (Q,) and, by resource, (Q, R); every queue comes before its parent; infinite is no limit."""

    parent: I  #: the queue above, -1 for a queue at the top
    priority: I  #: a higher one goes first
    created: I  #: rank by age, 0 is the oldest
    deserved: F  #: quota
    limit: F  #: most that its jobs hold at once
    weight: F  #: over-quota weight
    usage: F  #: part of the cluster's capacity in the time window that it used, in [0, 1]
    request: F  #: amount that its jobs hold and wait for
    allocated: F
    fixed: F  #: the part of `allocated` that cannot be preempted
    share: F  #: fair share, set by `set_fair_shares`


@inlined
def add_held(q: Queues, held: F, t: int, more: float) -> None:
    """Add `more` to the amounts of the first resource that queue `t` and those above it hold, shape (Q, R)."""
    while t >= 0:
        held[t, 0] += more
        t = q.parent[t]


@compiled
def set_fair_shares(q: Queues, total: F, k: float) -> None:
    """Divide `total`, shape (R,), among the queues at the top, then the share of each queue among its children."""
    divide_level(q, -1, total, k)
    for above in range(len(q.parent) - 1, -1, -1):
        if (q.parent == above).any():
            divide_level(q, above, q.share[above], k)


@inlined
def divide_level(q: Queues, above: int, total: F, k: float) -> F:
    """Divide `total` among the children of one queue, or among the queues at the top; return the undivided rest."""
    level, left = np.flatnonzero(q.parent == above), np.zeros(len(total))
    for r in range(len(total)):
        wanted = np.minimum(q.request[level, r], q.limit[level, r])
        deserved = np.where(np.isinf(q.deserved[level, r]), total[r], q.deserved[level, r])
        share = np.minimum(deserved, wanted)  # even if that exceeds the total
        weight, usage = q.weight[level, r], q.usage[level, r]
        priority, created = q.priority[level], q.created[level]
        left[r] = divide_over_quota(total[r] - share.sum(), share, wanted, weight, usage, priority, created, k)
        for i in range(len(level)):
            q.share[level[i], r] = share[i]
    return left


@inlined
def divide_over_quota(
    left: float, share: F, wanted: F, weight: F, usage: F, priority: I, created: I, k: float
) -> float:
    """Divide the rest among the shares of a level, by weight and usage; return the undivided rest.

    Priority classes get whole units one after the other, highest first, then the rest from rounding in the same order.
    """
    lost = np.zeros(len(share))  # by rounding, in the last round of each queue
    classes = np.unique(priority)[::-1]
    for p in classes:
        another = True
        while another and left > 0:
            another = False
            wants = (priority == p) & (wanted > share)
            weights = np.where(wants, weight, 0.0)
            if weights.sum() == 0:
                break
            w = weights / weights.sum()
            portion = np.where(wants, np.maximum(w + k * (w - usage), 0.0), 0.0)
            if portion.sum() == 0:  # all have used too much
                break
            pot = left
            for i in np.flatnonzero(weights > 0):
                part = pot * (portion[i] / portion.sum())
                want = wanted[i] - share[i]
                if want <= part:
                    given, lost[i] = want, 0.0
                else:
                    given = np.floor(part)
                    lost[i] = part - given if part > given else lost[i]
                another = another or want < part
                share[i] += given
                left -= given
    for p in classes:
        members = np.flatnonzero((priority == p) & (lost > 0))
        while len(members) > 0 and left > 0:
            first = members[0]
            for i in members:
                if lost[i] > lost[first] or (lost[i] == lost[first] and created[i] < created[first]):
                    first = i
            given = min(1.0, left)
            share[first] += given
            left -= given
            members = members[members != first]
    return max(left, 0.0)


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
