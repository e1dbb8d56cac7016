"""The policy `astraea`: Algorithms 1 and 2 of [Ye2022] with the refinements that the paper names, each off at 0.

With all of them off it is the plain reading, which needs no parameter but the lease term.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from astraea.cluster.engine.state import EXPIRED, PENDING, WHILE_ONE_FITS, WHILE_ONE_WAITS, View
from astraea.cluster.policies.astraea import allocate_job, reward_job, rho_tenant
from astraea.cluster.policies.taking import take_leases
from astraea.cluster.policy import fits, in_use, level, policy, some_job_fits, unpack
from astraea.core.compilation import inlined
from astraea.core.units import HOUR

# keys and rewards beyond every ratio, small enough that adding a ratio to them is exact
IDLE: Final = 2.0**50
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
    allocate_job(s, unpack(Parameters, s.parameters), rho, reward, some_job_may_fit, makes_room)


@inlined
def rho(s: View, p: Parameters, t: int) -> float:
    """Fairness of a tenant over the window; one that uses little of its quota is below all others."""
    begin = 0.0
    if p.tenant_window > 0:
        begin = np.floor(max(0.0, s.clock[0].now - p.tenant_window) / HOUR) * HOUR
    key = level(rho_tenant(s, t, begin, p.lease_term))
    is_idle = level(in_use(s, t) / s.tenant[t].quota) < level(p.idle_guard)
    return key - IDLE if is_idle else key


@inlined
def reward(s: View, p: Parameters, j: int) -> float:
    """Algorithm 2, line 3, with §5.2.1's priorities; steps of 2**-30."""
    if p.starvation > 0 and s.job[j].status == PENDING and s.clock[0].now - s.job[j].waiting_since >= p.starvation:
        return STARVING  # all alike: first submitted, first served
    bonus = 0.0
    if p.renewal_bonus > 0 and s.job[j].status == EXPIRED:
        bonus += p.renewal_bonus * s.job[j].leases
    if p.deadline_bonus > 0 and s.job[j].deadline >= s.clock[0].now:
        bonus += p.deadline_bonus
    return reward_job(s, j, bonus)


@inlined
def some_job_may_fit(s: View, p: Parameters) -> bool:
    """Whether some candidate fits, or might after a revocation."""
    return some_job_fits(s) or p.early_lease > 0


@inlined
def makes_room(s: View, p: Parameters, j: int) -> bool:
    """Whether job `j` fits, if need be after leases of its tenant have been revoked."""
    if p.early_lease > 0 and s.job[j].leases == 0 and not fits(s, j):
        take_leases(s, p, j, is_early)
    return fits(s, j)


@inlined
def is_early(s: View, p: Parameters, j: int, k: int) -> bool:
    """Whether job `k` of the tenant of job `j` was renewed less than `early_lease` ago."""
    renewed = s.job[k].tenant == s.job[j].tenant and s.job[k].streak > 1
    return renewed and s.clock[0].now - s.job[k].lease_start < p.early_lease
