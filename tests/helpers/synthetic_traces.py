"""The synthetic traces, each drawn once in a process."""

from __future__ import annotations

from functools import cache

from astraea.traces.synthetic import synthesize
from astraea.traces.trace import Trace

_drawn = cache(synthesize)


def synthetic(name: str, seed: int = 0) -> Trace:
    """What `synthesize` makes of a name and a seed."""
    return _drawn(name, seed)
