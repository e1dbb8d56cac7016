"""What a program starts from and finds."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from astraea.core.arrays import FloatArray, IntArray

SLACK: Final = 1e-9
"""By what part a throughput that one program reached is lowered as a bound of the next one, for rounding."""

STEP: Final = 1e-4
"""Part of its fastest throughput up to which a job may gain where it is asked whether it can have more."""

GAIN: Final = 1e-6
"""The gain that counts: ten times HiGHS' tolerance."""

WORTH: Final = 1e-9
"""What a pair must gain at the prices of a solution to be worth a variable: HiGHS' tolerance."""


class Optimum(NamedTuple):
    """What `Program.max_min` found; no allocation has ``price @ (throughput - floor) > value``."""

    x: FloatArray  # (variables,)
    value: float  # of the objective
    reached: FloatArray  # (C,) throughput that every job has in all optima, up to rounding, and has in `x` [steps/s]
    price: FloatArray  # (C,) dual value of each class's row, at least 0, with ``price @ need == 1``


def variables_of(throughput: FloatArray, gpus: IntArray, workers: IntArray) -> tuple[FloatArray, IntArray, IntArray]:
    """Speeds where the gang fits, else 0, (C, J); class and type of each that is not 0."""
    alone = np.where(gpus[:, None] <= workers, throughput, 0.0)
    owner, at = np.nonzero(alone)
    return alone, owner, at


def excess(used: FloatArray, limits: FloatArray) -> float:
    """By what factor the limits are exceeded, at least 1."""
    limited = limits > 0
    return float((used[: limits.size][limited] / limits[limited]).max(initial=1.0))
