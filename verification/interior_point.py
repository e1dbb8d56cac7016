"""LAS, finish-time fairness and makespan with the optima that the solver of Gavel's authors finds.

Their optima are seldom unique, and the averages of a simulation depend on which one is taken: an interior-point solver
(theirs) ends in the middle of all of them, a simplex method in a corner. Here the answer is the middle, the analytic
center: among all allocations whose throughputs reach those of the optimum, it maximizes the sum of the logarithms of
all slacks. Newton's method finds it. The slacks are those of (1)-(3) of [Narayanan2020] §3.1 and of the throughputs.
The second derivatives are one block of J × J for each job, and a term for each type that ties the jobs together
(Woodbury's identity).

As in the released code, the makespan is not solved for but bisected, until a twentieth remains.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.compilation import compiled
from astraea.core.errors import PolicyError
from papers.gavel.policies import get_policy
from papers.gavel.problem import Allocation, Allocator, Problem, equal_split
from papers.gavel.programs.classes import blind

RELAXED: Final = 1e-4
"""Part by which a throughput may stay below the optimum's: the middle needs some room."""

STEPS: Final = 200
"""Limit of Newton steps, above the need of any instance."""


def interior_point(name: str) -> Allocator:
    """Return the middle of the optima of las, las-het, ftf, ftf-het, makespan or makespan-het."""
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
                speed, start, value = _everywhere(problem), np.zeros((0, 0)), np.nan
            need = needs(problem, speed, value)
            if not knows:  # any split of the time over the types will do
                start = (need / speed.max(axis=1))[:, None] * problem.workers / problem.workers.sum()
            x = middle(speed, need, problem.scale_factor, problem.workers, start)
            return Allocation(x, np.zeros((0, len(problem.workers))))

        return answer

    return replace(exact, make=make)


def _everywhere(problem: Problem) -> FloatArray:
    """Throughput for an agnostic policy: the first type's everywhere, even where a job cannot run."""
    told = blind(problem.throughput).max(axis=1)
    return np.repeat(told[:, None], len(problem.workers), axis=1)


def _las(problem: Problem, speed: FloatArray, value: float) -> FloatArray:
    """Throughput that each job must have for the optimum of LAS."""
    equal = speed @ (problem.workers / problem.workers.sum())
    need = problem.weight * equal / problem.scale_factor
    return np.asarray(need * (value if np.isfinite(value) else _most(problem, speed, need)))


def _ftf(problem: Problem, speed: FloatArray, value: float) -> FloatArray:
    """Throughput that each job must have for the least of the largest finish-time fairness."""
    isolated = (speed * equal_split(problem.scale_factor, problem.workers)).sum(axis=1)
    true = (problem.seen * equal_split(problem.scale_factor, problem.workers)).sum(axis=1)
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


@compiled
def climb(x: FloatArray, gangs: FloatArray, speed: FloatArray, floor: FloatArray, workers: FloatArray) -> bool:
    """Move x, an allocation with no slack 0, to the center; says whether it arrived.

    Parameters
    ----------
    x, gangs, speed : array of float, shape (n, J)
        Time fractions, GPUs taken [GPU] and throughputs of any unit; x and `gangs` are 0 where a job cannot run.
    floor : array of float, shape (n,)
    workers : array of float, shape (J,)
    """
    n, types = x.shape
    gradient, step = np.empty((n, types)), np.empty((n, types))
    for _ in range(STEPS):
        rest, free, above = 1.0 - x.sum(axis=1), workers - (gangs * x).sum(axis=0), (speed * x).sum(axis=1) - floor
        find_step(x, gangs, speed, rest, free, above, gradient, step)
        decrement = -(gradient * step).sum()
        if decrement < 1e-8:
            return True
        # how fast each slack changes, for its own size
        x_rate = np.zeros((n, types))
        for m in range(n):
            for j in range(types):
                if gangs[m, j] > 0:
                    x_rate[m, j] = step[m, j] / x[m, j]
        rest_rate, free_rate = -step.sum(axis=1) / rest, -(gangs * step).sum(axis=0) / free
        above_rate = (speed * step).sum(axis=1) / above
        reach = -min(x_rate.min(), rest_rate.min(), free_rate.min(), above_rate.min())
        length = min(1.0, 0.99 / reach) if reach > 0 else 1.0
        if decrement > 0.25:
            for _ in range(60):  # halve the step until the sum of logarithms rises enough
                rise = np.log1p(length * x_rate).sum() + np.log1p(length * rest_rate).sum()
                rise += np.log1p(length * free_rate).sum() + np.log1p(length * above_rate).sum()
                if rise >= 0.1 * length * decrement:
                    break
                length /= 2
        x += length * step
    return False


@compiled
def find_step(
    x: FloatArray,
    gangs: FloatArray,
    speed: FloatArray,
    rest: FloatArray,
    free: FloatArray,
    above: FloatArray,
    gradient: FloatArray,
    step: FloatArray,
) -> None:
    """Gradient of the sum of -log slacks, and Newton's step."""
    n, types = x.shape
    block = np.empty((types, types))
    solved = np.zeros((n, types, types))  # each job's block solved for the GPUs that it takes of each type
    small, right = np.diag(free**2), np.zeros(types)
    for m in range(n):
        for j in range(types):
            runs = gangs[m, j] > 0
            gradient[m, j] = -1 / x[m, j] + 1 / rest[m] + gangs[m, j] / free[j] - speed[m, j] / above[m] if runs else 0
            for k in range(types):
                block[j, k] = 1 / rest[m] ** 2 + speed[m, j] * speed[m, k] / above[m] ** 2 if runs else 0.0
                if gangs[m, k] == 0:
                    block[j, k] = 0.0
            block[j, j] += 1 / x[m, j] ** 2 if runs else 1.0
        factor(block)
        step[m] = gradient[m]
        substitute(block, step[m])
        for k in range(types):
            solved[m, k, k] = gangs[m, k]
            substitute(block, solved[m, k])
            right[k] += gangs[m, k] * step[m, k]
            for j in range(types):
                small[j, k] += gangs[m, j] * solved[m, k, j]
    factor(small)
    substitute(small, right)
    for m in range(n):
        for k in range(types):
            step[m] -= right[k] * solved[m, k]
    step *= -1.0


@compiled
def factor(a: FloatArray) -> None:
    """Cholesky factor of a positive definite matrix, in its lower triangle."""
    for j in range(len(a)):
        for k in range(j):
            a[j, j] -= a[j, k] ** 2
        a[j, j] = np.sqrt(a[j, j])
        for i in range(j + 1, len(a)):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]


@compiled
def substitute(factored: FloatArray, b: FloatArray) -> None:
    """Solve in place for b."""
    for i in range(len(b)):
        for k in range(i):
            b[i] -= factored[i, k] * b[k]
        b[i] /= factored[i, i]
    for i in range(len(b) - 1, -1, -1):
        for k in range(i + 1, len(b)):
            b[i] -= factored[k, i] * b[k]
        b[i] /= factored[i, i]
