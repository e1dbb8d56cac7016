"""ASTRAEA as its authors released it: the selection of their simulator, rule by rule ([Ye2022], released code).

It differs from Algorithms 1 and 2 ([Ye2022] §5.2) in what it counts, which jobs it prefers, and how it hands out GPUs:

* tenants are compared over the last 24 full hours, by GPU-time over floor(quota) (the algorithm: from the beginning);
* a tenant that holds less than a fifth of its quota goes before all others;
* a job that has waited for 6 h goes before all others of its tenant;
* pass A only counts: a job that does not fit is skipped and its tenant continues (the algorithm: the tenant is done).
  Pass B gives each tenant as many GPUs as pass A counted for it, in the order of its queue, up to the first job that
  does not fit;
* a new job may take GPUs of jobs of its tenant that are less than 300 s into a lease;
* new jobs have no priority beyond their fairness of 0, and GPU-time counts useful service only, in steps of one round,
  with floor(quota) over the number of the tenant's jobs as a job's share.

The order of jobs within a tenant is a parameter, as in the released simulator. There, checkpoints and restarts cost
no time, and some leases are a round too long: simulate with the settings `FLAWED` of papers/ye2022 to get its times.

Departures: GPUs are placed as everywhere in this package. The released simulator places first fit. This does not affect
times, because a gang may be spread and CPUs never run out on nodes of 8 GPUs and 64 CPUs.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from astraea.cluster.engine.state import EVERY_ROUND, View
from astraea.cluster.policies import released_accounting as accounting
from astraea.cluster.policy import (
    NO_JOB,
    NO_TENANT,
    all_candidates,
    candidates,
    fits,
    grant,
    in_use,
    is_open,
    policy,
    revoke,
    running,
    some_job_fits,
    unpack,
)
from astraea.core.compilation import inlined, records_in
from astraea.core.units import HOUR

ORDERS: Final = ("fairness", "2das", "themis", "fifo")
FAIRNESS, TWO_DAS, THEMIS, FIFO = 0, 1, 2, 3

IDLE: Final = 0.2
"""A tenant that holds less than this part of its quota goes first."""
FIRST: Final = 2.0**40
"""A time before every submission [s], to put starving jobs first."""
FIRST_DELAY: Final = 120.0
LAST_DELAY: Final = 300.0
"""A job in its first lease may be preempted between these times [s]."""


class Parameters(NamedTuple):
    """Parameters of ASTRAEA as released.

    lease_term : s, length of a lease
    job_order : order of the jobs within a tenant
    delay_threshold : s, a new job may take GPUs of its tenant's jobs so long after a later lease began; 0 for off
    """

    lease_term: float = 900.0
    job_order: float = FAIRNESS
    delay_threshold: float = 300.0


@policy(
    "astraea-released",
    Parameters,
    about="The simulator that ASTRAEA's authors released, rebuilt: every job ends in the same second as in the "
    "original (`make verify`, notebook 08).",
    paper="[Ye2022], the released program",
    sees_tenants=True,
    revokes=True,
    needs_estimates=lambda p: p["job_order"] == THEMIS,
    revisit=lambda _: EVERY_ROUND,
    memory=accounting.JOB_MEMORY,
    tenant_memory=accounting.TENANT_MEMORY,
    choices={"job_order": ORDERS},
)
def astraea_released(s: View) -> None:
    """ASTRAEA as its authors released it ([Ye2022], released simulator)."""
    of_tenant = records_in(s.tenant_memory, accounting.TENANT_MEMORY)
    p = unpack(Parameters, s.parameters)
    is_idle = not some_job_fits(s) and not (of_tenant.new.max() > 0 and may_take_delay_jobs(s, p))
    if is_idle and accounting.is_like_the_last(s) and (p.job_order != THEMIS or len(all_candidates(s)) == 0):
        of_tenant[0].uncounted += 1
        return
    accounting.open_round(s, p.job_order == FAIRNESS or p.job_order == THEMIS)
    if p.job_order == THEMIS:
        accounting.note_unfairness(s)
    if some_job_fits(s) or may_take_delay_jobs(s, p):
        quota = count_gpus(s, p)  # pass A
        for t in range(len(s.tenant)):  # pass B
            if in_use(s, t) >= quota[t] and of_tenant[t].new == 0:
                continue  # no job fits, and none is new, for which leases would be revoked
            keys = np.empty(len(candidates(s, t)))
            write_keys(s, p, keys, t, s.gpus)
            j = take_first(s, p, keys, t, s.gpus)
            while j != NO_JOB:
                if s.job[j].leases == 0:
                    take_delay_jobs(s, p, t, j, quota[t])
                if in_use(s, t) + s.job[j].demand > quota[t] or not fits(s, j):
                    break  # the tenant is done for this round
                grant(s, j)
                of_tenant[t].new -= s.job[j].leases == 0
                j = take_first(s, p, keys, t, s.gpus)
    accounting.close_round(s)


@inlined
def write_keys(s: View, p: Parameters, keys: np.ndarray, t: int, most: int) -> None:
    """Write the keys of the queue of tenant `t`: starving jobs by submission, then others; infinite if too large."""
    m = records_in(s.memory, accounting.JOB_MEMORY)
    for k, j in enumerate(candidates(s, t)):
        if m[j].demand > most:
            keys[k] = np.inf
        elif s.now >= m[j].starves:
            keys[k] = s.job[j].submit_time - FIRST
        elif p.job_order == FAIRNESS:
            keys[k] = accounting.fairness(s, j)
        elif p.job_order == TWO_DAS:
            keys[k] = s.job[j].progress
        elif p.job_order == THEMIS:
            keys[k] = -m[j].unfairness
        else:
            keys[k] = s.job[j].submit_time


@inlined
def take_first(s: View, p: Parameters, keys: np.ndarray, t: int, most: int) -> int:
    """Take the first job with at most `most` GPUs out of the queue of tenant `t`, which has these keys."""
    jobs = candidates(s, t)
    first, least = NO_JOB, np.inf
    for k in range(len(jobs)):
        if keys[k] <= least and keys[k] < np.inf and s.job[jobs[k]].demand <= most:
            if keys[k] < least or waits_longer(s, p, jobs[k], jobs[first]):
                first, least = k, keys[k]
    if first == NO_JOB:
        return NO_JOB
    keys[first] = np.inf
    return jobs[first]


@inlined
def waits_longer(s: View, p: Parameters, a: int, b: int) -> bool:
    """Return whether job `a`, submitted after or together with job `b`, goes before it if their keys are equal."""
    m = records_in(s.memory, accounting.JOB_MEMORY)
    together = p.job_order == THEMIS or s.job[a].submit_time == s.job[b].submit_time
    return together and m[a].waiting < m[b].waiting


@inlined
def count_gpus(s: View, p: Parameters) -> np.ndarray:
    """Pass A: count the GPUs that each tenant may hold, over jobs that fit, least served tenant first."""
    of_tenant = records_in(s.tenant_memory, accounting.TENANT_MEMORY)
    tenants = len(s.tenant)
    # keys of a tenant are written when it is picked, for the jobs that may still fit
    keys, has_keys = np.empty(len(all_candidates(s))), np.zeros(tenants, np.bool_)
    used, owed, served = of_tenant.used, np.zeros(tenants), np.ones(tenants)
    hours = min(accounting.WINDOW, int(s.now / HOUR))
    quota, is_closed = np.empty(tenants), np.zeros(tenants, np.bool_)
    for t in range(tenants):
        quota[t] = in_use(s, t)
        owed[t] = s.tenant[t].whole_quota * HOUR * hours
        if owed[t] > 0:
            served[t] = used[t] / owed[t]
        is_closed[t] = len(candidates(s, t)) == 0
    free = s.free
    while free > 0:
        t = least_served(s, quota, served, is_closed)
        if t == NO_TENANT:
            break
        first = s.region.length[:t].sum()  # `keys` has them tenant by tenant
        mine = keys[first : first + s.region[t].length]
        if not has_keys[t]:
            write_keys(s, p, mine, t, free)
            has_keys[t] = True
        j = take_first(s, p, mine, t, free)  # what does not fit is passed over
        if j == NO_JOB:
            is_closed[t] = True
            continue
        free -= s.job[j].demand
        quota[t] += s.job[j].demand
        picked = quota[t] - in_use(s, t)
        served[t] = (used[t] + picked * p.lease_term) / (owed[t] + s.tenant[t].whole_quota * p.lease_term)
    return quota


@inlined
def least_served(s: View, quota: np.ndarray, served: np.ndarray, is_closed: np.ndarray) -> int:
    """Return the tenant that holds least of its quota, if that is little, else the least served."""
    idle, least = NO_TENANT, NO_TENANT
    for t in range(len(s.tenant)):
        if is_closed[t]:
            continue
        if idle == NO_TENANT or quota[t] / s.tenant[t].whole_quota < quota[idle] / s.tenant[idle].whole_quota:
            idle = t
        if least == NO_TENANT or served[t] < served[least]:
            least = t
    return idle if idle != NO_TENANT and quota[idle] / s.tenant[idle].whole_quota < IDLE else least


@inlined
def may_take_delay_jobs(s: View, p: Parameters) -> bool:
    """Return whether a tenant with a new job has a running job that may be preempted for it."""
    of_tenant = records_in(s.tenant_memory, accounting.TENANT_MEMORY)
    for k in running(s):
        if of_tenant[s.job[k].tenant].new > 0 and is_delay_job(s, p, k):
            return True
    return False


@inlined
def take_delay_jobs(s: View, p: Parameters, t: int, j: int, quota: float) -> None:
    """Revoke leases of tenant `t` that can be delayed, best served job first, until job `j` fits in the quota."""
    of_tenant = records_in(s.tenant_memory, accounting.TENANT_MEMORY)
    while in_use(s, t) + s.job[j].demand > quota:
        best = NO_JOB
        for k in running(s):
            if s.job[k].tenant == t and is_delay_job(s, p, k) and (best == NO_JOB or goes_before(s, p, k, best)):
                best = k
        if best == NO_JOB:
            return
        revoke(s, best)
        of_tenant[0].last += 1
        accounting.begin_to_wait(s, best, of_tenant[0].last)


@inlined
def is_delay_job(s: View, p: Parameters, k: int) -> bool:
    """Return whether running job `k` has so little to lose that it may be preempted."""
    executed = s.now - s.job[k].lease_start
    if p.delay_threshold == 0 or not is_open(s, k):
        return False
    if s.job[k].progress > 0:
        return executed < p.delay_threshold
    return FIRST_DELAY <= executed < LAST_DELAY


@inlined
def goes_before(s: View, p: Parameters, a: int, b: int) -> bool:
    """Return whether delay job `a` is preempted before delay job `b`."""
    m = records_in(s.memory, accounting.JOB_MEMORY)
    if p.job_order == THEMIS:
        if m[a].unfairness != m[b].unfairness:
            return m[a].unfairness < m[b].unfairness
    elif p.job_order == TWO_DAS and s.job[a].progress != s.job[b].progress:
        return s.job[a].progress > s.job[b].progress
    elif accounting.fairness(s, a) != accounting.fairness(s, b):
        return accounting.fairness(s, a) > accounting.fairness(s, b)
    elif s.job[a].submit_time != s.job[b].submit_time:
        return s.job[a].submit_time > s.job[b].submit_time
    return s.job[a].launch < s.job[b].launch
