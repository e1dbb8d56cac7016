"""AlloX: least average job completion time by min-cost matching, for jobs of one GPU ([Narayanan2020] §7.3).

Waiting jobs are matched to (GPU, position from the end of its queue). A job in position p delays itself and the p - 1
jobs behind it, so it costs p × its processing time on that type, and the matching of least cost has the least sum of
completion times (Le et al., EuroSys 2020). The first job of each queue starts and keeps its GPU until it ends; the
others are matched again when jobs come or go. A job may so be left waiting for a fast GPU while a slow one is idle.

As in the comparison, only free GPUs have queues, and all waiting jobs are matched (fairness parameter alpha = 1).
"""

from __future__ import annotations

import numpy as np
import scipy  # imports its optimize when it is used

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.errors import InputError
from papers.gavel.problem import Allocation, Allocator, Problem


class Matching:
    """Allocations of one simulation: remembers which job runs on which type."""

    def __init__(self) -> None:
        self.running: dict[int, int] = {}  # job of the workload -> type

    def __call__(self, problem: Problem) -> Allocation:
        """Start the jobs that stand first in their queues beside those that run; `InputError` for a gang."""
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
    """Type on which each waiting job starts now, -1 if it stands behind another or has no GPU to wait for.

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


ALLOX = Allocator("allox", Matching)
