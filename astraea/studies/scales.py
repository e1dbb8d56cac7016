"""The scales at which everything is computed, and the seeds over which means are taken: said once for all studies.

small
    A few seconds for each notebook; what tests and the committed outputs use.
paper
    The sizes of the papers' evaluations, in minutes.
full
    Every seed and grid point.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from astraea.core.errors import InputError
from astraea.traces.synthetic import SYNTHETIC

SCALES: Final = ("small", "paper", "full")
SEEDS: Final = {"small": 2, "paper": 5, "full": 5}
"""Of a synthetic trace."""

T = TypeVar("T")


def checked_scale(scale: str) -> str:
    """The scale; `InputError` for one that does not exist."""
    if scale not in SCALES:
        raise InputError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")
    return scale


def at_scale(sizes: Mapping[str, T], scale: str) -> T:
    """What is done at a scale; `InputError` for one that does not exist."""
    return sizes[checked_scale(scale)]


def seeds(trace: str, scale: str, numbers: Mapping[str, int] = SEEDS) -> tuple[int, ...]:
    """Seeds over which means are taken: so many as `numbers` has of a synthetic trace; a real one is one trace."""
    return tuple(range(at_scale(numbers, scale) if trace in SYNTHETIC else 1))
