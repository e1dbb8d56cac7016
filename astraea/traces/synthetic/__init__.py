"""Seeded synthetic traces, made from published statistics only."""

from __future__ import annotations

from astraea.core.checks import whole_number
from astraea.core.errors import InputError
from astraea.traces.synthetic.philly import PHILLY
from astraea.traces.synthetic.venus import VENUS
from astraea.traces.trace import Trace

_WORKLOADS = {w.name: w for w in (VENUS, PHILLY)}


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
    if name not in _WORKLOADS:
        raise InputError(f"synthetic trace: unknown name {name!r}; there are {', '.join(sorted(_WORKLOADS))}")
    return _WORKLOADS[name].generate(whole_number(seed, f"synthetic trace {name}: the seed"))
