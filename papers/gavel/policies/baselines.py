"""Policies that Gavel is compared with: Isolated, Gandiva and AlloX ([Narayanan2020] §4.1, §7.3, §8).

Isolated gives every job 1/n of every accelerator type to itself: the allocation against which sharing incentive and
finish-time fairness are measured. A job that owns more than it can use leaves the rest idle, as nothing is shared.

Gandiva packs ad hoc: equal time shares, and pairs found by trial. While the cluster is oversubscribed, jobs that have
no partner are paired at random with jobs of the same gang size, until all fit. A new pair runs until the next decision;
it is then kept if sharing made the two together faster than taking turns, and dissolved otherwise. Each job or pair has
the same part of the GPU-time of every type, as nothing is known of how fast a job is where.

Departures of this Gandiva: the released code keeps a pair whose normalized throughputs, summed over jobs and types,
reach 1. Here their mean over the GPUs of the cluster must be above 1, the value of taking turns. The released code
tries partners for all jobs as soon as one GPU is missing; here as many jobs try as GPUs are missing. Most trials fail:
with 4 jobs/h on 108 GPUs, trials for all gave an average JCT of 36.2 h, equal shares without packing 23.6 h. On types
where a pair cannot share (its throughput there is 0), its two jobs take turns. Jobs that can share on no type are not
tried; the released code pairs them, gangs above all, and neither runs until the next decision.

AlloX has the least average job completion time by min-cost matching, for jobs of one GPU. Waiting jobs are matched to
(GPU, position from the end of its queue). A job in position p delays itself and the p - 1 jobs behind it, so it costs p
× its processing time on that type. The matching of least cost thus has the least sum of completion times (Le et al.,
EuroSys 2020). The first job of each queue starts and keeps its GPU until it ends; the others are matched again when
jobs come or go. A job may so be left waiting for a fast GPU while a slow one is idle.

As in the comparison, only free GPUs have queues, and all waiting jobs are matched (fairness parameter alpha = 1). The
package's own `allox` schedules gangs of tenants on GPUs that are all alike, where the matching is an order of jobs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy  # imports its optimize when it is used

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.errors import InputError
from papers.gavel.problem import Allocation, Allocator, Problem, equal_split


def isolated(problem: Problem) -> Allocation:
    """Give each job 1/n of each type, even if it cannot use it."""
    return problem.unshared(equal_split(problem.scale_factor, problem.workers))


class Packing:
    """Allocations of one simulation: the pairs that were formed, and the random order in which partners are tried."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)
        self.partners: list[tuple[int, int]] = []  # jobs of the workload

    def __call__(self, problem: Problem) -> Allocation:
        """Judge the pairs that ran, form new ones, and share the time out equally."""
        n, types = problem.throughput.shape
        row = {job: m for m, job in enumerate(problem.job.tolist())}
        still = [(a, b) for a, b in self.partners if a in row and b in row]
        gain = together(problem, np.array([(row[a], row[b]) for a, b in still], np.int64))
        self.partners = [pair for pair, g in zip(still, gain, strict=True) if g > 1]
        if problem.scale_factor.sum() <= problem.workers.sum():
            return problem.unshared(equal_split(problem.scale_factor, problem.workers))
        self.explore(problem)

        pairs = np.array(sorted((row[a], row[b]) for a, b in self.partners), np.int64).reshape(-1, 2)
        single = np.setdiff1d(np.arange(n), pairs)
        gangs = problem.scale_factor[np.concatenate([single, pairs[:, 0]])]
        share = equal_split(gangs, problem.workers)
        alone, paired = np.zeros((n, types)), np.zeros((len(pairs), types))
        alone[single] = share[: len(single)]
        if len(pairs):
            shares = sharing(problem, pairs)
            paired = np.where(shares, share[len(single) :], 0)
            alone[pairs] = np.where(shares, 0, share[len(single) :] / 2)[:, None]
        return Allocation(alone, paired, pairs=pairs)

    def explore(self, problem: Problem) -> None:
        """Pair jobs without a partner at random until all fit, in at most as many draws of two as such jobs."""
        may_share = np.asarray((problem.together > 0).any(axis=(2, 3)))  # (K, K)
        taken = {job for pair in self.partners for job in pair}
        jobs, kind = problem.job.tolist(), problem.kind.tolist()
        free = [m for m, job in enumerate(jobs) if job not in taken]
        kept = np.isin(problem.job, [a for a, _ in self.partners])
        missing = problem.scale_factor.sum() - problem.scale_factor[kept].sum() - problem.workers.sum()
        for _ in range(len(free)):
            if len(free) < 2 or missing <= 0:
                break
            i, k = sorted(self.random.choice(len(free), 2, replace=False).tolist())
            a, b = free[i], free[k]
            if may_share[kind[a], kind[b]]:
                self.partners.append((jobs[a], jobs[b]))
                missing -= problem.scale_factor[a]
                del free[k], free[i]


