"""FIFO as the authors' released code does it, flaw included, to compare simulations with theirs.

Both variants give whole accelerators, in order of arrival, until a job fits on no type. The heterogeneity-aware one
starts anew every time and takes the fastest type with enough free GPUs. The other keeps every job where it is, and a
job that ends hands its type to the first in the queue, if that one fits and runs there. New jobs were to go to a random
type, but they all go to the listed type that is last by name. Once that one has exactly no GPU free, the type that was
drawn leaves the list. So the last type is given to more jobs than it has GPUs. (These are the V100s, so the released
FIFO has all 100 jobs of a batch on 8 GPUs of 48.) Both pass over a job whose throughput is 0 on the type that it would
get. That rule, and what happens when the first in the queue does not fit, were chosen among several by what reproduces
the authors' results, so those are no independent check of it. `papers.gavel.policies.fifo` is the paper's program.
"""

from __future__ import annotations

import random
from typing import Final

import numpy as np

from papers.gavel.problem import Allocation, Allocator, Problem

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


def fifo_as_released(seed: int) -> Allocator:
    """The released ``fifo``, which does not know throughputs; its random numbers come from `seed`."""
    return Allocator("fifo-as-released", lambda: ReleasedFifo(seed), knows_speeds=False, leaves_idle=True)


FIFO_HET_AS_RELEASED: Final[Allocator] = Allocator("fifo-het-as-released", lambda: fastest_free, leaves_idle=True)
"""The released ``fifo_perf``."""
