"""Algorithms 1 and 2 of [Ye2022] with rules of the authors' program, each off at 0: what the `ladder` climbs on.

The paper names none of the four: tenants compared over a window, a guard for idle tenants, a queue for jobs that have
waited long, early leases. The loop is that of `astraea.cluster.policies.astraea`, to which it is equal with all four
off; `astraea_released` is the program as a whole.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from astraea.cluster.engine.state import PENDING, WHILE_ONE_FITS, WHILE_ONE_WAITS, View
from astraea.cluster.policies.taking import take_leases
from astraea.cluster.policy import (
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
    rho_job,
    some_job_fits,
    unpack,
)
from astraea.core.compilation import inlined
from astraea.core.units import HOUR

# keys and rewards beyond every ratio, but small enough that adding a ratio to them is exact
NEW: Final = 2.0**50
IDLE: Final = 2.0**50
STARVING: Final = 2.0**51


class Parameters(NamedTuple):
    """Parameters of ASTRAEA with rules of the authors' program.

    lease_term : s, length of a lease
    tenant_window : s, tenants are compared over this past (from a whole hour on); 0 for all of it
    idle_guard : a tenant that uses less than this part of its quota goes first; 0 for off
    starvation : s, a job that has waited this long goes before all others of its tenant; 0 for off
    early_lease : s, a new job may take GPUs of jobs of its tenant less than this into a renewed lease; 0 for off
    """

    lease_term: float = 900.0
    tenant_window: float = 0.0
    idle_guard: float = 0.0
    starvation: float = 0.0
    early_lease: float = 0.0


@policy(
    "astraea-with-rules",
    Parameters,
    paper="[Ye2022] §5.2, and the released program",
    sees_tenants=True,
    revokes=True,
    revisit=lambda p: WHILE_ONE_WAITS if p["early_lease"] > 0 else WHILE_ONE_FITS,
)
def astraea_with_rules(s: View) -> None:
    """[Ye2022] Algorithms 1 and 2 with rules of the authors' program."""
    p = unpack(Parameters, s.parameters)
    is_closed = s.tenant.refused > 0  # there were no nodes for a gang of this tenant
    while some_job_fits(s) or p.early_lease > 0:
        t = select_tenant(s, p, is_closed)
        if t == NO_TENANT:
            break
        j = select_job(s, p, t)
        if j != NO_JOB and makes_room(s, p, j):
            grant(s, j)
        else:
            is_closed[t] = True


@inlined
def select_tenant(s: View, p: Parameters, is_closed: np.ndarray) -> int:
    """Return the tenant that is idle, or else has the smallest rho, and has pending jobs and is not closed."""
    best, least = NO_TENANT, np.inf
    for t in range(len(s.tenant)):
        if not is_closed[t] and len(candidates(s, t)) > 0:
            rho = rho_tenant(s, p, t)
            if level(in_use(s, t) / s.tenant[t].quota) < level(p.idle_guard):
                rho -= IDLE
            if rho < least:
                best, least = t, rho
    return best


@inlined
def rho_tenant(s: View, p: Parameters, t: int) -> float:
    """Return GPU-time attained over GPU-time owed since a whole hour, grants of this round in full (Eq. 12, 16)."""
    begin = 0.0
    if p.tenant_window > 0:
        begin = np.floor(max(0.0, s.now - p.tenant_window) / HOUR) * HOUR
    attained = attained_by_tenant(s, t, begin) + s.tenant[t].granted * p.lease_term
    return level(attained / (s.tenant[t].quota * (s.now - begin + p.lease_term)))


@inlined
def select_job(s: View, p: Parameters, t: int) -> int:
    """Return the job with the largest reward, ties to the first submitted."""
    best, most = NO_JOB, -np.inf
    for j in candidates(s, t):
        if is_open(s, j):
            reward = reward_job(s, p, j)
            if reward > most:
                best, most = j, reward
    return best


@inlined
def reward_job(s: View, p: Parameters, j: int) -> float:
    """Return -rho; jobs that have waited long go first, in order of submission, then new ones."""
    waits = p.starvation > 0 and s.job[j].status == PENDING
    if waits and s.now - s.job[j].waiting_since >= p.starvation:
        return STARVING
    return NEW if s.job[j].leases == 0 else level(-rho_job(s, j))


@inlined
def makes_room(s: View, p: Parameters, j: int) -> bool:
    """Return whether job `j` fits, if necessary after leases of its tenant are revoked."""
    if p.early_lease > 0 and s.job[j].leases == 0 and not fits(s, j):
        take_leases(s, p, j, is_early)
    return fits(s, j)


@inlined
def is_early(s: View, p: Parameters, j: int, k: int) -> bool:
    """Return whether job `k` of the tenant of job `j` was renewed less than `early_lease` ago."""
    renewed = s.job[k].tenant == s.job[j].tenant and s.job[k].streak > 1
    return renewed and s.now - s.job[k].lease_start < p.early_lease
