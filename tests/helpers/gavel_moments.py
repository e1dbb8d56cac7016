"""Moments for Gavel's policies to decide, constraints on every answer, and the programs written out naively."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from papers.gavel import moment as moments
from papers.gavel.moment import effective
from papers.gavel.problem import Allocation, Problem

SEEDS = st.integers(0, 2**32 - 1)
FEW = settings(max_examples=8, deadline=None)


def moment(throughput, workers, scale_factor=1, steps=1000.0, **columns) -> Problem:
    """A problem of n jobs just arrived, of equal weight, in one entity unless told."""
    n = len(throughput)
    columns |= {"scale_factor": np.full(n, scale_factor), "steps": np.full(n, steps, float)}
    given = {name: v if isinstance(v, tuple) else np.asarray(v) for name, v in columns.items()}
    return moments.moment(throughput, workers, **given)


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


def random_moment(seed, jobs=5, gangs=True, shared=False, like=0, **columns) -> Problem:
    """Jobs of so many kinds, each of its own if 0, with some types on which they cannot run, but never all.

    All pairs are offered where they are `shared`.
    """
    random = np.random.default_rng(seed)
    throughput = random.uniform(0.5, 10, (jobs, 3)) * (random.random((jobs, 3)) > 0.15)
    throughput[:, 0] = np.maximum(throughput[:, 0], 0.5)
    problem = moment(
        throughput,
        random.integers(4, 6, 3),
        random.choice([1, 1, 2, 4], jobs) if gangs else 1,
        random.uniform(10, 1e4, jobs),
        weight=random.choice([1.0, 5.0], jobs),
        elapsed=np.sort(random.uniform(0, 1e4, jobs))[::-1],
        isolated_elapsed=random.uniform(0, 1e4, jobs),
        entity=random.integers(0, 3, jobs),
        entity_weight=np.arange(1.0, 4.0),
        **columns,
    )
    if like:
        _, first, kind = np.unique(random.integers(0, like, jobs), return_index=True, return_inverse=True)
        speed, gang = problem.throughput[first][kind], problem.scale_factor[first][kind]
        problem = replace(problem, kind=kind, throughput=speed, seen=speed, scale_factor=gang)
    return with_pairs(problem, random) if shared else problem


def later(problem: Problem, allocation: Allocation, seconds: float) -> Problem:
    """The problem after an allocation has run exactly; jobs that end leave."""
    steps = problem.steps - effective(problem, allocation) * seconds
    rest = replace(problem, steps=steps, elapsed=problem.elapsed + seconds, slo=problem.slo - seconds)
    return rest.some(np.flatnonzero(steps > 0))


def assert_valid(problem: Problem, allocation: Allocation) -> None:
    """Constraints (1) to (3) of [Narayanan2020] §3.1, with space sharing."""
    slack = 1e-9
    alone, paired = allocation.alone, allocation.paired
    pairs = problem.pairs if allocation.pairs is None else allocation.pairs
    assert {*map(tuple, pairs.tolist())} <= {*map(tuple, problem.pairs.tolist())}
    assert alone.shape == problem.throughput.shape
    assert paired.shape == (len(pairs), len(problem.workers))
    assert ((alone >= 0) & (alone <= 1 + slack)).all() and ((paired >= 0) & (paired <= 1 + slack)).all()
    time = alone.sum(axis=1)
    gpus = problem.scale_factor @ alone + problem.scale_factor[pairs[:, 0]] @ paired
    np.add.at(time, pairs, paired.sum(axis=1)[:, None])
    assert (time <= 1 + slack).all()
    assert (gpus <= problem.workers * (1 + slack)).all()


def answer(name: str, problem: Problem, optimum: str = "largest-sum") -> Allocation:
    """Return the checked allocation of a policy that has seen nothing yet."""
    allocation = moments.answer(name, problem, optimum)
    assert_valid(problem, allocation)
    return allocation


def close(value, expected) -> None:
    assert value == pytest.approx(expected, rel=1e-6)


EXACT = {"primal_feasibility_tolerance": 1e-9}


class Dense:
    """All variables X, of jobs and of pairs, and constraints (1)-(3) of [Narayanan2020] §3.1."""

    def __init__(self, problem: Problem) -> None:
        n, types = problem.throughput.shape
        own, (first, second) = np.arange(n), problem.pairs.T
        pair = n + np.arange(len(first))
        rate, time = np.zeros((2, n, n + len(first), types))
        rate[own, own], time[own, own] = problem.throughput, 1.0
        rate[first, pair], rate[second, pair] = problem.pair_throughput[:, 0], problem.pair_throughput[:, 1]
        time[first, pair] = time[second, pair] = 1.0
        gangs = problem.scale_factor[np.concatenate([own, first])]
        self.rate, self.gpus = rate.reshape(n, -1), np.kron(gangs, np.eye(types))
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
