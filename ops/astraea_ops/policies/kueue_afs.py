"""Kueue's admission fair sharing (AFS): the local queue with the least usage relative to its weight is admitted first.

A LocalQueue is a tenant, the ClusterQueue that they all feed is the cluster, a workload is a job, and its priority is
the constant part from the cluster's configuration (`Rules.bonus`), if there is one. In the terms of Kueue's
configuration, with H = `usageHalfLifeTime`, S = `usageSamplingInterval` and a(t) = 1 - 0.5^(t / H):

Usage
    C <- (1 - a(t)) C + a(t) R at every sample, t after the last one, where R is the number of GPUs that the queue's
    jobs hold now. So C is a moving average of the GPUs that a queue holds. A sample is due S after the last one.
Entry penalty
    A job that gets its quota counts at once, with a(S) times its GPUs, the amount that the next sample would add. The
    penalty is noted, so that it counts when the next job is chosen, and becomes usage when the job is admitted.
Order
    The compared usage is (C + penalties) / weight, and the least goes first; ties go to the job with the higher
    priority, then to the earlier one. A job that does not fit is skipped (`BestEffortFIFO`).

Sources: keps/4136-admission-fair-sharing and pkg/util/admissionfairsharing of github.com/kubernetes-sigs/kueue (2026),
and the documentation (https://kueue.sigs.k8s.io/docs/concepts/admission_fair_sharing).

Departures: GPUs are the only resource, so there are no weights of resources. A round is as many of Kueue's cycles as
there are jobs to admit, and there is no admission check between quota and admission. Amounts are compared at the
resolution of `level`, with weights relative to their mean, while Kueue truncates products to nine decimals. No job is
preempted, which is Kueue's default within a ClusterQueue (`withinClusterQueue: Never`); otherwise AFS would order the
victims.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from astraea.cluster.engine.records import record
from astraea.cluster.engine.state import EVERY_ROUND, PENDING, View
from astraea.cluster.policy import (
    NO_JOB,
    candidates,
    fits,
    grant,
    in_use,
    is_open,
    level,
    policy,
    some_job_fits,
    unpack,
)
from astraea.core.compilation import inlined, records_in

JOB_MEMORY: Final = record(
    ("noted", int),  # its GPUs while its penalty is noted ...
    ("settled", int),  # ... and after it has become usage [GPU]
)
TENANT_MEMORY: Final = record(
    ("consumed", float),  # usage C [GPU]
    ("sampled", float),  # time of the last sample [s]
    ("notes", int),  # GPUs of the jobs whose penalty is noted
    ("chosen", int),  # with the first tenant: how many jobs were chosen last
)


class Parameters(NamedTuple):
    """Parameters of admission fair sharing, with Kueue's names.

    usage_half_life_time : s, age at which usage counts half (usageHalfLifeTime); 0 for first in, first out
    usage_sampling_interval : s, time between two samples of usage (usageSamplingInterval)
    """

    usage_half_life_time: float = 604_800.0
    usage_sampling_interval: float = 300.0


@policy(
    "kueue-afs",
    Parameters,
    about="Kueue's admission fair sharing: first the queue with the least usage relative to its weight. Usage is a "
    "decaying average of the GPUs held, with a penalty at each admission.",
    paper="Kueue, KEP-4136",
    sees_tenants=True,
    revisit=lambda _: EVERY_ROUND,
    memory=JOB_MEMORY,
    tenant_memory=TENANT_MEMORY,
    largest=lambda _: np.inf,
    at_least={"usage_sampling_interval": 1},
)
def kueue_afs(s: View) -> None:
    """Kueue's admission fair sharing (https://kueue.sigs.k8s.io, KEP-4136)."""
    of_tenant = records_in(s.tenant_memory, TENANT_MEMORY)
    p = unpack(Parameters, s.parameters)
    give_back(s, p)
    for t in range(len(s.tenant)):
        if s.now - of_tenant[t].sampled >= p.usage_sampling_interval:
            sample(s, p, t)
    while some_job_fits(s):
        j = next_job(s, p)
        note(s, j)
        grant(s, j)
    for j in s.granted[: s.n_granted]:
        settle(s, p, j)
    of_tenant[0].chosen = s.n_granted


