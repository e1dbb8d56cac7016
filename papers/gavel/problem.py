"""What a Gavel policy is asked, and what it answers ([Narayanan2020] §3.1).

A policy sees the runnable jobs of one moment and returns, for each job and each pair of jobs that may share GPUs, the
fraction of time that it should spend on each accelerator type until the next such moment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Final

import numpy as np

from astraea.core.arrays import FloatArray, IntArray

PAYS: Final = 1.1
"""Smallest sum of (speed together / speed alone) of the two jobs, on their best type, with which a pair is offered.

Taking turns gives 1, so that a pair below this can gain less than a tenth; a program has a variable for every pair and
type, and leaving those out makes it several times smaller."""


@dataclass(frozen=True, eq=False)
class Problem:
    """The runnable jobs of one moment, n of them in order of arrival, on J accelerator types.

    Attributes
    ----------
    throughput : array of float, shape (n, J)
        Of each job alone on its whole gang [steps/s], as the policy is told; 0 where it cannot run.
    scale_factor : array of int, shape (n,)
        GPUs of the gang [GPU].
    workers : array of int, shape (J,)
        GPUs of each type [GPU].
    weight : array of float, shape (n,)
        Priority weight w_m, above 0.
    steps : array of float, shape (n,)
        Remaining steps.
    elapsed : array of float, shape (n,)
        Time since arrival [s].
    isolated_elapsed : array of float, shape (n,)
        Time that the steps done so far would have taken on 1/n of the cluster [s], t_isolated of §4.2.
    slo : array of float, shape (n,)
        Time left to the deadline [s]; inf if there is none.
    entity : array of int, shape (n,)
        Index of the entity of each job.
    entity_weight : array of float, shape (entities,)
    cost : array of float, shape (J,)
        Price of one GPU of each type [$/h]; NaN if it is not known.
    job : array of int, shape (n,)
        Which job of the workload each is, for policies that remember jobs from one moment to the next.
    kind : array of int, shape (n,)
        Jobs of one kind have the same speeds, alone and beside others, and gangs of one size; each is its own kind
        unless told.
    together : array of float, shape (K, K, 2, J)
        Of the first and of the second of two kinds of jobs when they share their GPUs [steps/s]; 0 where they may not.
        Two kinds in the other order have the same speeds. Empty where no jobs may share.
    types : tuple of str
        Names of the accelerator types.
    seen : array of float, shape (n, J)
        Of each job alone, as it was seen to run [steps/s]: what the steps done so far tell of the past. Other than
        `throughput` for a policy that knows no speeds.
    """

    throughput: FloatArray
    scale_factor: IntArray
    workers: IntArray
    weight: FloatArray
    steps: FloatArray
    elapsed: FloatArray
    isolated_elapsed: FloatArray
    slo: FloatArray
    entity: IntArray
    entity_weight: FloatArray
    cost: FloatArray
    job: IntArray
    kind: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    together: FloatArray = field(default_factory=lambda: np.zeros((0, 0, 2, 0)))
    types: tuple[str, ...] = ("v100", "p100", "k80")
    seen: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))

    def __post_init__(self) -> None:
        if self.seen.shape != self.throughput.shape:
            object.__setattr__(self, "seen", self.throughput)
        if self.kind.shape != self.job.shape:
            object.__setattr__(self, "kind", np.arange(len(self.job)))

    @cached_property
    def pairs(self) -> IntArray:
        """Jobs that may share GPUs, first < second, shape (P, 2)."""
        if len(self.together) == 0:
            return np.zeros((0, 2), np.int64)
        may_share = np.asarray((self.together > 0).any(axis=(2, 3)))
        return np.argwhere(np.triu(may_share[np.ix_(self.kind, self.kind)], 1))

    @cached_property
    def pair_throughput(self) -> FloatArray:
        """Of the first and of the second job of each pair when they share their GPUs [steps/s], shape (P, 2, J)."""
        if len(self.together) == 0:
            return np.zeros((0, 2, len(self.workers)))
        first, second = self.kind[self.pairs].T
        return np.asarray(self.together[first, second])

    def some(self, jobs: IntArray) -> Problem:
        """The problem of some of the jobs."""
        columns = {name: getattr(self, name) for name in COLUMNS}
        return Problem(**columns | {name: columns[name].take(jobs, axis=0) for name in PER_JOB})

    def unshared(self, alone: FloatArray) -> Allocation:
        """The allocation in which no pair shares GPUs."""
        return Allocation(alone, np.zeros((0, len(self.workers))), pairs=np.zeros((0, 2), np.int64))


PER_JOB: Final = (
    "throughput", "scale_factor", "weight", "steps", "elapsed", "isolated_elapsed", "slo", "entity", "job", "kind",
    "seen",
)  # fmt: skip
"""Columns of a `Problem` with a row for each job."""

COLUMNS: Final = tuple(column.name for column in fields(Problem))


@dataclass(frozen=True, eq=False)
class Allocation:
    """Fractions of time X, between 0 and 1.

    Attributes
    ----------
    alone : array of float, shape (n, J)
    paired : array of float, shape (P, J)
    objective : float
        Value of the policy's program, NaN if it has none.
    pairs : array of int, shape (P, 2), optional
        Whose times `paired` are, first < second; the problem's pairs if not given.
    """

    alone: FloatArray
    paired: FloatArray
    objective: float = float("nan")
    pairs: IntArray | None = None


def equal_split(scale_factor: IntArray, workers: IntArray, jobs: float | FloatArray | None = None) -> FloatArray:
    """X^isolated: time fractions when each job or pair owns the same part of each type ([Narayanan2020] §4.1).

    A gang of s GPUs that owns workers / n GPUs of a type can use them for workers / (n s) of the time.

    Parameters
    ----------
    scale_factor : array of int, shape (n,)
        GPUs of each gang [GPU].
    workers : array of int, shape (J,)
        GPUs of each type [GPU].
    jobs : float, or array of float, shape (n,)
        Number that the cluster is divided among, n unless given.

    Returns
    -------
    array of float, shape (n, J)
        Rows that would exceed 1 are scaled down to 1, so that the mix of types stays that of the cluster.
    """
    among = max(len(scale_factor), 1) if jobs is None else jobs
    share = workers / (among * scale_factor)[:, None]
    return np.asarray(share / np.maximum(1.0, share.sum(axis=1, keepdims=True)))


@dataclass(frozen=True)
class Allocator:
    """A policy: its name, how it decides, and what it declares of itself.

    Attributes
    ----------
    name : str
    make : callable
        ``make()`` gives a function `allocate(problem) -> Allocation` for one simulation: what a policy remembers from
        one moment to the next lives in that function's closure or object, never in the module.
    space_sharing : bool
        Whether it is offered pairs.
    knows_speeds : bool
        Whether it is told how fast a job is on which type. Otherwise `throughput` is the same on all types where a job
        can run, and GPUs that it leaves over are given away in turn, not to the fastest.
    leaves_idle : bool
        Whether its 0 means "do not run there", even where GPUs would idle.
    least_gain : float
        Pairs are offered from this sum of relative speeds on (see `PAYS`); 0 for all that can run.
    """

    name: str
    make: Callable[[], Callable[[Problem], Allocation]]
    space_sharing: bool = False
    knows_speeds: bool = True
    leaves_idle: bool = False
    least_gain: float = PAYS

    @property
    def expected(self) -> float:
        """Time that it is likely to take, more where there are pairs [s for a job of a workload]."""
        return 0.003 if self.space_sharing else 0.0008
