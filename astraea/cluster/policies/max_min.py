"""Instantaneous max-min fairness, the mechanism of [Ye2022] §4.1.1 and Fig 6(a).

At every moment the tenant that holds the fewest GPUs relative to its weight goes next. The mechanism is meant for
divisible work, tasks of one GPU that come and go; a gang that does not fit closes its tenant for the round.
"""

from __future__ import annotations

import numpy as np

from astraea.cluster.engine.state import AT_EVENTS, View
from astraea.cluster.policy import NO_TENANT, LeaseTerm, candidates, fits, grant, in_use, level, policy, some_job_fits


@policy(
    "max-min",
    LeaseTerm,
    about="Maximizes the smallest share that a tenant holds now: a mechanism of Fig 6.",
    paper="[Ye2022] §4.1.1",
    sees_tenants=True,
    revisit=lambda _: AT_EVENTS,
)
def max_min(s: View) -> None:
    """Maximize the smallest instantaneous share ([Ye2022] §4.1.1)."""
    position = np.zeros(len(s.tenant), np.int64)  # of the head of each tenant's queue
    while some_job_fits(s):
        poorest, smallest = NO_TENANT, np.inf
        for t in range(len(s.tenant)):
            share = level(in_use(s, t) / s.tenant[t].weight * s.tenant.weight.mean())
            if position[t] < len(candidates(s, t)) and share < smallest:
                poorest, smallest = t, share
        if poorest == NO_TENANT:
            break
        j = candidates(s, poorest)[position[poorest]]
        if fits(s, j):
            grant(s, j)
            position[poorest] += 1
        else:
            position[poorest] = len(candidates(s, poorest))
