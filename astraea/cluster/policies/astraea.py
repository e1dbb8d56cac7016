"""ASTRAEA: two-phase scheduling for long-term GPU-time fairness ([Ye2022] §5.2, Algorithms 1 and 2, §6.1.1).

Phase 1 picks the tenant that is furthest below its share of GPU-time, phase 2 the job that is furthest below its
share inside that tenant; both ask only what has been, never how long a job will run. The plain reading needs no
parameter but the lease term; the others are refinements that the paper names, each off at 0.

Departures: none in the plain reading. As §6.1.1 says, a tenant's fair share is its whole quota (Eq. 16), and newly
submitted jobs go before all others of their tenant.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from astraea.cluster.engine.state import ASKING, HOUR, PENDING, WHILE_ONE_FITS, WHILE_ONE_WAITS, View
from astraea.cluster.policy_api import (
    NO_JOB,
    NO_TENANT,
    attained_by_tenant,
    candidates,
    fits,
    grant,
    in_use,
    is_open,
    level,
    policy,
    revoke,
    rho_job,
    running,
    some_job_fits,
    unpack,
)
from astraea.core.compilation import inlined

# keys and rewards beyond every ratio, small enough that adding a ratio to them is exact
IDLE: Final = 2.0**50
NEW: Final = 2.0**50
STARVING: Final = 2.0**51


class Parameters(NamedTuple):
    """Parameters of ASTRAEA.

    lease_term : s, length of a lease
    tenant_window : s, tenants are compared over this past (from a whole hour on); 0 from the beginning
    idle_guard : a tenant that uses less than this part of its quota goes first; 0 off
    starvation : s, a job that has waited this long goes before all others of its tenant; 0 off
    early_lease : s, a new job may take GPUs of jobs of its tenant that are less than this into a renewed lease; 0 off
    renewal_bonus : added to the reward of a job that asks for renewal, per lease it has had; 0 off
    deadline_bonus : added to the reward of a job whose deadline has not passed; 0 off
    """

    lease_term: float = 900.0
    tenant_window: float = 0.0
    idle_guard: float = 0.0
    starvation: float = 0.0
    early_lease: float = 0.0
    renewal_bonus: float = 0.0
    deadline_bonus: float = 0.0


@policy("astraea", Parameters, revisit=lambda p: WHILE_ONE_WAITS if p["early_lease"] > 0 else WHILE_ONE_FITS)
def astraea(s: View) -> None:
    """ASTRAEA's AllocateJob ([Ye2022] Algorithm 1)."""
    p = unpack(Parameters, s.parameters)
    is_closed = np.zeros(len(s.tenant), np.bool_)
    # while some pending job fits (line 4), or might after a revocation
    while some_job_fits(s) or p.early_lease > 0:
        # Phase 1: tenant selection (line 5)
        t = select_tenant(s, p, is_closed)
        if t == NO_TENANT:
            break
        # Phase 2: job selection (lines 6-8)
        j = select_job(s, p, t)
        if j == NO_JOB:
            is_closed[t] = True
            continue
        if p.early_lease > 0 and s.job[j].leases == 0 and not fits(s, j):
            take_early_leases(s, p, t, j)
        if fits(s, j):
            grant(s, j)  # lines 10-15; what is granted counts in rho_tenant at once
        else:
            is_closed[t] = True  # line 16: continue with the rest


@inlined
def select_tenant(s: View, p: Parameters, is_closed: np.ndarray) -> int:
    """Tenant with the smallest fairness among those that are open ([Ye2022] Eq. 12 with Eq. 16)."""
    best, best_key = NO_TENANT, np.inf
    for t in range(len(s.tenant)):
        if is_closed[t] or len(candidates(s, t)) == 0:
            continue
        key = level(rho_tenant(s, p, t))
        if level(in_use(s, t) / s.tenant[t].quota) < level(p.idle_guard):
            key -= IDLE
        if key < best_key:
            best, best_key = t, key
    return best


@inlined
def rho_tenant(s: View, p: Parameters, t: int) -> float:
    """GPU-time attained over GPU-time owed, as if what was granted at this round had run (line 14)."""
    since = 0.0
    if p.tenant_window > 0:
        since = np.floor(max(0.0, s.clock[0].now - p.tenant_window) / HOUR) * HOUR
    attained = attained_by_tenant(s, t, since) + s.tenant[t].granted * p.lease_term
    return attained / (s.tenant[t].quota * (s.clock[0].now - since + p.lease_term))


@inlined
def select_job(s: View, p: Parameters, t: int) -> int:
    """SelectJob ([Ye2022] Algorithm 2): the candidate with the largest reward, the first submitted of equals."""
    best, best_reward = NO_JOB, -np.inf
    for j in candidates(s, t):
        if is_open(s, j):
            job_reward = reward(s, p, j)
            if job_reward > best_reward:
                best, best_reward = j, job_reward
    return best


@inlined
def reward(s: View, p: Parameters, j: int) -> float:
    """Algorithm 2, line 3, with §5.2.1's priorities; steps of 2**-30."""
    if p.starvation > 0 and s.job[j].status == PENDING and s.clock[0].now - s.job[j].waiting_since >= p.starvation:
        return STARVING  # all alike: first submitted, first served
    if s.job[j].leases == 0:
        return NEW
    bonus = 0.0
    if s.job[j].status == ASKING:
        bonus += p.renewal_bonus * s.job[j].leases
    if s.job[j].deadline >= s.clock[0].now:
        bonus += p.deadline_bonus
    return level(bonus - rho_job(s, j))


@inlined
def take_early_leases(s: View, p: Parameters, t: int, j: int) -> None:
    """Revoke leases of tenant `t` that were renewed a moment ago, the latest first, if that makes room for job `j`."""
    room = s.clock[0].free
    for k in running(s):
        if is_early(s, p, t, k):
            room += s.job[k].demand
    if room < s.job[j].demand:
        return
    while not fits(s, j):
        youngest = NO_JOB
        for k in running(s):
            if is_early(s, p, t, k) and (youngest == NO_JOB or is_younger(s, k, youngest)):
                youngest = k
        revoke(s, youngest)


@inlined
def is_younger(s: View, a: int, b: int) -> bool:
    """Whether the lease of job `a` began after that of job `b`; of equals, the job submitted later."""
    later = s.job[a].lease_start - s.job[b].lease_start
    return later > 0 or (later == 0 and a > b)


@inlined
def is_early(s: View, p: Parameters, t: int, k: int) -> bool:
    """Whether job `k` of tenant `t` was renewed less than `early_lease` ago, and still has its lease."""
    renewed = s.job[k].tenant == t and s.job[k].streak > 1
    return renewed and s.clock[0].now - s.job[k].lease_start < p.early_lease and is_open(s, k)
