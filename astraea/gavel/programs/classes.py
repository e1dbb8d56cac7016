"""Jobs that a policy does not tell apart, and pairs of them."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.compilation import compiled
from astraea.gavel.problem import Problem

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
    """Where a job of one class and one of another, or two of one class, gain from sharing GPUs."""

    first: IntArray  # (V,) classes, first <= second
    second: IntArray
    type: IntArray  # (V,)
    speed: FloatArray  # (V, 2) of the first and of the second [steps/s]


NO_PAIRS: Final = ClassPairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 2)))


def class_pairs(problem: Problem, alone: FloatArray, jobs: FloatArray) -> ClassPairs:
    """Pairs and types with more to gain than from taking turns.

    If the two relative throughputs add up to 1 or less, the jobs have as much from taking turns on the same GPUs, so
    no optimum is lost.

    Parameters
    ----------
    problem : Problem
        One job of each class.
    alone : array of float, shape (C, J)
        Throughputs of each class, 0 where it cannot run [steps/s].
    jobs : array of float, shape (C,)
        How many jobs there are of each class.
    """
    if len(problem.together) == 0:
        return NO_PAIRS
    a, b, at = _gaining(problem.kind, problem.together, alone, jobs)
    return ClassPairs(a, b, at, problem.together[problem.kind[a], problem.kind[b], :, at])


@compiled
def _gaining(kind: IntArray, together: FloatArray, alone: FloatArray, jobs: FloatArray) -> IntArray:
    """Rows first, second and type of `ClassPairs`."""
    (n, types), v = alone.shape, 0
    found = np.empty((3, n * (n + 1) // 2 * types), np.int64)
    for a in range(n):
        for b in range(a + (jobs[a] <= 1), n):
            for k in range(types):
                mine, theirs = together[kind[a], kind[b], 0, k], together[kind[a], kind[b], 1, k]
                can = mine > 0 and theirs > 0 and alone[a, k] > 0 and alone[b, k] > 0
                if can and mine / alone[a, k] + theirs / alone[b, k] > 1:
                    found[0, v], found[1, v], found[2, v] = a, b, k
                    v += 1
    return found[:, :v].copy()


def spread_pairs(classes: Classes, pairs: ClassPairs, time: FloatArray, types: int) -> tuple[IntArray, FloatArray]:
    """Pairs of jobs, (P, 2), and their fractions of time, (P, J), from the time that the pairs of classes have.

    Every job of a class has the same part of it, in few pairs: what each job of the first class still lacks goes to
    the next job of the second that lacks some, as in a transportation problem's north-west corner; jobs of one class
    are matched two by two, or, where their number is odd, each with the next in a ring.
    """
    made: dict[tuple[int, int], FloatArray] = {}
    if len(time) == 0:
        return np.zeros((0, 2), np.int64), np.zeros((0, types))
    order = np.argsort(classes.of, kind="stable")
    begin = np.searchsorted(classes.of[order], np.arange(len(classes.jobs) + 1))
    for v in np.flatnonzero(time > 0).tolist():
        a, b = int(pairs.first[v]), int(pairs.second[v])
        mine, theirs = order[begin[a] : begin[a + 1]], order[begin[b] : begin[b + 1]]
        m, n = len(mine), len(theirs)
        if a != b:  # in units of 1 / (m n) each of the first has n of them, each of the second m
            cuts = np.union1d(np.arange(0, m * n, n), np.arange(0, m * n, m))
            one, other, parts = mine[cuts // n], theirs[cuts // m], np.diff(cuts, append=m * n) / (m * n)
        elif m % 2 == 0:
            one, other, parts = mine[::2], mine[1::2], np.full(m // 2, 2 / m)
        else:
            one, other, parts = mine, np.roll(mine, -1), np.full(m, 1 / m)
        for i, k, part in zip(one.tolist(), other.tolist(), parts.tolist(), strict=True):
            made.setdefault((min(i, k), max(i, k)), np.zeros(types))[pairs.type[v]] += part * time[v]
    if not made:
        return np.zeros((0, 2), np.int64), np.zeros((0, types))
    return np.array(list(made), np.int64), np.minimum(np.array(list(made.values())), 1.0)


def blind(alone: FloatArray) -> FloatArray:
    """Throughputs of a policy that does not tell types apart: those of the first type; if it has none, the best."""
    known = np.where(alone[:, 0] > 0, alone[:, 0], alone.max(axis=1))
    return np.where(alone > 0, known[:, None], 0.0)
