"""Jobs that a policy does not tell apart, and pairs of them."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.compilation import compiled
from papers.gavel.problem import Problem


class Classes(NamedTuple):
    """n jobs in C classes."""

    of: IntArray  # (n,) class of each job
    first: IntArray  # (C,) a job of each class
    jobs: FloatArray  # (C,) how many jobs it has

    @classmethod
    def alike(cls, problem: Problem, columns: tuple[str, ...], *, agnostic: bool) -> Classes:
        """Jobs with the same speeds and gangs, and the same values in some columns of the problem; in their order.

        Where types are not told apart (`agnostic`), of speeds only matters on which types a job can run.
        """
        keys = [getattr(problem, column) for column in columns]
        if agnostic:
            runs = (problem.throughput > 0) @ (1 << np.arange(len(problem.workers)))
            keys += [problem.scale_factor, runs]
        else:
            keys.append(problem.kind)
        order = np.lexsort(keys[::-1])
        begins = np.zeros(len(order), np.bool_)
        begins[0] = True
        for key in keys:
            ordered = key[order]
            begins[1:] |= ordered[1:] != ordered[:-1]
        of = np.empty(len(order), np.int64)
        of[order] = np.cumsum(begins) - 1
        return cls(of, order[begins], np.bincount(of).astype(np.float64))


class ClassPairs(NamedTuple):
    """Pairs of classes, and the type on which a job of each gains from sharing GPUs; V of them, in order."""

    first: IntArray  # (V,) classes, first <= second
    second: IntArray
    type: IntArray  # (V,)
    mine: FloatArray  # (V,) what each job of the first class has of all their pairs [steps/s]
    theirs: FloatArray  # (V,) and of the second; 0 where they are one
    known: IntArray  # those whose name was asked for


NO_PAIRS: Final = ClassPairs(*np.zeros((3, 0), np.int64), *np.zeros((2, 0)), *np.zeros((1, 0), np.int64))


def class_pairs(
    problem: Problem, alone: FloatArray, jobs: FloatArray, names: IntArray, known: IntArray
) -> ClassPairs:  # fmt: skip
    """Return the pairs and types that gain more from sharing than from taking turns.

    If the two relative throughputs add up to 1 or less, the jobs have as much from taking turns on the same GPUs, so
    that no optimum is lost. `problem` has one job of each class. For each class, `alone` are the throughputs, 0 where
    it cannot run [steps/s], (C, J), `jobs` is the number of its jobs, and `names` identify it from one program to the
    next. Pairs are looked for whose names, as `pair_names` has them, are `known`.
    """
    if len(problem.together) == 0:
        return NO_PAIRS
    return ClassPairs(*_gaining(problem.kind, problem.together, alone, jobs, names, np.sort(known)))


def pair_names(first: IntArray, second: IntArray, at: IntArray) -> IntArray:
    """Return numbers that identify pairs of named classes from one program to the next."""
    return np.asarray((first << 40) + (second << 8) + at)


@compiled
def _gaining(
    kind: IntArray, together: FloatArray, alone: FloatArray, jobs: FloatArray, names: IntArray, known: IntArray
) -> tuple[IntArray, IntArray, IntArray, FloatArray, FloatArray, IntArray]:
    """Compute `ClassPairs` in compiled code; `known` is sorted."""
    (n, types), v, looked, at = alone.shape, 0, 0, 0
    room = n * (n + 1) // 2 * types
    first, second, kinds = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    own, others, found = np.empty(room), np.empty(room), np.empty(room, np.int64)
    for a in range(n):
        for b in range(a + (jobs[a] <= 1), n):
            for k in range(types):
                mine, theirs = together[kind[a], kind[b], 0, k], together[kind[a], kind[b], 1, k]
                can = mine > 0 and theirs > 0 and alone[a, k] > 0 and alone[b, k] > 0
                if can and mine / alone[a, k] + theirs / alone[b, k] > 1:
                    first[v], second[v], kinds[v] = a, b, k
                    own[v] = (mine + theirs if a == b else mine) / jobs[a]
                    others[v] = 0.0 if a == b else theirs / jobs[b]
                    name = (names[a] << 40) + (names[b] << 8) + k  # as `pair_names`
                    while at > 0 and known[at - 1] >= name:  # names mostly rise
                        at -= 1
                    while at < known.shape[0] and known[at] < name:
                        at += 1
                    if at < known.shape[0] and known[at] == name:
                        found[looked], looked = v, looked + 1
                    v += 1
    return first[:v], second[:v], kinds[:v], own[:v], others[:v], found[:looked].copy()


def spread_pairs(classes: Classes, pairs: ClassPairs, time: FloatArray, types: int) -> tuple[IntArray, FloatArray]:
    """Pairs of jobs, (P, 2), and their fractions of time, (P, J), from the time that the pairs of classes have.

    Every job of a class has the same part of it, in few pairs. What each job of the first class still lacks goes to the
    next job of the second that lacks some, as in a transportation problem's north-west corner. Jobs of one class are
    matched two by two, or, if their number is odd, each with the next in a ring.
    """
    if len(time) == 0:
        return np.zeros((0, 2), np.int64), np.zeros((0, types))
    used = np.flatnonzero(time > 0)
    first, second, at = pairs.first[used], pairs.second[used], pairs.type[used]
    members, parts = _spread(classes.of, len(classes.jobs), first, second, at, time[used], types)
    return members, np.minimum(parts, 1.0)


@compiled
def _spread(
    of: IntArray, classes: int, first: IntArray, second: IntArray, at: IntArray, time: FloatArray, types: int
) -> tuple[IntArray, FloatArray]:
    """Compute `spread_pairs`; pairs of the same classes on several types are adjacent and have the same jobs."""
    begin, order = np.zeros(classes + 1, np.int64), np.empty(of.shape[0], np.int64)
    for c in of:
        begin[c] += 1
    for c in range(classes):
        begin[c + 1] += begin[c]
    for j in range(of.shape[0] - 1, -1, -1):  # from the end of each class on to its beginning
        begin[of[j]] -= 1
        order[begin[of[j]]] = j
    room = 0
    for v in range(time.shape[0]):
        room += begin[first[v] + 1] - begin[first[v]] + begin[second[v] + 1] - begin[second[v]]
    members, parts, end, row = np.empty((room, 2), np.int64), np.zeros((room, types)), 0, 0
    for v in range(time.shape[0]):
        a, b = first[v], second[v]
        m, n = begin[a + 1] - begin[a], begin[b + 1] - begin[b]
        if v == 0 or first[v - 1] != a or second[v - 1] != b:
            row = end
        end, i, k, done = row, 0, 0, 0
        while i < m:
            if a != b:  # in units of 1 / (m n) each of the first has n of them, each of the second m
                j, other = order[begin[a] + i], order[begin[b] + k]
                until = min((i + 1) * n, (k + 1) * m)
                part, done = (until - done) / (m * n), until
                i, k = i + (until == (i + 1) * n), k + (until == (k + 1) * m)
            else:
                j, other, part = order[begin[a] + i], order[begin[a] + (i + 1) % m], (1.0 if m % 2 else 2.0) / m
                i += 1 if m % 2 else 2
            members[end, 0], members[end, 1] = min(j, other), max(j, other)
            parts[end, at[v]] += part * time[v]
            end += 1
    return members[:end], parts[:end]


def blind(alone: FloatArray) -> FloatArray:
    """Return throughputs for a policy that does not tell types apart: the first type's, or else the best."""
    known = np.where(alone[:, 0] > 0, alone[:, 0], alone.max(axis=1))
    return np.where(alone > 0, known[:, None], 0.0)
