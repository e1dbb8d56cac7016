"""YARN-CS: a static quota per tenant, FIFO inside it, no preemption ([Ye2022] §6.1.5).

It is also how Venus was run: Slurm, FIFO, one static partition per virtual cluster (§3.2).
"""

from __future__ import annotations

from astraea.cluster.engine.state import AT_EVENTS, View
from astraea.cluster.policy import candidates, fits, grant, in_use, policy


@policy(
    "yarn-cs",
    about="Static quotas, with a FIFO queue in each.",
    paper="[Ye2022] §6.1.5",
    sees_tenants=True,
    revisit=lambda _: AT_EVENTS,
)
def yarn_cs(s: View) -> None:
    """YARN's capacity scheduler with static quotas ([Ye2022] §6.1.5)."""
    for t in range(len(s.tenant)):
        for j in candidates(s, t):
            if in_use(s, t) + s.job[j].demand > s.tenant[t].whole_quota or not fits(s, j):
                break  # head of line blocks
            grant(s, j)
