"""Least attained service with water filling: max-min fairness that is Pareto efficient ([Narayanan2020] §4.3, §4.4).

The program of `astraea.gavel.policies.las`, repeated for the jobs that can still have more.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from astraea.gavel.policies.las import share_of_one
from astraea.gavel.problem import Allocation, Policy, Problem
from astraea.gavel.programs.program import Program, policy
from astraea.gavel.programs.water_filling import water_fill


def allocate(problem: Problem, name: str) -> Allocation:
    """Fill the shares of one moment; the objective is that of LAS."""
    program = Program(problem, name)
    x, _, least = water_fill(program, share_of_one(program), lambda stuck: np.where(stuck, 0.0, problem.weight))
    return program.allocation(x, least)


LAS_HET_WATER_FILLING: Final[Policy] = policy(
    "las-het-water-filling", lambda problem: allocate(problem, "las-het-water-filling")
)
