"""Small clusters and workloads for the tests of Gavel's mechanism."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from papers.gavel.problem import Allocation, Allocator, Problem
from papers.gavel.throughputs.table import Throughputs
from papers.gavel.workload import Workload


def throughputs(
    speed: dict[str, tuple[float, ...]], types: tuple[str, ...] = ("fast", "slow"),
    shared: dict[tuple[str, str], float] | None = None,
) -> Throughputs:  # fmt: skip
    """Throughputs by job type, in proportion to the gang, `shared` being the part that two keep."""
    kinds = [(kind, size) for kind in speed for size in (1, 2, 3, 4, 8)]
    alone = np.array([np.array(speed[kind]) * size for kind, size in kinds])
    pairs = shared or {}
    factor = np.array([[pairs.get((a, b), pairs.get((b, a), 0.0)) * (m == n) for b, n in kinds] for a, m in kinds])
    together = np.stack(np.broadcast_arrays(alone[:, None], alone[None, :]), axis=2) * factor[:, :, None, None]
    solo, measured = np.stack([alone, alone]), np.ones((2, len(kinds), len(kinds)), np.bool_)
    return Throughputs("small", tuple(kinds), solo, np.stack([together, together]), measured, types)


def pair(table: Throughputs, first: tuple[str, int], second: tuple[str, int]) -> np.ndarray:
    """Steps/s of two jobs on the same GPUs, shape (2, J)."""
    return table.pairs(np.array([table.kind(*first)]), np.array([table.kind(*second)]))[0]


def hours(w: Workload) -> np.ndarray:
    """Time of each job alone on V100s of the compact table [h]."""
    table = Throughputs.compact()
    speed = [table.alone(kind, int(size))[0] for kind, size in zip(w.job_type, w.scale_factor, strict=True)]
    return w.total_steps / np.array(speed) / 3600


def workload(rows: Sequence[tuple[Any, ...]], **columns: Any) -> Workload:
    """Jobs as (type, gang, steps, arrival)."""
    kinds, gangs, steps, arrival = zip(*rows, strict=True)
    given = {"job_id": tuple(f"j{i}" for i in range(len(rows))), **columns}
    return Workload.of("small", kinds, np.array(gangs), np.array(steps, float), np.array(arrival, float), **given)


def crowd(jobs: int = 40, seed: int = 1, gangs: Sequence[int] = (1,), **columns: Any) -> Workload:
    """Jobs of the types a, b and c, one every 15 minutes on average."""
    rng = np.random.default_rng(seed)
    arrival = np.cumsum(rng.exponential(900, jobs))
    rows = [
        (str(rng.choice(["a", "b", "c"])), int(rng.choice(gangs)), float(rng.integers(2_000, 60_000)), float(t))
        for t in arrival
    ]
    return workload(rows, **columns)


def fixed(shares: dict[int, tuple[float, ...]], pairs: dict[Any, Any] | None = None, **declared: Any) -> Allocator:
    """A policy that always answers the same: job of the workload -> fractions of time; others get nothing."""

    def allocate(problem: Problem) -> Allocation:
        alone = np.array([shares.get(int(j), (0.0,) * len(problem.workers)) for j in problem.job])
        paired = np.zeros((len(problem.pairs), len(problem.workers)))
        for p, (a, b) in enumerate(problem.job[problem.pairs].tolist()):
            paired[p] = (pairs or {}).get((a, b), 0.0)
        return Allocation(alone.reshape(len(problem.job), len(problem.workers)), paired)

    return Allocator("given", lambda: allocate, space_sharing=pairs is not None, **declared)


def of(function: Callable[[Problem], np.ndarray], name: str = "given", **declared: Any) -> Allocator:
    """A policy without pairs."""

    def allocate(p: Problem) -> Allocation:
        return Allocation(function(p), np.zeros((len(p.pairs), len(p.workers))))

    return Allocator(name, lambda: allocate, **declared)
