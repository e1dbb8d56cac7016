"""Minimum makespan ([Narayanan2020] §4.2, appendix A.1).

Minimize over X the largest, over jobs m, of num_steps_m / throughput(m, X). This is one linear program and needs no
search for the makespan M: its inverse is the least of throughput(m, X) / num_steps_m, which is maximized. Of all
optimal X, the one with the largest sum of relative throughputs is taken.
"""

from __future__ import annotations

from typing import Final

from papers.gavel.problem import Allocation, Allocator
from papers.gavel.programs.policy import policy
from papers.gavel.programs.program import Program


def allocate(program: Program) -> Allocation:
    """Solve the program of one moment; its objective is the makespan M [s]."""
    least = program.max_min(program.problem.steps)
    return program.allocation(program.fill(least.reached), 1 / least.value)


MAKESPAN: Final[Allocator] = policy("makespan", allocate, knows_speeds=False)
MAKESPAN_HET: Final[Allocator] = policy("makespan-het", allocate)
MAKESPAN_HET_SS: Final[Allocator] = policy("makespan-het-ss", allocate, space_sharing=True)
