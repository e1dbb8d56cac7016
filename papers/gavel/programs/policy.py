"""Policies that solve one or several programs at each moment and remember only the solver's basis.

Where types are not told apart there is one pool of GPUs, and closed forms replace the solver. A job's time is divided
over the types in proportion to their GPUs, so its share of all GPUs is one number. The least of many shares then leaves
no choice: all rise together until a type or a job has no more room. A sum is largest if GPUs go to the job that is
worth most on one of them, as in a fractional knapsack.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from astraea.core.arrays import BoolArray, FloatArray
from papers.gavel.problem import Allocation, Allocator, Problem
from papers.gavel.programs.center import center
from papers.gavel.programs.classes import Classes
from papers.gavel.programs.highs import Solver
from papers.gavel.programs.program import GAIN, Optimum, Program
from papers.gavel.sums import dot


class Pool(Program):
    """A `Program` that is agnostic; variables are the part of its time that each job of a class runs."""

    @property
    def _gpus(self) -> FloatArray:
        """GPUs of each type that a class takes if its jobs run all the time, shape (C, J) [GPU]."""
        return np.asarray((self.jobs * self.problem.scale_factor)[:, None] * self.part)

    def max_min(self, need: FloatArray, floor: FloatArray | None = None) -> Optimum:
        """Return the level c at which a type or a job is full: time is (c need + floor) / throughput."""
        held = np.zeros(need.size) if floor is None else floor / self.fastest
        rise, gpus = need / self.fastest, self._gpus
        with np.errstate(divide="ignore", invalid="ignore"):  # also 0 of 0 GPUs
            by_type = np.where((used := dot(rise, gpus)) > 0, (self.problem.workers - dot(held, gpus)) / used, np.inf)
            by_job = np.where(rise > 0, (1 - held) / rise, np.inf)
        k, m = int(by_type.argmin()), int(by_job.argmin())
        value = max(float(min(by_type[k], by_job[m])), 0.0)
        price = np.zeros(need.size)
        if by_type[k] <= by_job[m]:
            price = gpus[:, k] / self.fastest / used[k]
        else:
            price[m] = 1 / need[m]
        time = held + value * rise
        return Optimum(time, value, time * self.fastest, price)

    def maximize(self, objective: FloatArray, floor: FloatArray | None = None) -> FloatArray:
        """Serve the jobs worth most per GPU first, beyond the floors; solve the program where types have own jobs."""
        held = np.zeros(objective.size) if floor is None else floor / self.fastest
        size = self.jobs * self.problem.scale_factor
        room = float(self.problem.workers.sum() - dot(held, size))
        if (self.part != self.part[0]).any() or room < 0 or held.max() > 1:
            return super().maximize(objective, floor)
        wanted = (1 - held) * size
        order = np.argsort(-objective / size, kind="stable")
        before = np.cumsum(wanted[order]) - wanted[order]
        given = np.empty(objective.size)
        given[order] = np.clip(room - before, 0.0, wanted[order])
        return np.asarray(held + given / size)

    def bottlenecked(self, floor: FloatArray) -> BoolArray:
        """Return True for jobs that run all the time, or need a type without a GPU to spare."""
        held, workers = floor / self.fastest, self.problem.workers
        full = workers - dot(held, self._gpus) <= GAIN * workers
        return np.asarray((held >= 1 - GAIN) | (self.part[:, full] > 0).any(axis=1))


class Central(Program):
    """A `Program` that takes the center of its optima."""

    def choose(self, least: Optimum, floor: FloatArray, objective: float) -> Allocation:
        """Return the center of the allocations with throughput(m, X) >= floor_m, (C,)."""
        p, start = self.problem, self.time(least.x)
        x = center(self.speed, floor, p.scale_factor, self.jobs, p.workers, start)
        return replace(self.whole.unshared(x.take(self.classes.of, axis=0)), objective=objective)


class CentralPool(Pool, Central):
    """A `Pool` that takes the center of its optima: any split of a job's time over its types is as good."""


def policy(
    name: str, allocate: Callable[[Program], Allocation], alike: tuple[str, ...] | None = None, *,
    has_center: bool = False, **declared: Any,
) -> Allocator:  # fmt: skip
    """Make a policy without memory that solves programs; without jobs it answers without solving.

    `allocate` gives the allocation of one moment. `alike` names the fields of a `Problem` that jobs must have in
    common, besides their speeds, to be interchangeable; without it, none are. If it `has_center`, its `choose` may take
    the center of many optima. What is `declared` is of `Allocator`; a policy that does not know speeds gets a program
    that does not tell types apart.
    """

    def make(*, central: bool = False) -> Callable[[Problem], Allocation]:
        solver, agnostic = Solver(), not made.knows_speeds
        program = (CentralPool if central else Pool) if agnostic else (Central if central else Program)

        def answer(problem: Problem) -> Allocation:
            if len(problem.throughput) == 0:
                return problem.unshared(problem.throughput)
            classes = None if alike is None else Classes.alike(problem, alike, agnostic=agnostic)
            return allocate(program(problem, name, agnostic=agnostic, classes=classes, solver=solver))

        return answer

    made = Allocator(name, make, central=partial(make, central=True) if has_center else None, **declared)
    return made
