"""Gavel's programs once more, written out naively: dense, with every pair, and searched by bisection."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from papers.gavel.problem import Problem

EXACT = {"primal_feasibility_tolerance": 1e-9}


class Dense:
    """All variables X, of jobs and of pairs, and constraints (1)-(3) of [Narayanan2020] §3.1."""

    def __init__(self, problem: Problem) -> None:
        n, types = problem.throughput.shape
        units = n + len(problem.pairs)
        self.rate = np.zeros((n, units, types))
        time = np.zeros((n, units, types))
        gpus = np.zeros((types, units, types))
        for m in range(n):
            self.rate[m, m] = problem.throughput[m]
            time[m, m] = 1.0
            gpus[range(types), m, range(types)] = problem.scale_factor[m]
        for p, (a, b) in enumerate(problem.pairs):
            self.rate[a, n + p], self.rate[b, n + p] = problem.pair_throughput[p]
            time[[a, b], n + p] = 1.0
            gpus[range(types), n + p, range(types)] = problem.scale_factor[a]
        self.rate = self.rate.reshape(n, -1)
        self.gpus = gpus.reshape(types, -1)
        self.rows = np.vstack([time.reshape(n, -1), self.gpus])
        self.limits = np.concatenate([np.ones(n), problem.workers])

    def most(self, objective, floor=None) -> float:
        """Largest value of ``objective @ x``, all throughputs being at least `floor`; -inf if that cannot be."""
        floor = np.zeros(len(self.rate)) if floor is None else floor
        rows, limits = np.vstack([self.rows, -self.rate]), np.concatenate([self.limits, -floor])
        for method in ("highs-ipm", "highs-ds"):  # the first gives up on some programs at the edge of what is possible
            found = linprog(-objective, A_ub=rows, b_ub=limits, bounds=(0, None), method=method, options=EXACT)
            if found.status != 4:
                break
        assert found.status in (0, 2)
        return -found.fun if found.status == 0 else -np.inf

    def allows(self, floor) -> bool:
        return self.most(np.zeros(self.rate.shape[1]), floor) > -np.inf


def bisected(is_feasible, low: float, high: float) -> float:
    """The point, to nine digits, from which on `is_feasible` holds."""
    assert is_feasible(high)
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if is_feasible(middle) else (middle, high)
    return high


def shares_by_filling(problem: Problem, unit, weigh) -> np.ndarray:
    """Water filling with one program per job to find out whether it is bottlenecked."""
    dense = Dense(problem)
    n = len(unit)
    level, stuck = np.zeros(n), np.zeros(n, bool)
    for _ in range(n):  # every step has a bottleneck
        if stuck.all():
            break
        weight = weigh(stuck)
        rate = np.hstack([-dense.rate, (unit * weight)[:, None]])
        rows = np.vstack([np.hstack([dense.rows, np.zeros((len(dense.rows), 1))]), rate])
        limits = np.concatenate([dense.limits, -unit * level * (1 - 1e-9)])
        found = linprog(-np.eye(rows.shape[1])[-1], A_ub=rows, b_ub=limits, bounds=(0, None), options=EXACT)
        assert found.status == 0
        level = level + weight * found.x[-1]
        for m in np.flatnonzero(~stuck):
            floor = unit * level * (1 - 1e-9)
            stuck[m] = dense.most(dense.rate[m], floor) <= unit[m] * level[m] + 1e-4 * problem.throughput[m].max()
    assert stuck.all()
    return level
