"""Which jobs and pairs run, and on which workers ([Narayanan2020] §5).

Priorities, the greedy choice of Algorithm 1, and places: largest gangs first, where they ran before, on few servers.
"""

from __future__ import annotations

from heapq import heapify, heappop

import numpy as np

from astraea.core.arrays import BoolArray, FloatArray, IntArray
from astraea.core.compilation import inlined
from astraea.gavel.rounds.state import State


@inlined
def priority(share: float, received: float) -> float:
    """Allocation over the time received since it was computed, as in Fig 4.

    §5 divides by the part of a *type's* time that went to the job. That compares jobs on one type; it cannot tell on
    which type a job is behind, and where GPUs are idle, jobs would stay on the type that has the most of them.
    """
    if share <= 0.0:
        return 0.0
    return share / received if received > 0.0 else share * 1e9


@inlined
def candidates(s: State, free: IntArray, leftovers: bool, aware: bool) -> tuple[IntArray, FloatArray]:
    """Combinations that may be chosen with so many free workers of each type, in order of arrival, then pairs.

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
        for k in range(types):
            is_given = s.jobs.share[j, k] > 0.0
            if s.jobs.scale[j] > free[k] or s.jobs.alone[j, k] <= 0.0 or not (is_given or leftovers):
                continue
            what[c] = (j, -1, k, -1)
            if is_given:
                key[c] = (priority(s.jobs.share[j, k], s.jobs.received[j, k]), s.jobs.deficit[j, k], s.jobs.share[j, k])
            else:
                turn = s.jobs.alone[j, k] / s.jobs.alone[j].max() if aware else -float((k + s.clock[0].turn) % types)
                key[c] = (0.0, -np.inf, turn)
            c += 1
    for p in range(s.pairs.share.shape[0]):
        a, b = s.pairs.members[p]
        if s.jobs.left[a] <= 0.0 or s.jobs.left[b] <= 0.0 or s.jobs.slot[a] >= 0 or s.jobs.slot[b] >= 0:
            continue
        for k in range(types):
            can_run = s.jobs.scale[a] <= free[k] and s.pairs.speed[p, 0, k] > 0.0 and s.pairs.speed[p, 1, k] > 0.0
            if can_run and s.pairs.share[p, k] > 0.0:
                what[c] = (a, b, k, p)
                key[c] = (priority(s.pairs.share[p, k], s.pairs.received[p, k]), 0.0, s.pairs.share[p, k])
                c += 1
    return what[:c], key[:c]


@inlined
def chosen(s: State, what: IntArray, key: FloatArray, free: IntArray) -> IntArray:
    """Take combinations, those of the largest key first, while their workers and jobs are free (Algorithm 1).

    Parameters
    ----------
    what : array of int, shape (C, 4)
    key : array of float, shape (C, 3)
        The first column decides before the second, that before the third, then the order in `what`.
    free : array of int, shape (J,)
        Free workers of each type; what is taken is subtracted.

    Returns
    -------
    array of int
        Rows of `what`.
    """
    heap = [(-key[c, 0], -key[c, 1], -key[c, 2], c) for c in range(what.shape[0])]
    heapify(heap)  # what is never reached need not be sorted
    taken = np.zeros(s.jobs.left.shape[0], np.bool_)
    out, n, left = np.empty(what.shape[0], np.int64), 0, free.sum()
    while len(heap) > 0 and left > 0:
        c = heappop(heap)[3]
        if take(s, what[c], taken, free):
            out[n] = c
            n += 1
            left -= s.jobs.scale[what[c, 0]]
    return out[:n]


@inlined
def take(s: State, combination: IntArray, taken: BoolArray, free: IntArray) -> bool:
    """Take a combination, if its jobs are not taken and its gang fits."""
    a, b, k, _ = combination
    if s.jobs.scale[a] > free[k] or taken[a] or (b >= 0 and taken[b]):
        return False
    taken[a] = True
    if b >= 0:
        taken[b] = True
    free[k] -= s.jobs.scale[a]
    return True


@inlined
def place(s: State, what: IntArray, picks: IntArray) -> IntArray:
    """Give workers to every pick.

    Gangs of equal size are placed together, first those whose former workers are free, then on few servers.

    Returns
    -------
    array of int, shape (W,)
        Position in `picks` for each worker, -1 if it is none's.
    """
    w, total = s.workers, s.workers.kind.shape[0]
    owner = np.full(total, -1, np.int64)
    sizes = s.jobs.scale[what[picks, 0]]
    free = np.zeros(w.server[-1] + 1, np.int64)  # of each server
    pick_of = np.full(s.jobs.left.shape[0], -1, np.int64)  # of each job
    for p in range(picks.shape[0]):
        pick_of[what[picks[p], 0]] = p
    former = np.full(total, -1, np.int64)  # the pick whose combination had the worker
    for i in range(total):
        if w.first[i] >= 0:
            continue
        free[w.server[i]] += 1
        p = pick_of[w.former_first[i]] if w.former_first[i] >= 0 else -1
        if p >= 0 and what[picks[p], 1] == w.former_second[i] and what[picks[p], 2] == w.kind[i]:
            former[i] = p
    theirs, begins = grouped(former, picks.shape[0])
    by_size = np.argsort(-sizes, kind="mergesort")
    begin = 0
    while begin < by_size.shape[0]:
        end = begin + int((sizes == sizes[by_size[begin]]).sum())
        rest = begin
        for i in range(begin, end):
            p = by_size[i]
            if not keep_former(s, owner, p, theirs[begins[p] : begins[p + 1]], sizes[p], free):
                by_size[rest] = p
                rest += 1
        for i in range(begin, rest):
            few_servers(s, owner, by_size[i], what[picks[by_size[i]], 2], sizes[by_size[i]], free)
        begin = end
    return owner


@inlined
def grouped(owner: IntArray, picks: int) -> tuple[IntArray, IntArray]:
    """Workers by pick, in order; those of pick `p` are the first array from the second's ``[p]`` to its ``[p + 1]``."""
    workers = np.argsort(owner, kind="mergesort")
    return workers, np.searchsorted(owner[workers], np.arange(picks + 1))


