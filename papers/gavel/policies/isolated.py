"""Isolated: every job has 1/n of every accelerator type to itself ([Narayanan2020] §4.1, §4.2).

The allocation against which sharing incentive and finish-time fairness are measured. A job that owns more than it can
use leaves the rest idle, as nothing is shared.
"""

from __future__ import annotations

from papers.gavel.problem import Allocation, Allocator, Problem, equal_split


def allocate(problem: Problem) -> Allocation:
    """1/n of each type for each job, whether or not the job makes use of it."""
    return problem.unshared(equal_split(problem.scale_factor, problem.workers))


ISOLATED = Allocator("isolated", lambda: allocate, knows_speeds=False)
