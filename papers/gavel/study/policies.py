"""Gavel's policies without a simulation: worked examples, the hierarchy as jobs are added, and times of solves.

Every policy is asked directly about moments that are made here ([Narayanan2020] §4.1, §4.3, Figs 11, 12, 21).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import linprog

from astraea.core.arrays import FloatArray, IntArray
from papers.gavel.generators import continuous, hierarchical
from papers.gavel.policies import get_policy
from papers.gavel.policies.las import share_of_one
from papers.gavel.policy_calls import PRICES, Speeds
from papers.gavel.problem import PAYS, Allocation, Problem
from papers.gavel.programs.program import Program
from papers.gavel.sums import dot
from papers.gavel.throughputs.table import Throughputs
from papers.gavel.workload import Workload

TIMESTEPS: Final = 4
"""Timesteps between two new jobs in Figs 11 and 21."""

WORKERS: Final = (3, 3, 3)
"""GPUs of each type in Figs 11 and 21."""

_DOUBLING: Final = tuple(2**k for k in range(5, 12))
SOLVES: Final[dict[str, dict[str, tuple[int, ...]]]] = {
    "small": {
        "las-het": (16, 32, 64, 128), "las-het-ss": (16, 32, 64, 128),
        "hierarchical-het": (16, 32, 64), "hierarchical-het-ss": (16, 32),
    },
    "paper": dict.fromkeys(("las-het", "las-het-ss", "hierarchical-het", "hierarchical-het-ss"), _DOUBLING),
}  # fmt: skip
"""Numbers of active jobs in Fig 12, by scale and policy."""

APART: Final = {
    "small": dict.fromkeys(("las-het", "las-het-ss", "hierarchical-het", "hierarchical-het-ss"), 32),
    "paper": {"las-het": 2048, "las-het-ss": 512, "hierarchical-het": 2048, "hierarchical-het-ss": 256},
}
"""Most active jobs for which Fig 12 is drawn with a variable for each job as well, as in the paper, by policy."""


def moment(throughput: npt.ArrayLike, workers: npt.ArrayLike, **columns: Any) -> Problem:
    """Jobs that have just arrived, on one GPU each, equal in all that is not given; `columns` as in `Problem`.

    `throughput` has the shape (n, J) [steps/s], `workers` (J,) [GPU].
    """
    speed = np.asarray(throughput, np.float64)
    n, types = speed.shape
    given: dict[str, Any] = {
        "scale_factor": np.ones(n, np.int64),
        "weight": np.ones(n),
        "steps": np.full(n, 1e6),
        "elapsed": np.zeros(n),
        "isolated_elapsed": np.zeros(n),
        "slo": np.full(n, np.inf),
        "entity": np.zeros(n, np.int64),
        "entity_weight": np.ones(1),
        "cost": np.ones(types),
        "job": np.arange(n),
        "types": tuple(f"type {j}" for j in range(types)),
    }
    return Problem(throughput=speed, workers=np.asarray(workers, np.int64), **given | columns)


def moment_of(workload: Workload, throughputs: Throughputs, workers: Sequence[int], *, pairs: bool = False) -> Problem:
    """All jobs of a workload just arrived, with the pairs that gain from sharing where these are asked for."""
    count = np.array(workers, np.int64)
    speeds = Speeds(workload, throughputs, count, 1)
    return moment(
        speeds.alone,
        count,
        scale_factor=workload.scale_factor,
        weight=workload.weight,
        steps=workload.total_steps,
        entity=workload.entity,
        entity_weight=workload.entity_weight,
        cost=np.array([PRICES[t] for t in throughputs.types]),
        types=throughputs.types,
        kind=speeds.kinds(np.arange(len(workload))),
        **({"together": speeds.together(PAYS)} if pairs else {}),
    )


def answer(policy: str, problem: Problem) -> Allocation:
    """Return the allocation of a policy that has seen nothing yet."""
    return get_policy(policy).make()(problem)


def effective(problem: Problem, allocation: Allocation) -> FloatArray:
    """throughput(m, X) of each job, alone and in pairs ([Narayanan2020] §3.1) [steps/s], shape (n,)."""
    out = (allocation.alone * problem.throughput).sum(axis=1)
    pairs = problem.pairs if allocation.pairs is None else allocation.pairs
    if len(pairs):
        first, second = problem.kind[pairs].T
        np.add.at(out, pairs, (allocation.paired[:, None, :] * problem.together[first, second]).sum(axis=2))
    return np.asarray(out)


def normalized(problem: Problem, allocation: Allocation) -> FloatArray:
    """throughput(m, X) / throughput(m, X^equal) * scale_factor_m of each job, shape (n,)."""
    equal = problem.workers / problem.workers.sum()
    return np.asarray(effective(problem, allocation) / dot(problem.throughput, equal) * problem.scale_factor)


PRINTED: Final = ((0.45, 0.0), (0.45, 0.09), (0.09, 0.91))
"""X of §4.1, as the paper prints it."""

WEIGHTS_OF_FOUR: Final = (3.0, 1.0, 1.0, 1.0)
"""Weights of the jobs of §4.3."""


def three_jobs() -> Problem:
    """§4.1: three jobs, one V100 and one K80."""
    return moment([[4.0, 1.0], [3.0, 1.0], [2.0, 1.0]], [1, 1], types=("v100", "k80"))


def three_jobs_table(problem: Problem, policy: str = "las-het") -> pd.DataFrame:
    """Return the allocation of each job, and its gain over 1/n of every GPU; one row per job.

    A column `X, <type>` for each type, effective throughputs `steps/s` and `steps/s with 1/n`, and `gain [%]`.
    """
    given, even = answer(policy, problem), answer("isolated", problem)
    columns: dict[str, FloatArray] = {f"X, {t.upper()}": given.alone[:, j] for j, t in enumerate(problem.types)}
    columns |= {"steps/s": effective(problem, given), "steps/s with 1/n": effective(problem, even)}
    jobs = [f"job {m}, speeds {' and '.join(f'{v:g}' for v in speed)}" for m, speed in enumerate(problem.throughput)]
    table = pd.DataFrame(columns, index=jobs)
    return table.assign(**{"gain [%]": 100 * (table["steps/s"] / table["steps/s with 1/n"] - 1)})


def least_share_by_hand(problem: Problem) -> float:
    """Level of the least well-off job under LAS (§4.1), from the program written out for a solver.

    The variables are X, row by row, and last the level c; c X_equal <= T X for each job, then (2) and (3).
    """
    T = problem.throughput
    n, types = T.shape
    equal = dot(T, problem.workers / problem.workers.sum())
    level = np.hstack([-np.kron(np.eye(n), np.ones(types)) * np.tile(T.ravel(), (n, 1)), equal[:, None]])
    time = np.hstack([np.kron(np.eye(n), np.ones(types)), np.zeros((n, 1))])
    gpus = np.hstack([np.tile(np.eye(types), n), np.zeros((types, 1))])
    limit = np.concatenate([np.zeros(n), np.ones(n), problem.workers])
    return float(linprog([0] * (n * types) + [-1], np.vstack([level, time, gpus]), limit).x[-1])


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
    problem = moment(np.ones((4, 1)), [4], weight=np.array(WEIGHTS_OF_FOUR), types=("gpu",))  # §4.3: all are alike
    program = Program(problem, "las-het-water-filling")
    first = program.max_min(problem.weight * share_of_one(program)).reached
    last = effective(problem, answer("las-het-water-filling", problem))
    for where, values, paper in (("first step", first, (1.0, 0.33, 0.33, 0.33)), ("in the end", last, (1.0,) * 4)):
        rows += [("water filling", m, where, paper[m], float(values[m])) for m in range(4)]
    return pd.DataFrame(rows, columns=["quantity", "job", "where", "paper", "value"])


def hierarchy(throughputs: Throughputs, policies: Sequence[str], *, seed: int = 0) -> pd.DataFrame:
    """Figs 11 and 21: what each of 18 jobs gets as one after another is added.

    No job ends, and the policies remember nothing, so that the allocation changes only when a job is added. One row per
    policy, number of `jobs` present and job. `throughput` is normalized by that of an equal time share on each worker,
    `total` its sum over the jobs, and `share` the job's part of it. `timestep` is the first one with this number of
    jobs.
    """
    workload = hierarchical(throughputs, seed=seed)
    rows = []
    for present in range(1, len(workload) + 1):
        problem = moment_of(workload.first(present), throughputs, WORKERS)
        for policy in policies:
            got = normalized(problem, answer(policy, problem))
            total = float(got.sum())
            at = (policy, seed, TIMESTEPS * (present - 1), present)
            rows += [(*at, m, int(problem.entity[m]), float(x), float(x / total), total) for m, x in enumerate(got)]
    columns = ["policy", "seed", "timestep", "jobs", "job", "entity", "throughput", "share", "total"]
    return pd.DataFrame(rows, columns=columns)


def solve_times(throughputs: Throughputs, sizes: dict[str, tuple[int, ...]], apart: Mapping[str, int]) -> pd.DataFrame:
    """Fig 12: time of one solve; a quarter as many GPUs of each type as jobs, jobs of one GPU, three entities.

    Columns policy, jobs, variables, seconds; `variables` is "a class", or "a job" for as many jobs as `apart`
    has for the policy, and fewer, when no two are taken for alike.
    """
    rows = []
    for policy, counts in sizes.items():
        get_policy(policy).make()(crowd(throughputs, counts[0], pairs=get_policy(policy).space_sharing))  # loads code
        by_job = [n for n in counts if n <= apart.get(policy, 0)]
        for variables, jobs in [("a class", n) for n in counts] + [("a job", n) for n in by_job]:
            problem = crowd(throughputs, jobs, pairs=get_policy(policy).space_sharing)
            problem = problem if variables == "a class" else told_apart(problem)
            allocate = get_policy(policy).make()
            began = time.perf_counter()
            allocate(problem)
            rows.append((policy, jobs, variables, time.perf_counter() - began))
    return pd.DataFrame(rows, columns=["policy", "jobs", "variables", "seconds"])


def told_apart(problem: Problem) -> Problem:
    """Return the problem with each job as a kind of its own, so that the program has a variable for each."""
    together = problem.together[np.ix_(problem.kind, problem.kind)] if len(problem.together) else problem.together
    return replace(problem, kind=np.arange(len(problem.job)), together=together)


def crowd(throughputs: Throughputs, jobs: int, *, pairs: bool) -> Problem:
    """The moment of Fig 12: so many jobs, entities 0, 1, 2 of weight 1, 2, 3 in turn."""
    workload = continuous(jobs, 1.0, throughputs, multiple=False, seed=0)
    turn: IntArray = np.arange(jobs, dtype=np.int64) % 3
    problem = moment_of(workload, throughputs, (max(jobs // 4, 1),) * 3, pairs=pairs)
    return replace(problem, entity=turn, entity_weight=np.array([1.0, 2.0, 3.0]))
