"""FIFO: one queue for the whole cluster, the first job blocks the others, no preemption ([Ye2022] §3.2)."""

from __future__ import annotations

from astraea.cluster.engine.state import AT_EVENTS, View
from astraea.cluster.policy import all_candidates, fits, grant, policy


@policy("fifo", about="One FIFO queue for all.", paper="[Ye2022] §3.2", revisit=lambda _: AT_EVENTS)
def fifo(s: View) -> None:
    """First in, first out over all tenants ([Ye2022] §3.2)."""
    for j in all_candidates(s):
        if not fits(s, j):
            break  # head of line blocks
        grant(s, j)
