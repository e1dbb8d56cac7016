"""FIFO and Gandiva as the released program of Gavel's authors has them, flaws included ([Narayanan2020]).

**FIFO** gives whole accelerators, in order of arrival, until a job fits on no type. The heterogeneity-aware one starts
anew every time and takes the fastest type with enough free GPUs. The other keeps every job where it is, and a job that
ends hands its type to the first in the queue, if that one fits and runs there. New jobs were to go to a random type,
but they all go to the listed type that is last by name. Once that one has exactly no GPU free, the type that was drawn
leaves the list. So the last type is given to more jobs than it has GPUs. (These are the V100s, so this FIFO has all 100
jobs of a batch on 8 GPUs of 48.) Both pass over a job whose throughput is 0 on the type that it would get. That rule,
and what happens when the first in the queue does not fit, were chosen among several by what reproduces the authors'
results, so those are no independent check of it. `fifo` has the paper's program.

**Gandiva** differs from `baselines` in three ways. A pair is kept if its normalized throughputs, summed over both jobs
and all types, reach 1, and neither is 0 anywhere. The random numbers are others. A job left without a partner looks for
one again at the next decision.
"""

from __future__ import annotations

import random
from typing import Final

import numpy as np

from astraea.core.arrays import FloatArray
from papers.gavel.problem import Allocation, Allocator, Problem, equal_split

SEED: Final = 0
"""Seed of the random numbers in the runs that the authors' program made."""

NONE: Final = -1


class ReleasedFifo:
    """Keeps jobs where they are; one object per simulation."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._held: dict[int, tuple[int, int]] = {}  # job -> its type and gang

    def __call__(self, problem: Problem) -> Allocation:
        """Whole accelerators for the jobs that hold some."""
        by_name = [int(j) for j in np.argsort(np.array(problem.types))]
        gang = {int(job): int(size) for job, size in zip(problem.job, problem.scale_factor, strict=True)}
        free = [int(workers) for workers in problem.workers]
        speed = dict(zip(gang, problem.throughput, strict=True))
        queue = sorted(set(gang) - set(self._held))
        for job in sorted(self._held):
            at, size = self._held[job]
            if job in gang:
                free[at] -= size
                continue
            if queue and gang[queue[0]] <= free[at] and speed[queue[0]][at] > 0:
                follower = queue.pop(0)
                self._held[follower] = (at, gang[follower])
                free[at] -= gang[follower]
            del self._held[job]
        listed = [j for j in by_name if free[j] > 0]
        while queue and listed:
            job = queue.pop(0)
            fitting = [place for place, j in enumerate(listed) if free[j] >= gang[job]]
            if not fitting:
                break
            drawn = fitting[self._random.randrange(len(fitting))]
            at = listed[-1]
            if speed[job][at] <= 0:
                continue
            self._held[job] = (at, gang[job])
            free[at] -= gang[job]
            if free[at] == 0:
                listed.pop(drawn)
        return _whole(problem, [self._held.get(int(job), (NONE, 0))[0] for job in problem.job])


def fastest_free(problem: Problem) -> Allocation:
    """In order of arrival, the fastest type with enough free GPUs; ties go to the first by name."""
    by_name = [int(j) for j in np.argsort(np.array(problem.types))]
    free = problem.workers.copy()
    chosen = [NONE] * len(problem.job)
    for m, size in enumerate(problem.scale_factor):
        fitting = [j for j in by_name if free[j] >= size]
        if not fitting:
            break
        fastest = max(fitting, key=lambda j: problem.throughput[m, j])
        if problem.throughput[m, fastest] > 0:
            chosen[m] = fastest
            free[fastest] -= size
    return _whole(problem, chosen)


def _whole(problem: Problem, chosen: list[int]) -> Allocation:
    alone = np.zeros(problem.throughput.shape)
    for m, at in enumerate(chosen):
        if at != NONE:
            alone[m, at] = 1.0
    return Allocation(alone, np.zeros((len(problem.pairs), problem.workers.size)))


class ReleasedPacking:
    """Keeps pairs; one object per simulation."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._partner: dict[int, int] = {}

    def __call__(self, problem: Problem) -> Allocation:
        """Equal shares of the time for jobs and pairs."""
        n, types = problem.throughput.shape
        place = {int(job): m for m, job in enumerate(problem.job)}
        for job, other in list(self._partner.items()):
            if job < other and _together(problem, place.get(job), place.get(other)) < 1:  # or one has ended
                del self._partner[job], self._partner[other]
        if problem.scale_factor.sum() <= problem.workers.sum():
            return problem.unshared(equal_split(problem.scale_factor, problem.workers))
        self._explore(problem, place)
        groups = [(job, self._partner.get(job, job)) for job in place if job <= self._partner.get(job, job)]
        gangs = problem.scale_factor[[place[a] for a, _ in groups]]
        alone, pairs, paired = np.zeros((n, types)), [], []
        for (a, b), share in zip(groups, equal_split(gangs, problem.workers), strict=True):
            if a == b:
                alone[place[a]] = share
            elif _speeds(problem, place[a], place[b]).any():
                pairs.append((place[a], place[b]))
                paired.append(share)
        members = np.array(pairs, np.int64).reshape(-1, 2)
        return Allocation(alone, np.array(paired).reshape(-1, types), pairs=members)

    def _explore(self, problem: Problem, place: dict[int, int]) -> None:
        """Pair jobs without a partner at random, as many draws of two as there are such jobs."""
        free = [job for job in place if job not in self._partner]
        for _ in range(len(free)):
            if len(free) < 2:
                return
            a, b = self._random.sample(free, 2)
            if problem.scale_factor[place[a]] == problem.scale_factor[place[b]]:
                free.remove(a)
                free.remove(b)
                self._partner[a], self._partner[b] = b, a


def _speeds(problem: Problem, a: int, b: int) -> FloatArray:
    """Throughputs of two jobs that share GPUs, 0 where they cannot, shape (2, J)."""
    return np.asarray(problem.together[problem.kind[a], problem.kind[b]])


def _together(problem: Problem, a: int | None, b: int | None) -> float:
    """Sum of the normalized throughputs of a pair over jobs and types; 0 if one is 0, or a job has ended."""
    if a is None or b is None or not ((speeds := _speeds(problem, a, b)) > 0).all():
        return 0.0
    return float((speeds / problem.throughput[[a, b]]).sum())


FIFO_RELEASED: Final = Allocator("fifo-released", lambda: ReleasedFifo(SEED), knows_speeds=False, leaves_idle=True)
FIFO_HET_RELEASED: Final = Allocator("fifo-het-released", lambda: fastest_free, leaves_idle=True)
GANDIVA_RELEASED: Final = Allocator(
    "gandiva-released", lambda: ReleasedPacking(SEED), space_sharing=True, least_gain=0.0
)