def speeds(problem: Problem, pairs: IntArray) -> FloatArray:
    """Return the throughputs of both jobs of each pair when they share GPUs [steps/s], shape (p, 2, J)."""
    first, second = problem.kind[pairs].T
    return np.asarray(problem.together[first, second])


def sharing(problem: Problem, pairs: IntArray) -> npt.NDArray[np.bool_]:
    """Return a mask of the types on which each pair of rows can share GPUs, shape (p, J)."""
    return np.asarray((speeds(problem, pairs) > 0).all(axis=1))


def together(problem: Problem, pairs: IntArray) -> FloatArray:
    """Return the normalized throughput of each pair, mean over the GPUs, shape (p,); taking turns gives 1."""
    if len(pairs) == 0:
        return np.zeros(0)
    alone, shared = problem.throughput[pairs], speeds(problem, pairs)
    relative = np.divide(shared, alone, out=np.zeros_like(shared), where=alone > 0).sum(axis=1)
    return np.asarray(np.average(np.where(sharing(problem, pairs), relative, 1.0), axis=1, weights=problem.workers))


class Matching:
    """Allocations of one simulation: remembers which job runs on which type."""

    def __init__(self) -> None:
        self.running: dict[int, int] = {}  # job of the workload -> type

    def __call__(self, problem: Problem) -> Allocation:
        """Start the first job of each queue beside the running jobs; `InputError` for a gang."""
        gangs = np.flatnonzero(problem.scale_factor != 1)
        if len(gangs):
            job, gang = problem.job[gangs[0]], problem.scale_factor[gangs[0]]
            raise InputError(f"allox: scale_factor of job {job} must be 1, as AlloX serves no gangs, got {gang}")
        present = set(problem.job.tolist())
        self.running = {job: j for job, j in self.running.items() if job in present}
        free = problem.workers - np.bincount(list(self.running.values()), minlength=len(problem.workers))
        waiting = np.array([m for m, job in enumerate(problem.job.tolist()) if job not in self.running], np.int64)
        with np.errstate(divide="ignore"):
            time = problem.steps[waiting, None] / problem.throughput[waiting]
        for k, j in enumerate(starting(time, free)):
            if j >= 0:
                self.running[int(problem.job[waiting[k]])] = int(j)

        alone = np.zeros(problem.throughput.shape)
        for m, job in enumerate(problem.job.tolist()):
            if job in self.running:
                alone[m, self.running[job]] = 1.0
        return problem.unshared(alone)


def starting(time: FloatArray, free: IntArray) -> IntArray:
    """Return the type on which each waiting job starts now, -1 if it is behind another or has no GPU to wait for.

    `time` are processing times, inf where a job cannot run, (n, J) [s]; `free` are GPUs without a job, (J,) [GPU].
    """
    start = np.full(len(time), -1, np.int64)
    # a second queue of a type is never two positions longer than another, which bounds the positions worth offering
    offers = [
        (j, gpu, position)
        for j in np.flatnonzero(free)
        for position in range(1, -(-len(time) // int(free[j])) + 1)
        for gpu in range(free[j])
    ]
    jobs = np.flatnonzero(np.isfinite(time[:, free > 0]).any(axis=1))
    if not offers or len(jobs) == 0:
        return start
    place = np.array(offers, np.int64)
    rows, columns = scipy.optimize.linear_sum_assignment(time[np.ix_(jobs, place[:, 0])] * place[:, 2])
    first: dict[tuple[int, int], tuple[int, int]] = {}  # (type, GPU) -> the largest position from the end, and its job
    for k, c in zip(jobs[rows], columns, strict=True):
        j, gpu, position = place[c].tolist()
        first[j, gpu] = max(first.get((j, gpu), (0, 0)), (position, int(k)))
    for (j, _), (_, k) in first.items():
        start[k] = j
    return start


ISOLATED = Allocator("isolated", lambda: isolated, knows_speeds=False)
GANDIVA = Allocator("gandiva", Packing, space_sharing=True, least_gain=0.0)
ALLOX = Allocator("allox", Matching)
