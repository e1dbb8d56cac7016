"""The analytic center of allocations with given throughputs, by Newton's method, compiled.

Of all X with (1)-(3) of [Narayanan2020] §3.1 and throughput(m, X) >= floor_m, it maximizes the sum of the logarithms of
all slacks: of each X_mj, of each job's time, of each type's GPUs and of each throughput. The second derivatives are one
block of J × J for each job, and a term for each type that ties the jobs together (Woodbury's identity).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from astraea.core.arrays import FloatArray
from astraea.core.compilation import compiled

STEPS: Final = 200
"""More Newton steps than any instance needs."""


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
