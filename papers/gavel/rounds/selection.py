"""Choice of the jobs and pairs that run, and of their workers ([Narayanan2020] §5).

Priorities, the greedy choice of Algorithm 1, and places: largest gangs first, where they ran before, on few servers.
"""

from __future__ import annotations

from heapq import heapify, heappop
from typing import NamedTuple

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.compilation import borrowed, compiled, inlined
from papers.gavel.rounds.state import State


class Ranking(NamedTuple):
    """The C combinations that the last solved program gave time to, in order of arrival, then pairs.

    Between two solves the priority of a combination changes only when it has run, so that their order is kept: a round
    sorts those that ran in the last, and merges them with the others.
    """

    what: IntArray  # (C, 4) first job, second job or -1, type, pair or -1
    key: FloatArray  # (C, 3) priority, then what decides between equals: time owed from before, allocation
    order: IntArray  # (C,) rows of `what`, largest key first; equals in order
    spare: IntArray  # (C,) room for sorting
    size: IntArray  # (1,) rows in `order`: those whose jobs have not ended


@inlined
def priority(share: float, received: float) -> float:
    """Allocation over the time received since it was computed, as in Fig 4.

    §5 divides by the part of a *type's* time that went to the job. That compares jobs on one type; it cannot tell on
    which type a job is behind, and where GPUs are idle, jobs would stay on the type that has the most of them.
    """
    if share <= 0.0:
        return 0.0
    return share / received if received > 0.0 else share * 1e9


@compiled
def ranking(state: State, leftovers: bool) -> Ranking:
    """The combinations that the last solved program gave time to; with `leftovers`, also the other jobs."""
    s = borrowed(state)
    types = s.jobs.alone.shape[1]
    room = (s.clock[0].active + s.pairs.share.shape[0]) * types
    what, key, c = np.empty((room, 4), np.int64), np.full((room, 3), -1.0), 0
    for i in range(s.clock[0].active):
        j = s.active[i]
        for k in range(types):
            if s.jobs.alone[j, k] > 0.0 and (leftovers or s.jobs.share[j, k] > 0.0):
                what[c, 0], what[c, 1], what[c, 2], what[c, 3] = j, -1, k, -1
                key[c, 1], key[c, 2] = s.jobs.deficit[j, k], s.jobs.share[j, k]
                c += 1
    for p in range(s.pairs.share.shape[0]):
        for k in range(types):
            if s.pairs.share[p, k] > 0.0 and s.pairs.speed[p, 0, k] > 0.0 and s.pairs.speed[p, 1, k] > 0.0:
                what[c, 0], what[c, 1], what[c, 2], what[c, 3] = s.pairs.members[p, 0], s.pairs.members[p, 1], k, p
                key[c, 1], key[c, 2] = 0.0, s.pairs.share[p, k]
                c += 1
    r = Ranking(what, key, np.arange(c), np.empty(c, np.int64), np.full(1, c))
    rank(s, borrowed(r))
    return r


@compiled
def rank(s: State, r: Ranking) -> None:
    """Put those whose priority has changed in their places, and leave out those whose jobs have ended."""
    stay = moved = 0
    for i in range(r.size[0]):
        c = r.order[i]
        a, b, k, p = r.what[c, 0], r.what[c, 1], r.what[c, 2], r.what[c, 3]
        if is_over(s, a, b):
            continue
        now = priority(r.key[c, 2], s.jobs.received[a, k] if b < 0 else s.pairs.received[p, k])
        if now == r.key[c, 0]:
            r.order[stay] = c
            stay += 1
        else:
            r.key[c, 0], r.spare[moved] = now, c
            moved += 1
    r.size[0] = stay + moved
    for i in range(moved):
        r.order[stay + i] = r.spare[i]
    width = 1
    while width < moved:
        for begin in range(stay, stay + moved, 2 * width):
            merge(r, begin, min(begin + width, stay + moved), min(begin + 2 * width, stay + moved))
        width *= 2
    merge(r, 0, stay, stay + moved)


