"""KAI, NVIDIA's scheduler for Kubernetes, with time-aware fairness: quota, over-quota by weight and usage, reclaim.

Each queue (tenant) has a deserved quota and an over-quota weight. At every cycle the cluster is divided into fair
shares:

    F_i = min(deserved_i, requested_i) + C P_i / sum(P),    P_i = max(W_i + k (W_i - U_i), 0)

C is what is left when all have their deserved part, W_i the weight of queue i among those that want more, and U_i its
usage, decayed with a half-life, over what the cluster could have given in the same time; what a queue does not want
goes round again. Then queues get GPUs in order of allocation over fair share, the lowest first, their jobs first in,
first out; what does not fit is passed over. At last a queue whose next job fits into its fair share, but not onto the
free GPUs, reclaims: running jobs of queues above their fair share are evicted, the youngest first, if it has no larger
part of its fair share afterwards than they; and a queue below its deserved quota does from those above theirs.

Sources: the project's documentation, docs/fairness, docs/timeaware, and
docs/developer/designs/time-aware-fairness (github.com/NVIDIA/KAI-Scheduler, 2026), which says what is above.

Departures: one level of queues of one priority, one kind of resource. An evicted job goes on from its last checkpoint,
which it writes every `lease_term`; at a checkpoint it keeps its GPUs. The deserved quota is a part of the tenant's
share, the rest of the cluster is over quota, and the share is the weight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from astraea.cluster.engine.accounting import tenant_decayed
from astraea.cluster.engine.state import PENDING, WHILE_ONE_WAITS, F, I, View
from astraea.cluster.policy import (
    NO_JOB,
    NO_TENANT,
    candidates,
    fits,
    grant,
    in_use,
    is_open,
    level,
    policy,
    renewals,
    revoke,
    running,
    some_job_fits,
    unpack,
)
from astraea.core.compilation import inlined


class Parameters(NamedTuple):
    """Parameters of KAI.

    lease_term : s, time between two checkpoints of a job
    deserved : part of the share of a tenant that is its deserved quota
    k_value : weight of past usage in the division of what is over quota, kValue
    half_life : s, age at which GPU-time counts half, halfLifePeriod
    """

    lease_term: float = 900.0
    deserved: float = 1.0
    k_value: float = 1.0
    half_life: float = 86_400.0


@policy("kai", Parameters, revisit=lambda _: WHILE_ONE_WAITS, at_least={"half_life": 1}, at_most={"deserved": 1})
def kai(s: View) -> None:
    """KAI with time-aware fairness (NVIDIA, docs/fairness and docs/timeaware)."""
    p = unpack(Parameters, s.parameters)
    for j in renewals(s):
        grant(s, j)  # a checkpoint, and on
    share = fair_shares(s, p)
    allocate(s, share)
    for t in range(len(s.tenant)):
        reclaim(s, p, share, t)


@inlined
def fair_shares(s: View, p: Parameters) -> F:
    """Fair share of every tenant [GPU]."""
    wanted = s.tenant.demand.astype(np.float64)
    share = np.minimum(p.deserved * s.tenant.quota, wanted)
    used = usage(s)
    left = s.clock[0].gpus - share.sum()
    while left > 1e-9:
        wants_more = wanted - share > 1e-9
        weight = np.where(wants_more, s.tenant.weight, 0.0)
        if weight.sum() == 0:
            break
        w = weight / weight.sum()
        portion = np.where(wants_more, np.maximum(w + p.k_value * (w - used), 0.0), 0.0)
        if portion.sum() == 0:  # all have had too much: by weight alone
            portion = weight
        given = np.minimum(left * portion / portion.sum(), np.maximum(wanted - share, 0.0))
        share += given
        left -= given.sum()
    return share


@inlined
def usage(s: View) -> F:
    """Decayed usage of every tenant over what the cluster could have given in the same time, in [0, 1]."""
    could = -np.expm1(-s.clock[0].decay * s.clock[0].now) * s.clock[0].gpus / s.clock[0].decay
    used = np.zeros(len(s.tenant))
    if could > 0:
        for t in range(len(used)):
            used[t] = tenant_decayed(s, t, s.clock[0].now) / could
    return used


@inlined
def saturation(gpus: float, share: float) -> float:
    """Allocation over fair share, at the resolution in which it is compared."""
    return level(gpus / share) if share > 0 else np.inf


@inlined
def allocate(s: View, share: F) -> None:
    """Give what is free, queue by queue."""
    closed = np.zeros(len(share), np.bool_)
    while some_job_fits(s):
        best, least = NO_TENANT, np.inf
        for t in range(len(share)):
            if not closed[t] and (best == NO_TENANT or saturation(in_use(s, t), share[t]) < least):
                best, least = t, saturation(in_use(s, t), share[t])
        j = first_job(s, best, True)
        if j == NO_JOB:
            closed[best] = True
        else:
            grant(s, j)


@inlined
def first_job(s: View, t: int, must_fit: bool) -> int:
    """The first submitted of the jobs of tenant `t` that wait, or of those that fit."""
    for j in candidates(s, t):
        if is_open(s, j) and s.job[j].status == PENDING and (fits(s, j) or not must_fit):
            return j
    return NO_JOB


@inlined
def reclaim(s: View, p: Parameters, share: F, t: int) -> None:
    """Evict what the next job of tenant `t` may claim, by fair share first, or else by deserved quota."""
    j = first_job(s, t, False)
    if j == NO_JOB or fits(s, j):
        return
    after = in_use(s, t) + s.job[j].demand
    deserved = p.deserved * s.tenant.quota
    for limit in (share, deserved):
        if after > limit[t] * (1 + 1e-12):
            continue
        victims = evicted(s, limit, t, after, s.job[j].demand - s.clock[0].free)
        if len(victims) > 0:
            for k in victims:
                revoke(s, k)
            grant(s, j)
            return


@inlined
def evicted(s: View, limit: F, t: int, after: int, lacking: int) -> I:
    """Jobs of tenants above `limit` that hold the GPUs which tenant `t` lacks, the youngest first; none if too few."""
    jobs = running(s)[::-1]
    held = np.array([in_use(s, v) for v in range(len(limit))])
    out, n = np.empty(len(jobs), np.int64), 0
    for k in jobs:
        v, gpus = s.job[k].tenant, s.job[k].demand
        above = v != t and held[v] > limit[v] * (1 + 1e-12)
        if above and is_open(s, k) and saturation(after, limit[t]) <= saturation(held[v] - gpus, limit[v]):
            held[v] -= gpus
            lacking -= gpus
            out[n] = k
            n += 1
            if lacking <= 0:
                return out[:n]
    return out[:0]
