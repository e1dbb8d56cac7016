"""Gandiva's ad-hoc packing: equal time shares, and pairs found by trial ([Narayanan2020] §7.3, §8).

While the cluster is oversubscribed, jobs that have no partner are paired at random with jobs of the same gang size,
until all fit. A new pair runs until the next decision; it is then kept if sharing made the two together faster than
taking turns, and dissolved otherwise. Each job or pair has the same part of the GPU-time of every type, as nothing is
known of how fast a job is where.

Departures: the released code keeps a pair whose normalized throughputs, summed over jobs and types, reach 1; here their
mean over the GPUs of the cluster must be above 1, the value of taking turns. It tries partners for all jobs where one
GPU is missing; here for as many as are missing: most trials fail, and with 4 jobs/h on 108 GPUs those for all made the
average JCT 36.2 h where equal shares without any packing give 23.6 h. On types where a pair cannot share (its
throughput there is 0), its two jobs take turns. Jobs that can share on no type are not tried; the released code pairs
them, gangs above all, and both stand still until the next decision.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from astraea.core.arrays import FloatArray, IntArray
from papers.gavel.problem import Allocation, Allocator, Problem, equal_split


class Packing:
    """Allocations of one simulation: the pairs that were formed, and the random order in which partners are tried."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)
        self.partners: dict[tuple[int, int], int] = {}  # two jobs of the workload -> number of their pair

    def __call__(self, problem: Problem) -> Allocation:
        """Judge the pairs that ran, form new ones, and share the time out equally."""
        n, types = problem.throughput.shape
        row = {job: m for m, job in enumerate(problem.job.tolist())}
        offered = np.full((n, n), -1)  # number of the pair of two rows, -1 if they may not share
        offered[problem.pairs[:, 0], problem.pairs[:, 1]] = np.arange(len(problem.pairs))
        offered = np.maximum(offered, offered.T)
        still = {(a, b): int(offered[row[a], row[b]]) for a, b in self.partners if a in row and b in row}
        still = {p: k for p, k in still.items() if k >= 0}
        gain = together(problem, np.array(list(still.values()), np.int64))
        self.partners = {p: k for (p, k), g in zip(still.items(), gain, strict=True) if g > 1}
        if problem.scale_factor.sum() <= problem.workers.sum():
            return problem.unshared(equal_split(problem.scale_factor, problem.workers))
        self.explore(problem, offered)

        chosen = np.array(sorted(self.partners.values()), np.int64)
        paired_jobs = problem.pairs[chosen]
        single = np.setdiff1d(np.arange(n), paired_jobs)
        gangs = problem.scale_factor[np.concatenate([single, paired_jobs[:, 0]])]
        share = equal_split(gangs, problem.workers)
        alone, paired = np.zeros((n, types)), np.zeros((len(problem.pairs), types))
        alone[single] = share[: len(single)]
        if len(chosen):
            shares = sharing(problem, chosen)
            paired[chosen] = np.where(shares, share[len(single) :], 0)
            alone[paired_jobs] = np.where(shares, 0, share[len(single) :] / 2)[:, None]
        return Allocation(alone, paired)

    def explore(self, problem: Problem, offered: IntArray) -> None:
        """Pair jobs without a partner at random until all fit, in at most as many draws of two as such jobs."""
        taken = {job for pair in self.partners for job in pair}
        free = [m for m, job in enumerate(problem.job.tolist()) if job not in taken]
        kept = problem.pairs[np.array(list(self.partners.values()), np.int64), 0]
        missing = problem.scale_factor.sum() - problem.scale_factor[kept].sum() - problem.workers.sum()
        for _ in range(len(free)):
            if len(free) < 2 or missing <= 0:
                break
            i, k = sorted(self.random.choice(len(free), 2, replace=False).tolist())
            a, b = free[i], free[k]
            if offered[a, b] >= 0:
                self.partners[int(problem.job[a]), int(problem.job[b])] = int(offered[a, b])
                missing -= problem.scale_factor[a]
                del free[k], free[i]


def sharing(problem: Problem, pairs: IntArray) -> npt.NDArray[np.bool_]:
    """Whether each of some pairs can run on shared GPUs of each type, shape (p, J)."""
    return np.asarray((problem.pair_throughput[pairs] > 0).all(axis=1))


def together(problem: Problem, pairs: IntArray) -> FloatArray:
    """Normalized throughput of the two jobs of each pair, mean over the GPUs, shape (p,); 1 is that of taking turns."""
    if len(pairs) == 0:
        return np.zeros(0)
    alone, shared = problem.throughput[problem.pairs[pairs]], problem.pair_throughput[pairs]
    relative = np.divide(shared, alone, out=np.zeros_like(shared), where=alone > 0).sum(axis=1)
    return np.asarray(np.average(np.where(sharing(problem, pairs), relative, 1.0), axis=1, weights=problem.workers))


GANDIVA = Allocator("gandiva", Packing, space_sharing=True, least_gain=0.0)