@inlined
def next_job(s: View, p: Parameters) -> int:
    """Return the job that is admitted next, of those that fit."""
    of_tenant = records_in(s.tenant_memory, TENANT_MEMORY)
    best, least, mean = NO_JOB, np.inf, s.tenant.weight.mean()
    for t in range(len(s.tenant)):
        penalty = entry_penalty(of_tenant[t].notes, p)
        used = usage(of_tenant[t].consumed, penalty, s.tenant[t].weight / mean)
        for j in candidates(s, t):
            if is_open(s, j) and fits(s, j) and (
                best == NO_JOB or goes_before(used, s.rules.bonus[j], j, least, s.rules.bonus[best], best)
            ):  # fmt: skip
                best, least = j, used
    return best


@inlined
def goes_before(used: float, priority: float, j: int, other_used: float, other_priority: float, other: int) -> bool:
    """Return whether job `j` goes before another one: less usage, then higher priority, then earlier."""
    if level(used) != level(other_used):
        return used < other_used
    return priority > other_priority or (priority == other_priority and j < other)


@inlined
def usage(consumed: float, penalty: float, weight: float) -> float:
    """Return the usage of a queue that is compared [GPU]; infinite without a weight above 0."""
    return (consumed + penalty) / weight if weight > 0 else np.inf


@inlined
def share_that_fades(elapsed: float, p: Parameters) -> float:
    """Return the part a(t) of the old usage that fades in some time and is replaced by current GPUs."""
    return 1 - 0.5 ** (elapsed / p.usage_half_life_time) if p.usage_half_life_time > 0 else 0.0


@inlined
def entry_penalty(gpus: float, p: Parameters) -> float:
    """Return the amount that jobs with this many GPUs count when they get their quota [GPU]."""
    return share_that_fades(p.usage_sampling_interval, p) * gpus


@inlined
def decayed(consumed: float, runs: float, elapsed: float, p: Parameters) -> float:
    """Return the usage after some time in which a queue held `runs` GPUs [GPU]."""
    if p.usage_half_life_time == 0:
        return 0.0
    a = share_that_fades(max(elapsed, 0.0), p)
    return (1 - a) * consumed + a * runs


@inlined
def sample(s: View, p: Parameters, t: int) -> None:
    """Update the usage of queue `t` to now."""
    of_tenant = records_in(s.tenant_memory, TENANT_MEMORY)
    elapsed = s.now - of_tenant[t].sampled
    of_tenant[t].consumed = decayed(of_tenant[t].consumed, in_use(s, t), elapsed, p)
    of_tenant[t].sampled = max(s.now, of_tenant[t].sampled)


@inlined
def note(s: View, j: int) -> None:
    """Note the GPUs of job `j`, which gets its quota, for the penalty, instead of an earlier note."""
    m = records_in(s.memory, JOB_MEMORY)
    of_tenant = records_in(s.tenant_memory, TENANT_MEMORY)
    of_tenant[s.job[j].tenant].notes += s.job[j].demand - m[j].noted
    m[j].noted = s.job[j].demand


@inlined
def settle(s: View, p: Parameters, j: int) -> None:
    """Turn the penalty of job `j`, which is admitted, into usage, once."""
    m = records_in(s.memory, JOB_MEMORY)
    of_tenant = records_in(s.tenant_memory, TENANT_MEMORY)
    t, gpus = s.job[j].tenant, m[j].noted
    sample(s, p, t)
    of_tenant[t].consumed += entry_penalty(gpus, p)
    of_tenant[t].notes -= gpus
    m[j].noted, m[j].settled = 0, gpus


@inlined
def give_back(s: View, p: Parameters) -> None:
    """Withdraw the penalties of jobs that were chosen last but did not fit on nodes where they may run."""
    m = records_in(s.memory, JOB_MEMORY)
    of_tenant = records_in(s.tenant_memory, TENANT_MEMORY)
    for j in s.granted[: of_tenant[0].chosen]:
        if s.job[j].status == PENDING:
            of_tenant[s.job[j].tenant].consumed -= entry_penalty(m[j].settled, p)
            m[j].settled = 0
