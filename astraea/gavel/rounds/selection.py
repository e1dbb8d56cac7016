"""Which jobs and pairs run, and on which workers ([Narayanan2020] §5).

Priorities, the greedy choice of Algorithm 1, and places: largest gangs first, where they ran before, on few servers.
"""

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


@compiled
def place(s: State, what: IntArray, picks: IntArray) -> IntArray:
    """Give workers to every pick.

    Gangs of equal size are placed together, first those whose former workers are free, then on few servers.

    Returns
    -------
    array of int, shape (W,)
        Position in `picks` for each worker, -1 if it is none's.
    """
    owner = np.full(s.workers.kind.shape[0], -1, np.int64)
    sizes = s.jobs.scale[what[picks, 0]]
    by_size = np.argsort(-sizes, kind="mergesort")
    begin = 0
    while begin < by_size.shape[0]:
        end = begin
        while end < by_size.shape[0] and sizes[by_size[end]] == sizes[by_size[begin]]:
            end += 1
        kept = np.zeros(end - begin, np.bool_)
        for i in range(begin, end):
            a, b, k, _ = what[picks[by_size[i]]]
            kept[i - begin] = keep_former(s, owner, by_size[i], a, b, k, sizes[by_size[i]])
        for i in range(begin, end):
            if not kept[i - begin]:
                few_servers(s, owner, by_size[i], what[picks[by_size[i]], 2], sizes[by_size[i]])
        begin = end
    return owner


@compiled
def keep_former(s: State, owner: IntArray, pick: int, a: int, b: int, k: int, size: int) -> bool:
    """Give the combination the workers it had in the last round, if it ran on that type and they are free."""
    w, found = s.workers, 0
    for i in range(owner.shape[0]):
        if w.kind[i] == k and w.former_first[i] == a and w.former_second[i] == b and owner[i] < 0 and w.first[i] < 0:
            found += 1
    if found != size:
        return False
    for i in range(owner.shape[0]):
        if w.kind[i] == k and w.former_first[i] == a and w.former_second[i] == b:
            owner[i] = pick
    return True


@compiled
def few_servers(s: State, owner: IntArray, pick: int, k: int, need: int) -> None:
    """Give workers of the fullest server that has enough; else those of the emptiest, and so on with the rest."""
    server = s.workers.server
    free = np.zeros(server[-1] + 1, np.int64)
    for i in range(owner.shape[0]):
        if s.workers.kind[i] == k and owner[i] < 0 and s.workers.first[i] < 0:
            free[server[i]] += 1
    while need > 0:
        best = -1
        for v in range(free.shape[0]):
            if free[v] >= need and (best < 0 or free[v] < free[best]):
                best = v
        if best < 0:
            best = int(np.argmax(free))
        for i in range(owner.shape[0]):
            if server[i] == best and s.workers.kind[i] == k and owner[i] < 0 and s.workers.first[i] < 0 and need > 0:
                owner[i] = pick
                need -= 1
        free[best] = 0


@compiled
def is_together(s: State, owner: IntArray, pick: int, size: int, server_gpus: int) -> bool:
    """Whether the workers lie on as few servers as the gang can have."""
    used, last = 0, -1
    for i in range(owner.shape[0]):
        if owner[i] == pick and s.workers.server[i] != last:
            used, last = used + 1, s.workers.server[i]
    return used <= (size + server_gpus - 1) // server_gpus
