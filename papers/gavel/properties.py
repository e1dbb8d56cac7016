"""Properties of policies, searched for counter-examples among small moments ([Narayanan2020] §4.4).

Each check takes a moment and what a policy gave, and returns by how much the property is broken, as a part of what it
is about: 0 where it holds. Nothing of the programs that the policies solve is used.

sharing incentive
    The paper's: a policy's own objective is no worse than with 1/n of every type for each job (`objective_lost`). The
    users': no job is slower than with its own 1/n (`slower_than_own`).
colocation
    The objective is no worse if pairs may share GPUs (`objective_lost` against the answer without pairs).
one type
    On a cluster of one type the heterogeneity-aware policy has the objective of its agnostic twin.
Pareto efficiency
    No job can be faster unless another one becomes slower (`room_left`).
strategy-proofness
    No job becomes faster by a false report of its speeds (`gained_by_lying`). The paper claims none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.optimize import linprog

from astraea.core.arrays import FloatArray
from papers.gavel.moment import answer, effective, moment, normalized
from papers.gavel.problem import Allocation, Problem

LIES: Final = (0.5, 2.0)
"""Factors by which a job misreports its speed on one type, besides 0."""

TOLERANCE: Final = 1e-3
"""Largest part that counts as an error of a solver."""


def small_moment(seed: int, *, types: int = 2, gangs: bool = False, pairs: bool = False) -> Problem:
    """Draw 2 to 4 jobs with speeds of 1 to 4 steps/s and equal steps on 1 or 2 GPUs of each type.

    With `gangs`, jobs have 1 or 2 GPUs where a type has two. With `pairs`, every two jobs on one GPU may share; each
    keeps 30 to 90 % of its speed.
    """
    random = np.random.default_rng([seed, types, gangs, pairs])
    jobs = int(random.integers(2, 5))
    speed = random.integers(1, 5, (jobs, types)).astype(np.float64)
    workers = random.integers(1, 3, types)
    gang = np.where(random.random(jobs) < 0.5, 2, 1) if gangs and workers.max() > 1 else np.ones(jobs, np.int64)
    problem = moment(speed * (gang[:, None] <= workers), workers, scale_factor=gang.astype(np.int64))
    if not pairs:
        return problem
    kept = random.integers(3, 10, (jobs, jobs, types)) / 10
    first = kept * speed[:, None] * (1 - np.eye(jobs))[:, :, None]
    return replace(problem, together=np.stack([first, first.transpose(1, 0, 2)], axis=2))


def objective(policy: str, problem: Problem, given: Allocation) -> float:
    """Return what a policy maximizes for jobs that have just arrived; more is better.

    LAS: the least share. FTF: the least speed over that with 1/n of every type. Makespan: the least of speed over
    steps. FIFO: the speed of the first job. SJF: the largest of speed over steps.
    """
    speed, kind = effective(problem, given), policy.split("-")[0]
    if kind == "las":
        return float((normalized(problem, given) / problem.weight).min())
    if kind == "ftf":
        return float((speed / effective(problem, answer("isolated", problem))).min())
    rate = speed / problem.steps
    return float({"makespan": rate.min(), "fifo": rate[0], "sjf": rate.max()}[kind])


def objective_lost(policy: str, problem: Problem, given: Allocation, other: Allocation) -> float:
    """Return the part of the objective with another allocation that the given one falls short of."""
    return max(1 - objective(policy, problem, given) / objective(policy, problem, other), 0.0)


def slower_than_own(problem: Problem, given: Allocation) -> float:
    """Return the part of its speed with 1/n of every type that a job loses, of the job that loses most."""
    own = effective(problem, answer("isolated", problem))
    return max(float((1 - effective(problem, given) / own).max()), 0.0)


def room_left(problem: Problem, given: Allocation) -> float:
    """Return by what part of itself a job can become faster while no other one becomes slower, at most.

    Of jobs without pairs. The variables are X, row by row; each job in turn is made as fast as possible.
    """
    n, types = problem.throughput.shape
    speed = np.kron(np.eye(n), np.ones(types)) * np.tile(problem.throughput.ravel(), (n, 1))
    time = np.kron(np.eye(n), np.ones(types))
    gpus = np.tile(np.eye(types), n) * np.repeat(problem.scale_factor, types)
    now = effective(problem, given)
    rows, limit = np.vstack([-speed, time, gpus]), np.concatenate([-now * (1 - 1e-9), np.ones(n), problem.workers])
    best = np.array([-linprog(-speed[m], rows, limit).fun for m in range(n)])
    return float(np.max(np.divide(best - now, now, out=best.copy(), where=now > 1e-9)))


class Lie(NamedTuple):
    """Speeds that a job reports, and the part of its true speed that it gains."""

    gain: float
    job: int
    reported: FloatArray  # (J,) [steps/s]


def gained_by_lying(problem: Problem, ask: Callable[[Problem], Allocation]) -> Lie:
    """Find the best lie of one job about its speed on one type, of `LIES` and that it cannot run there.

    `ask` is the policy. What a job gains is a part of its true effective throughput under the honest answer.
    """
    honest = effective(problem, ask(problem))
    best = Lie(0.0, -1, np.zeros(problem.throughput.shape[1]))
    for m, j in np.argwhere(problem.throughput > 0):
        for factor in (*LIES, 0.0):
            told = problem.throughput.copy()
            told[m, j] *= factor
            if told[m].max() == 0 or honest[m] < 1e-9:
                continue
            gain = float(effective(problem, ask(replace(problem, throughput=told, seen=told)))[m] / honest[m] - 1)
            if gain > best.gain + TOLERANCE:
                best = Lie(gain, int(m), told[m])
    return best


CASES: Final[dict[str, dict[str, Any]]] = {
    "as the agnostic policy on one type": {"types": 1},
    "objective at least as with 1/n": {},
    "no job slower than with its 1/n": {"gangs": True},
    "objective at least as without sharing": {"pairs": True},
    "Pareto efficient": {"gangs": True},
    "no lie pays": {},
}
"""Properties, and the arguments of `small_moment` for their cases."""


def broken(prop: str, policy: str, problem: Problem, optimum: str = "largest-sum") -> float:
    """Return by what part one of `CASES` is broken in a moment; `optimum` is as in `simulate`."""

    def ask(p: Problem) -> Allocation:
        return answer(policy, p, optimum)

    def lost(other: str, given: str = policy) -> float:
        return objective_lost(policy, problem, answer(given, problem, optimum), answer(other, problem, optimum))

    return {
        "as the agnostic policy on one type": lambda: lost(policy.removesuffix("-het")),
        "objective at least as with 1/n": lambda: lost("isolated"),
        "no job slower than with its 1/n": lambda: slower_than_own(problem, ask(problem)),
        "objective at least as without sharing": lambda: lost(policy, f"{policy}-ss"),
        "Pareto efficient": lambda: room_left(problem, ask(problem)),
        "no lie pays": lambda: gained_by_lying(problem, ask).gain,
    }[prop]()


def search(prop: str, policy: str, cases: int, optimum: str = "largest-sum") -> dict[str, Any]:
    """Try one of `CASES` on so many small moments.

    `broken` are those that break it; the smallest `counter-example` has fewest jobs, then GPUs, then breaks it most, by
    the part `by`.
    """
    moments = [small_moment(seed, **CASES[prop]) for seed in range(cases)]
    each = [(len(p.job), int(p.workers.sum()), -broken(prop, policy, p, optimum), k) for k, p in enumerate(moments)]
    found = sorted(one for one in each if -one[2] > TOLERANCE)
    by, example = (-found[0][2], in_words(moments[found[0][3]])) if found else (0.0, "none")
    return {"tried": cases, "broken": len(found), "by": by, "counter-example": example}


def in_words(problem: Problem) -> str:
    """Describe a moment: speeds of each job on each type, gangs if there are any, and GPUs."""
    speeds = "; ".join(", ".join(f"{v:g}" for v in row) for row in problem.throughput)
    gangs = "" if (problem.scale_factor == 1).all() else f", gangs {', '.join(map(str, problem.scale_factor))}"
    return f"speeds ({speeds}){gangs} on {' + '.join(map(str, problem.workers))} GPUs"
