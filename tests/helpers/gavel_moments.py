"""Moments for Gavel's policies to decide, what every answer must keep to, and the programs written out naively."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from papers.gavel.policies import POLICIES
from papers.gavel.policies.cost import promised
from papers.gavel.problem import Allocation, Problem
from papers.gavel.programs.program import Program
from papers.gavel.study import policies

SEEDS = st.integers(0, 2**32 - 1)
FEW = settings(max_examples=8, deadline=None)


def moment(throughput, workers, scale_factor=None, steps=None, **columns) -> Problem:
    """A problem of n jobs just arrived, of equal weight and 1,000 steps, in one entity unless told."""
    given = {name: v if isinstance(v, tuple) else np.asarray(v) for name, v in columns.items()}
    if scale_factor is not None:
        given["scale_factor"] = np.asarray(scale_factor)
    left = np.full(len(throughput), 1000.0) if steps is None else np.asarray(steps, np.float64)
    return policies.moment(throughput, workers, steps=left, **given)


def with_pairs(problem: Problem, random: np.random.Generator) -> Problem:
    """Offer every pair of gangs of one size; about one in five cannot share on a type."""
    kinds, first = np.unique(problem.kind, return_index=True)
    n, types = len(kinds), len(problem.workers)
    kept = random.uniform(0.2, 1.0, (n, n, types)) * (random.random((n, n, types)) > 0.2)
    gangs, speed = problem.scale_factor[first], problem.throughput[first]
    can_share = (kept > 0) & (kept > 0).transpose(1, 0, 2) & (gangs[:, None] == gangs)[:, :, None]
    mine = np.where(can_share, kept, 0.0) * speed[:, None]  # of the first; the second's is the first's the other way
    return replace(problem, together=np.stack([mine, mine.transpose(1, 0, 2)], axis=2))


def offered(problem: Problem, pairs: np.ndarray, speed: np.ndarray) -> Problem:
    """Offer some pairs, (P, 2), of jobs that are each a kind of their own, with these speeds, (P, 2, J)."""
    n = len(problem.job)
    together = np.zeros((n, n, 2, len(problem.workers)))
    first, second = np.reshape(pairs, (-1, 2)).T
    together[first, second] = speed
    together[second, first] = together[first, second, ::-1]
    return replace(problem, together=together)


def of_all_pairs(problem: Problem, allocation: Allocation) -> np.ndarray:
    """Fractions of time of all pairs of the problem, (P, J)."""
    if allocation.pairs is None:
        return allocation.paired
    number = {(a, b): p for p, (a, b) in enumerate(problem.pairs.tolist())}
    paired = np.zeros((len(problem.pairs), len(problem.workers)))
    for pair, x in zip(allocation.pairs.tolist(), allocation.paired, strict=True):
        paired[number[tuple(pair)]] += x
    return paired


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


def later(problem: Problem, allocation: Allocation, seconds: float) -> Problem:
    """The problem after an allocation has run exactly; jobs that end leave."""
    steps = problem.steps - rates(problem, allocation) * seconds
    rest = replace(problem, steps=steps, elapsed=problem.elapsed + seconds, slo=problem.slo - seconds)
    return rest.some(np.flatnonzero(steps > 0))


def assert_valid(problem: Problem, allocation: Allocation) -> None:
    """Constraints (1) to (3) of [Narayanan2020] §3.1, with space sharing."""
    slack = 1e-9
    alone, paired = allocation.alone, of_all_pairs(problem, allocation)
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


def a_moment(seed, jobs=5, shared=False, like=0, **columns) -> Problem:
    """A random moment of jobs of so many kinds, each of its own if 0, with all pairs where they are `shared`."""
    random = np.random.default_rng(seed)
    problem = random_moment(seed, jobs=jobs)
    problem = replace(
        problem, workers=random.integers(4, 6, 3), isolated_elapsed=random.uniform(0, 1e4, jobs), **columns
    )
    if like:
        _, first, kind = np.unique(random.integers(0, like, jobs), return_index=True, return_inverse=True)
        speed, gangs = problem.throughput[first][kind], problem.scale_factor[first][kind]
        problem = replace(problem, kind=kind, throughput=speed, seen=speed, scale_factor=gangs)
    return with_pairs(problem, random) if shared else problem


def answer(name: str, problem: Problem) -> Allocation:
    """What a policy that has seen nothing yet allocates, checked."""
    allocation = POLICIES[name].make()(problem)
    assert_valid(problem, allocation)
    return allocation


def rates(problem: Problem, allocation: Allocation) -> np.ndarray:
    """Effective throughput of each job [steps/s]."""
    x = np.concatenate([allocation.alone.ravel(), of_all_pairs(problem, allocation).ravel()])
    return Dense(problem).rate @ x


def close(value, expected) -> None:
    assert value == pytest.approx(expected, rel=1e-6)


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