@inlined
def is_over(s: State, a: int, b: int) -> bool:
    """Return True if a combination can run no more."""
    return np.isfinite(s.jobs.end[a]) if b < 0 else s.jobs.left[a] <= 0.0 or s.jobs.left[b] <= 0.0


@inlined
def merge(r: Ranking, begin: int, middle: int, end: int) -> None:
    """Merge two neighbouring sorted parts of the order."""
    if middle >= end or begin >= middle or comes_before(r.key, r.order[middle - 1], r.order[middle]):
        return
    for i in range(begin, middle):
        r.spare[i] = r.order[i]
    i, j = begin, middle
    while i < middle:
        if j < end and comes_before(r.key, r.order[j], r.spare[i]):
            r.order[i + j - middle], j = r.order[j], j + 1
        else:
            r.order[i + j - middle], i = r.spare[i], i + 1


@inlined
def comes_before(key: FloatArray, c: int, d: int) -> bool:
    """Return True if combination `c` is chosen before `d`."""
    for i in range(3):
        if key[c, i] != key[d, i]:
            return key[c, i] > key[d, i]
    return c < d


@inlined
def chosen(s: State, r: Ranking, free: IntArray, leftovers: bool, aware: bool) -> IntArray:
    """Take combinations in their order while their workers and jobs are free (Algorithm 1); rows as `Ranking.what`.

    With `leftovers`, free workers then go to jobs to which the program gave nothing on their type. If the policy knows
    speeds, jobs for which the type is the fastest go first; else it goes type after type in turn. What is taken is
    subtracted from the `free` workers of each type.
    """
    types, left = s.jobs.alone.shape[1], free.sum()
    picks, n = np.empty((left, 4), np.int64), 0
    for i in range(r.size[0]):
        if left == 0:
            break
        c = r.order[i]
        a, b, k = r.what[c, 0], r.what[c, 1], r.what[c, 2]
        if s.jobs.scale[a] <= free[k] and not is_over(s, a, b) and take(s, a, b, k, n, free):
            picks[n, 0], picks[n, 1], picks[n, 2], picks[n, 3] = a, b, k, r.what[c, 3]
            n += 1
            left -= s.jobs.scale[a]
    if left > 0 and leftovers:
        heap = [
            (-s.jobs.alone[j, k] / s.jobs.alone[j].max() if aware else float((k + s.clock[0].turn) % types), j, k)
            for j in s.active[: s.clock[0].active]
            if not is_busy(s, j)
            for k in range(types)
            if s.jobs.scale[j] <= free[k] and s.jobs.alone[j, k] > 0.0 and s.jobs.share[j, k] <= 0.0
        ]
        heapify(heap)  # what is never reached need not be sorted
        while len(heap) > 0 and left > 0:
            _, j, k = heappop(heap)
            if take(s, j, -1, k, n, free):
                picks[n, 0], picks[n, 1], picks[n, 2], picks[n, 3] = j, -1, k, -1
                n += 1
                left -= s.jobs.scale[j]
    return picks[:n]


@inlined
def take(s: State, a: int, b: int, k: int, pick: int, free: IntArray) -> bool:
    """Take a combination as the pick of that number, if its gang fits and its jobs neither run nor are taken."""
    if s.jobs.scale[a] > free[k] or is_busy(s, a) or (b >= 0 and is_busy(s, b)):
        return False
    for j in (a, b):
        if j >= 0:
            s.jobs.pick[j] = pick
    free[k] -= s.jobs.scale[a]
    return True


@inlined
def is_busy(s: State, j: int) -> bool:
    """Return True if a job runs or is taken."""
    return s.jobs.slot[j] >= 0 or s.jobs.pick[j] >= 0


