"""Minimum makespan, and shortest job first ([Narayanan2020] §4.2, appendix A.1).

Makespan: minimize over X the largest, over jobs m, of num_steps_m / throughput(m, X). This is one linear program and
needs no search for the makespan M: its inverse is the least of throughput(m, X) / num_steps_m, which is maximized. Of
all optimal X, the one with the largest sum of relative throughputs is taken.

Shortest job first: minimize the least of them. The optimum is the job that would end first on its fastest type, there
all the time. The program says nothing about the others: in order of their own shortest durations they take what is
left, by FIFO's objective.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from papers.gavel.problem import Allocation, Allocator
from papers.gavel.programs.policy import policy
from papers.gavel.programs.program import SLACK, Program


def allocate(program: Program) -> Allocation:
    """Solve the program of the makespan M, its objective [s]."""
    least = program.max_min(program.problem.steps)
    return program.choose(least, least.reached, 1 / least.value)


def shortest(program: Program) -> Allocation:
    """Solve the program of one moment; its objective is the duration of the shortest job [s]."""
    duration = program.problem.steps / program.fastest
    jobs = len(duration)
    order = np.argsort(duration, kind="stable")
    turn = np.empty(jobs)
    turn[order] = jobs - np.arange(jobs)
    floor = np.where(np.arange(jobs) == order[0], program.fastest * (1 - SLACK), 0.0)
    x = program.maximize(program.total(turn / program.fastest), floor)
    return program.allocation(x, float(duration[order[0]]))


MAKESPAN: Final[Allocator] = policy("makespan", allocate, has_center=True, knows_speeds=False)
MAKESPAN_HET: Final[Allocator] = policy("makespan-het", allocate, has_center=True)
MAKESPAN_HET_SS: Final[Allocator] = policy("makespan-het-ss", allocate, space_sharing=True)
SJF: Final[Allocator] = policy("sjf", shortest, knows_speeds=False)
SJF_HET: Final[Allocator] = policy("sjf-het", shortest)
