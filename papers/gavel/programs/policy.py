"""Policies that are one or several programs at each moment; all they remember is where the solver stood."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from papers.gavel.problem import Allocation, Allocator, Problem
from papers.gavel.programs.classes import Classes
from papers.gavel.programs.highs import Solver
from papers.gavel.programs.pool import Pool
from papers.gavel.programs.program import Program


def policy(
    name: str, allocate: Callable[[Program], Allocation], alike: tuple[str, ...] | None = None, **declared: Any
) -> Allocator:
    """A policy without memory that solves programs; without jobs it answers without.

    `allocate` gives the allocation of one moment. `alike` says what of a `Problem` jobs must have in common, besides
    their speeds, to be interchangeable; without it, none are. What is `declared` is of `Allocator`; a policy that does
    not know speeds gets a program that does not tell types apart.
    """

    def make() -> Callable[[Problem], Allocation]:
        solver, agnostic = Solver(), not made.knows_speeds
        program = Pool if agnostic else Program

        def answer(problem: Problem) -> Allocation:
            if len(problem.throughput) == 0:
                return problem.unshared(problem.throughput)
            classes = None if alike is None else Classes.alike(problem, alike, agnostic=agnostic)
            return allocate(program(problem, name, agnostic=agnostic, classes=classes, solver=solver))

        return answer

    made = Allocator(name, make, **declared)
    return made
