"""Policies for choices that [Ye2022] leaves open: Eq. 8 instead of Eq. 16, no priority of new jobs; and deadlines.

Both policies are `astraea.cluster.policies.astraea` but for the one rule in their name.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from astraea.cluster.engine.accounting import tenant_alloc, tenant_fair
from astraea.cluster.engine.state import EXPIRED, WHILE_ONE_FITS, View
from astraea.cluster.policies.astraea import Parameters, allocate, rho_tenant
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
from astraea.traces.trace import Trace


@policy(
    "astraea-by-demand",
    Parameters,
    about="ASTRAEA with Eq. 8: a tenant is owed its quota, but no more than its jobs ask for.",
    paper="[Ye2022] §4.2.2, Eq. 8",
    sees_tenants=True,
    revisit=lambda _: WHILE_ONE_FITS,
)
def astraea_by_demand(s: View) -> None:
    """[Ye2022] Algorithms 1 and 2 with Eqs. 8 and 9 in place of Eq. 16."""
    p = unpack(Parameters, s.parameters)
    allocate(s, p, p, rho_by_demand)


@inlined
def rho_by_demand(s: View, p: Parameters, t: int) -> float:
    """Return GPU-time attained over GPU-time owed, with the demand as a limit (Eqs. 8, 9, 12)."""
    attained = tenant_alloc(s, t, s.now) + s.tenant[t].granted * p.lease_term
    owed = tenant_fair(s, t, s.now) + min(float(s.tenant[t].demand), s.tenant[t].quota) * p.lease_term
    return level(attained / owed)


@policy(
    "astraea-new-not-first",
    Parameters,
    about="ASTRAEA without the priority of new jobs: Algorithm 2 as printed, with the bonuses of §5.2.1.",
    paper="[Ye2022] §5.2, Algorithms 1 and 2",
    sees_tenants=True,
    revisit=lambda _: WHILE_ONE_FITS,
)
def astraea_new_not_first(s: View) -> None:
    """[Ye2022] Algorithms 1 and 2 without the priority of §6.1.1."""
    p = unpack(Parameters, s.parameters)
    is_closed = s.tenant.refused > 0
    while some_job_fits(s):
        t, least = NO_TENANT, np.inf
        for u in range(len(s.tenant)):
            if not is_closed[u] and len(candidates(s, u)) > 0 and rho_tenant(s, p, u) < least:
                t, least = u, rho_tenant(s, p, u)
        if t == NO_TENANT:
            break
        best, most = NO_JOB, -np.inf
        for j in candidates(s, t):
            if is_open(s, j) and reward(s, p, j) > most:
                best, most = j, reward(s, p, j)
        if best != NO_JOB and fits(s, best):
            grant(s, best)
        else:
            is_closed[t] = True


@inlined
def reward(s: View, p: Parameters, j: int) -> float:
    """Algorithm 2, line 3: return -rho plus the bonuses of §5.2.1; a job that has not run has rho = 0."""
    bonus = 0.0
    if s.job[j].status == EXPIRED:
        bonus += p.renewal_bonus * s.job[j].leases
    if s.job[j].deadline >= s.now:
        bonus += p.deadline_bonus
    return level(bonus - rho_job(s, j))


def with_deadlines(trace: Trace, share: float = 0.1, times: float = 2.0, least: float = 1800.0, seed: int = 0) -> Trace:
    """Return the trace with deadlines for a random `share` of its jobs, which no trace of [Ye2022] has.

    A deadline is `times` the running time after the submission, and at least `least` seconds after it.
    """
    chosen = np.random.default_rng(seed).random(len(trace)) < share
    due = trace.submit_time + np.maximum(times * trace.duration, least)
    return replace(trace, deadline=np.where(chosen, due, np.nan))