@inlined
def place(s: State, picks: IntArray) -> IntArray:
    """Give workers to every pick, a row of `picks`; return the pick of each worker, -1 for none, (W,).

    Gangs of equal size are placed together, first those whose former workers are free, then on few servers.
    """
    w, total, types = s.workers, s.workers.kind.shape[0], s.jobs.alone.shape[1]
    owner, former = np.full(total, -1, np.int64), np.full(total, -1, np.int64)  # the pick that has, and had, the worker
    kept = np.zeros(picks.shape[0], np.int64)  # free workers that each pick had
    free, begin = np.zeros(w.server[-1] + 1, np.int64), np.zeros(w.server[-1] + 1, np.int64)  # of each server
    first, last = np.zeros(types, np.int64), np.zeros(types, np.int64)  # servers of each type
    for i in range(total - 1, -1, -1):
        v, k, j = w.server[i], w.kind[i], w.former_first[i]
        begin[v], first[k], last[k] = i, v, max(last[k], v)
        if w.first[i] < 0:
            free[v] += 1
            p = s.jobs.pick[j] if j >= 0 else -1
            if p >= 0 and picks[p, 0] == j and picks[p, 1] == w.former_second[i] and picks[p, 2] == k:
                former[i] = p
                kept[p] += 1
    largest = size = 0
    for v in range(free.shape[0]):
        largest = max(largest, free[v])
    for p in range(picks.shape[0]):
        size = max(size, s.jobs.scale[picks[p, 0]])
    while size > 0:
        for i in range(total):
            p = former[i]
            if p >= 0 and kept[p] == size and s.jobs.scale[picks[p, 0]] == size:
                owner[i] = p
                free[w.server[i]] -= 1
        smaller = 0
        for p in range(picks.shape[0]):
            k, need = picks[p, 2], s.jobs.scale[picks[p, 0]]
            if need < size:
                smaller = max(smaller, need)
            if need != size or kept[p] == size:
                continue
            while need > 0:
                while free[first[k]] == 0:
                    first[k] += 1
                v = best_server(free, first[k], last[k], need, largest)
                i = begin[v]
                while need > 0 and free[v] > 0:
                    if owner[i] < 0 and w.first[i] < 0:
                        owner[i] = p
                        need -= 1
                        free[v] -= 1
                        if former[i] >= 0:
                            kept[former[i]] = -1  # not all are free any more
                    i += 1
        size = smaller
    return owner


@inlined
def grouped(owner: IntArray, picks: int) -> tuple[IntArray, IntArray]:
    """Workers by pick, in order; those of pick `p` are the first array from the second's ``[p]`` to its ``[p + 1]``."""
    workers, begins = np.empty(owner.shape[0], np.int64), np.zeros(picks + 1, np.int64)
    for p in owner:
        if p >= 0:
            begins[p] += 1
    for p in range(picks):
        begins[p + 1] += begins[p]
    for i in range(owner.shape[0] - 1, -1, -1):  # from the end of each on to its beginning
        if owner[i] >= 0:
            begins[owner[i]] -= 1
            workers[begins[owner[i]]] = i
    return workers, begins


@inlined
def best_server(free: IntArray, first: int, last: int, need: int, largest: int) -> int:
    """Return the fullest server with enough free workers, else the emptiest. None has more than `largest`."""
    best, most = -1, first
    for v in range(first, last + 1):
        if free[v] == min(need, largest):
            return v
        if free[v] > need and (best < 0 or free[v] < free[best]):
            best = v
        if free[v] > free[most]:
            most = v
    return best if best >= 0 else most


@inlined
def is_together(s: State, workers: IntArray, begin: int, end: int, server_gpus: int) -> bool:
    """Return True if these workers are on as few servers as a gang of that size can have."""
    used, last = 0, -1
    for n in range(begin, end):
        if s.workers.server[workers[n]] != last:
            used, last = used + 1, s.workers.server[workers[n]]
    return used <= (end - begin + server_gpus - 1) // server_gpus
