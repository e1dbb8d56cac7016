"""Seeded synthetic traces, made from published statistics only: ``venus.toml`` and ``philly.toml`` hold them."""

from __future__ import annotations

from typing import Final

import pandas as pd

from astraea.core.checks import whole_number
from astraea.core.errors import InputError
from astraea.traces.synthetic.workload import Recipe
from astraea.traces.trace import Trace

SYNTHETIC: Final = ("venus", "philly")
"""Names of synthetic traces."""


def synthesize(name: str, seed: int = 0) -> Trace:
    """Make a synthetic trace: two weeks of jobs, and six weeks of history before them.

    Parameters
    ----------
    name : {"venus", "philly"}
        Which workload of [Ye2022] §6.1.2: 11,304 jobs of 16 tenants, or 44,329 jobs of 15.
    seed : int
        At least 0. Decides the trace completely.

    Raises
    ------
    InputError
        If there is no such workload, or the seed is not a whole number of at least 0.
    """
    workload = _load(name)
    return workload.generate(whole_number(seed, f"synthetic trace {name}: the seed"))


def compromises(name: str) -> pd.DataFrame:
    """Published statistics of a synthetic trace that cannot hold at once, and which were preferred.

    Returns
    -------
    DataFrame, columns statistic, published, here, why
        `here` is the mean over the seeds of the scale ``paper``.

    Raises
    ------
    InputError
        If there is no such workload.
    """
    return _load(name).compromises.copy()


def _load(name: str) -> Recipe:
    if name not in SYNTHETIC:
        raise InputError(f"synthetic trace: unknown name {name!r}; there are {', '.join(sorted(SYNTHETIC))}")
    return Recipe.load(name)
