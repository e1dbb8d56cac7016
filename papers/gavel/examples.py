"""Worked examples of [Narayanan2020], and results of its authors' tests, beside ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray, IntArray
from papers.gavel.moment import answer, effective, moment, normalized
from papers.gavel.policies.las import share_of_one
from papers.gavel.problem import Allocation, Problem
from papers.gavel.programs.program import Program

PRINTED: Final = ((0.45, 0.0), (0.45, 0.09), (0.09, 0.91))
"""X of §4.1, as the paper prints it."""

TESTED: Final[dict[str, tuple[list[list[float]], tuple[float, ...]]]] = {
    "A": ([[3, 1, 1], [3, 2, 1], [3, 2, 1]], (1.765, 2.118, 2.118)),
    "B": ([[3, 1.1, 1], [3, 2, 1], [3, 2, 1]], (1.789, 2.105, 2.105)),
    "C": ([[3, 2, 0.9], [3, 2, 1.1], [3, 2, 1.1]], (1.988, 2.055, 2.055)),
    "D": ([[2.5, 2, 1], [3, 2, 1], [3, 2, 1]], (1.886, 2.057, 2.057)),
}
"""Speeds of three jobs on one GPU of each of three types, and their effective throughputs under LAS het."""


def three_jobs() -> Problem:
    """§4.1: three jobs, one V100 and one K80."""
    return moment([[4.0, 1.0], [3.0, 1.0], [2.0, 1.0]], [1, 1], types=("v100", "k80"))


def four_jobs() -> Problem:
    """§4.3: four jobs that are alike, one of them with weight 3, on four GPUs."""
    return moment(np.ones((4, 1)), [4], weight=np.array([3.0, 1.0, 1.0, 1.0]), types=("gpu",))


def worked_examples() -> pd.DataFrame:
    """Return the printed values of the paper's worked examples beside ours.

    Columns quantity, job, where, paper, value. `quantity` is "LAS het. allocation" (§4.1, the fractions of X), "gain
    over isolated" (§4.1, the least gain of a job's throughput [%]) or "water filling" (§4.3, throughputs after the
    first step and in the end).
    """
    problem = three_jobs()
    best = answer("las-het", problem)
    rows = [
        ("LAS het. allocation", m, problem.types[j], PRINTED[m][j], float(best.alone[m, j]))
        for m in range(3)
        for j in range(2)
    ]
    gain = effective(problem, best) / effective(problem, answer("isolated", problem)) - 1
    rows.append(("gain over isolated", int(gain.argmin()), "least of all jobs", 10.0, 100 * float(gain.min())))
    problem = four_jobs()
    program = Program(problem, "las-het-water-filling")
    first = program.max_min(problem.weight * share_of_one(program)).reached
    last = effective(problem, answer("las-het-water-filling", problem))
    for where, values, paper in (("first step", first, (1.0, 0.33, 0.33, 0.33)), ("in the end", last, (1.0,) * 4)):
        rows += [("water filling", m, where, paper[m], float(values[m])) for m in range(4)]
    return pd.DataFrame(rows, columns=["quantity", "job", "where", "paper", "value"])


def examples_of_tests() -> pd.DataFrame:
    """Return results that the authors' tests expect beside ours, with either choice among many optima.

    Columns case, quantity, published, central, largest-sum. A to D are `TESTED`; "two jobs" has the objectives of two
    policies. "three teams" has the GPUs of jobs of three teams of weight 1, 2 and 3. With fairness inside, they are of
    the two kinds of jobs of each team, of weight 1 and 2. With FIFO inside, they are of the first team's six jobs.
    """
    team = {"entity": np.repeat([0, 1, 2], 6), "entity_weight": np.array([1.0, 2.0, 3.0])}
    eighteen = moment(np.ones((18, 3)), [3, 3, 3], weight=np.tile([1.0, 2.0], 9), **team)
    two = moment(np.array([[2.0, 1.0, 0.5], [3.0, 2.0, 1.0]]), [1, 2, 3], steps=np.array([300.0, 500.0]))
    cases: list[tuple[str, str, str, Problem, tuple[float, ...]]] = [
        *(
            (name, "throughput", "las-het", moment(np.array(speed), [1, 1, 1]), found)
            for name, (speed, found) in TESTED.items()
        ),
        ("two jobs", "LAS, least share", "las-het", two, (1.5484,)),
        ("two jobs", "FTF, largest ρ", "ftf-het", two, (0.6458,)),
        ("three teams", "fairness inside, GPUs", "hierarchical", eighteen, (1 / 6, 1 / 3, 1 / 3, 2 / 3, 1 / 2, 1.0)),
        ("three teams", "FIFO inside, GPUs", "hierarchical-fifo", eighteen, (1 / 3, 1 / 3, 1 / 3, 1 / 3, 1 / 6, 0.0)),
    ]
    measures: dict[str, Callable[[Problem, Allocation], FloatArray]] = {
        "throughput": effective,
        "LAS, least share": lambda problem, given: normalized(problem, given).min(keepdims=True),
        "FTF, largest ρ": lambda problem, given: (
            effective(problem, answer("isolated", problem)) / effective(problem, given)
        ).max(keepdims=True),
        "fairness inside, GPUs": lambda problem, given: given.alone.sum(axis=1)[[0, 1, 6, 7, 12, 13]],
        "FIFO inside, GPUs": lambda problem, given: given.alone.sum(axis=1)[:6],
    }
    rows = []
    for case, quantity, policy, problem, published in cases:
        ours = [measures[quantity](problem, answer(policy, problem, optimum)) for optimum in ("central", "largest-sum")]
        rows += [(case, quantity, *row) for row in zip(published, *ours, strict=True)]
    return pd.DataFrame(rows, columns=["case", "quantity", "published", "central", "largest-sum"])


def in_rounds(X: FloatArray, members: Sequence[tuple[int, ...]], rounds: int) -> tuple[FloatArray, IntArray]:
    """Algorithm 1 of [Narayanan2020] on one GPU of each type: the highest priorities first, while GPUs are free.

    Parameters
    ----------
    X : array of float, shape (C, J)
        Fractions of time of C jobs or pairs.
    members : C tuples of jobs
        No job runs twice in a round.
    rounds : int

    Returns
    -------
    priorities : array of float, shape (rounds, C, J)
        X over the rounds received so far; each begins with half a round.
    grid : array of int, shape (rounds, J)
        What runs on each type, or -1.
    """
    received, types = np.full(X.shape, 0.5), X.shape[1]
    priorities, grid = np.empty((rounds, *X.shape)), np.full((rounds, types), -1, np.int64)
    for n in range(rounds):
        priorities[n] = priority = X / received
        busy: set[int] = set()
        for at in np.argsort(-priority, axis=None, kind="stable"):
            c, j = divmod(int(at), types)
            if priority[c, j] > 0 and grid[n, j] < 0 and not busy & set(members[c]):
                grid[n, j] = c
                received[c, j] += 1
                busy |= set(members[c])
    return priorities, grid
