"""Least attained service: max-min fairness of effective throughputs ([Narayanan2020] §4.1).

Maximize over X the least, over jobs m, of

    1 / w_m * throughput(m, X) / throughput(m, X^equal) * scale_factor_m.

Of all optimal X, the one with the largest sum of relative throughputs is taken. The agnostic twin solves the same
program with the same throughput on every type, in which case the objective is X_m scale_factor_m / w_m.

Water filling is max-min fairness that goes on where the least well-off can have no more (§4.3, A.1).
Shares of all jobs rise together, in proportion to their weights, until some are bottlenecked: no allocation gives them
more without giving another job less than it has. Those keep their level, weights are dealt out anew, and the others
rise on. In each step, with s_m the share and t_m the level so far,

    maximize over X the least of (s_m(X) - t_m) / w_m over {m: w_m > 0}, with s_m(X) >= t_m for all m.

A level is what the steps so far guarantee, w_m times the sum of their optima. A solution may give more, which does not
count; so the outcome does not depend on which of several optimal X a solver returns.

The paper finds bottlenecked jobs by a mixed-integer program (z_m = 1 if job m can have more). Two allocations that
raise one job each have a mean that raises both. So all jobs that can have more can have more at once, and one linear
program finds them: each gains up to a small step, and the sum of gains is maximized.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from astraea.core.arrays import BoolArray, FloatArray
from papers.gavel.problem import Allocation, Allocator
from papers.gavel.programs.policy import policy
from papers.gavel.programs.program import SLACK, Program
from papers.gavel.sums import dot


def share_of_one(program: Program) -> FloatArray:
    """Return throughput(m, X^equal) / scale_factor_m, at which a job's share is 1 [steps/s].

    X^equal is the same part of a job's time on each worker of the cluster.
    """
    workers = program.problem.workers
    return np.asarray(dot(program.speed, workers / workers.sum()) / program.problem.scale_factor)


def allocate(program: Program) -> Allocation:
    """Solve the program of one moment; the objective is the least share."""
    least = program.max_min(program.problem.weight * share_of_one(program))
    return program.choose(least, least.reached, least.value)


def water_fill(
    program: Program, unit: FloatArray, weigh: Callable[[BoolArray], FloatArray]
) -> tuple[FloatArray, FloatArray, float]:
    """Fill until every job is bottlenecked: variables of the program, shares of the jobs, optimum of the first step.

    `unit` is the throughput of each job that is a share of 1 [steps/s], (n,). `weigh` gives the weights of all jobs,
    told which are bottlenecked; those of the bottlenecked are 0, and not all others are.
    """
    stuck = np.zeros(unit.size, dtype=bool)
    level = np.zeros(unit.size)
    first = np.nan
    while not stuck.all():
        weight = weigh(stuck)
        least = program.max_min(unit * weight, unit * level * (1 - SLACK))
        first = least.value if np.isnan(first) else first
        level = least.reached / unit
        # a row with a price is a bottleneck for certain; one at least has a price, so this ends
        stuck = stuck | (least.price * unit * weight > 1e-6) | program.bottlenecked(unit * level)
    return program.fill(unit * level), level, float(first)


def filled(program: Program) -> Allocation:
    """Repeat it for the jobs that can still have more, which is Pareto efficient (§4.3, §4.4)."""
    weight = program.problem.weight
    x, _, least = water_fill(program, share_of_one(program), lambda stuck: np.where(stuck, 0.0, weight))
    return program.allocation(x, least)


LAS: Final[Allocator] = policy("las", allocate, ("weight",), has_center=True, knows_speeds=False)
LAS_HET: Final[Allocator] = policy("las-het", allocate, ("weight",), has_center=True)
LAS_HET_SS: Final[Allocator] = policy("las-het-ss", allocate, ("weight",), space_sharing=True)
LAS_HET_WATER_FILLING: Final[Allocator] = policy("las-het-water-filling", filled, ("weight",))
