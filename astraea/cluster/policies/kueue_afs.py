"""Kueue's admission fair sharing (AFS): the local queue with the least usage for its weight is admitted first.

A LocalQueue is a tenant, the ClusterQueue that all of them feed is the cluster, a workload is a job. Under the names of
Kueue's configuration, with H = `usageHalfLifeTime`, S = `usageSamplingInterval` and a(t) = 1 - 0.5^(t / H):

Usage
    C <- (1 - a(t)) C + a(t) R at every sample, t after the last one, where R is what the queue's jobs hold now. So C is
    a moving average of the GPUs that a queue holds. A sample is due S after the last one.
Entry penalty
    A job that is given its quota counts at once, with a(S) times its GPUs, which are what the next sample would add.
    The penalty is noted, so that the next job is chosen with it, and becomes usage when the job is admitted.
Order
    The usage that is compared is (C + penalties) / weight, and the least goes first; of equals the job with the higher
    priority, then the earlier one. A job that does not fit is passed over (`BestEffortFIFO`).

Sources: keps/4136-admission-fair-sharing and pkg/util/admissionfairsharing of github.com/kubernetes-sigs/kueue (2026),
and the documentation (https://kueue.sigs.k8s.io/docs/concepts/admission_fair_sharing).

Departures: GPUs are the one resource, so there are no weights of resources. All jobs have one priority. A round is as
many of Kueue's cycles as there are jobs to admit, and no admission check comes between quota and admission. Amounts are
compared at the resolution of `level`, where Kueue cuts products to nine decimals. Nobody is preempted, which is Kueue's
default within a ClusterQueue (`withinClusterQueue: Never`); where it is not, AFS orders the victims.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from astraea.cluster.engine.state import EVERY_ROUND, I, View
from astraea.cluster.policy import NO_JOB, candidates, fits, grant, in_use, level, policy, some_job_fits, unpack
from astraea.core.compilation import inlined

# kept per tenant: usage C [GPU], when it was sampled last [s], GPUs of the jobs whose penalty is noted
CONSUMED, SAMPLED, PENDING = range(3)
# kept per job: its GPUs while its penalty is noted
NOTED = 0

SAME_PRIORITY = 0.0


class Parameters(NamedTuple):
    """Parameters of admission fair sharing, under Kueue's names.

    usage_half_life_time : s, age at which usage counts half (usageHalfLifeTime); with 0, first in, first out
    usage_sampling_interval : s, time between two samples of usage (usageSamplingInterval)
    """

    usage_half_life_time: float = 604_800.0
    usage_sampling_interval: float = 300.0


@policy(
    "kueue-afs", Parameters, revisit=lambda _: EVERY_ROUND, memory=(1, 3), largest=lambda _: np.inf,
    at_least={"usage_sampling_interval": 1},
)  # fmt: skip
def kueue_afs(s: View) -> None:
    """Kueue's admission fair sharing (https://kueue.sigs.k8s.io, KEP-4136)."""
    p = unpack(Parameters, s.parameters)
    for t in range(len(s.tenant)):
        if s.clock[0].now - s.tenant_memory[SAMPLED, t] >= p.usage_sampling_interval:
            sample(s, p, t)
    at = np.zeros(len(s.tenant), np.int64)
    while some_job_fits(s):
        j = next_job(s, p, at)
        if j == NO_JOB:
            break
        note(s, j)
        grant(s, j)
    for j in s.granted[: s.clock[0].n_granted]:
        settle(s, p, j)


@inlined
def next_job(s: View, p: Parameters, at: I) -> int:
    """Return the first of the jobs that fit; `at` is where each queue has got to: past what does not fit."""
    best, least = NO_JOB, np.inf
    for t in range(len(s.tenant)):
        of = candidates(s, t)
        while at[t] < len(of) and (s.job[of[at[t]]].decided or not fits(s, of[at[t]])):
            at[t] += 1
        if at[t] < len(of):
            penalty = entry_penalty(s.tenant_memory[PENDING, t], p)
            used = usage(s.tenant_memory[CONSUMED, t], penalty, s.tenant[t].weight)
            j = of[at[t]]
            if best == NO_JOB or goes_before(used, SAME_PRIORITY, j, least, SAME_PRIORITY, best):
                best, least = j, used
    return best


@inlined
def goes_before(used: float, priority: float, j: int, other_used: float, other_priority: float, other: int) -> bool:
    """Whether job `j` goes before another one: less usage, then higher priority, then earlier."""
    if level(used) != level(other_used):
        return used < other_used
    return priority > other_priority or (priority == other_priority and j < other)


@inlined
def usage(consumed: float, penalty: float, weight: float) -> float:
    """Usage of a queue as it is compared [GPU]; infinite without a weight above 0."""
    return (consumed + penalty) / weight if weight > 0 else np.inf


@inlined
def share_that_fades(elapsed: float, p: Parameters) -> float:
    """Part a(t) of the old usage that fades in some time, and that what runs takes its place."""
    return 1 - 0.5 ** (elapsed / p.usage_half_life_time) if p.usage_half_life_time > 0 else 0.0


@inlined
def entry_penalty(gpus: float, p: Parameters) -> float:
    """What jobs of so many GPUs count when they are given their quota [GPU]."""
    return share_that_fades(p.usage_sampling_interval, p) * gpus


@inlined
def decayed(consumed: float, runs: float, elapsed: float, p: Parameters) -> float:
    """Usage after some time in which a queue held `runs` GPUs [GPU]."""
    if p.usage_half_life_time == 0:
        return 0.0
    a = share_that_fades(max(elapsed, 0.0), p)
    return (1 - a) * consumed + a * runs


@inlined
def sample(s: View, p: Parameters, t: int) -> None:
    """Bring the usage of queue `t` up to now."""
    elapsed = s.clock[0].now - s.tenant_memory[SAMPLED, t]
    s.tenant_memory[CONSUMED, t] = decayed(s.tenant_memory[CONSUMED, t], in_use(s, t), elapsed, p)
    s.tenant_memory[SAMPLED, t] = max(s.clock[0].now, s.tenant_memory[SAMPLED, t])


@inlined
def note(s: View, j: int) -> None:
    """Job `j` is given its quota: note its GPUs for the penalty, in place of what was noted of it before."""
    s.tenant_memory[PENDING, s.job[j].tenant] += s.job[j].demand - s.memory[NOTED, j]
    s.memory[NOTED, j] = s.job[j].demand


@inlined
def settle(s: View, p: Parameters, j: int) -> None:
    """Job `j` is admitted: its penalty becomes usage, once."""
    t, gpus = s.job[j].tenant, s.memory[NOTED, j]
    sample(s, p, t)
    s.tenant_memory[CONSUMED, t] += entry_penalty(gpus, p)
    s.tenant_memory[PENDING, t] -= gpus
    s.memory[NOTED, j] = 0
