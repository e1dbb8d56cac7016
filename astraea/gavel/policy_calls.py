"""What a policy is asked at a moment of a simulation, and whether its answer can be used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.checks import whole_number
from astraea.core.errors import InputError, PolicyError
from astraea.gavel.problem import Allocation, Policy, Problem
from astraea.gavel.programs.feasibility import blind
from astraea.gavel.throughputs.table import Throughputs
from astraea.gavel.workload import Workload

PRICES: Final = {"v100": 0.74, "p100": 0.43, "k80": 0.135}
"""Price of one GPU [$/h]: preemptible ones of the Google cloud, as in the simulator that Gavel's authors released."""

NOTHING: Final = 1e-7
"""Fractions of time below this are what a solver calls 0."""


class Speeds:
    """Speeds of the jobs of a workload on a cluster [steps/s].

    Attributes
    ----------
    alone, apart : array of float, shape (n, J)
        On as few servers as the gang can have, and on more; 0 on types that have too few workers.
    """

    def __init__(self, workload: Workload, throughputs: Throughputs, workers: IntArray, server_gpus: int) -> None:
        configurations = list(zip(workload.job_type, workload.scale_factor.tolist(), strict=True))
        self._known = list(dict.fromkeys(configurations))
        number = {c: k for k, c in enumerate(self._known)}
        self._of = np.array([number[c] for c in configurations])
        self._throughputs, self._workers = throughputs, workers
        scale = np.array([c[1] for c in self._known])
        self._fits = scale[:, None] <= workers[None, :]
        speed = np.array([throughputs.alone(*c) for c in self._known]) * self._fits
        slow = speed
        if server_gpus > 1:
            slow = np.array([throughputs.alone(*c, consolidated=False) for c in self._known]) * self._fits
        self.alone, self.apart = speed[self._of], slow[self._of]
        stuck = np.flatnonzero(self.alone.max(axis=1) <= 0)
        if len(stuck):
            j = int(stuck[0])
            more = f" (and {len(stuck) - 1} more like it)" if len(stuck) > 1 else ""
            raise InputError(
                f"{workload.name}: job {workload.job_id[j]!r}, {workload.job_type[j]} on {workload.scale_factor[j]} "
                f"GPUs, can run on none of {shown_workers(throughputs.types, workers)}{more}"
            )
        self._pairs: FloatArray | None = None
        self._pays = np.zeros((0, 0), np.bool_)

    def pairs(self, jobs: IntArray, scale: IntArray, threshold: float) -> tuple[IntArray, FloatArray]:
        """Pairs of equal gangs of `jobs` that pay: positions (P, 2) in `jobs`, and speeds (P, 2, J)."""
        if self._pairs is None:
            self._measure(threshold)
        assert self._pairs is not None
        first, second = np.triu_indices(len(jobs), 1)
        of = self._of[jobs]
        good = (scale[first] == scale[second]) & self._pays[of[first], of[second]]
        first, second = first[good], second[good]
        return np.column_stack([first, second]), self._pairs[of[first], of[second]]

    def shared(self, pairs: IntArray) -> FloatArray:
        """Speeds of some pairs of jobs, shape (P, 2, J); 0 where they cannot share."""
        if self._pairs is None:
            self._measure(0.0)
        assert self._pairs is not None
        return np.asarray(self._pairs[self._of[pairs[:, 0]], self._of[pairs[:, 1]]])

    def _measure(self, threshold: float) -> None:
        known, types = self._known, len(self._workers)
        alone = np.zeros((len(known), types))
        alone[self._of] = self.alone
        self._pairs = np.zeros((len(known), len(known), 2, types))
        for a, first in enumerate(known):
            for b, second in enumerate(known):
                if first[1] == second[1]:
                    speed = self._throughputs.pair(first, second) * self._fits[a]
                    self._pairs[a, b] = speed * (speed > 0).all(axis=0)
        both = np.stack(np.broadcast_arrays(alone[:, None], alone[None, :]), axis=2)
        relative = np.divide(self._pairs, both, out=np.zeros_like(both), where=both > 0).sum(axis=2)
        self._pays = relative.max(axis=2) >= threshold if threshold > 0 else relative.max(axis=2) > 0


def isolated_speed(alone: FloatArray, scale: IntArray, workers: IntArray, jobs: float | FloatArray) -> FloatArray:
    """Speed of each job with 1/`jobs` of every type, at most its whole time ([Narayanan2020] §4.2) [steps/s]."""
    share = workers / np.reshape(np.asarray(jobs, float), (-1, 1)) / scale[:, None]
    share = share / np.maximum(share.sum(axis=1, keepdims=True), 1.0)
    return np.asarray((alone * share).sum(axis=1))


