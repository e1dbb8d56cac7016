"""First in, first out ([Narayanan2020] §4.2).

Maximize over X the sum, over jobs m = 0, 1, ... in order of arrival, of

    throughput(m, X) / throughput(m, X^fastest) * (M - m),

with M the number of jobs.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from papers.gavel.problem import Allocation, Allocator
from papers.gavel.programs.policy import policy
from papers.gavel.programs.program import Program
from papers.gavel.sums import dot


def allocate(program: Program) -> Allocation:
    """Solve the program of one moment."""
    jobs = len(program.problem.steps)
    turn = jobs - np.arange(jobs)
    objective = program.total(turn / program.fastest)
    x = program.maximize(objective)
    return program.allocation(x, float(dot(objective, x)))


FIFO: Final[Allocator] = policy("fifo", allocate, knows_speeds=False, leaves_idle=True)
FIFO_HET: Final[Allocator] = policy("fifo-het", allocate, leaves_idle=True)
FIFO_HET_SS: Final[Allocator] = policy("fifo-het-ss", allocate, leaves_idle=True, space_sharing=True)
