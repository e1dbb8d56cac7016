"""Gandiva in the setting of Themis: best packing first ([Mahajan2020], baselines)."""

from __future__ import annotations

from astraea.themis.agent import Agent
from astraea.themis.arbiter import Arbiter
from astraea.themis.policy import best_first


def gandiva(arbiter: Arbiter) -> None:
    """One gang after the other: the one that is slowed down least where it would be, and leaves the smallest hole."""

    def packing(agent: Agent) -> tuple[float, int]:
        holes = [free - agent.app.gang for free in arbiter.free if free >= agent.app.gang]
        return (1.0, min(holes)) if holes else (agent.app.slowdown, 0)

    best_first(arbiter, packing)
