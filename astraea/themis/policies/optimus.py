"""Optimus in the setting of Themis: best throughput scaling first ([Mahajan2020], baselines).

Throughput scaling is what one gang more adds to an app's throughput for each GPU of it, in units of one GPU's: less for
large gangs of models that scale badly, and less again where the gang would have to be spread.
"""

from __future__ import annotations

from astraea.themis.agent import Agent
from astraea.themis.apps import MODELS
from astraea.themis.arbiter import Arbiter
from astraea.themis.policy import best_first


def optimus(arbiter: Arbiter) -> None:
    """One gang after the other to the app whose throughput gains most by it."""

    def scaling(agent: Agent) -> float:
        power = MODELS[agent.app.model].power
        return float(agent.app.gang ** (power - 1)) / (
            1.0 if max(arbiter.free) >= agent.app.gang else agent.app.slowdown
        )

    best_first(arbiter, lambda agent: -scaling(agent))
