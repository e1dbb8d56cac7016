"""Hierarchical: weighted fairness among entities, fairness or FIFO inside each ([Narayanan2020] §4.3).

Water filling over the shares throughput(m, X) / throughput(m, X^equal) * scale_factor_m. The jobs of an entity that can
still have more divide its weight: in proportion to their own weights (fairness), or the first to arrive has all of it
(FIFO).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from astraea.core.arrays import FloatArray
from astraea.core.errors import InputError
from papers.gavel.policies.las import share_of_one, water_fill
from papers.gavel.problem import Allocation, Allocator, Problem
from papers.gavel.programs.policy import policy
from papers.gavel.programs.program import Program

INSIDE: Final = ("fairness", "fifo")


def job_weights(
    problem: Problem, inside: tuple[str, ...], stuck: npt.NDArray[np.bool_], jobs: FloatArray | float = 1.0
) -> FloatArray:
    """Return w_m^job: each entity's weight, divided among its jobs that are not bottlenecked.

    `inside` is "fairness" or "fifo" for each entity, or one for all. Of each row, (n,): `stuck` says whether it is
    bottlenecked, and so has the weight 0, and `jobs` how many jobs it stands for.
    """
    claim = np.where(stuck, 0.0, problem.weight)
    is_fifo = np.broadcast_to(np.array(inside) == "fifo", problem.entity_weight.shape)[problem.entity]
    free = np.flatnonzero(~stuck)
    _, first = np.unique(problem.entity[free], return_index=True)
    is_first = np.zeros(stuck.size, dtype=bool)
    is_first[free[first]] = True
    claim = np.where(is_fifo, np.where(is_first, 1.0, 0.0), claim)
    total = np.bincount(problem.entity, claim * jobs, minlength=problem.entity_weight.size)[problem.entity]
    return np.asarray(problem.entity_weight[problem.entity] * claim / np.where(total > 0, total, 1.0))


def hierarchical(name: str, inside: tuple[str, ...], **declared: bool) -> Allocator:
    """Make a policy with "fairness" or "fifo" inside each entity, by index, or the same for all."""
    if wrong := [word for word in inside if word not in INSIDE]:
        raise InputError(f"{name}: unknown policy inside an entity {wrong[0]!r}; known are {', '.join(INSIDE)}")

    def allocate(program: Program) -> Allocation:
        """Fill the shares of one moment; the objective is the optimum of the first step."""
        problem = program.problem
        _check(problem, name)

        def weigh(stuck: npt.NDArray[np.bool_]) -> FloatArray:
            return job_weights(problem, inside, stuck, program.jobs)

        x, _, first = water_fill(program, share_of_one(program), weigh)
        return program.allocation(x, first)

    alike = None if "fifo" in inside else ("weight", "entity")
    return policy(name, allocate, alike, **declared)


def _check(problem: Problem, name: str) -> None:
    entities = problem.entity_weight.size
    if (wrong := np.flatnonzero((problem.entity < 0) | (problem.entity >= entities))).size:
        raise InputError(
            f"{name}: job {problem.job[wrong[0]]} belongs to entity {problem.entity[wrong[0]]}, "
            f"expected one of the {entities} entities that have a weight"
        )
    if (wrong := np.flatnonzero(~(problem.entity_weight > 0))).size:
        raise InputError(
            f"{name}: entity {wrong[0]} has the weight {problem.entity_weight[wrong[0]]:g}, expected more than 0"
        )


HIERARCHICAL: Final[Allocator] = hierarchical("hierarchical", ("fairness",), knows_speeds=False)
HIERARCHICAL_HET: Final[Allocator] = hierarchical("hierarchical-het", ("fairness",))
HIERARCHICAL_HET_SS: Final[Allocator] = hierarchical("hierarchical-het-ss", ("fairness",), space_sharing=True)
HIERARCHICAL_FIFO: Final[Allocator] = hierarchical("hierarchical-fifo", ("fifo",), knows_speeds=False)
HIERARCHICAL_FIFO_HET: Final[Allocator] = hierarchical("hierarchical-fifo-het", ("fifo",))
