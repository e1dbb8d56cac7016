"""The evaluation of Themis: which workloads are drawn, under which policies they run, and how large each scale is.

Of the evaluation in [Mahajan2020] only notes are at hand, so workloads are this project's own (`themis.workload`). The
usual point has contention 1, leases of 15 minutes, f = 0.8 and no errors of estimates; everything else varies one of
these. A trial is a seed, of the apps and of the errors.

Scales
------
small
    10 apps on 44 GPUs; some seconds for all tables together.
paper
    100 apps on 256 GPUs, 5 trials; 3 where the contention varies, and one, of 60 apps, for lies.
full
    As `paper`, with 20 trials, also where the contention varies.

[Mahajan2020] K. Mahajan et al., Themis: Fair and Efficient GPU Cluster Scheduling, NSDI 2020.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Final, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from astraea.core.errors import InputError
from astraea.core.result import Result
from astraea.experiments.parallel import parallel_map
from astraea.studies.ye2022.evaluation import SCALES
from astraea.themis.apps import Workload
from astraea.themis.metrics import rho_summary
from astraea.themis.policies import get_policy
from astraea.themis.simulate import simulate
from astraea.themis.workload import MACHINES, sample_workload

SCHEDULERS: Final = ("themis", "tiresias", "optimus", "gandiva-packing", "slaq", "strawman", "astraea")
"""Themis, the four that [Mahajan2020] §6 compares it with, its own strawman, and ASTRAEA in the same setting."""


class ThemisScale(NamedTuple):
    """How much is simulated.

    Attributes
    ----------
    apps : of a workload
    machines : GPUs of each
    trials : how many seeds
    contentions : demand over capacity
    contention_trials : how many seeds where the contention varies
    fs : the fairness knob
    leases : lease terms [s]
    errors : of estimates, as parts
    lying_apps : apps of the workload in which one of them lies
    liars : how many of these lie, one at a time
    few_fs : the fairness knob where they do
    factors : by which they multiply their rho
    instances : random auctions for each property
    """

    apps: int
    machines: tuple[int, ...]
    trials: int
    contentions: tuple[float, ...]
    contention_trials: int
    fs: tuple[float, ...]
    leases: tuple[float, ...]
    errors: tuple[float, ...]
    lying_apps: int
    liars: int
    few_fs: tuple[float, ...]
    factors: tuple[float, ...]
    instances: int


_PAPER: Final = ThemisScale(
    100, MACHINES, 5, (0.5, 1.0, 2.0, 4.0), 3, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
    (120.0, 300.0, 900.0, 2700.0, 7200.0, inf), (0.0, 0.1, 0.2, 0.5, 0.9),
    60, 8, (0.0, 0.4, 0.8, 1.0), (1.5, 3.0), 2000,
)  # fmt: skip
THEMIS_SCALES: Final[dict[str, ThemisScale]] = {
    "small": ThemisScale(
        10, (4,) * 8 + (2,) * 6, 2, (1.0, 2.0), 1, (0.0, 0.5, 0.8, 1.0),
        (900.0, 3600.0), (0.0, 0.5),
        10, 2, (0.0, 0.8), (3.0,), 40,
    ),
    "paper": _PAPER,
    "full": _PAPER._replace(trials=20, contention_trials=20, instances=10_000),
}  # fmt: skip


class Cell(NamedTuple):
    """One simulation; `lease_term` [s], `f` of Themis only."""

    scheduler: str
    trial: int
    contention: float = 1.0
    f: float = 0.8
    lease_term: float = 900.0
    error: float = 0.0


T = TypeVar("T")


def themis_scale(scale: str) -> ThemisScale:
    """How much is simulated; `InputError` for a scale that does not exist."""
    if scale not in SCALES:
        raise InputError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")
    return THEMIS_SCALES[scale]


def workload_of(size: ThemisScale, cell: Cell) -> Workload:
    """Apps and machines of a cell."""
    return sample_workload(size.apps, cell.contention, cell.trial, np.array(size.machines))


def simulated(size: ThemisScale, cell: Cell, claims: Mapping[str, float] | None = None) -> Result:
    """Run of a cell; `claims` are lies, as in `themis.simulate`."""
    policy = get_policy(cell.scheduler, **({"f": cell.f} if cell.scheduler == "themis" else {}))
    return simulate(
        workload_of(size, cell), policy, lease_term=cell.lease_term, error=cell.error, claims=claims, seed=cell.trial
    )


def measured(scale: str, cells: Sequence[Cell], measure: Callable[[Result], T]) -> list[T]:
    """What is measured of each cell, in order; in parallel."""
    size = themis_scale(scale)
    return parallel_map(_measured, [(size, cell, measure) for cell in cells])


def tabulated(scale: str, cells: Sequence[Cell], columns: Iterable[str]) -> pd.DataFrame:
    """One row per cell: some of its own columns and of those of `rho_summary`."""
    found = measured(scale, cells, rho_summary)
    rows = [{**cell._asdict(), **row} for cell, row in zip(cells, found, strict=True)]
    return pd.DataFrame(rows)[list(columns)]


def _measured(size: ThemisScale, cell: Cell, measure: Callable[[Result], T]) -> T:
    return measure(simulated(size, cell))
