"""The linear programs of Gavel's policies: variables X, their constraints, and HiGHS ([Narayanan2020] §3.1).

A policy states what to maximize over the effective throughputs throughput(m, X), and gets back an optimum or a
`PolicyError`. There is a variable only where a job, or both jobs of a pair, can run.

Jobs that a policy does not tell apart are one class (`classes`). If X is an optimum, so is the mean of all X in which
such jobs change places, because the program is linear; in the mean they all have the same. So a class has the variables
of one job, and takes GPUs once for each of its jobs; the program does not grow with the queue. Two classes that share
GPUs have one variable for each type, the time that all their pairs have together.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from scipy import sparse

from astraea.core.arrays import BoolArray, FloatArray, IntArray
from astraea.core.errors import PolicyError
from papers.gavel.problem import Allocation, Problem, check
from papers.gavel.programs import highs
from papers.gavel.programs.classes import Classes, blind, class_pairs, pair_names, spread_pairs
from papers.gavel.programs.columns import Columns, class_columns, excess, pair_columns, paying_pairs

SLACK: Final = 1e-9
"""Part by which a throughput is lowered as a bound of the next program, because of rounding."""

STEP: Final = 1e-4
"""Largest gain, as a part of its fastest throughput, in the test for whether a job can have more."""

GAIN: Final = 1e-6
"""Least gain that counts: ten times HiGHS' tolerance."""

WORTH: Final = 1e-9
"""Least gain at a solution's prices for which a pair becomes a variable: HiGHS' tolerance."""


class Optimum(NamedTuple):
    """Result of `Program.max_min`; no allocation has ``price @ (throughput - floor) > value``."""

    x: FloatArray  # (variables,)
    value: float  # of the objective
    reached: FloatArray  # (C,) throughput that every job has in all optima, up to rounding, and has in `x` [steps/s]
    price: FloatArray  # (C,) dual value of each class's row, at least 0, with ``price @ need == 1``


