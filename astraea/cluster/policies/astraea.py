"""ASTRAEA: two-phase scheduling for long-term GPU-time fairness ([Ye2022] §5.2, Algorithms 1 and 2, §6.1.1).

Phase 1 selects the tenant that is furthest below its share of GPU-time, phase 2 the job that is furthest below its
share within that tenant. Both look only at the past, never at how long a job will run. As in §6.1.1, a tenant's fair
share is its whole quota (Eq. 16), and newly submitted jobs go before all others of their tenant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from astraea.cluster.engine.accounting import tenant_alloc
from astraea.cluster.engine.state import EXPIRED, View
from astraea.cluster.policy import (
    NO_JOB,
    NO_TENANT,
    candidates,
    fits,
    grant,
    is_open,
    level,
    policy,
    rho_job,
    some_job_fits,
    unpack,
)
from astraea.core.compilation import inlined

NEW: Final = 2.0**50
"""A reward beyond every ratio, but small enough that adding a ratio to it is exact."""


class Parameters(NamedTuple):
    """Parameters of ASTRAEA; the paper names both bonuses (§5.2.1) and gives neither a value.

    lease_term : s, length of a lease
    renewal_bonus : added to the reward of a job that asks for renewal, per lease it has had; 0 for off
    deadline_bonus : added to the reward of a job whose deadline has not passed; 0 for off
    """

    lease_term: float = 900.0
    renewal_bonus: float = 0.0
    deadline_bonus: float = 0.0


@policy("astraea", Parameters)
def astraea(s: View) -> None:
    """ASTRAEA's AllocateJob ([Ye2022] Algorithm 1)."""
    p = unpack(Parameters, s.parameters)
    allocate(s, p, p, rho_tenant)


@inlined
def allocate(s: View, p: Any, q: Parameters, rho: Callable[[View, Any, int], float]) -> None:
    """Algorithm 1 with the parameters `p` of `rho`, by which tenants are compared, and those of Algorithm 2, `q`."""
    # tenants whose first job does not fit, for whose gang there were no nodes, or all of whose jobs have leases
    is_closed = s.tenant.refused > 0
    # line 4: while some pending job fits; every rho (lines 2, 3) is computed when it is needed
    while some_job_fits(s):
        # Phase 1: tenant selection (line 5): the smallest rho of those with pending jobs, ties to the first
        t, least = NO_TENANT, np.inf
        for u in range(len(s.tenant)):
            if not is_closed[u] and len(candidates(s, u)) > 0:
                rho_u = rho(s, p, u)
                if rho_u < least:
                    t, least = u, rho_u
        if t == NO_TENANT:
            break
        # Phase 2: job selection (lines 6, 7)
        j = select_job(s, q, t)
        # lines 8-10: if its gang is free (<=, printed <); if it finds no nodes (line 9), this is asked again without it
        if j != NO_JOB and fits(s, j):
            # lines 11-15: a lease, so fewer GPUs are free; the grant counts in the tenant's rho at once
            grant(s, j)
        else:
            # lines 16, 17: continue with the rest
            is_closed[t] = True


@inlined
def select_job(s: View, p: Parameters, t: int) -> int:
    """SelectJob ([Ye2022] Algorithm 2): return the job with the largest reward, ties to the first submitted."""
    best, most = NO_JOB, -np.inf
    for j in candidates(s, t):  # line 2
        if is_open(s, j):  # line 13 of Algorithm 1: granted jobs have left the list
            reward = reward_job(s, p, j)  # line 3
            if reward > most:  # line 4
                best, most = j, reward
    return best  # line 5


@inlined
def rho_tenant(s: View, p: Parameters, t: int) -> float:
    """Algorithm 1, lines 2, 14, 15: return GPU-time attained over GPU-time owed (Eq. 12 with Eq. 16)."""
    attained = tenant_alloc(s, t, s.clock[0].now) + s.tenant[t].granted * p.lease_term
    return level(attained / (s.tenant[t].quota * (s.clock[0].now + p.lease_term)))


@inlined
def reward_job(s: View, p: Parameters, j: int) -> float:
    """Algorithm 2, line 3: return -rho plus the bonuses of §5.2.1; new jobs go first (§6.1.1)."""
    if s.job[j].leases == 0:
        return NEW
    bonus = 0.0
    if p.renewal_bonus > 0 and s.job[j].status == EXPIRED:
        bonus += p.renewal_bonus * s.job[j].leases
    if p.deadline_bonus > 0 and s.job[j].deadline >= s.clock[0].now:
        bonus += p.deadline_bonus
    return level(bonus - rho_job(s, j))
