"""First in, first out ([Narayanan2020] §4.2).

Maximize over X the sum, over jobs m = 0, 1, ... in order of arrival, of

    throughput(m, X) / throughput(m, X^fastest) * (M - m),

with M the number of jobs.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from astraea.gavel.problem import Allocation, Policy, Problem
from astraea.gavel.programs.program import Program, policy


def allocate(problem: Problem, name: str, *, agnostic: bool = False) -> Allocation:
    """Solve the program of one moment."""
    program = Program(problem, name, agnostic=agnostic)
    jobs = len(problem.steps)
    turn = jobs - np.arange(jobs)
    objective = (turn / program.fastest) @ program.throughput
    x = program.maximize(objective)
    return program.allocation(x, float(objective @ x))


FIFO: Final[Policy] = policy("fifo", lambda problem: allocate(problem, "fifo", agnostic=True))
FIFO_HET: Final[Policy] = policy("fifo-het", lambda problem: allocate(problem, "fifo-het"))
FIFO_HET_SS: Final[Policy] = policy("fifo-het-ss", lambda problem: allocate(problem, "fifo-het-ss"), space_sharing=True)
