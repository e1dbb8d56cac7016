"""Calls of a policy during a simulation, and checks of its answers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.checks import whole_number
from astraea.core.compilation import compiled
from astraea.core.errors import InputError, PolicyError
from papers.gavel.problem import Allocation, Allocator, Problem
from papers.gavel.programs.classes import blind
from papers.gavel.rounds import Pairs, Rules, State, with_answer
from papers.gavel.throughputs.table import Throughputs
from papers.gavel.workload import Workload

PRICES: Final = {"v100": 0.74, "p100": 0.43, "k80": 0.135}
"""Price of one preemptible GPU on the Google cloud [$/h], from the simulator that Gavel's authors released."""

NOTHING: Final = 1e-7
"""Largest fraction of time that counts as a solver's 0."""


class Speeds:
    """Speeds of the n jobs of a workload on a cluster [steps/s], 0 on types that have too few workers.

    `alone`, (n, J), are those of each job by itself. `InputError` if a job can run on no type.
    """

    def __init__(self, workload: Workload, throughputs: Throughputs, workers: IntArray) -> None:
        self.throughputs, self.workers, self.scale = throughputs, workers, workload.scale_factor
        jobs = list(zip(workload.job_type, self.scale.tolist(), strict=True))
        self._fits = self.scale[:, None] <= workers
        self.alone = np.array([throughputs.alone(*job) for job in jobs]) * self._fits
        stuck = np.flatnonzero(self.alone.max(axis=1) <= 0)
        if len(stuck):
            j = int(stuck[0])
            more = f" (and {len(stuck) - 1} more like it)" if len(stuck) > 1 else ""
            raise InputError(
                f"{workload.name}: job {workload.job_id[j]!r}, {workload.job_type[j]} on {self.scale[j]} "
                f"GPUs, can run on none of {shown_workers(throughputs.types, workers)}{more}"
            )
        numbers = [throughputs.kind(*job) for job in jobs]
        self._kinds, self._one, self._of = np.unique(numbers, return_index=True, return_inverse=True)

    def kinds(self, jobs: IntArray) -> IntArray:
        """Return the kinds of some jobs, indices into `together`."""
        return np.asarray(self._of.take(jobs))

    def together(self, least_gain: float) -> FloatArray:
        """Speeds of the pairs of kinds that gain enough from sharing, else 0, shape (K, K, 2, J)."""
        pays = (self._gain > 0) & (self._gain >= least_gain)
        return self._together * pays[:, :, None, None]

    def shared(self, pairs: IntArray) -> FloatArray:
        """Speeds of some pairs of jobs, shape (P, 2, J); 0 where they cannot share."""
        if len(pairs) == 0:  # which may never have been measured
            return np.zeros((0, 2, len(self.workers)))
        return np.ascontiguousarray(self._together[self._of[pairs[:, 0]], self._of[pairs[:, 1]]])

    @cached_property
    def _together(self) -> FloatArray:
        """Speeds of every two kinds of jobs, shape (K, K, 2, J); 0 where one of them cannot run."""
        n = len(self._kinds)
        speed = self.throughputs.pairs(np.repeat(self._kinds, n), np.tile(self._kinds, n)).reshape(n, n, 2, -1)
        return speed * (speed > 0).all(axis=2, keepdims=True) * self._fits[self._one][:, None, None]

    @cached_property
    def _gain(self) -> FloatArray:
        """Sum of (speed together / speed alone) of every two kinds of jobs on their best type, shape (K, K)."""
        alone = self.alone[self._one]
        both = np.stack(np.broadcast_arrays(alone[:, None], alone[None, :]), axis=2)
        relative = np.divide(self._together, both, out=np.zeros_like(both), where=both > 0)
        return np.asarray(relative.sum(axis=2).max(axis=2))


