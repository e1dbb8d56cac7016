"""Isolated: every job has 1/n of every accelerator type to itself ([Narayanan2020] §4.1, §4.2).

The allocation against which sharing incentive and finish-time fairness are measured. A gang of s GPUs that owns
workers / n GPUs of a type can use them for workers / (n s) of the time; a job that owns more than it can use leaves
the rest idle, as nothing is shared.
"""

from __future__ import annotations

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.gavel.problem import Allocation, Policy, Problem


def equal_split(scale_factor: IntArray, workers: IntArray) -> FloatArray:
    """X^isolated: time fractions when each job or pair owns the same part of each type.

    Parameters
    ----------
    scale_factor : array of int, shape (n,)
        GPUs of each gang [GPU].
    workers : array of int, shape (J,)
        GPUs of each type [GPU].

    Returns
    -------
    array of float, shape (n, J)
        Rows that would exceed 1 are scaled down to 1, so that the mix of types stays that of the cluster.
    """
    share = workers / (max(len(scale_factor), 1) * scale_factor[:, None])
    return np.asarray(share / np.maximum(1.0, share.sum(axis=1, keepdims=True)))


def allocate(problem: Problem) -> Allocation:
    """1/n of each type for each job, whether or not the job makes use of it."""
    return Allocation(
        equal_split(problem.scale_factor, problem.workers), np.zeros((len(problem.pairs), len(problem.workers)))
    )


ISOLATED = Policy("isolated", lambda: allocate, knows_speeds=False)
