"""The center of all optimal allocations.

The optimum of a least share is seldom one allocation. A simplex method ends in a corner of all of them, an interior
point method near their analytic center. That is the X that maximizes the sum of the logarithms of all slacks, those of
(1)-(3) of [Narayanan2020] §3.1 and of the throughputs. Newton's method finds it. The second derivatives are one block
of J x J for each class of jobs, and a term for each type that ties the classes together (Woodbury's identity). So a
step takes time in proportion to the classes. Solvers take the program with a variable for each job: 22 ms (Clarabel)
and 38 ms (HiGHS's interior point method without crossover) for 200 jobs. Here it takes 6 ms, with the simplex method
before it (`bench/gavel_solvers.csv`).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.compilation import compiled
from astraea.core.errors import PolicyError
from papers.gavel.problem import equal_split

RELAXED: Final = 1e-4
"""Part by which a throughput may stay below the optimum's: the center needs some room."""

STEPS: Final = 200
"""Limit of Newton steps, above the need of any instance."""


def center(
    speed: FloatArray, need: FloatArray, scale: IntArray, jobs: FloatArray, workers: IntArray, start: FloatArray
) -> FloatArray:
    """Analytic center of the allocations with throughput of at least `need`.

    Parameters
    ----------
    speed, start : array of float, shape (C, J)
        Throughputs, and an allocation that reaches `need`.
    need : array of float, shape (C,)
    scale, jobs : arrays, shape (C,)
        GPUs of a gang, and jobs of each class.
    workers : array of int, shape (J,)

    Returns
    -------
    array of float, shape (C, J)
    """
    there = np.flatnonzero(workers)  # a type without a GPU has no slack
    runs = scale[:, None] <= workers[there]
    fastest = speed.max(axis=1, keepdims=True)
    floor = need / fastest[:, 0] * (1 - RELAXED)
    even = equal_split(scale, workers[there], jobs.sum()) * runs
    x = np.where(runs, (1 - RELAXED / 2) * start[:, there] + RELAXED / 8 * even, 0.0)
    gangs = scale[:, None] * runs.astype(np.float64)
    if not climb(x, gangs, speed[:, there] * runs / fastest, floor, jobs, workers[there].astype(np.float64)):
        raise PolicyError(
            f"Newton's method did not find the center of the allocations of {len(need)} classes in {STEPS} steps"
        )
    everywhere = np.zeros(start.shape)
    everywhere[:, there] = x
    return everywhere


@compiled
def climb(
    x: FloatArray, gangs: FloatArray, speed: FloatArray, floor: FloatArray, jobs: FloatArray, workers: FloatArray
) -> bool:
    """Move x, an allocation whose slacks are above 0, to the center; says whether it arrived.

    Parameters
    ----------
    x, gangs, speed : array of float, shape (C, J)
        Time fractions, GPUs taken by a job [GPU] and throughputs of any unit; x and `gangs` are 0 where it cannot run.
    floor, jobs : array of float, shape (C,)
    workers : array of float, shape (J,)
    """
    n, types = x.shape
    gradient, step = np.empty((n, types)), np.empty((n, types))
    for _ in range(STEPS):
        rest, above, free = 1.0 - x.sum(axis=1), (speed * x).sum(axis=1) - floor, workers.copy()
        for m in range(n):
            free -= jobs[m] * gangs[m] * x[m]
        if not (rest.min() > 0 and above.min() > 0 and free.min() > 0):
            return False
        find_step(x, gangs, speed, jobs, rest, free, above, gradient, step)
        decrement = -(gradient * step).sum()
        if decrement < 1e-8:
            return True
        # how fast each slack changes, for its own size
        x_rate, free_rate = np.zeros((n, types)), np.zeros(types)
        for m in range(n):
            free_rate -= jobs[m] * gangs[m] * step[m] / free
            for j in range(types):
                if gangs[m, j] > 0:
                    x_rate[m, j] = step[m, j] / x[m, j]
        rest_rate, above_rate = -step.sum(axis=1) / rest, (speed * step).sum(axis=1) / above
        reach = -min(x_rate.min(), rest_rate.min(), free_rate.min(), above_rate.min())
        length = min(1.0, 0.99 / reach) if reach > 0 else 1.0
        if decrement > 0.25:
            for _ in range(60):  # halve the step until the sum of logarithms rises enough
                rise = np.log1p(length * free_rate).sum()
                for m in range(n):
                    own = np.log1p(length * x_rate[m]).sum() + np.log1p(length * rest_rate[m])
                    rise += jobs[m] * (own + np.log1p(length * above_rate[m]))
                if rise >= 0.1 * length * decrement:
                    break
                length /= 2
        x += length * step
    return False


@compiled
def find_step(
    x: FloatArray, gangs: FloatArray, speed: FloatArray, jobs: FloatArray, rest: FloatArray, free: FloatArray,
    above: FloatArray, gradient: FloatArray, step: FloatArray,
) -> None:  # fmt: skip
    """Gradient of the sum of -log slacks, and Newton's step."""
    n, types = x.shape
    block = np.empty((types, types))
    solved = np.zeros((n, types, types))  # each class's block solved for the GPUs that a job takes of each type
    small, right = np.diag(free**2), np.zeros(types)
    for m in range(n):
        for j in range(types):
            runs = gangs[m, j] > 0
            own = -1 / x[m, j] + 1 / rest[m] + gangs[m, j] / free[j] - speed[m, j] / above[m] if runs else 0.0
            gradient[m, j] = jobs[m] * own
            step[m, j] = own
            for k in range(types):
                block[j, k] = 1 / rest[m] ** 2 + speed[m, j] * speed[m, k] / above[m] ** 2 if runs else 0.0
                if gangs[m, k] == 0:
                    block[j, k] = 0.0
            block[j, j] += 1 / x[m, j] ** 2 if runs else 1.0
        factor(block)
        substitute(block, step[m])
        for k in range(types):
            solved[m, k, k] = gangs[m, k]
            substitute(block, solved[m, k])
            right[k] += jobs[m] * gangs[m, k] * step[m, k]
            for j in range(types):
                small[j, k] += jobs[m] * gangs[m, j] * solved[m, k, j]
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
