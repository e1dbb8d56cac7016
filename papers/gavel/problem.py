"""Input and output of a Gavel policy ([Narayanan2020] §3.1).

A policy sees the runnable jobs of one moment. For each job, and each pair of jobs that may share GPUs, it returns the
fraction of time to spend on each accelerator type until the next such moment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.errors import InputError

PAYS: Final = 1.1
"""Smallest sum of (speed together / speed alone) of the two jobs, on their best type, with which a pair is offered.

Taking turns gives 1, so that a pair below this can gain less than a tenth; a program has a variable for every pair and
type, and leaving those out makes it several times smaller."""


@dataclass(frozen=True, eq=False)
class Problem:
    """The runnable jobs of one moment, n of them in order of arrival, on J accelerator types.

    Jobs of one kind have the same speeds, alone and beside others, and gangs of one size; each job is its own kind
    unless told. `seen` tells of the past, of what the steps done so far took: it is other than `throughput` for a
    policy that knows no speeds.
    """

    throughput: FloatArray  # (n, J) of each job alone on its whole gang, as the policy is told [steps/s]; 0: cannot run
    scale_factor: IntArray  # (n,) GPUs of the gang [GPU]
    workers: IntArray  # (J,) GPUs of each type [GPU]
    weight: FloatArray  # (n,) priority weight w_m, above 0
    steps: FloatArray  # (n,) remaining ones
    elapsed: FloatArray  # (n,) time since arrival [s]
    isolated_elapsed: FloatArray  # (n,) time that the steps done would have taken on 1/n of all [s], t_isolated of §4.2
    slo: FloatArray  # (n,) time left to the deadline [s]; inf if there is none
    entity: IntArray  # (n,) index of the entity of each job
    entity_weight: FloatArray  # (entities,)
    cost: FloatArray  # (J,) price of one GPU of each type [$/h]; NaN if it is not known
    job: IntArray  # (n,) which job of the workload each is, for policies that remember jobs between moments
    kind: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))  # (n,)
    # (K, K, 2, J) of the first and of the second of two kinds of jobs when they share their GPUs [steps/s], the same in
    # the other order; 0 where they may not share, empty where no jobs may
    together: FloatArray = field(default_factory=lambda: np.zeros((0, 0, 2, 0)))
    types: tuple[str, ...] = ("v100", "p100", "k80")  # names of the accelerator types
    seen: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))  # (n, J) of each job alone, as it ran [steps/s]

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
        """Throughputs of both jobs of each pair when they share GPUs [steps/s], shape (P, 2, J)."""
        if len(self.together) == 0:
            return np.zeros((0, 2, len(self.workers)))
        first, second = self.kind[self.pairs].T
        return np.asarray(self.together[first, second])

    def some(self, jobs: IntArray) -> Problem:
        """The problem of some of the jobs."""
        return replace(self, **{name: getattr(self, name).take(jobs, axis=0) for name in PER_JOB})

    def unshared(self, alone: FloatArray) -> Allocation:
        """The allocation in which no pair shares GPUs."""
        return Allocation(alone, np.zeros((0, len(self.workers))), pairs=np.zeros((0, 2), np.int64))


PER_JOB: Final = (
    "throughput", "scale_factor", "weight", "steps", "elapsed", "isolated_elapsed", "slo", "entity", "job", "kind",
    "seen",
)  # fmt: skip
"""Columns of a `Problem` with a row for each job."""


def check(problem: Problem, policy: str) -> None:
    """Raise `InputError` for a number that no program accepts, or a job that can run nowhere."""
    for what, values in (("throughput", problem.throughput), ("pair throughput", problem.together)):
        if not (values.min(initial=0.0) >= 0 and values.max(initial=0.0) < np.inf):  # nor NaN, which is neither
            raise InputError(f"{policy}: every {what} must be 0 or more steps/s, and one of them is not")
    for what, values in (("weight", problem.weight), ("number of steps", problem.steps)):
        if not (values.min() > 0 and values.max() < np.inf):
            job = int(np.argmin(np.isfinite(values) & (values > 0)))
            raise InputError(f"{policy}: job {problem.job[job]} has the {what} {values[job]:g}, expected more than 0")
    runs = (problem.throughput > 0) & (problem.scale_factor[:, None] <= problem.workers)
    if not (able := runs.any(axis=1)).all():
        job = int(np.argmin(able))
        raise InputError(
            f"{policy}: job {problem.job[job]} with a gang of {problem.scale_factor[job]} GPUs can run on none of the "
            f"accelerator types {', '.join(problem.types)}: its throughput is 0 there or the GPUs are too few"
        )


@dataclass(frozen=True, eq=False)
class Allocation:
    """Fractions of time X, between 0 and 1."""

    alone: FloatArray  # (n, J)
    paired: FloatArray  # (P, J)
    objective: float = float("nan")  # value of the policy's program, NaN if it has none
    pairs: IntArray | None = None  # (P, 2) whose times `paired` are, first < second; the problem's pairs if None


def equal_split(scale_factor: IntArray, workers: IntArray, jobs: float | FloatArray | None = None) -> FloatArray:
    """X^isolated: time fractions when each job or pair owns the same part of each type ([Narayanan2020] §4.1).

    A gang of s GPUs, `scale_factor` (n,), that owns workers / n GPUs of a type can use them for workers / (n s) of the
    time; `workers`, (J,), are the GPUs of each type. The cluster is divided among n, or `jobs`, one number or (n,).
    Rows of the result, (n, J), that would exceed 1 are scaled down to 1, so that the mix of types stays the cluster's.
    """
    among = max(len(scale_factor), 1) if jobs is None else jobs
    share = workers / (among * scale_factor)[:, None]
    return np.asarray(share / np.maximum(1.0, share.sum(axis=1, keepdims=True)))


@dataclass(frozen=True)
class Allocator:
    """A policy: its name, how it decides, and what it declares of itself.

    ``make()`` gives a function `allocate(problem) -> Allocation` for one simulation: what a policy remembers from one
    moment to the next lives in that function's closure or object, never in the module. To a policy that does not know
    speeds, `throughput` is the same on all types where a job can run; where types are filled one after the other, this
    is then in random order.
    """

    name: str
    make: Callable[[], Callable[[Problem], Allocation]]
    space_sharing: bool = False  # whether it is offered pairs
    knows_speeds: bool = True  # whether it is told how fast a job is on which type
    leaves_idle: bool = False  # whether its 0 means "do not run there", even where GPUs would idle
    least_gain: float = PAYS  # pairs are offered from this sum of relative speeds on; 0 for all that can run
    central: Callable[[], Callable[[Problem], Allocation]] | None = None  # `make` for the center of many optima

    def start(self, optimum: str) -> Callable[[Problem], Allocation]:
        """Return what decides in one simulation; the ``"central"`` optimum where the policy has it."""
        return (self.central if optimum == "central" and self.central is not None else self.make)()
