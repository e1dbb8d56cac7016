"""ASTRAEA as its authors released it: the selection of their simulator, rule by rule ([Ye2022], released code).

It differs from Algorithms 1 and 2 ([Ye2022] §5.2) in what it counts, in whom it prefers, and in how it gives GPUs out:

* tenants are compared over the last 24 full hours, by GPU-time over floor(quota) (the algorithm: from the beginning);
* a tenant that holds less than a fifth of its quota goes before all others;
* a job that has waited for 6 h goes before all others of its tenant;
* pass A only counts: a job that does not fit is passed over and its tenant goes on (the algorithm: the tenant is done);
  pass B gives each tenant as many GPUs as pass A counted for it, in the order of its queue, up to the first job that
  does not fit;
* a new job may take GPUs of jobs of its tenant that are less than 300 s into a lease;
* there is no priority for new jobs beyond their fairness of 0, and GPU-time counts useful service only, in steps of
  one round, with floor(quota) over the tenant's jobs as a job's share.

The order of jobs inside a tenant is a parameter, as in the released simulator. There, checkpoints and restarts cost
no time: simulate with both overheads 0 to get its times.

Departures: GPUs are placed as everywhere in this package; the released simulator places first fit, which decides no
time, because a gang may be spread and CPUs never run out on nodes of 8 GPUs and 64 CPUs.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from astraea.engine.state import ASKING, EVERY_ROUND, HOUR, View
from astraea.jit import compiled
from astraea.policies.base import (
    NO_JOB,
    NO_TENANT,
    active_jobs,
    all_candidates,
    candidates,
    fits,
    grant,
    in_use,
    is_open,
    policy,
    remaining_service,
    revoke,
    running,
    some_job_fits,
    unpack,
)

ORDERS: Final = ("fairness", "2das", "themis", "fifo")
FAIRNESS, TWO_DAS, THEMIS, FIFO = 0, 1, 2, 3

IDLE: Final = 0.2
"""A tenant that holds less than this part of its quota goes first."""
STARVING: Final = 6 * HOUR
WINDOW: Final = 24
"""Full hours over which tenants are compared."""
FIRST_DELAY: Final = 120.0
LAST_DELAY: Final = 300.0
"""A job in its first lease may be preempted between these times [s]."""

# what is kept per job
DESERVED, WAITING, UNFAIRNESS, COUNTED = 0, 1, 2, 3
# what is kept per tenant: numbers as the last round left them, the last number in the order of waiting, hourly bins
ACTIVE, HELD, LAST, BIN = 0, 1, 2, 3


class Parameters(NamedTuple):
    """Parameters of ASTRAEA as released.

    lease_term : s, length of a lease
    job_order : which job of a tenant goes first
    delay_threshold : s, a new job may take GPUs of jobs of its tenant that are less than this into a later lease
    skipped_neighbour : whether the job launched after one that leaves a round's list is looked at a round late
    """

    lease_term: float = 900.0
    job_order: float = FAIRNESS
    delay_threshold: float = 300.0
    skipped_neighbour: float = 0.0


@policy(
    "astraea-released",
    Parameters,
    needs_estimates=lambda p: p["job_order"] == THEMIS,
    looks=lambda _: EVERY_ROUND,
    memory=(4, BIN + WINDOW + 1, 0),
    words={"job_order": ORDERS, "skipped_neighbour": ("false", "true")},
)
def astraea_released(s: View) -> None:
    """ASTRAEA as its authors released it ([Ye2022], released simulator)."""
    p = unpack(Parameters, s.parameters)
    count_round(s)
    is_new = note_waiting(s, p)
    if some_job_fits(s) or is_new:
        quota = count_gpus(s, p)  # pass A
        for t in range(len(s.tenant)):  # pass B
            while True:
                j = first_in_queue(s, p, t, s.moment[0].gpus, False)
                if j == NO_JOB:
                    break
                if s.job[j].leases == 0:
                    take_delay_jobs(s, p, t, j, quota[t])
                if in_use(s, t) + s.job[j].demand > quota[t] or not fits(s, j):
                    break  # the tenant is done for this round
                grant(s, j)
    for t in range(len(s.tenant)):
        s.tenant_memory[ACTIVE, t] = active_jobs(s, t)
        s.tenant_memory[HELD, t] = in_use(s, t)


@compiled
def count_round(s: View) -> None:
    """What the round that ends now adds: GPU-time held in its hour, and to each job min(demand, share)."""
    tick = s.moment[0].interval
    hour = int(s.moment[0].now / HOUR)
    this_bin = BIN + hour % (WINDOW + 1)
    for t in range(len(s.tenant)):
        if int((s.moment[0].now - tick) / HOUR) < hour:
            s.tenant_memory[this_bin, t] = 0.0
        s.tenant_memory[this_bin, t] += s.tenant_memory[HELD, t] * tick
    for j in all_candidates(s):
        count_deserved(s, j, tick)
    for j in running(s):
        count_deserved(s, j, tick)


@compiled
def count_deserved(s: View, j: int, tick: float) -> None:
    """Add a round to what job `j` deserves; nothing at the round that first sees it."""
    if s.memory[WAITING, j] > 0:
        t = s.job[j].tenant
        share = s.tenant[t].whole_quota / s.tenant_memory[ACTIVE, t]
        s.memory[DESERVED, j] += min(float(s.job[j].demand), share) * tick


@compiled
def note_waiting(s: View, p: Parameters) -> bool:
    """Number the jobs that wait from this round on; whether any job has never run.

    First those whose lease has ended, in the order in which they were launched, then those submitted.
    """
    jobs = all_candidates(s)
    asking, n = np.empty(s.moment[0].gpus, np.int64), 0
    for j in jobs:
        if s.job[j].status == ASKING:
            asking[n] = s.job[j].launch
            n += 1
    launches = np.sort(asking[:n])
    is_new = False
    for j in jobs:
        if s.job[j].status == ASKING:
            s.memory[WAITING, j] = s.tenant_memory[LAST, 0] + 1 + np.searchsorted(launches, s.job[j].launch)
    s.tenant_memory[LAST, 0] += n
    for j in jobs:
        if s.memory[WAITING, j] == 0:
            wait_last(s, j)
        if s.job[j].leases == 0:
            is_new = True
        if p.job_order == THEMIS and not is_starving(s, j):
            s.memory[UNFAIRNESS, j] = finish_time_ratio(s, j)
    return is_new


@compiled
def wait_last(s: View, j: int) -> None:
    """Job `j` is the last that began to wait."""
    s.tenant_memory[LAST, 0] += 1
    s.memory[WAITING, j] = s.tenant_memory[LAST, 0]


@compiled
def count_gpus(s: View, p: Parameters) -> np.ndarray:
    """Pass A: how many GPUs each tenant may hold, by counting jobs that fit, least served tenant first."""
    tenants, hour = len(s.tenant), int(s.moment[0].now / HOUR)
    quota = np.empty(tenants)
    used, owed, served = np.zeros(tenants), np.zeros(tenants), np.ones(tenants)
    is_closed = np.zeros(tenants, np.bool_)
    for t in range(tenants):
        quota[t] = in_use(s, t)
        for h in range(max(0, hour - WINDOW), hour):
            used[t] += s.tenant_memory[BIN + h % (WINDOW + 1), t]
            owed[t] += s.tenant[t].whole_quota * HOUR
        if owed[t] > 0:
            served[t] = used[t] / owed[t]
        is_closed[t] = len(candidates(s, t)) == 0
    free = s.moment[0].free
    while free > 0:
        t = least_served(s, quota, served, is_closed)
        if t == NO_TENANT:
            break
        j = first_in_queue(s, p, t, free, True)
        if j == NO_JOB:
            is_closed[t] = True
            continue
        s.memory[COUNTED, j] = s.moment[0].now + 1
        free -= s.job[j].demand
        quota[t] += s.job[j].demand
        picked = quota[t] - in_use(s, t)
        served[t] = (used[t] + picked * p.lease_term) / (owed[t] + s.tenant[t].whole_quota * p.lease_term)
    return quota


@compiled
def least_served(s: View, quota: np.ndarray, served: np.ndarray, is_closed: np.ndarray) -> int:
    """Tenant that holds least of its quota, if that is little, else the least served."""
    idle, least = NO_TENANT, NO_TENANT
    for t in range(len(s.tenant)):
        if is_closed[t]:
            continue
        if idle == NO_TENANT or quota[t] / s.tenant[t].whole_quota < quota[idle] / s.tenant[idle].whole_quota:
            idle = t
        if least == NO_TENANT or served[t] < served[least]:
            least = t
    return idle if idle != NO_TENANT and quota[idle] / s.tenant[idle].whole_quota < IDLE else least


@compiled
def first_in_queue(s: View, p: Parameters, t: int, most: int, is_counting: bool) -> int:
    """First job of tenant `t` among those of at most so many GPUs that are not counted, or granted, yet."""
    best = NO_JOB
    for j in candidates(s, t):
        is_taken = s.memory[COUNTED, j] == s.moment[0].now + 1 if is_counting else not is_open(s, j)
        if not is_taken and s.job[j].demand <= most and (best == NO_JOB or precedes(s, p, j, best)):
            best = j
    return best


@compiled
def precedes(s: View, p: Parameters, a: int, b: int) -> bool:
    """Whether job `a` stands before job `b` in the queue of their tenant."""
    key_a, key_b = key(s, p, a), key(s, p, b)
    if key_a != key_b:
        return key_a < key_b
    if (p.job_order != THEMIS or key_a == -np.inf) and s.job[a].submit_time != s.job[b].submit_time:
        return s.job[a].submit_time < s.job[b].submit_time
    return s.memory[WAITING, a] < s.memory[WAITING, b]


@compiled
def key(s: View, p: Parameters, j: int) -> float:
    """What orders the queue, before submission and waiting."""
    if is_starving(s, j):
        return -np.inf
    if p.job_order == FAIRNESS:
        return fairness(s, j)
    if p.job_order == TWO_DAS:
        return s.job[j].progress
    if p.job_order == THEMIS:
        return -s.memory[UNFAIRNESS, j]
    return 0.0


@compiled
def is_starving(s: View, j: int) -> bool:
    """Whether job `j` has waited for 6 h since it was seen, or since it last ran."""
    tick = s.moment[0].interval
    return s.job[j].status != ASKING and s.moment[0].now - np.ceil(s.job[j].waiting_since / tick) * tick >= STARVING


@compiled
def fairness(s: View, j: int) -> float:
    """Useful GPU-time up to the end of the last lease over what job `j` deserves; 0 at first."""
    if s.memory[DESERVED, j] == 0:
        return 0.0
    return s.job[j].demand * s.job[j].progress / s.memory[DESERVED, j]


@compiled
def finish_time_ratio(s: View, j: int) -> float:
    """Life over the life that it would be at its fair share, both counted to the end of the job."""
    if s.memory[DESERVED, j] == 0:
        return 1.0
    life, executed = s.moment[0].now - s.job[j].submit_time, s.job[j].progress
    return life / (executed * fairness(s, j) + (life - executed) + remaining_service(s, j))


@compiled
def take_delay_jobs(s: View, p: Parameters, t: int, j: int, quota: float) -> None:
    """Revoke leases of tenant `t` that can be delayed, best served job first, until job `j` fits in the quota."""
    if p.job_order == TWO_DAS or p.job_order == FIFO:
        return
    while in_use(s, t) + s.job[j].demand > quota:
        best = NO_JOB
        for k in running(s):
            if s.job[k].tenant == t and is_delay_job(s, p, k) and (best == NO_JOB or goes_before(s, p, k, best)):
                best = k
        if best == NO_JOB:
            return
        revoke(s, best)
        wait_last(s, best)


@compiled
def is_delay_job(s: View, p: Parameters, k: int) -> bool:
    """Whether running job `k` has so little to lose that it may be preempted."""
    executed = s.moment[0].now - s.job[k].lease_start
    if not is_open(s, k) or p.delay_threshold == 0:
        return False
    if s.job[k].progress > 0:
        return executed < p.delay_threshold
    return FIRST_DELAY <= executed < LAST_DELAY


@compiled
def goes_before(s: View, p: Parameters, a: int, b: int) -> bool:
    """Whether delay job `a` is preempted before delay job `b`."""
    if p.job_order == THEMIS:
        if s.memory[UNFAIRNESS, a] != s.memory[UNFAIRNESS, b]:
            return s.memory[UNFAIRNESS, a] < s.memory[UNFAIRNESS, b]
    elif fairness(s, a) != fairness(s, b):
        return fairness(s, a) > fairness(s, b)
    elif s.job[a].submit_time != s.job[b].submit_time:
        return s.job[a].submit_time > s.job[b].submit_time
    return s.job[a].launch < s.job[b].launch