class Program:
    """Variables and constraints (1)-(3) of a problem, to which a policy adds its objective.

    The problem has at least one job, and `policy` is a name for messages. If types are not told apart (`agnostic`), a
    job runs everywhere as fast as on the first type. Its time is divided over the types on which it can run, in
    proportion to their GPUs. `classes` says which jobs are interchangeable; none are unless it is given.

    All else is about C classes: `problem` has one job of each, and `jobs`, (C,), says how many there are. `speed`,
    (C, J), is what a job has alone, as the policy sees it, 0 where its gang cannot run; `fastest`, (C,), is the most of
    it, throughput(m, X^fastest) [steps/s]. Constraints (1)-(3) are ``rows[: C + J] @ x <= limits`` and x >= 0.
    """

    def __init__(
        self, problem: Problem, policy: str, *, agnostic: bool = False, classes: Classes | None = None,
        solver: highs.Solver | None = None,
    ) -> None:  # fmt: skip
        check(problem, policy)
        self.policy, self.whole = policy, problem
        each = np.arange(len(problem.job))
        self.classes = Classes(each, each, np.ones(len(each))) if classes is None else classes
        self.problem = problem = problem if classes is None else problem.some(classes.first)
        self.jobs = jobs = self.classes.jobs
        n = len(problem.throughput)
        at: IntArray | None
        alone = np.where(problem.scale_factor[:, None] <= problem.workers, problem.throughput, 0.0)
        owner, at = np.nonzero(alone)
        if agnostic:  # a variable for each class, whose time is divided over types
            alone = blind(alone)
            gpus = problem.workers * (alone > 0)
            owner, at = np.arange(n), None
            self.part: FloatArray = gpus / gpus.sum(axis=1, keepdims=True)  # (C, J) of its time on each type
        self.fastest: FloatArray = alone.max(axis=1)
        speed = self.fastest if agnostic else alone[owner, at]
        self.speed, self._owner, self._at = alone, owner, at  # (C, J), (variables,), (variables,)
        self.limits = np.concatenate([np.ones(n), problem.workers.astype(np.float64)])
        self.solver = solver or highs.Solver()
        self._rate = speed  # (variables,) throughput of each job of the class [steps/s]
        self._names = problem.job if classes is None else problem.kind
        self.pairs = class_pairs(problem, alone, jobs, self._names, self.solver.pairs)
        self._chosen = self.pairs.known  # pairs that are worth a variable so far

    @cached_property
    def best(self) -> FloatArray:
        """Largest throughput of a job, alone or beside another [steps/s], shape (C,)."""
        best, kind, (a, b, at, *_) = self.fastest.copy(), self.problem.kind, self.pairs
        if len(a):
            speed = self.problem.together[kind[a], kind[b], :, at]
            np.maximum.at(best, np.concatenate([a, b]), speed.T.ravel())
        return best

    @cached_property
    def rows(self) -> Columns:
        """Rows of the matrix for HiGHS, shape (2 C + J, variables without pairs).

        Time of each job in use, GPUs of each type in use, and -throughput of each job, relative to its fastest type.
        """
        (n, types), owner, size = self.speed.shape, self._owner, self.jobs * self.problem.scale_factor
        rate = self._rate / self.fastest[owner]
        if self._at is None:
            at, gpus = np.broadcast_to(np.arange(types), (n, types)), size[:, None] * self.part
        else:
            at, gpus = self._at[:, None], size[owner][:, None]
        return Columns((2 * n + types, owner.size), *class_columns(owner, n + at, gpus, n + types, rate))

    def _shared(self, which: IntArray) -> Columns:
        """The same of some pairs: each job of a class has its part of the time that the pairs have together.

        Of two jobs of one class, each is in twice as many pairs.
        """
        (n, types), (a, b, at, mine, theirs, _) = self.speed.shape, self.pairs
        gpus = self.problem.scale_factor
        parts = pair_columns(which, a, b, at, types, mine, theirs, self.jobs, gpus, self.fastest)
        return Columns((2 * n + types, len(which)), *parts)

    @property
    def size(self) -> int:
        """Number of variables."""
        return len(self._owner) + len(self.pairs.first)

    @cached_property
    def throughput(self) -> sparse.csc_array:
        """``throughput @ x`` is the effective throughput of each job [steps/s], shape (C, variables)."""
        own, shared = np.arange(len(self._owner)), np.arange(len(self._owner), self.size)
        job = np.concatenate([self._owner, self.pairs.first, self.pairs.second])
        rate = np.concatenate([self._rate, self.pairs.mine, self.pairs.theirs])
        return sparse.csc_array((rate, (job, np.concatenate([own, shared, shared]))), shape=(len(self.jobs), self.size))

    def reached(self, x: FloatArray) -> FloatArray:
        """Effective throughput of each job [steps/s], shape (C,)."""
        alone, (a, b, _, mine, theirs, _) = len(self._owner), self.pairs
        job, rate = self._owner, self._rate * x[:alone]
        if len(a):
            used = np.flatnonzero(x[alone:])  # of very many
            time = x[alone + used]
            job = np.concatenate([job, a[used], b[used]])
            rate = np.concatenate([rate, mine[used] * time, theirs[used] * time])
        return np.asarray(np.bincount(job, rate, len(self.jobs)), np.float64)

    def total(self, value: FloatArray) -> FloatArray:
        """Objective: sum over all jobs of throughput(m, X) times what a step of each is worth, shape (variables,)."""
        worth, (a, b, _, mine, theirs, _) = value * self.jobs, self.pairs
        own = worth[self._owner] * self._rate
        if len(a) == 0:
            return np.asarray(own)
        return np.append(own, worth[a] * mine + worth[b] * theirs)

    def maximize(self, objective: FloatArray, floor: FloatArray | None = None) -> FloatArray:
        """Return the x that maximizes ``objective @ x``, both (variables,), or `PolicyError` if there is no optimum.

        throughput(m, X) is at least `floor`, (C,), where that is above 0.
        """
        n = len(self.jobs)
        held = np.full(n, np.inf) if floor is None else np.where(floor > 0, -floor / self.fastest, np.inf)
        rows = self.rows.and_one(self.limits.size, np.ones(n))  # as `max_min` has them, so that it follows fast
        x, _, _ = self._solve(objective / np.abs(objective).max(), held, rows, 0.0, 0.0, highs.PRIMAL)
        return self.within(x)

    def max_min(self, need: FloatArray, floor: FloatArray | None = None) -> Optimum:
        """Maximize the least of (throughput(m, X) - floor_m) / need_m over the jobs with a need above 0.

        Jobs without a need get at least their floor. The program is: maximize c, subject to
        throughput(m, X) >= c need_m + floor_m for every m. Both have the shape (C,) and are not negative [steps/s, or
        any unit of the job's own].
        """
        n = need.size
        wanted = need / self.fastest
        scale = float(wanted.max())
        rows = self.rows.and_one(self.limits.size, wanted / scale)
        floor = np.zeros(n) if floor is None else floor
        x, c, price = self._solve(np.zeros(self.size), -floor / self.fastest, rows, 1.0, np.inf, highs.DUAL)
        value = float(c[0] / scale)
        within = self.within(x)
        reached = np.minimum(value * need + floor, self.reached(within))
        return Optimum(within, value, reached, price[-n:] / self.fastest / scale)

    def bottlenecked(self, floor: FloatArray) -> BoolArray:
        """Return True for jobs that can have no more than `floor` while all others have theirs.

        Maximize the sum of g_m, with throughput(m, X) >= floor_m + g_m and 0 <= g_m <= `STEP`; throughputs are relative
        to each job's fastest; `floor` has the shape (C,) [steps/s].
        """
        n = floor.size
        gains = Columns.ones(self.limits.size + np.arange(n), self.rows.shape[0])
        rows = self.rows.beside(gains)
        held = -floor * (1 - SLACK) / self.fastest
        _, gained, _ = self._solve(np.zeros(self.size), held, rows, 1.0, STEP, highs.DUAL)
        return np.asarray(gained < GAIN)

    def within(self, x: FloatArray) -> FloatArray:
        """Return x without the part by which it exceeds the constraints within HiGHS' tolerance."""
        used = self.rows.times(x[: len(self._owner)])
        if len(self.pairs.first):
            shared = np.flatnonzero(x[len(self._owner) :])
            used += self._shared(shared).times(x[len(self._owner) + shared])
        return np.asarray(x / excess(used, self.limits))

    def fill(self, floor: FloatArray) -> FloatArray:
        """Return an allocation with throughput(m, X) >= floor_m and the largest sum of relative throughputs.

        Programs that maximize a minimum leave open what the other jobs get, and a solver may leave GPUs idle; this
        choice is Pareto efficient. A job's throughput is taken relative to its fastest type; `floor`, (C,), is what an
        earlier program reached [steps/s].
        """
        return self.maximize(self.total(1 / self.fastest), floor * (1 - SLACK))

    def _solve(
        self, objective: FloatArray, held: FloatArray, rows: Columns, worth: float, most: float, strategy: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Maximize ``objective @ x + worth * y.sum()`` over x and y; y are further columns of `rows`.

        Each y is at most `most`. There may be many more pairs than any solution has. HiGHS gets only those that were
        used a moment ago, or that pay at the prices of GPUs and throughputs found so far. When no other pair pays, the
        solution is an optimum of all. Gives x, y, and the dual values of the rows.
        """
        alone, size = len(self._owner), rows.shape[1]
        limits = np.concatenate([self.limits, held])
        gain, upper = np.full(size, worth), np.full(size, np.inf)
        gain[:alone], upper[alone:] = objective[:alone], most
        if (count := len(self.pairs.first)) == 0:
            found = self.optimum(gain, rows, limits, upper, strategy)
            return found.x[:alone], found.x[alone:], found.price
        (a, b, at, mine, theirs, _), types = self.pairs, len(self.problem.workers)
        while True:
            chosen = self._chosen
            every = rows.beside(self._shared(chosen))
            values = np.append(gain, objective[alone + chosen])
            most_of = np.append(upper, np.full(len(chosen), np.inf))
            if len(chosen) < count:  # many more variables than rows, here and below
                found = self.solver.maximize(values, every, limits, most_of, strategy=highs.PRIMAL)
                if not found.is_optimal:  # a floor may need a pair that was left out
                    self._chosen = np.arange(count)
                    continue
            else:
                found = self.optimum(values, every, limits, most_of, highs.PRIMAL)
            pay, left = paying_pairs(
                objective[alone:], found.price, WORTH, chosen, a, b, at, types, mine, theirs, self.jobs,
                self.problem.scale_factor, self.fastest,
            )  # fmt: skip
            if len(pay) == 0:
                break
            best = pay[np.argsort(-left, kind="stable")[: 4 * len(self.jobs)]]
            self._chosen = np.append(chosen, best)
        x = np.zeros(self.size)
        x[:alone] = found.x[:alone]
        x[alone + chosen] = found.x[size:]
        used = chosen[found.x[size:] > 0]
        self.solver.pairs = pair_names(self._names[a[used]], self._names[b[used]], at[used])
        return x, found.x[alone:size], found.price

    def optimum(
        self, objective: FloatArray, rows: Columns, limits: FloatArray, upper: FloatArray | None, strategy: int
    ) -> highs.Solution:
        """Maximize ``objective @ x`` with ``rows @ x <= limits``, ``0 <= x <= upper``; `PolicyError` if none can be."""
        found = self.solver.maximize(objective, rows, limits, upper, strategy=strategy)
        if not found.is_optimal:
            what = f"the linear program of {len(self.whole.job)} jobs"
            raise PolicyError(f"{self.policy}: {what} has no optimum; HiGHS: {found.message.lower()}")
        return found

    def choose(self, least: Optimum, floor: FloatArray, objective: float) -> Allocation:
        """Return one of the allocations with throughput(m, X) >= floor_m, (C,): that of `fill`."""
        return self.allocation(self.fill(floor), objective)

    def time(self, x: FloatArray) -> FloatArray:
        """Return the time of each job alone on each type, (C, J), from the variables."""
        time = np.minimum(x[: len(self._owner)], 1.0)
        if self._at is None:
            return np.asarray(time[:, None] * self.part)
        alone = np.zeros(self.speed.shape)
        alone[self._owner, self._at] = time
        return alone

    def allocation(self, x: FloatArray, objective: float) -> Allocation:
        """Return X of the jobs and pairs from the variables, with rounding errors set to 0."""
        x = np.where(x < 1e-8, 0.0, x)
        pairs, paired = spread_pairs(self.classes, self.pairs, x[len(self._owner) :], len(self.problem.workers))
        return Allocation(self.time(x).take(self.classes.of, axis=0), paired, objective, pairs)
