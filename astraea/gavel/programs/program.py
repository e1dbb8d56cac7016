"""The linear programs of Gavel's policies: variables X, their constraints, and HiGHS ([Narayanan2020] §3.1).

A policy states what to maximize over `Program.throughput`, whose row m gives the effective throughput(m, X) of job m,
and gets back an optimum or a `PolicyError`. There is a variable only where a job, or both jobs of a pair, can run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from scipy import sparse

from astraea.core.arrays import FloatArray
from astraea.core.errors import InputError, PolicyError
from astraea.gavel.problem import Allocation, Policy, Problem
from astraea.gavel.programs import highs

SLACK: Final = 1e-9
"""By what part a throughput that one program reached is lowered as a bound of the next one, for rounding."""


class Optimum(NamedTuple):
    """What `Program.max_min` found; no allocation has ``price @ (throughput - floor) > value``."""

    x: FloatArray  # (variables,)
    value: float  # of the objective
    reached: FloatArray  # (n,) throughput that every job has in all optima, up to rounding, and has in `x` [steps/s]
    price: FloatArray  # (n,) dual value of each job's row, at least 0, with ``price @ need == 1``


def blind(alone: FloatArray) -> FloatArray:
    """Throughputs of a policy that does not tell types apart: those of the first type; if it has none, the best."""
    known = np.where(alone[:, 0] > 0, alone[:, 0], alone.max(axis=1))
    return np.where(alone > 0, known[:, None], 0.0)


class Program:
    """Variables and constraints (1)-(3) of a problem, to which a policy adds its objective.

    Parameters
    ----------
    problem : Problem
        With at least one job.
    policy : str
        Its name, for messages.
    agnostic : bool
        Whether types are not told apart: a job then runs everywhere as fast as on the first type, and its time is
        divided over the types on which it can run in proportion to their GPUs.

    Attributes
    ----------
    speed : array of float, shape (n, J)
        Throughput of each job alone, as the policy sees it [steps/s]; 0 where it, or its gang, cannot run.
    fastest : array of float, shape (n,)
        The largest of it, throughput(m, X^fastest).
    best : array of float, shape (n,)
        The most that a job can have, alone or beside another.
    throughput : sparse array, shape (n, variables)
        ``throughput @ x`` is the effective throughput of each job [steps/s].
    rows : sparse array, shape (2 n + J, variables)
        What HiGHS is given: time of each job in use, GPUs of each type in use, and -throughput of each job, relative to
        its fastest type.
    limits : array of float, shape (n + J,)
        Of the first rows: constraints (1)-(3) are ``rows[: n + J] @ x <= limits`` and x >= 0.
    """

    def __init__(self, problem: Problem, policy: str, *, agnostic: bool = False) -> None:
        _check(problem, policy)
        n, types = problem.throughput.shape
        self.problem = problem
        self.policy = policy
        alone = np.where(problem.scale_factor[:, None] <= problem.workers, problem.throughput, 0.0)
        paired = _useful(problem, alone)
        job, at = np.nonzero(alone)
        pair, pair_at = np.nonzero(paired.any(axis=1))
        first, second = problem.pairs[pair].T
        if agnostic:  # a variable for each job, whose time is divided over types
            alone = blind(alone)
            share = problem.workers * (alone > 0)
            part = (share / share.sum(axis=1, keepdims=True))[job, at]
            owner, speed, variable = np.arange(n), alone.max(axis=1), job
        else:  # a variable for each job and type
            owner, speed, variable, part = job, alone[job, at], np.arange(job.size), np.ones(job.size)
        mine, shared = np.arange(owner.size), owner.size + np.arange(pair.size)
        self.speed = alone
        self.fastest: FloatArray = alone.max(axis=1)
        # entries: a variable takes time of its jobs (1), (2), takes GPUs of its type (3), and gives its jobs throughput
        jobs, of_jobs = np.concatenate([owner, first, second]), np.concatenate([mine, shared, shared])
        used, of_types = np.concatenate([at, pair_at]), np.concatenate([variable, shared])
        part = np.concatenate([part, np.ones(pair.size)])
        gangs = problem.scale_factor[np.concatenate([job, first])] * part
        speeds = np.concatenate([speed, paired[pair, 0, pair_at], paired[pair, 1, pair_at]])
        size = mine.size + shared.size
        values = np.concatenate([np.ones(jobs.size), gangs, -speeds / self.fastest[jobs]])
        rows, columns = np.concatenate([jobs, n + used, n + types + jobs]), np.concatenate([of_jobs, of_types, of_jobs])
        self.rows = sparse.csc_array((values, (rows, columns)), shape=(2 * n + types, size))
        self.limits = np.concatenate([np.ones(n), problem.workers.astype(np.float64)])
        self.throughput = sparse.csc_array((speeds, (jobs, of_jobs)), shape=(n, size))
        self.best: FloatArray = self.fastest.copy()
        np.maximum.at(self.best, jobs, speeds)
        self._parts = of_types, part, np.concatenate([job * types + at, (n + pair) * types + pair_at])

    def maximize(self, objective: FloatArray, floor: FloatArray | None = None) -> FloatArray:
        """The x that maximizes ``objective @ x``, with throughput(m, X) at least `floor` where it is above 0.

        Parameters
        ----------
        objective : array of float, shape (variables,)
        floor : array of float, shape (n,), optional

        Raises
        ------
        PolicyError
            If there is no optimum.
        """
        floor = np.zeros(len(self.speed)) if floor is None else floor
        held = np.where(floor > 0, -floor / self.fastest, np.inf)
        limits = np.concatenate([self.limits, held])
        x, _ = self.solve(objective / np.abs(objective).max(), self.rows, limits, strategy=highs.PRIMAL)
        return self.within(x)

    def max_min(self, need: FloatArray, floor: FloatArray | None = None) -> Optimum:
        """Maximize the least of (throughput(m, X) - floor_m) / need_m over the jobs with a need above 0.

        Jobs without a need get at least their floor. The program is: maximize c, subject to
        throughput(m, X) >= c need_m + floor_m for every m.

        Parameters
        ----------
        need, floor : array of float, shape (n,)
            Not negative [steps/s, or any unit of the job's own].
        """
        n = need.size
        wanted = need / self.fastest
        scale = float(wanted.max())
        least = np.concatenate([np.zeros(self.limits.size), wanted / scale])
        rows = sparse.hstack([self.rows, sparse.csc_array(least[:, None])], format="csc")
        floor = np.zeros(n) if floor is None else floor
        objective = np.zeros(rows.shape[1])
        objective[-1] = 1.0
        x, price = self.solve(objective, rows, np.concatenate([self.limits, -floor / self.fastest]))
        value = float(x[-1] / scale)
        within = self.within(x[:-1])
        reached = np.minimum(value * need + floor, self.throughput @ within)
        return Optimum(within, value, reached, price[-n:] / self.fastest / scale)

    def within(self, x: FloatArray) -> FloatArray:
        """The same x without the part by which HiGHS' tolerance lets it exceed the constraints."""
        used, some = (self.rows @ x)[: self.limits.size], self.limits > 0
        return np.asarray(x / max(1.0, float(np.max(used[some] / self.limits[some]))))

    def fill(self, floor: FloatArray) -> FloatArray:
        """Of all allocations with throughput(m, X) >= floor_m, one with the largest sum of relative throughputs.

        Programs that maximize a minimum leave open what the other jobs get, and a solver may leave GPUs idle; this
        choice is Pareto efficient. A job's throughput is taken relative to its fastest type.

        Parameters
        ----------
        floor : array of float, shape (n,)
            Throughputs that an earlier program reached [steps/s].
        """
        return self.maximize((1 / self.fastest) @ self.throughput, floor * (1 - SLACK))

    def solve(
        self, objective: FloatArray, rows: sparse.csc_array, limits: FloatArray, upper: FloatArray | None = None, *,
        strategy: int = highs.DUAL,
    ) -> tuple[FloatArray, FloatArray]:  # fmt: skip
        """Maximize ``objective @ x`` with ``rows @ x <= limits`` and ``0 <= x <= upper``: x, and the rows' dual values.

        Raises
        ------
        PolicyError
            If there is no optimum.
        """
        if len(self.problem.pairs):  # many more variables than rows
            strategy = highs.PRIMAL
        found = highs.maximize(objective, rows, limits, upper, strategy=strategy)
        if not found.is_optimal:
            what = f"the linear program of {len(self.speed)} jobs"
            raise PolicyError(f"{self.policy}: {what} has no optimum; HiGHS: {found.message.lower()}")
        return found.x, found.price

    def allocation(self, x: FloatArray, objective: float) -> Allocation:
        """X of the jobs and pairs from the variables; what only rounding put there is 0."""
        n, types = self.speed.shape
        fractions = np.zeros((n + len(self.problem.pairs)) * types)
        variable, part, where = self._parts
        values = x[variable] * part
        fractions[where] = np.where(values < 1e-8, 0.0, np.minimum(values, 1.0))
        table = fractions.reshape(-1, types)
        return Allocation(table[:n], table[n:], objective)


def policy(name: str, allocate: Callable[[Program], Allocation], **declared: Any) -> Policy:
    """A policy without memory that solves programs; without jobs it answers without.

    Parameters
    ----------
    allocate : callable
        Gives the allocation of one moment.
    **declared
        Of `Policy`; one that does not know speeds gets a program that does not tell types apart.
    """

    def answer(problem: Problem) -> Allocation:
        if len(problem.throughput) == 0:
            return problem.unshared(problem.throughput)
        return allocate(Program(problem, name, agnostic=not made.knows_speeds))

    made = Policy(name, lambda: answer, **declared)
    return made


def _check(problem: Problem, policy: str) -> None:
    """Raise `InputError` for a number that no program can have, or a job that can run nowhere."""
    for what, values in (("throughput", problem.throughput), ("pair throughput", problem.pair_throughput)):
        if not (np.isfinite(values) & (values >= 0)).all():
            raise InputError(f"{policy}: every {what} must be 0 or more steps/s, and one of them is not")
    for what, values in (("weight", problem.weight), ("number of steps", problem.steps)):
        if (wrong := np.flatnonzero(~(np.isfinite(values) & (values > 0)))).size:
            job = wrong[0]
            raise InputError(f"{policy}: job {problem.job[job]} has the {what} {values[job]:g}, expected more than 0")
    runs = (problem.throughput > 0) & (problem.scale_factor[:, None] <= problem.workers)
    if (stuck := np.flatnonzero(~runs.any(axis=1))).size:
        job = stuck[0]
        raise InputError(
            f"{policy}: job {problem.job[job]} with a gang of {problem.scale_factor[job]} GPUs can run on none of the "
            f"accelerator types {', '.join(problem.types)}: its throughput is 0 there or the GPUs are too few"
        )


def _useful(problem: Problem, alone: FloatArray) -> FloatArray:
    """Throughputs of the pairs, (P, 2, J), 0 where sharing gains nothing.

    If the two relative throughputs add up to 1 or less, the jobs have as much from taking turns on the same GPUs, so
    no optimum is lost.
    """
    if len(problem.pairs) == 0:
        return np.zeros((0, 2, problem.workers.size))
    both = alone[problem.pairs]
    together = problem.pair_throughput
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(both > 0, together / both, 0.0).sum(axis=1) > 1
    return np.asarray(np.where((gain & (both > 0).all(axis=1) & (together > 0).all(axis=1))[:, None], together, 0.0))
