"""Finish-time fairness of Themis, on several accelerator types ([Narayanan2020] §4.2).

Minimize over X the largest, over jobs m, of

    rho(m, X) = (t_m + num_steps_m / throughput(m, X)) / D_m,
    D_m = t_m^isolated + num_steps_m / throughput(m, X^isolated).

All rho are at most r just when throughput(m, X) >= q_m(r) = num_steps_m / (r D_m - t_m) for every m. For a given r a
linear program finds the largest c with throughput(m, X) >= c q_m(r); r can be reached if c >= 1. If it cannot, the
prices y_m of its rows say that no r' with sum_m y_m q_m(r') > c can be reached either; the root of that convex function
of r' is the next r. So r rises to the optimum from below, as in Newton's method, and needs a few programs.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from astraea.core.arrays import FloatArray
from astraea.core.errors import PolicyError
from papers.gavel.problem import Allocation, Allocator, equal_split
from papers.gavel.programs.policy import policy
from papers.gavel.programs.program import Program

TOLERANCE: Final = 1e-7
"""Relative tolerance of the throughputs: HiGHS' own."""

PROGRAMS: Final = 100
"""Limit of linear programs, more than any instance needs; 2 to 6 are usual."""


def allocate(program: Program) -> Allocation:
    """Solve the programs of one moment; the objective is the largest rho."""
    steps, elapsed, alone = program.problem.steps, program.problem.elapsed, _isolated_time(program)
    rho = float(np.max((elapsed + steps / program.best) / alone))  # with every job at its best: none can be lower
    for _ in range(PROGRAMS):
        need = steps / (rho * alone - elapsed)
        least = program.max_min(need)
        if least.value >= 1 - TOLERANCE:
            break
        rho = _raised(rho, least.value, least.price * steps, elapsed, alone)
    else:
        raise PolicyError(
            f"{program.policy}: {PROGRAMS} linear programs did not find the least rho; the last tried was {rho:g}"
        )
    return program.choose(least, np.minimum(least.reached, need), rho)


def _isolated_time(program: Program) -> FloatArray:
    """Return D_m [s], with the isolated time so far restated in the throughputs that the policy sees."""
    problem = program.problem
    split = equal_split(problem.scale_factor, problem.workers)
    told = (program.speed * split).sum(axis=1)
    seen = (problem.seen * split).sum(axis=1)
    return np.asarray((problem.isolated_elapsed * seen + problem.steps) / told)


def _raised(rho: float, reach: float, priced: FloatArray, elapsed: FloatArray, alone: FloatArray) -> float:
    """Return the r at which ``sum(priced / (r alone - elapsed))`` falls to `reach`, by Newton's method from below."""
    for _ in range(PROGRAMS):
        left = rho * alone - elapsed
        excess = float(np.sum(priced / left)) - reach
        step = excess / float(np.sum(priced * alone / left**2))
        rho += step
        if step <= 1e-12 * rho:
            break
    return rho


FTF: Final[Allocator] = policy("ftf", allocate, has_center=True, knows_speeds=False)
FTF_HET: Final[Allocator] = policy("ftf-het", allocate, has_center=True)
FTF_HET_SS: Final[Allocator] = policy("ftf-het-ss", allocate, space_sharing=True)
