"""Optional rules beyond Algorithms 1 and 2 of [Ye2022] for the policy `astraea`, each off at 0.

The paper names the two bonuses (§5.2.1). Window, guard, starvation and early leases are rules of the authors' program;
`astraea_released` is that program as a whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from astraea.cluster.engine.state import EXPIRED, PENDING, View
from astraea.cluster.policies.taking import take_leases
from astraea.cluster.policy import fits, in_use, level
from astraea.core.compilation import inlined
from astraea.core.units import HOUR


class Parameters(NamedTuple):
    """Parameters of ASTRAEA.

    lease_term : s, length of a lease
    tenant_window : s, tenants are compared over this past (from a whole hour on); 0 for all of it
    idle_guard : a tenant that uses less than this part of its quota goes first; 0 for off
    starvation : s, a job that has waited this long goes before all others of its tenant; 0 for off
    early_lease : s, a new job may take GPUs of jobs of its tenant less than this into a renewed lease; 0 for off
    renewal_bonus : added to the reward of a job that asks for renewal, per lease it has had; 0 for off
    deadline_bonus : added to the reward of a job whose deadline has not passed; 0 for off
    """

    lease_term: float = 900.0
    tenant_window: float = 0.0
    idle_guard: float = 0.0
    starvation: float = 0.0
    early_lease: float = 0.0
    renewal_bonus: float = 0.0
    deadline_bonus: float = 0.0


@inlined
def window_begin(s: View, p: Parameters) -> float:
    """Return the start of the past over which tenants are compared, a whole hour [s]."""
    if p.tenant_window == 0:
        return 0.0
    return np.floor(max(0.0, s.clock[0].now - p.tenant_window) / HOUR) * HOUR


@inlined
def is_idle(s: View, p: Parameters, t: int) -> bool:
    """Return whether tenant `t` uses so little of its quota that it goes before all others."""
    return level(in_use(s, t) / s.tenant[t].quota) < level(p.idle_guard)


@inlined
def is_starving(s: View, p: Parameters, j: int) -> bool:
    """Return whether job `j` has waited so long that it goes before all others of its tenant."""
    waits = p.starvation > 0 and s.job[j].status == PENDING
    return waits and s.clock[0].now - s.job[j].waiting_since >= p.starvation


@inlined
def bonus(s: View, p: Parameters, j: int) -> float:
    """Return the bonus that is added to the reward of job `j` (§5.2.1)."""
    added = 0.0
    if p.renewal_bonus > 0 and s.job[j].status == EXPIRED:
        added += p.renewal_bonus * s.job[j].leases
    if p.deadline_bonus > 0 and s.job[j].deadline >= s.clock[0].now:
        added += p.deadline_bonus
    return added


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
    return renewed and s.clock[0].now - s.job[k].lease_start < p.early_lease
