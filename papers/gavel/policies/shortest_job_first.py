"""Shortest job first ([Narayanan2020] §4.2).

Minimize over X the least, over jobs m, of num_steps_m / throughput(m, X).

The optimum is the job that would end first on its fastest type, there all the time. The program says nothing about the
others: in order of their own shortest durations they take what is left, by FIFO's objective.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from papers.gavel.problem import Allocation, Allocator
from papers.gavel.programs.optimum import SLACK
from papers.gavel.programs.policy import policy
from papers.gavel.programs.program import Program


def allocate(program: Program) -> Allocation:
    """Solve the program of one moment; its objective is the duration of the shortest job [s]."""
    duration = program.problem.steps / program.fastest
    jobs = len(duration)
    order = np.argsort(duration, kind="stable")
    turn = np.empty(jobs)
    turn[order] = jobs - np.arange(jobs)
    floor = np.where(np.arange(jobs) == order[0], program.fastest * (1 - SLACK), 0.0)
    x = program.maximize(program.total(turn / program.fastest), floor)
    return program.allocation(x, float(duration[order[0]]))


SJF: Final[Allocator] = policy("sjf", allocate, knows_speeds=False)
SJF_HET: Final[Allocator] = policy("sjf-het", allocate)
