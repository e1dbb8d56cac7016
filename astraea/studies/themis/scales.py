"""How much of the evaluation of Themis is simulated.

Of the evaluation in [Mahajan2020] only notes are at hand, so workloads are this project's own (`themis.workload`). The
usual point has contention 1, leases of 15 minutes, f = 0.8 and no errors of estimates; everything else varies one of
these. A trial is a seed, of the apps and of the errors. At the small scale all tables together take some seconds.
"""

from __future__ import annotations

from math import inf
from typing import Final, NamedTuple

from astraea.studies.scales import at_scale
from astraea.themis.workload import MACHINES


class ThemisScale(NamedTuple):
    """How much is simulated."""

    apps: int  # of a workload
    machines: tuple[int, ...]  # GPUs of each
    trials: int  # how many seeds
    contentions: tuple[float, ...]  # demand over capacity
    contention_trials: int  # how many seeds where the contention varies
    fs: tuple[float, ...]  # the fairness knob
    leases: tuple[float, ...]  # lease terms [s]
    errors: tuple[float, ...]  # of estimates, as parts
    lying_apps: int  # apps of the workload in which one of them lies
    liars: int  # how many of these lie, one at a time
    few_fs: tuple[float, ...]  # the fairness knob where they do
    factors: tuple[float, ...]  # by which they multiply their rho
    instances: int  # random auctions for each property


_PAPER: Final = ThemisScale(
    100, MACHINES, 5, (0.5, 1.0, 2.0, 4.0), 3, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
    (120.0, 300.0, 900.0, 2700.0, 7200.0, inf), (0.0, 0.1, 0.2, 0.5, 0.9),
    60, 8, (0.0, 0.4, 0.8, 1.0), (1.5, 3.0), 2000,
)  # fmt: skip
THEMIS_SCALES: Final[dict[str, ThemisScale]] = {
    "small": ThemisScale(
        10, (4,) * 8 + (2,) * 6, 2, (1.0, 2.0), 1, (0.0, 0.5, 0.8, 1.0), (900.0, 3600.0), (0.0, 0.5),
        10, 2, (0.0, 0.8), (3.0,), 40,
    ),
    "paper": _PAPER,
    "full": _PAPER._replace(trials=20, contention_trials=20, instances=10_000),
}  # fmt: skip


def themis_scale(scale: str) -> ThemisScale:
    """How much is simulated; `InputError` for a scale that does not exist."""
    return at_scale(THEMIS_SCALES, scale)
