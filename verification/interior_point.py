"""LAS, finish-time fairness and makespan as the solver of Gavel's authors answers them, to compare simulations.

Their optima are seldom unique, and the averages of a simulation depend on which one is taken: an interior-point solver
(theirs) ends in the middle of all of them, a simplex method in a corner. Here the answer is the middle: of all
allocations whose throughputs reach those of the optimum, the one that maximizes the sum of the logarithms of all slacks
(the analytic center), found with Newton's method.

As in the released code, the makespan is searched by bisection, until a twentieth remains, instead of found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.errors import PolicyError
from astraea.gavel.policies import get_policy
from astraea.gavel.policies.isolated import equal_split
from astraea.gavel.problem import Allocation, Policy, Problem
from verification.center import STEPS, climb

RELAXED: Final = 1e-4
"""By what part of it a throughput may stay below that of the optimum: the middle needs some room."""


def central(name: str) -> Policy:
    """One of las, las-het, ftf, ftf-het, makespan, makespan-het, in the middle of its optima."""
    family, _, knows = name.partition("-")
    needs = {"las": _las, "ftf": _ftf, "makespan": _makespan}[family]
    exact = get_policy(name)

    def make() -> Callable[[Problem], Allocation]:
        allocate = exact.make()

        def answer(problem: Problem) -> Allocation:
            if len(problem.job) == 0:
                return Allocation(np.zeros((0, len(problem.workers))), np.zeros((0, len(problem.workers))))
            if knows:
                best = allocate(problem)
                speed, start, value = problem.throughput, best.alone, best.objective
            else:
                speed, start, value = _blind(problem), np.zeros((0, 0)), np.nan
            need = needs(problem, speed, value)
            if not knows:  # any split of the time over the types will do
                start = (need / speed.max(axis=1))[:, None] * problem.workers / problem.workers.sum()
            x = middle(speed, need, problem.scale_factor, problem.workers, start)
            return Allocation(x, np.zeros((0, len(problem.workers))))

        return answer

    return Policy(name, make)


def _blind(problem: Problem) -> FloatArray:
    """Throughput of an agnostic policy: everywhere that on the first type, even where a job cannot run."""
    first = problem.throughput[:, 0]
    fastest = np.where(first > 0, first, problem.throughput.max(axis=1))
    return np.repeat(fastest[:, None], len(problem.workers), axis=1)


def _las(problem: Problem, speed: FloatArray, value: float) -> FloatArray:
    """Throughput that each job must have for the optimum of LAS."""
    equal = speed @ (problem.workers / problem.workers.sum())
    need = problem.weight * equal / problem.scale_factor
    return np.asarray(need * (value if np.isfinite(value) else _most(problem, speed, need)))


def _ftf(problem: Problem, speed: FloatArray, value: float) -> FloatArray:
    """Throughput that each job must have for the least of the largest finish-time fairness."""
    isolated = (speed * equal_split(problem.scale_factor, problem.workers)).sum(axis=1)
    true = (problem.throughput * equal_split(problem.scale_factor, problem.workers)).sum(axis=1)
    due = (problem.isolated_elapsed * true + problem.steps) / isolated  # what an agnostic policy takes it for
    if np.isfinite(value):
        return np.asarray(problem.steps / (value * due - problem.elapsed))
    low = float(np.max((problem.elapsed + problem.steps / speed.max(axis=1)) / due))
    high = max(low, 1.0)
    while _most(problem, speed, problem.steps / (high * due - problem.elapsed)) < 1:
        high *= 2
    for _ in range(60):
        rho = (low + high) / 2
        reaches = _most(problem, speed, problem.steps / (rho * due - problem.elapsed)) >= 1
        low, high = (low, rho) if reaches else (rho, high)
    return np.asarray(problem.steps / (high * due - problem.elapsed))


def _makespan(problem: Problem, speed: FloatArray, value: float) -> FloatArray:
    """Throughput that each job must have for the makespan that a bisection finds."""
    least = value if np.isfinite(value) else 1 / _most(problem, speed, problem.steps)
    low, high, limit = 100.0, 1e6, 1e6
    found = 0.0
    while found == 0.0:
        while 1.05 * low < high:
            tried = (low + high) / 2
            if tried >= least:
                found = high = tried
            else:
                low = tried
        low, high, limit = limit, 10 * limit, 10 * limit
    return problem.steps / found


def _most(problem: Problem, speed: FloatArray, need: FloatArray) -> float:
    """Largest multiple of `need` that jobs can have if every type is as fast as another."""
    need = need / speed.max(axis=1)
    return float(min(1 / need.max(), problem.workers.sum() / (problem.scale_factor * need).sum()))


def middle(speed: FloatArray, need: FloatArray, scale: IntArray, workers: IntArray, start: FloatArray) -> FloatArray:
    """Analytic center of the allocations with throughput of at least `need`.

    Parameters
    ----------
    speed, start : array of float, shape (n, J)
        Throughputs, and an allocation that reaches `need`.
    need : array of float, shape (n,)
    scale : array of int, shape (n,)
    workers : array of int, shape (J,)

    Returns
    -------
    array of float, shape (n, J)
    """
    runs = scale[:, None] <= workers
    fastest = speed.max(axis=1, keepdims=True)
    floor = need / fastest[:, 0] * (1 - RELAXED)
    even = equal_split(scale, workers) * runs
    x = np.where(runs, (1 - RELAXED / 2) * start + RELAXED / 8 * even, 0.0)
    gangs = scale[:, None] * runs.astype(np.float64)
    if not climb(x, gangs, speed * runs / fastest, floor, workers.astype(np.float64)):
        raise PolicyError(f"{STEPS} Newton steps did not find the middle of the allocations of {len(need)} jobs")
    return x
