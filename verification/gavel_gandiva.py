"""Gandiva's packing as the authors' released code does it, to compare simulations with theirs.

It differs from `papers.gavel.policies.baselines` in three ways. A pair is kept if its normalized throughputs, summed
over both jobs and all types, reach 1, and neither is 0 anywhere. The random numbers are others. A job left without a
partner looks for one again at the next decision.
"""

from __future__ import annotations

import random

import numpy as np

from papers.gavel.problem import Allocation, Allocator, Problem, equal_split


class ReleasedPacking:
    """Keeps pairs; one object per simulation."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._partner: dict[int, int] = {}

    def __call__(self, problem: Problem) -> Allocation:
        """Equal shares of the time for jobs and pairs."""
        n, types = problem.throughput.shape
        place = {int(job): m for m, job in enumerate(problem.job)}
        offered = {(int(a), int(b)): p for p, (a, b) in enumerate(problem.job[problem.pairs])}
        for job, other in list(self._partner.items()):
            if job < other and _together(problem, offered.get((job, other))) < 1:  # or one has ended
                del self._partner[job], self._partner[other]
        alone, paired = np.zeros((n, types)), np.zeros((len(problem.pairs), types))
        if n and problem.scale_factor.sum() > problem.workers.sum():
            self._explore(problem, place)
        elif n:
            return Allocation(equal_split(problem.scale_factor, problem.workers), paired)
        groups = [(job, self._partner.get(job, job)) for job in place if job <= self._partner.get(job, job)]
        gangs = problem.scale_factor[[place[a] for a, _ in groups]] if groups else np.zeros(0, np.int64)
        for (a, b), share in zip(groups, equal_split(gangs, problem.workers), strict=True):
            if a == b:
                alone[place[a]] = share
            elif (a, b) in offered:
                paired[offered[a, b]] = share
        return Allocation(alone, paired)

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


def _together(problem: Problem, pair: int | None) -> float:
    """Sum of the normalized throughputs of a pair over jobs and types; 0 if one is 0 or it cannot share anywhere."""
    if pair is None or not (problem.pair_throughput[pair] > 0).all():
        return 0.0
    return float((problem.pair_throughput[pair] / problem.throughput[problem.pairs[pair]]).sum())


def gandiva_as_released(seed: int) -> Allocator:
    """The released ``gandiva``; its random numbers come from `seed`."""
    return Allocator("gandiva-as-released", lambda: ReleasedPacking(seed), space_sharing=True, least_gain=0.0)
