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
from astraea.gavel.problem import Allocation, Policy, Problem
from astraea.gavel.programs.program import Program, policy


def share_of_one(program: Program) -> FloatArray:
    """throughput(m, X^equal) / scale_factor_m, at which a job's share is 1 [steps/s].

    X^equal is the same part of a job's time on each worker of the cluster.
    """
    workers = program.problem.workers
    return np.asarray(program.speed @ (workers / workers.sum()) / program.problem.scale_factor)


def allocate(problem: Problem, name: str, *, agnostic: bool = False) -> Allocation:
    """Solve the program of one moment."""
    program = Program(problem, name, agnostic=agnostic)
    need = problem.weight * share_of_one(program)
    least = program.max_min(need)
    return program.allocation(program.fill(least.reached), least.value)


LAS: Final[Policy] = policy("las", lambda problem: allocate(problem, "las", agnostic=True))
LAS_HET: Final[Policy] = policy("las-het", lambda problem: allocate(problem, "las-het"))
LAS_HET_SS: Final[Policy] = policy("las-het-ss", lambda problem: allocate(problem, "las-het-ss"), space_sharing=True)
