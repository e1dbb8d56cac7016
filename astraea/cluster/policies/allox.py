"""AlloX: shortest jobs first by min-cost matching, within the tenants that are behind (Le et al., EuroSys 2020).

Only the part alpha of the tenants with the least progress is eligible; progress is the share of its quota that a tenant
holds now. Their waiting jobs are matched to (slot, position from the end) at the cost position × estimated time, so the
matching of least cost has the least sum of completion times. The first job in each slot starts and runs to its end
([Ye2022] §6.1.5). While no eligible job fits, alpha doubles. After each start progress is computed again, and alpha is
reset to its own value, until no waiting job fits.

The matching needs no solver: on equal slots the longest jobs come last, so the first to start is the shortest job (a
test compares the sum of completion times with a solver's matching).

Departures: the original's jobs run on one machine each. Here a gang costs its GPU-time, its slots are places of its
size, and a gang that does not fit is skipped. Alpha prevents a tenant from starving, but small jobs that keep coming
can overtake a large gang without end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from astraea.cluster.engine.state import AT_EVENTS, I, View
from astraea.cluster.policy import (
    NO_JOB,
    all_candidates,
    candidates,
    fits,
    grant,
    in_use,
    is_open,
    level,
    policy,
    remaining_service,
    some_job_fits,
    unpack,
)
from astraea.core.compilation import inlined


class Parameters(NamedTuple):
    """Parameters of AlloX.

    alpha : share of the tenants with waiting jobs that are eligible: those with the least progress, at least one
    """

    alpha: float = 0.3


# After a round no waiting job fits, so only an event can change the answer.
@policy(
    "allox",
    Parameters,
    about="Starts the jobs with the shortest estimates first, by min-cost matching, among the tenants that hold the"
    " least of their quota.",
    paper="Le et al., EuroSys 2020",
    sees_tenants=True,
    needs_estimates=True,
    revisit=lambda _: AT_EVENTS,
    at_most={"alpha": 1},
)
def allox(s: View) -> None:
    """AlloX with fairness, without preemption (Le et al., EuroSys 2020; [Ye2022] §6.1.5)."""
    alpha = unpack(Parameters, s.parameters).alpha
    while some_job_fits(s):
        tenants = by_progress(s)
        part, j = max(alpha, 1 / len(tenants)), NO_JOB
        while j == NO_JOB:  # all tenants together have one
            j = shortest(s, tenants[: int(np.ceil(part * len(tenants) - 1e-9))])  # 0.1 × 30 is 3, despite floats
            part *= 2
        grant(s, j)


@inlined
def by_progress(s: View) -> I:
    """Return the tenants with waiting jobs, by the held share of their quotas, the smallest first."""
    waiting = np.zeros(len(s.tenant), np.int64)
    for j in all_candidates(s):
        waiting[s.job[j].tenant] += is_open(s, j)
    tenants = np.flatnonzero(waiting)
    progress = np.array([level(in_use(s, t) / s.tenant[t].quota) for t in tenants])
    return tenants[np.argsort(progress, kind="mergesort")]


@inlined
def shortest(s: View, tenants: I) -> int:
    """Return the job of these tenants that fits and has the least estimated GPU-time, ties to the first submitted."""
    best, least = NO_JOB, np.inf
    for t in tenants:
        for j in candidates(s, t):
            if not is_open(s, j) or not fits(s, j):
                continue
            cost = level(s.job[j].demand * remaining_service(s, j))
            if cost < least or (cost == least and j < best):
                best, least = j, cost
    return best