@inlined
def keep_former(s: State, owner: IntArray, pick: int, former: IntArray, size: int, free: IntArray) -> bool:
    """Give the combination the workers it had in the last round, if all are free."""
    if former.shape[0] != size or (owner[former] >= 0).any():
        return False
    for i in former:
        owner[i] = pick
        free[s.workers.server[i]] -= 1
    return True


@inlined
def few_servers(s: State, owner: IntArray, pick: int, k: int, need: int, free: IntArray) -> None:
    """Give workers of the fullest server that has enough; else those of the emptiest, and so on with the rest."""
    kind, server = s.workers.kind, s.workers.server
    first, end = np.searchsorted(kind, k), np.searchsorted(kind, k, side="right")
    while need > 0:
        best, most = -1, server[first]
        for v in range(server[first], server[end - 1] + 1):
            if free[v] >= need and (best < 0 or free[v] < free[best]):
                best = v
                if free[v] == need:
                    break
            if free[v] > free[most]:
                most = v
        v = best if best >= 0 else most
        i = np.searchsorted(server, v)
        while need > 0 and free[v] > 0:
            if owner[i] < 0 and s.workers.first[i] < 0:
                owner[i] = pick
                need -= 1
                free[v] -= 1
            i += 1


@inlined
def is_together(s: State, workers: IntArray, server_gpus: int) -> bool:
    """Whether they lie on as few servers as a gang of that size can have."""
    used, last = 0, -1
    for i in workers:
        if s.workers.server[i] != last:
            used, last = used + 1, s.workers.server[i]
    return used <= (workers.shape[0] + server_gpus - 1) // server_gpus
