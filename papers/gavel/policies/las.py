"""Least attained service: max-min fairness of effective throughputs ([Narayanan2020] §4.1).

Maximize over X the least, over jobs m, of

    1 / w_m * throughput(m, X) / throughput(m, X^equal) * scale_factor_m.

Of all optimal X, the one with the largest sum of relative throughputs is taken. The agnostic twin solves the same
program with the same throughput on every type, in which case the objective is X_m scale_factor_m / w_m.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from astraea.core.arrays import FloatArray
from papers.gavel.problem import Allocation, Allocator
from papers.gavel.programs.policy import policy
from papers.gavel.programs.program import Program
from papers.gavel.programs.water_filling import water_fill
from papers.gavel.sums import dot


def share_of_one(program: Program) -> FloatArray:
    """throughput(m, X^equal) / scale_factor_m, at which a job's share is 1 [steps/s].

    X^equal is the same part of a job's time on each worker of the cluster.
    """
    workers = program.problem.workers
    return np.asarray(dot(program.speed, workers / workers.sum()) / program.problem.scale_factor)


def allocate(program: Program) -> Allocation:
    """Solve the program of one moment; the objective is the least share."""
    least = program.max_min(program.problem.weight * share_of_one(program))
    return program.allocation(program.fill(least.reached), least.value)


def filled(program: Program) -> Allocation:
    """Repeat it for the jobs that can still have more, which is Pareto efficient (§4.3, §4.4)."""
    weight = program.problem.weight
    x, _, least = water_fill(program, share_of_one(program), lambda stuck: np.where(stuck, 0.0, weight))
    return program.allocation(x, least)


LAS: Final[Allocator] = policy("las", allocate, ("weight",), knows_speeds=False)
LAS_HET: Final[Allocator] = policy("las-het", allocate, ("weight",))
LAS_HET_SS: Final[Allocator] = policy("las-het-ss", allocate, ("weight",), space_sharing=True)
LAS_HET_WATER_FILLING: Final[Allocator] = policy("las-het-water-filling", filled, ("weight",))
