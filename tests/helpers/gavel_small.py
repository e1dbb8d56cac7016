"""Small clusters and workloads for the tests of Gavel's mechanism."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from astraea.gavel.problem import Allocation, Policy, Problem
from astraea.gavel.workload import Workload


@dataclass(frozen=True)
class Table:
    """Throughputs by job type; `apart` and `shared` are factors on them."""

    speed: dict[str, tuple[float, ...]]
    types: tuple[str, ...] = ("fast", "slow")
    apart: float = 1.0
    shared: dict[tuple[str, str], float] = field(default_factory=dict)

    def alone(self, job_type: str, scale_factor: int, *, consolidated: bool = True) -> np.ndarray:
        return np.array(self.speed[job_type]) * scale_factor * (1.0 if consolidated else self.apart)

    def pair(self, first: tuple[str, int], second: tuple[str, int]) -> np.ndarray:
        factor = self.shared.get((first[0], second[0]), self.shared.get((second[0], first[0]), 0.0))
        return factor * np.stack([self.alone(*first), self.alone(*second)])


def workload(rows: Sequence[tuple[Any, ...]], **columns: Any) -> Workload:
    """Jobs as (type, gang, steps, arrival)."""
    n = len(rows)
    kinds, gangs, steps, arrival = zip(*rows, strict=True)
    values = {
        "name": "small",
        "job_id": tuple(f"j{i}" for i in range(n)),
        "weight": np.ones(n),
        "slo": np.full(n, np.inf),
        "entity": np.zeros(n, np.int64),
        "entity_weight": np.ones(1),
        **columns,
    }
    return Workload(
        job_type=kinds, scale_factor=np.array(gangs), total_steps=np.array(steps, float),
        arrival_time=np.array(arrival, float), **values,
    )  # fmt: skip


def fixed(shares: dict[int, tuple[float, ...]], pairs: dict[Any, Any] | None = None, **declared: Any) -> Policy:
    """A policy that always answers the same: job of the workload -> fractions of time; others get nothing."""

    def allocate(problem: Problem) -> Allocation:
        alone = np.array([shares.get(int(j), (0.0,) * len(problem.workers)) for j in problem.job])
        paired = np.zeros((len(problem.pairs), len(problem.workers)))
        for p, (a, b) in enumerate(problem.job[problem.pairs].tolist()):
            paired[p] = (pairs or {}).get((a, b), 0.0)
        return Allocation(alone.reshape(len(problem.job), len(problem.workers)), paired)

    return Policy("given", lambda: allocate, space_sharing=pairs is not None, **declared)


def of(function: Callable[[Problem], np.ndarray], name: str = "given", **declared: Any) -> Policy:
    """A policy without pairs."""
    return Policy(name, lambda: lambda p: Allocation(function(p), np.zeros((len(p.pairs), len(p.workers)))), **declared)
