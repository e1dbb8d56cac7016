"""Policies asked directly about moments that are made by hand, without a simulation ([Narayanan2020] §4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from astraea.core.arrays import FloatArray
from papers.gavel.policies import get_policy
from papers.gavel.policy_calls import PRICES, Speeds
from papers.gavel.problem import PAYS, Allocation, Problem
from papers.gavel.sums import dot
from papers.gavel.throughputs.table import Throughputs
from papers.gavel.workload import Workload


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
    speeds = Speeds(workload, throughputs, count)
    return moment(
        speeds.alone,
        count,
        scale_factor=workload.scale_factor,
        weight=workload.weight,
        steps=workload.total_steps,
        entity=workload.entity,
        entity_weight=workload.entity_weight,
        cost=np.array([PRICES.get(t, np.nan) for t in throughputs.types]),
        types=throughputs.types,
        kind=speeds.kinds(np.arange(len(workload))),
        **({"together": speeds.together(PAYS)} if pairs else {}),
    )


def answer(policy: str, problem: Problem, optimum: str = "largest-sum") -> Allocation:
    """Return the allocation of a policy that has seen nothing yet; `optimum` is as in `simulate`."""
    return get_policy(policy).start(optimum)(problem)


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
