"""Jobs that a policy does not tell apart, and pairs of them."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.compilation import compiled
from papers.gavel.problem import Problem

FEW: Final = 10_000
"""Numbers below this are counted instead of sorted."""


class Classes(NamedTuple):
    """n jobs in C classes."""

    of: IntArray  # (n,) class of each job
    first: IntArray  # (C,) a job of each class
    jobs: FloatArray  # (C,) how many jobs it has

    @classmethod
    def alike(cls, problem: Problem, columns: tuple[str, ...], *, agnostic: bool) -> Classes:
        """Jobs with the same speeds and gangs, and the same values in some columns of the problem.

        Parameters
        ----------
        agnostic : bool
            Whether of speeds only matters on which types a job can run.
        """
        keys = [getattr(problem, column) for column in columns]
        if agnostic:
            runs = (problem.throughput > 0) @ (1 << np.arange(len(problem.workers)))
            keys += [problem.scale_factor, runs]
        else:
            keys.append(problem.kind)
        code = np.zeros(len(problem.job), np.int64)
        for key in keys:
            if key.dtype != np.int64 and (key == key[0]).all():
                continue
            high = -1 if key.dtype != np.int64 else _refine(code, key)
            if high < 0:
                high = _refine(code, np.unique(key, return_inverse=True)[1])
            if high >= FEW:
                _, code = np.unique(code, return_inverse=True)
        return cls(*_numbered(code, np.bincount(code)))


@compiled
def _refine(code: IntArray, key: IntArray) -> int:
    """Tell apart by `key` what has one code; returns the largest code, or -1 if a key is none to count with."""
    size = high = 0
    for value in key:
        size = max(size, value + 1)
        if value < 0 or value >= max(FEW, key.shape[0]):
            return -1
    for m in range(code.shape[0]):
        code[m] = code[m] * size + key[m]
        high = max(high, code[m])
    return high


@compiled
def _numbered(code: IntArray, count: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """`Classes` of codes, in their order; `count` is how many jobs have each, and is overwritten."""
    classes = 0
    for c in range(count.shape[0]):
        classes += count[c] > 0
    of, first, jobs = np.empty(code.shape[0], np.int64), np.empty(classes, np.int64), np.empty(classes)
    classes = 0
    for c in range(count.shape[0]):
        if count[c] > 0:
            jobs[classes], count[c] = count[c], classes
            classes += 1
    for m in range(code.shape[0] - 1, -1, -1):
        of[m] = count[code[m]]
        first[of[m]] = m
    return of, first, jobs


def own_class(problem: Problem) -> Classes:
    """Every job a class of its own."""
    each = np.arange(len(problem.job))
    return Classes(each, each, np.ones(len(each)))


class ClassPairs(NamedTuple):
    """Where a job of one class and one of another, or two of one class, gain from sharing GPUs; V of them, in order."""

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
    """Pairs and types with more to gain than from taking turns.

    If the two relative throughputs add up to 1 or less, the jobs have as much from taking turns on the same GPUs, so
    that no optimum is lost.

    Parameters
    ----------
    problem : Problem
        One job of each class.
    alone : array of float, shape (C, J)
        Throughputs of each class, 0 where it cannot run [steps/s].
    jobs : array of float, shape (C,)
        How many jobs there are of each class.
    names : array of int, shape (C,)
        By which classes are known from one program to the next.
    known : array of int
        Names of pairs, as `pair_names` has them, that are looked for.
    """
    if len(problem.together) == 0:
        return NO_PAIRS
    return ClassPairs(*_gaining(problem.kind, problem.together, alone, jobs, names, np.sort(known)))


def pair_names(first: IntArray, second: IntArray, at: IntArray) -> IntArray:
    """By which pairs of named classes are known from one program to the next."""
    return np.asarray((first << 40) + (second << 8) + at)


@compiled
def _gaining(
    kind: IntArray, together: FloatArray, alone: FloatArray, jobs: FloatArray, names: IntArray, known: IntArray
) -> tuple[IntArray, IntArray, IntArray, FloatArray, FloatArray, IntArray]:
    """`ClassPairs`; `known` is sorted."""
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

    Every job of a class has the same part of it, in few pairs: what each job of the first class still lacks goes to
    the next job of the second that lacks some, as in a transportation problem's north-west corner; jobs of one class
    are matched two by two, or, where their number is odd, each with the next in a ring.
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
    """`spread_pairs`; pairs of the same two classes on several types are neighbours, and have the same jobs."""
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
    """Throughputs of a policy that does not tell types apart: those of the first type; if it has none, the best."""
    known = np.where(alone[:, 0] > 0, alone[:, 0], alone.max(axis=1))
    return np.where(alone > 0, known[:, None], 0.0)