class PolicyCaller:
    """A policy in one simulation.

    Attributes
    ----------
    solves : int
        How often it was asked.
    """

    def __init__(
        self, policy: Policy, workload: Workload, speeds: Speeds, types: tuple[str, ...], workers: IntArray,
        believed: Speeds | None = None, margin: float = 0.0,
    ) -> None:  # fmt: skip
        self._policy, self._allocate = policy, policy.make()
        self._workload, self._speeds, self._types, self._workers = workload, speeds, types, workers
        self._believed = believed or speeds
        self._told = self._believed.alone if policy.knows_speeds else blind(self._believed.alone)
        self._margin = margin  # [s] by which deadlines are told earlier than they are
        self._cost = np.array([PRICES.get(t, np.nan) for t in types])
        if policy.needs_prices and np.isnan(self._cost).any():
            raise InputError(f"policy {policy.name}: prices are known of {', '.join(PRICES)}, not of all of {types}")
        self._left = workload.total_steps.copy()
        self._isolated = np.zeros(len(workload))  # t_isolated of what was done up to the last time
        self._rate = np.full(len(workload), np.nan)
        self.solves = 0

    def ask(self, now: float, active: IntArray, left: FloatArray) -> tuple[Problem, Allocation]:
        """Ask for the allocation of the `active` jobs, of which `left` steps are to do (all jobs of the workload).

        Raises
        ------
        PolicyError
            If the answer has another shape, or fractions that are no numbers, negative or above 1.
        """
        w = self._workload
        rate = isolated_speed(self._speeds.alone[active], w.scale_factor[active], self._workers, max(len(active), 1))
        before = self._rate[active]
        done = self._left[active] - left[active]
        self._isolated[active] += done / np.where(np.isnan(before), rate, before)
        self._rate[active], self._left[active] = rate, left[active]
        elapsed = now - w.arrival_time[active]
        pairs, pair_speed = np.zeros((0, 2), np.int64), np.zeros((0, 2, len(self._types)))
        if self._policy.space_sharing:
            pairs, pair_speed = self._believed.pairs(active, w.scale_factor[active], self._policy.least_gain)
        problem = Problem(
            throughput=self._told[active],
            scale_factor=w.scale_factor[active],
            workers=self._workers,
            weight=w.weight[active],
            steps=left[active],
            elapsed=elapsed,
            isolated_elapsed=self._isolated[active],
            slo=w.arrival_time[active] + w.slo[active] - now - self._margin,
            entity=w.entity[active],
            entity_weight=w.entity_weight,
            cost=self._cost,
            job=active,
            pairs=pairs,
            pair_throughput=pair_speed,
            types=self._types,
            seen=self._believed.alone[active],
        )
        self.solves += 1
        return problem, self._checked(self._allocate(problem), problem, now)

    def _checked(self, answer: Allocation, problem: Problem, now: float) -> Allocation:
        parts = []
        for name, given, rows in (
            ("alone", answer.alone, len(problem.job)),
            ("paired", answer.paired, len(problem.pairs)),
        ):
            x = np.asarray(given, float)
            if x.shape != (rows, len(self._types)):
                self._refuse(now, f"gave {name} of shape {x.shape} where {(rows, len(self._types))} was asked")
            if not np.isfinite(x).all() or (x < -1e-4).any() or (x > 1 + 1e-4).any():
                worst = x[~(np.isfinite(x) & (x >= -1e-4) & (x <= 1 + 1e-4))][0]
                self._refuse(now, f"gave the fraction of time {worst:g}, expected 0 to 1")
            parts.append(np.where(x < NOTHING, 0.0, np.minimum(x, 1.0)))
        return Allocation(parts[0], parts[1], answer.objective)

    def _refuse(self, now: float, what: str) -> None:
        raise PolicyError(f"policy {self._policy.name}, at {now:g} s: {what}")


def shown_workers(types: tuple[str, ...], workers: IntArray) -> str:
    """Cluster in words: 36 v100 + 36 p100."""
    return " + ".join(f"{n} {t}" for t, n in zip(types, workers.tolist(), strict=True))


def checked_workers(workers: Sequence[int], types: tuple[str, ...]) -> IntArray:
    """Workers of each type, or a sentence."""
    counts = list(workers)
    if len(counts) != len(types):
        raise InputError(f"workers must be {len(types)} numbers, of {', '.join(types)}; got {counts!r}")
    for t, n in zip(types, counts, strict=True):
        whole_number(n, f"workers of type {t}", most=1_000_000)
    if sum(counts) == 0:
        raise InputError(f"workers must be at least 1 of some type, got none of {', '.join(types)}")
    return np.array(counts, np.int64)
