"""Moments for Gavel's policies to decide: random ones, and what every answer must keep to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from astraea.gavel.policies.cost import promised
from astraea.gavel.problem import Allocation, Problem
from astraea.gavel.programs.program import Program


def moment(throughput, workers, scale_factor=None, steps=None, **columns) -> Problem:
    """A problem of n jobs just arrived, of equal weight, in one entity unless told."""
    throughput = np.asarray(throughput, np.float64)
    n, types = throughput.shape
    given = {
        "weight": np.ones(n),
        "elapsed": np.zeros(n),
        "isolated_elapsed": np.zeros(n),
        "slo": np.full(n, np.inf),
        "entity": np.zeros(n, np.int64),
        "entity_weight": np.ones(1),
        "cost": np.ones(types),
        "job": np.arange(n),
        "types": tuple(f"type {j}" for j in range(types)),
    } | {k: v if isinstance(v, tuple) else np.asarray(v) for k, v in columns.items()}
    gangs = np.ones(n, np.int64) if scale_factor is None else np.asarray(scale_factor)
    left = np.full(n, 1000.0) if steps is None else np.asarray(steps, np.float64)
    return Problem(throughput=throughput, scale_factor=gangs, workers=np.asarray(workers), steps=left, **given)


def with_pairs(problem: Problem, random: np.random.Generator) -> Problem:
    """Offer every pair of gangs of one size; about one in five cannot share on a type."""
    n = len(problem.job)
    gangs = problem.scale_factor
    pairs = np.array([(a, b) for a in range(n) for b in range(a + 1, n) if gangs[a] == gangs[b]], np.int64)
    pairs = pairs.reshape(-1, 2)
    kept = random.uniform(0.2, 1.0, (len(pairs), 2, len(problem.workers)))
    kept *= random.random((len(pairs), 1, len(problem.workers))) > 0.2
    return replace(problem, pairs=pairs, pair_throughput=kept * problem.throughput[pairs])


def random_moment(seed: int, jobs: int = 12, gangs: bool = True, entities: int = 3) -> Problem:
    """A problem with some types on which a job cannot run, but never all."""
    random = np.random.default_rng(seed)
    throughput = random.uniform(0.5, 10, (jobs, 3)) * (random.random((jobs, 3)) > 0.15)
    throughput[:, 0] = np.maximum(throughput[:, 0], 0.5)
    return moment(
        throughput,
        random.integers(4, 7, 3),
        random.choice([1, 1, 2, 4], jobs) if gangs else None,
        random.uniform(10, 1e4, jobs),
        weight=random.choice([1.0, 5.0], jobs),
        elapsed=np.sort(random.uniform(0, 1e4, jobs))[::-1],
        entity=random.integers(0, entities, jobs),
        entity_weight=np.arange(1.0, entities + 1),
    )


def later(problem: Problem, allocation: Allocation, seconds: float, keep=None) -> Problem:
    """The problem after an allocation has run exactly; jobs that end leave, as do those not in `keep`."""
    rate = (allocation.alone * problem.throughput).sum(axis=1)
    for (a, b), x, speed in zip(problem.pairs, allocation.paired, problem.pair_throughput, strict=True):
        rate[a] += x @ speed[0]
        rate[b] += x @ speed[1]
    steps = problem.steps - rate * seconds
    stays = (steps > 0) & (True if keep is None else np.isin(problem.job, keep))
    number = np.cumsum(stays) - 1
    offered = stays[problem.pairs].all(axis=1) if len(problem.pairs) else np.zeros(0, bool)
    per_job = ("throughput", "scale_factor", "weight", "isolated_elapsed", "entity", "job")
    return replace(
        problem,
        steps=steps[stays],
        elapsed=problem.elapsed[stays] + seconds,
        slo=problem.slo[stays] - seconds,
        pairs=number[problem.pairs[offered]].reshape(-1, 2),
        pair_throughput=problem.pair_throughput[offered],
        **{k: getattr(problem, k)[stays] for k in per_job},
    )


def assert_valid(problem: Problem, allocation: Allocation) -> None:
    """Constraints (1) to (3) of [Narayanan2020] §3.1, with space sharing."""
    slack = 1e-9
    alone, paired = allocation.alone, allocation.paired
    assert alone.shape == problem.throughput.shape
    assert paired.shape == (len(problem.pairs), len(problem.workers))
    for x in (alone, paired):
        assert np.isfinite(x).all()
        assert ((x >= 0) & (x <= 1 + slack)).all()
    time = alone.sum(axis=1)
    gpus = problem.scale_factor @ alone
    if len(problem.pairs):
        np.add.at(time, problem.pairs, paired.sum(axis=1)[:, None])
        gpus = gpus + problem.scale_factor[problem.pairs[:, 0]] @ paired
    assert (time <= 1 + slack).all()
    assert (gpus <= problem.workers * (1 + slack)).all()


def unmet(problem: Problem) -> np.ndarray:
    """Part of the throughput that each job needs for its deadline, and is not promised; 0 where it is met."""
    has_deadline = np.isfinite(problem.slo)
    given = promised(Program(problem, "min-cost-slo"))
    part = given * np.where(has_deadline, np.maximum(problem.slo, 0.0), 0.0) / problem.steps
    return np.where(has_deadline & (part < 1 - 1e-9), 1 - part, 0.0)
