"""Optima that solvers return for heterogeneity-aware LAS ([Narayanan2020] §4.1), and how long they take.

``python bench/gavel_solvers.py > bench/gavel_solvers.csv``, after ``pip install cvxpy ecos`` into the environment.
cvxpy was what Gavel's authors used, with its default solver of 2020, ECOS; today's is Clarabel.

The program is written as in the paper, with a variable for each job and type. ``least`` is the smallest share, and
``sum`` the sum over jobs of throughput relative to the fastest type. ``apart`` is the largest difference between time
fractions of two jobs that are alike, and ``from_center`` that of a time fraction from the center's.
"""

from __future__ import annotations

import sys
import time
from importlib.metadata import version
from typing import Any

import cvxpy as cp
import highspy
import numpy as np
import pandas as pd

from papers.gavel.generators import continuous
from papers.gavel.moment import answer, moment, moment_of
from papers.gavel.problem import Problem
from papers.gavel.throughputs.table import Throughputs

GOLDEN = {
    "A": [[3, 1, 1], [3, 2, 1], [3, 2, 1]],
    "B": [[3, 1.1, 1], [3, 2, 1], [3, 2, 1]],
    "C": [[3, 2, 0.9], [3, 2, 1.1], [3, 2, 1.1]],
    "D": [[2.5, 2, 1], [3, 2, 1], [3, 2, 1]],
}


def cases() -> dict[str, Problem]:
    """Moments: the golden ones, and jobs of the evaluation on a cluster that is too small, or too large, for them."""
    table = Throughputs.compact()
    jobs = continuous(200, 2.4, table, multiple=True, seed=0)
    return {
        **{name: moment(speed, [1, 1, 1]) for name, speed in GOLDEN.items()},
        "200 jobs, 36 GPUs of each type": moment_of(jobs, table, (36, 36, 36)),
        "40 jobs, 36 GPUs of each type": moment_of(jobs.first(40), table, (36, 36, 36)),
    }


def share_of_one(problem: Problem) -> np.ndarray[Any, Any]:
    """Throughput of each job that is a share of 1 [steps/s], (n,)."""
    return np.asarray(
        problem.weight * (problem.throughput @ (problem.workers / problem.workers.sum())) / problem.scale_factor
    )


def by_cvxpy(problem: Problem, solver: str) -> np.ndarray[Any, Any]:
    """X of the program as the paper writes it."""
    speed, size, share = problem.throughput, problem.scale_factor[:, None], share_of_one(problem)
    x = cp.Variable(speed.shape, nonneg=True)
    least = cp.min(cp.multiply(1 / share, cp.sum(cp.multiply(speed, x), axis=1)))
    limits = [cp.sum(x, axis=1) <= 1, cp.sum(cp.multiply(size, x), axis=0) <= problem.workers]
    cp.Problem(cp.Maximize(least), limits).solve(solver=solver)
    return np.asarray(x.value)


def by_highs(problem: Problem, **options: str) -> np.ndarray[Any, Any]:
    """X of the same program, given to HiGHS itself."""
    highs, (n, types) = highspy.Highs(), problem.throughput.shape
    for name, value in {"output_flag": False, "threads": 1, **options}.items():
        highs.setOptionValue(name, value)
    least = highs.addVariable(obj=-1.0)
    x = [[highs.addVariable() for _ in range(types)] for _ in range(n)]
    for speed, share, row in zip(problem.throughput, share_of_one(problem), x, strict=True):
        highs.addConstr(
            highspy.Highs.qsum(x * v for x, v in zip(row, speed.tolist(), strict=True)) >= float(share) * least
        )
        highs.addConstr(highspy.Highs.qsum(row) <= 1)
    for at, workers in enumerate(problem.workers.tolist()):
        columns = zip(x, problem.scale_factor.tolist(), strict=True)
        highs.addConstr(highspy.Highs.qsum(row[at] * size for row, size in columns) <= workers)
    highs.run()
    return np.array(highs.getSolution().col_value[1:]).reshape(n, types)


def apart(problem: Problem, x: np.ndarray[Any, Any]) -> float:
    """Largest difference of time fractions between two jobs of one kind."""
    key = np.column_stack([problem.throughput, problem.scale_factor, problem.weight])
    _, of = np.unique(key, axis=0, return_inverse=True)
    parts = [x[of == k] for k in range(of.max() + 1)]
    return max(float(np.ptp(part, axis=0).max()) for part in parts)


def main() -> None:
    """Print the table."""
    ways = {
        f"ECOS {version('ecos')}": lambda p: by_cvxpy(p, "ECOS"),
        f"Clarabel {version('clarabel')}": lambda p: by_cvxpy(p, "CLARABEL"),
        f"HiGHS {highspy.Highs().version()}, simplex": lambda p: by_highs(p, solver="simplex"),
        f"HiGHS {highspy.Highs().version()}, interior point": lambda p: by_highs(p, solver="ipm", run_crossover="off"),
        "here, center": lambda p: answer("las-het", p, "central").alone,
        "here, largest sum": lambda p: answer("las-het", p).alone,
    }
    rows = []
    for case, problem in cases().items():
        center = ways["here, center"](problem)
        share = share_of_one(problem)
        for solver, solve in ways.items():
            solve(problem)
            began = time.perf_counter()
            x = solve(problem)
            seconds = time.perf_counter() - began
            got = (problem.throughput * x).sum(axis=1)
            rows.append({
                "case": case, "solver": solver, "least": (got / share).min(),
                "sum": (got / problem.throughput.max(axis=1)).sum(), "apart": apart(problem, x),
                "from_center": np.abs(x - center).max(), "milliseconds": 1000 * seconds,
            })  # fmt: skip
    pd.DataFrame(rows).to_csv(sys.stdout, index=False, float_format="%.4g", lineterminator="\n")


if __name__ == "__main__":
    main()
