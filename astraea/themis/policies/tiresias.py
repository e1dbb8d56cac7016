"""Tiresias in the setting of Themis: the app with the least attained service first ([Mahajan2020], baselines)."""

from __future__ import annotations

from astraea.themis.arbiter import Arbiter
from astraea.themis.policy import all_it_wants


def tiresias(arbiter: Arbiter) -> None:
    """GPUs whose leases have ended go to the apps that have had the least GPU-time so far, wherever there is room."""
    all_it_wants(arbiter, sorted(arbiter.agents, key=lambda agent: agent.attained(arbiter.now)))
