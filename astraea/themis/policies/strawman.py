"""The strawman: the app with the largest rho takes all that it wants ([Mahajan2020] §3, strawman mechanism)."""

from __future__ import annotations

from astraea.themis.arbiter import Arbiter
from astraea.themis.policy import all_it_wants


def strawman(arbiter: Arbiter) -> None:
    """It believes what apps report, and does not ask who can make the most of which GPUs."""
    all_it_wants(arbiter, sorted(arbiter.agents, key=arbiter.rho, reverse=True))
