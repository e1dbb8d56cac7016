"""Which jobs and pairs run: priorities, and the greedy choice of Algorithm 1 ([Narayanan2020] §5)."""

from __future__ import annotations

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.compilation import compiled
from astraea.gavel.rounds.state import State


@compiled
def priority(share: float, received: float) -> float:
    """Allocation over the time received since it was computed, as in Fig 4.

    §5 divides by the part of a *type's* time that went to the job. That compares jobs on one type; it cannot tell on
    which type a job is behind, and where GPUs are idle, jobs would stay on the type that has the most of them.
    """
    if share <= 0.0:
        return 0.0
    return share / received if received > 0.0 else share * 1e9


@compiled
def candidates(s: State, leftovers: bool, aware: bool) -> tuple[IntArray, FloatArray]:
    """Combinations that may be chosen, in order of arrival, then pairs.

    Jobs that run already are none. With `leftovers`, a job that the program gave nothing on a type stands there with
    priority 0; where the policy knows speeds, the faster type first, else types in turn.

    Returns
    -------
    array of int, shape (C, 4)
        First job, second job or -1, type, pair or -1.
    array of float, shape (C, 3)
        Priority, then what decides between equals: time owed from before, allocation.
    """
    types = s.jobs.alone.shape[1]
    room = (s.clock[0].active + s.pairs.share.shape[0]) * types
    what, key = np.empty((room, 4), np.int64), np.empty((room, 3))
    c = 0
    for i in range(s.clock[0].active):
        j = s.active[i]
        if s.jobs.slot[j] >= 0:
            continue
        fastest = s.jobs.alone[j].max()
        for k in range(types):
            if s.jobs.alone[j, k] <= 0.0 or (s.jobs.share[j, k] <= 0.0 and not leftovers):
                continue
            what[c] = (j, -1, k, -1)
            key[c, 0] = priority(s.jobs.share[j, k], s.jobs.received[j, k])
            if key[c, 0] > 0.0:
                key[c, 1], key[c, 2] = s.jobs.deficit[j, k], s.jobs.share[j, k]
            else:
                key[c, 1] = -np.inf
                key[c, 2] = s.jobs.alone[j, k] / fastest if aware else -float((k + s.clock[0].turn) % types)
            c += 1
    for p in range(s.pairs.share.shape[0]):
        a, b = s.pairs.members[p]
        if s.jobs.left[a] <= 0.0 or s.jobs.left[b] <= 0.0 or s.jobs.slot[a] >= 0 or s.jobs.slot[b] >= 0:
            continue
        for k in range(types):
            if s.pairs.share[p, k] > 0.0 and s.pairs.speed[p, 0, k] > 0.0 and s.pairs.speed[p, 1, k] > 0.0:
                what[c] = (a, b, k, p)
                key[c, 0] = priority(s.pairs.share[p, k], s.pairs.received[p, k])
                key[c, 1], key[c, 2] = 0.0, s.pairs.share[p, k]
                c += 1
    return what[:c], key[:c]


@compiled
def descending(key: FloatArray) -> IntArray:
    """Order by the columns of `key`, the first before the second, largest first; equals keep their order."""
    order = np.arange(key.shape[0])
    for column in (2, 1, 0):
        order = order[np.argsort(-key[order, column], kind="mergesort")]
    return order


@compiled
def chosen(s: State, what: IntArray, order: IntArray, free: IntArray) -> IntArray:
    """Take combinations in that order while their gang fits and no job of theirs is taken (Algorithm 1).

    Parameters
    ----------
    what : array of int, shape (C, 4)
    order : array of int
    free : array of int, shape (J,)
        Free workers of each type; what is taken is subtracted.

    Returns
    -------
    array of int
        Rows of `what`.
    """
    taken = np.zeros(s.jobs.left.shape[0], np.bool_)
    out = np.empty(order.shape[0], np.int64)
    n, left = 0, free.sum()
    for c in order:
        if left == 0:
            break
        a, b, k, _ = what[c]
        if s.jobs.scale[a] > free[k] or taken[a] or (b >= 0 and taken[b]):
            continue
        taken[a] = True
        if b >= 0:
            taken[b] = True
        free[k] -= s.jobs.scale[a]
        left -= s.jobs.scale[a]
        out[n] = c
        n += 1
    return out[:n]
