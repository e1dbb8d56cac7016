"""KAI's division of the cluster into fair shares, for any number of resources, each on its own.

Sources: docs/fairness and docs/developer/designs/time-aware-fairness of github.com/kai-scheduler/KAI-Scheduler, and the
behaviour of its package resource_division (v0.17), the only source for the rounding of shares.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from astraea.cluster.engine.state import F, I
from astraea.core.compilation import compiled, inlined


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
def hold(q: Queues, held: F, t: int, more: float) -> None:
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