class PolicyCaller:
    """A policy in one simulation.

    `prices`, (J,), are of one GPU of each type [$/h], NaN where it is not known; `solves` is how often it was asked.
    """

    def __init__(
        self, policy: Allocator, workload: Workload, speeds: Speeds, believed: Speeds, *, optimum: str, margin: float
    ) -> None:
        self._policy, self._allocate = policy, policy.start(optimum)
        self._workload, self._speeds, self._believed = workload, speeds, believed
        self._told = believed.alone if policy.knows_speeds else blind(believed.alone)
        empty = np.zeros((0, 0, 2, len(speeds.workers)))
        self._together = believed.together(policy.least_gain) if policy.space_sharing else empty
        self._margin = margin  # [s] by which deadlines are told earlier than they are
        self.prices = np.array([PRICES.get(t, np.nan) for t in speeds.throughputs.types])
        self._left = workload.total_steps.copy()
        self._isolated = np.zeros(len(workload))  # t_isolated of what was done up to the last time
        self._rate = np.full(len(workload), np.nan)
        self.solves = 0

    def solve(self, s: State, rules: Rules) -> State:
        """Ask for the allocation of the active jobs.

        `PolicyError` if the answer has another shape, or fractions that are no numbers, negative or above 1.
        """
        now, active = float(s.now), s.queue[: s.active].copy()
        problem = self._problem(now, active, s.jobs.left[active])
        answer = self._checked(self._allocate(problem), problem, now)
        self.solves += 1
        pairs = problem.pairs if answer.pairs is None else answer.pairs
        given = np.flatnonzero((answer.paired > 0).any(axis=1))
        members, share = np.ascontiguousarray(active[pairs[given]]), answer.paired[given]
        speed = self._speeds.shared(members)
        return with_answer(s, active, answer.alone, Pairs(members, speed, share, np.empty_like(share)), rules)

    def _problem(self, now: float, active: IntArray, left: FloatArray) -> Problem:
        w, speeds = self._workload, self._speeds
        _catch_up(active, left, speeds.alone, w.scale_factor, speeds.workers, self._isolated, self._rate, self._left)
        arrival = w.arrival_time.take(active)
        return Problem(
            throughput=self._told.take(active, axis=0),
            scale_factor=w.scale_factor.take(active),
            workers=speeds.workers,
            weight=w.weight.take(active),
            steps=left,
            elapsed=now - arrival,
            isolated_elapsed=self._isolated.take(active),
            slo=arrival + w.slo.take(active) - now - self._margin,
            entity=w.entity.take(active),
            entity_weight=w.entity_weight,
            cost=self.prices,
            job=active,
            kind=self._believed.kinds(active),
            together=self._together,
            types=speeds.throughputs.types,
            seen=self._believed.alone.take(active, axis=0),
        )

    def _checked(self, answer: Allocation, problem: Problem, now: float) -> Allocation:
        types, pairs = len(problem.workers), problem.pairs if answer.pairs is None else answer.pairs
        alone = self._fractions("alone", answer.alone, (len(problem.job), types), now)
        paired = self._fractions("paired", answer.paired, (len(pairs), types), now)
        return Allocation(alone, paired, answer.objective, answer.pairs)

    def _fractions(self, name: str, given: FloatArray, shape: tuple[int, int], now: float) -> FloatArray:
        x, wrong = np.asarray(given, float), ""
        if x.shape != shape:
            wrong = f"gave {name} of shape {x.shape} where {shape} was asked"
        elif x.size == 0:
            return x
        elif not (x.min() >= -1e-4 and x.max() <= 1 + 1e-4):  # nor NaN, which is neither
            wrong = f"gave the fraction of time {x[~((x >= -1e-4) & (x <= 1 + 1e-4))][0]:g}, expected 0 to 1"
        if wrong:
            raise PolicyError(f"policy {self._policy.name}, at {now:g} s: {wrong}")
        return np.where(x < NOTHING, 0.0, np.minimum(x, 1.0))


@compiled
def _catch_up(
    active: IntArray, left: FloatArray, alone: FloatArray, scale: IntArray, workers: IntArray, isolated: FloatArray,
    rate: FloatArray, before: FloatArray,
) -> None:  # fmt: skip
    """Add to `isolated` of each active job the time that its steps since the last moment take with its equal split.

    The split is that of the last moment, or of now if the job is new; then `rate`, that split's [steps/s], and
    `before`, the steps to do, become those of now.
    """
    for i, j in enumerate(active):
        total = sum_rate = 0.0
        for k in range(workers.shape[0]):
            total += workers[k] / (active.shape[0] * scale[j])
        for k in range(workers.shape[0]):  # as `equal_split`
            sum_rate += alone[j, k] * (workers[k] / (active.shape[0] * scale[j]) / max(1.0, total))
        isolated[j] += (before[j] - left[i]) / (sum_rate if np.isnan(rate[j]) else rate[j])
        rate[j], before[j] = sum_rate, left[i]


def shown_workers(types: tuple[str, ...], workers: IntArray) -> str:
    """Write a cluster in words: 36 v100 + 36 p100."""
    return " + ".join(f"{n} {t}" for t, n in zip(types, workers.tolist(), strict=True))


def checked_workers(workers: Sequence[int], types: tuple[str, ...]) -> IntArray:
    """Return the workers of each type, (J,); `InputError` unless they are whole numbers, one a type, not all 0."""
    counts = list(workers)
    if len(counts) != len(types):
        raise InputError(f"workers must be {len(types)} numbers, of {', '.join(types)}; got {counts!r}")
    for t, n in zip(types, counts, strict=True):
        whole_number(n, f"workers of type {t}", most=1_000_000)
    if sum(counts) == 0:
        raise InputError(f"workers must be at least 1 of some type, got none of {', '.join(types)}")
    return np.array(counts, np.int64)
