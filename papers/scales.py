"""The scales at which everything is computed, and the seeds over which means are taken, for all studies.

small
    A few seconds for each notebook; what tests and the committed outputs use.
paper
    The sizes of the papers' evaluations. What is smaller than in a paper is said where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import pandas as pd

from astraea.core.checks import one_of
from astraea.experiments.grid import Grid
from astraea.experiments.run import Call
from astraea.traces.synthetic import SYNTHETIC

SCALES: Final = ("small", "paper")
SEEDS: Final[dict[str, dict[str, int]]] = {
    "venus": {"small": 2, "paper": 5},
    "philly": {"small": 2, "paper": 2},
}
"""Seeds of the synthetic traces; a Philly has four times as many jobs as a Venus, and takes as much longer."""

CHUNK: Final = 50
"""Random instances of one call."""

T = TypeVar("T")


def at_scale(sizes: Mapping[str, T], scale: str) -> T:
    """Return the entry for a scale; `InputError` for one that does not exist."""
    return sizes[one_of(scale, SCALES, "scale")]


def seeds(trace: str, scale: str, numbers: Mapping[str, int] | None = None) -> tuple[int, ...]:
    """Return the seeds to average over: `numbers` or `SEEDS` of a synthetic trace, one of a real one."""
    one_of(scale, SCALES, "scale")
    return tuple(range(at_scale(numbers or SEEDS[trace], scale) if trace in SYNTHETIC else 1))


def searches(search: Callable[[int, int], pd.DataFrame], instances: int) -> Grid:
    """Return a search among random instances, `CHUNK` seeds at a time: columns ``first`` and (exclusive) ``last``."""
    rows = [{"first": first, "last": min(first + CHUNK, instances)} for first in range(0, instances, CHUNK)]
    return Grid.of((Call(search, (*row.values(),), row), row) for row in rows)
