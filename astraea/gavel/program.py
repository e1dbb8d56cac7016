"""The linear programs of Gavel's policies: variables X, their constraints, and HiGHS ([Narayanan2020] §3.1).

A policy states what to maximize over `Program.throughput`, whose row m gives the effective throughput(m, X) of job m,
and gets back an optimum or a `PolicyError`. There is a variable only where a job, or both jobs of a pair, can run.

[Narayanan2020] Narayanan et al., Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning
Workloads, OSDI 2020.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from astraea.columns import FloatArray
from astraea.errors import PolicyError
from astraea.gavel.problem import Allocation, Policy, Problem
from astraea.gavel.usable import blind, check, useful

SLACK: Final = 1e-9
"""By what part a throughput that one program reached is lowered as a bound of the next one, for rounding."""

OPTIONS: Final = {"simplex_dual_edge_weight_strategy": "dantzig", "primal_feasibility_tolerance": 1e-9}
"""For HiGHS; steepest edge, its default, takes up to five times as long on these programs."""

NUMERICAL: Final = 4
"""scipy's status for numerical difficulties; the same program is then solved by the interior point method."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """What `Program.max_min` found.

    Attributes
    ----------
    x : array of float, shape (variables,)
    value : float
        Of the objective.
    reached : array of float, shape (n,)
        Throughput that every job has in all optima, up to rounding, and has in `x` exactly [steps/s].
    price : array of float, shape (n,)
        Dual value of each job's row, at least 0, with ``price @ need == 1``; no allocation has
        ``price @ (throughput - floor) > value``.
    """

    x: FloatArray
    value: float
    reached: FloatArray
    price: FloatArray


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
    gpus : sparse array, shape (J, variables)
        ``gpus @ x`` is the number of GPUs of each type in use.
    uses, limits : sparse array, shape (n + J, variables), and array of float, shape (n + J,)
        Constraints (1)-(3) are ``uses @ x <= limits`` and x >= 0.
    """

    def __init__(self, problem: Problem, policy: str, *, agnostic: bool = False) -> None:
        check(problem, policy)
        n, types = problem.throughput.shape
        self.problem = problem
        self.policy = policy
        self.agnostic = agnostic
        fits = problem.scale_factor[:, None] <= problem.workers
        alone = np.where(fits, problem.throughput, 0.0)
        paired = useful(problem, alone)
        job, at = np.nonzero(alone)
        pair, pair_at = np.nonzero(paired.any(axis=1))
        first, second = problem.pairs[pair].T
        columns = np.arange(job.size + pair.size)
        mine, shared = columns[: job.size], columns[job.size :]
        rows = (np.concatenate([job, first, second]), np.concatenate([mine, shared, shared]))
        if agnostic:
            alone = blind(alone)
        speeds = np.concatenate([alone[job, at], paired[pair, 0, pair_at], paired[pair, 1, pair_at]])
        gangs = problem.scale_factor[np.concatenate([job, first])].astype(np.float64)
        self.speed = alone
        self.fastest: FloatArray = alone.max(axis=1)
        self._where = np.concatenate([job * types + at, (n + pair) * types + pair_at])
        self._spread = sparse.eye_array(columns.size, format="csr")
        if agnostic:
            share = problem.workers * (alone > 0)
            share = share / share.sum(axis=1, keepdims=True)
            self._spread = sparse.csr_array((share[job, at], (mine, job)), shape=(columns.size, n))
        time = sparse.csr_array((np.ones(speeds.size), rows), shape=(n, columns.size)) @ self._spread
        self.throughput = sparse.csr_array((speeds, rows), shape=(n, columns.size)) @ self._spread
        used = np.concatenate([at, pair_at])
        self.gpus = sparse.csr_array((gangs, (used, columns)), shape=(types, columns.size)) @ self._spread
        self.best: FloatArray = self.throughput.max(axis=1).toarray().ravel()
        # (1) and (2): no job has more than all its time; (3): no type more than its GPUs
        self.uses = sparse.vstack([time, self.gpus], format="csr")
        self.limits = np.concatenate([np.ones(n), problem.workers.astype(np.float64)])

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
        uses, limits = self.uses, self.limits
        if floor is not None and (bound := np.flatnonzero(floor > 0)).size:
            relative = sparse.diags_array(1 / self.fastest[bound]) @ self.throughput[bound]
            uses = sparse.vstack([uses, -relative], format="csr")
            limits = np.concatenate([limits, -floor[bound] / self.fastest[bound]])
        x, _ = self.solve(objective / np.abs(objective).max(), uses, limits)
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
        n, variables = self.throughput.shape
        relative = sparse.diags_array(1 / self.fastest) @ self.throughput
        wanted = need / self.fastest
        scale = float(wanted.max())
        least = sparse.csr_array((wanted / scale)[:, None])
        uses = sparse.block_array([[self.uses, None], [-relative, least]], format="csr")
        floor = np.zeros(n) if floor is None else floor
        objective = np.zeros(variables + 1)
        objective[-1] = 1.0
        x, dual = self.solve(objective, uses, np.concatenate([self.limits, -floor / self.fastest]))
        value = float(x[-1] / scale)
        within = self.within(x[:-1])
        reached = np.minimum(value * need + floor, self.throughput @ within)
        return Optimum(within, value, reached, dual[-n:] / self.fastest / scale)

    def within(self, x: FloatArray) -> FloatArray:
        """The same x without the part by which HiGHS' tolerance lets it exceed the constraints."""
        used, some = self.uses @ x, self.limits > 0
        return np.asarray(x / max(1.0, float(np.max(used[some] / self.limits[some]))))

    def fill(self, floor: FloatArray) -> FloatArray:
        """Of all allocations with throughput(m, X) >= floor_m, one with the largest sum of relative throughputs.

        Programs that maximize a minimum leave open what the other jobs get, and a solver may leave GPUs idle; this
        choice is Pareto efficient. A job's throughput is taken relative to its fastest type.

        Parameters
        ----------
        floor : array of float, shape (n,)
            Throughputs that an earlier program reached [steps/s].

        Returns
        -------
        array of float, shape (variables,)
        """
        return self.maximize((1 / self.fastest) @ self.throughput, floor * (1 - SLACK))

    def solve(
        self, objective: FloatArray, uses: sparse.csr_array, limits: FloatArray, upper: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Maximize ``objective @ x`` subject to ``uses @ x <= limits`` and ``0 <= x <= upper``.

        Returns
        -------
        tuple of array of float
            x, and the dual value of each row, at least 0.
        """
        bounds = (0, None) if upper is None else np.column_stack([np.zeros(upper.size), upper])
        for method, options in (("highs-ds", OPTIONS), ("highs-ipm", {})):
            found = linprog(-objective, A_ub=uses, b_ub=limits, bounds=bounds, method=method, options=options)
            if found.status != NUMERICAL:
                break
        if found.status != 0:
            raise PolicyError(
                f"{self.policy}: the linear program of {self.problem.throughput.shape[0]} jobs has no optimum; "
                f"{found.message}"
            )
        return np.maximum(found.x, 0.0), -np.asarray(found.ineqlin.marginals)

    def allocation(self, x: FloatArray, objective: float) -> Allocation:
        """X of the jobs and pairs from the variables; what only rounding put there is 0."""
        n, types = self.problem.throughput.shape
        fractions = np.zeros((n + len(self.problem.pairs)) * types)
        values = self._spread @ x
        fractions[self._where] = np.where(values < 1e-8, 0.0, np.minimum(values, 1.0))
        table = fractions.reshape(-1, types)
        return Allocation(table[:n], table[n:], objective)


def policy(name: str, allocate: Callable[[Problem], Allocation], *, space_sharing: bool = False) -> Policy:
    """A policy without memory; without jobs it answers without its program."""

    def answer(problem: Problem) -> Allocation:
        if len(problem.throughput) == 0:
            types = problem.workers.size
            return Allocation(np.zeros((0, types)), np.zeros((len(problem.pairs), types)))
        return allocate(problem)

    return Policy(name, lambda: answer, space_sharing)
