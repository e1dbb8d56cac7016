"""ASTRAEA: two-phase scheduling for long-term GPU-time fairness ([Ye2022] §5.2, Algorithms 1 and 2, §6.1.1).

Phase 1 selects the tenant that is furthest below its share of GPU-time, phase 2 the job that is furthest below its
share inside that tenant; both ask only what has been, never how long a job will run. As §6.1.1 says, a tenant's fair
share is its whole quota (Eq. 16), and newly submitted jobs go before all others of their tenant.

What the paper names as refinements is handed in by `astraea_refinements`, which makes the policy `astraea` of this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from astraea.cluster.engine.state import View
from astraea.cluster.policy import NO_JOB, NO_TENANT, attained_by_tenant, candidates, grant, is_open, level, rho_job
from astraea.core.compilation import inlined

NEW: Final = 2.0**50
"""A reward beyond every ratio, small enough that adding a ratio to it is exact."""


@inlined
def allocate_job(
    s: View,
    p: Any,
    rho: Callable[[View, Any, int], float],
    reward: Callable[[View, Any, int], float],
    some_job_fits: Callable[[View, Any], bool],
    fits: Callable[[View, Any, int], bool],
) -> None:
    """AllocateJob ([Ye2022] Algorithm 1); what is handed in knows the parameters `p`."""
    is_closed = np.zeros(len(s.tenant), np.bool_)  # the tenant's first job does not fit, or all of its jobs have leases
    # line 4: while some pending job fits; every rho (lines 2, 3) is computed when it is asked for
    while some_job_fits(s, p):
        # Phase 1: tenant selection (line 5)
        t = select_tenant(s, p, rho, is_closed)
        if t == NO_TENANT:
            break
        # Phase 2: job selection (lines 6, 7)
        j = select_job(s, p, t, reward)
        # lines 8-10: if its gang is free (<=, printed <); on which nodes (line 9) the engine decides after the round
        if j != NO_JOB and fits(s, p, j):
            # lines 11-15: a lease, and less is free; what is granted counts in the tenant's rho at once
            grant(s, j)
        else:
            # lines 16, 17: continue with the rest
            is_closed[t] = True


@inlined
def select_tenant(s: View, p: Any, rho: Callable[[View, Any, int], float], is_closed: np.ndarray) -> int:
    """Algorithm 1, line 5: the tenant with the smallest `rho` of those that have pending jobs and are not closed."""
    best, least = NO_TENANT, np.inf
    for t in range(len(s.tenant)):
        if not is_closed[t] and len(candidates(s, t)) > 0:
            rho_of_tenant = rho(s, p, t)
            if rho_of_tenant < least:
                best, least = t, rho_of_tenant
    return best


@inlined
def select_job(s: View, p: Any, t: int, reward: Callable[[View, Any, int], float]) -> int:
    """SelectJob ([Ye2022] Algorithm 2): the job with the largest reward, the first submitted of equals."""
    best, most = NO_JOB, -np.inf
    for j in candidates(s, t):  # line 2
        if is_open(s, j):  # line 13 of Algorithm 1: those granted have left the list
            reward_of_job = reward(s, p, j)  # line 3
            if reward_of_job > most:  # line 4
                best, most = j, reward_of_job
    return best  # line 5


@inlined
def rho_tenant(s: View, t: int, begin: float, lease_term: float) -> float:
    """Algorithm 1, lines 2, 14, 15: GPU-time attained over GPU-time owed since `begin` (Eq. 12 with Eq. 16)."""
    attained = attained_by_tenant(s, t, begin) + s.tenant[t].granted * lease_term
    return attained / (s.tenant[t].quota * (s.clock[0].now - begin + lease_term))


@inlined
def reward_job(s: View, j: int, bonus: float) -> float:
    """Algorithm 2, line 3: -rho, and what §5.2.1 adds; new jobs go first (§6.1.1)."""
    return NEW if s.job[j].leases == 0 else level(bonus - rho_job(s, j))
