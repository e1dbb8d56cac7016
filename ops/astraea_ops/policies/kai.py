"""KAI, NVIDIA's scheduler for Kubernetes: fair shares by quota, weight, priority and usage in a tree, and reclaim.

In every cycle the cluster is divided into fair shares (`kai_queues`). Then every waiting job is tried, always the
next job of the first queue (`kai_queues`); a queue may grow beyond its fair share, up to its limit. Finally the jobs
that still wait are tried in the same order for reclaim. A job with which its queue stays within its fair share may
evict jobs of queues that hold more than their due (`kai_reclaim`). Victims come from the last queue first, and in it
the job submitted last, until there is room.

Sources: docs/fairness, docs/timeaware, docs/developer/designs/time-aware-fairness of
github.com/kai-scheduler/KAI-Scheduler, 2026, and the behaviour of its plugin proportion (v0.17).

Departures. Jobs ask for GPUs only. A second resource exists that no job asks for, so that no queue is above its fair
share of everything, the first criterion of KAI's order: as on a cluster with plenty of CPUs. Nodes are ignored: KAI
first tries the victims of one node alone; here, victims that turn out not to be needed are spared, the first found
first. Logs do not have priorities within a queue, non-preemptible jobs or elastic gangs, so there are none, and no
action `preempt`. No job moves from node to node (`consolidation`). An evicted job continues from its last checkpoint,
which it writes every `lease_term`; at a checkpoint it keeps its GPUs, and it cannot be evicted in that round. A queue
without a quota gets one from its share. The time window of usage begins at a whole hour, and is unlimited if usage has
a half-life.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from astraea.cluster.engine.accounting import tenant_decayed
from astraea.cluster.engine.state import PENDING, WHILE_ONE_WAITS, F, I, View
from astraea.cluster.policy import (
    all_candidates,
    attained_by_tenant,
    candidates,
    grant,
    in_use,
    is_open,
    policy,
    renewals,
    revoke,
    some_job_fits,
    unpack,
)
from astraea.core.compilation import compiled, inlined
from astraea.core.units import HOUR
from astraea_ops.policies.kai_queues import NO_QUEUE, Queues, add_held, next_leaf, set_fair_shares
from astraea_ops.policies.kai_reclaim import victims_for

NOWHERE: Final = -1

ALLOCATE, LOOK, RECLAIM = range(3)


class Parameters(NamedTuple):
    """Parameters of KAI.

    lease_term : s, time between two checkpoints of a job
    deserved : quota of a queue without one in the share file, as a part of its share of the cluster
    k_value : weight of past usage in the division of GPUs over quota, kValue
    window : s, length of the past in which usage counts, windowSize
    half_life : s, age at which usage counts half, halfLifePeriod; 0 for none
    saturation : how much less saturated a reclaiming queue above its fair share must be, relcaimerSaturationMultiplier
    min_runtime : s, time that a job has run before it may be evicted, reclaimMinRuntime
    """

    lease_term: float = 900.0
    deserved: float = 1.0
    k_value: float = 1.0
    window: float = 604_800.0
    half_life: float = 0.0
    saturation: float = 1.0
    min_runtime: float = 0.0


@policy(
    "kai",
    Parameters,
    about="NVIDIA's KAI, as in its v0.17 test cases. It serves quotas first, and divides the other GPUs by "
    "priority, weight and usage over a week. GPUs are whole; queues form a tree with limits. GPUs left over "
    "by rounding are divided once, after all priorities, as in v0.17; since v0.18.3, KAI divides them at each"
    " priority.",
    paper="NVIDIA KAI v0.17, docs/fairness and docs/timeaware",
    sees_tenants=True,
    revokes=True,
    revisit=lambda _: WHILE_ONE_WAITS,
    largest=lambda _: np.inf,
    at_least={"window": HOUR, "saturation": 1},
    at_most={"deserved": 1},
)
def kai(s: View) -> None:
    """KAI with time-aware fairness (NVIDIA, docs/fairness and docs/timeaware)."""
    p = unpack(Parameters, s.parameters)
    for j in renewals(s):
        grant(s, j)  # it writes a checkpoint and continues
    if len(all_candidates(s)) == len(renewals(s)):
        return  # no job waits
    q = queues_now(s, p)
    set_fair_shares(q, total(s), p.k_value)
    if some_job_fits(s):
        try_in_order(s, p, q, ALLOCATE)
    if try_in_order(s, p, q, LOOK):  # then all queues matter: the victims' queues may also have jobs that fit now
        try_in_order(s, p, q, RECLAIM)


@inlined
def total(s: View) -> F:
    """Return the cluster's amount of each resource, shape (R,)."""
    return np.array([float(s.gpus), 0.0])


@inlined
def queues_now(s: View, p: Parameters) -> Queues:
    """Return the queues at the beginning of a cycle: the tenants, then the queues above them."""
    n = len(s.tree.parent)
    usage, request, held, by_share = np.zeros((n, 2)), np.zeros((n, 2)), np.zeros((n, 2)), np.zeros((n, 2))
    for t in range(len(s.tenant)):
        usage[t, 0], request[t, 0] = usage_of(s, p, t), s.tenant[t].demand
        held[t, 0], by_share[t, 0] = in_use(s, t), s.tenant[t].quota
    deserved, limit, weight = np.zeros((n, 2)), np.zeros((n, 2)), np.zeros((n, 2))
    for i in range(n):
        if s.tree.parent[i] >= 0:
            for amount in (usage, request, held, by_share):
                amount[s.tree.parent[i]] += amount[i]
        limit[i, 0], weight[i, 0], deserved[i, 0] = s.tree.limit[i], s.tree.share[i], s.tree.quota[i]
        if np.isnan(s.tree.quota[i]):
            deserved[i, 0] = round(p.deserved * by_share[i, 0], 9)  # a third of nine is three
    fixed, share, age = np.zeros((n, 2)), np.zeros((n, 2)), np.arange(n)
    return Queues(s.tree.parent, s.tree.priority, age, deserved, limit, weight, usage, request, held, fixed, share)


@inlined
def usage_of(s: View, p: Parameters, t: int) -> float:
    """Return the part of the cluster's capacity in the time window that tenant `t` used, in [0, 1]."""
    now, could = s.now, float(s.gpus)
    if p.half_life > 0:
        could *= -np.expm1(-s.decay * now) / s.decay
        return tenant_decayed(s, t, now) / could if could > 0 else 0.0
    since = np.ceil(max(0.0, now - p.window) / HOUR) * HOUR
    could *= now - since
    return attained_by_tenant(s, t, since) / could if could > 0 else 0.0


@inlined
def room(s: View, q: Queues, t: int) -> float:
    """Return how many more GPUs tenant `t` may get under its limit and the limits above it."""
    most = np.inf
    while t >= 0:
        most = min(most, q.limit[t, 0] - q.allocated[t, 0])
        t = s.tree.parent[t]
    return most


@compiled
def waiting(s: View, t: int, first: int, most: float) -> int:
    """Return the position of tenant `t`'s next waiting job with at most `most` GPUs, from `first` on."""
    jobs = candidates(s, t)
    for place in range(first, len(jobs)):
        j = jobs[place]
        if s.job[j].demand <= most and s.job[j].status == PENDING and is_open(s, j):
            return place
    return NOWHERE


@compiled
def next_queue(s: View, q: Queues, head: I) -> int:
    """Return the queue whose next job, at `head`, is tried now."""
    job, ready = np.zeros(q.share.shape), np.flatnonzero(head != NOWHERE)
    for t in ready:
        job[t, 0] = s.job[candidates(s, t)[head[t]]].demand
    return next_leaf(q, ready, job, np.zeros(q.share.shape), total(s), False)


@inlined
def pass_over(s: View, t: int, head: int, good: int) -> int:
    """Return the position of tenant `t`'s next job after the one at `head` and others like it did not fit."""
    demand = s.job[candidates(s, t)[head]].demand
    while head != NOWHERE and head != good and s.job[candidates(s, t)[head]].demand == demand:
        head = waiting(s, t, head + 1, np.inf)
    return head


@compiled
def try_in_order(s: View, p: Parameters, q: Queues, action: int) -> bool:
    """Try every waiting job, the next of the first queue, and reorder the queues after each.

    ALLOCATE grants those that fit. LOOK returns whether a job has victims, and RECLAIM evicts those of every job.
    """
    n = len(s.tenant)
    head, good, most = np.full(n, NOWHERE), np.full(n, NOWHERE), np.full(n, np.inf)
    for t in range(n):
        good[t] = next_possible(s, q, t, 0, np.inf, action)
        if good[t] != NOWHERE or action == RECLAIM:  # otherwise it does not matter when its jobs are tried
            head[t] = waiting(s, t, 0, np.inf)
    while True:
        t = next_queue(s, q, head)
        if t == NO_QUEUE:
            return False
        if head[t] != good[t]:
            head[t] = pass_over(s, t, head[t], good[t])
            continue
        j = candidates(s, t)[head[t]]
        enough, victims = True, np.empty(0, np.int64)
        if action != ALLOCATE:
            enough, victims = victims_for(s, p, q, t, j, total(s))
        if enough and action == LOOK:
            return True
        if enough:
            for k in victims:
                revoke(s, k)
                add_held(q, q.allocated, s.job[k].tenant, -s.job[k].demand)
            grant(s, j)
            add_held(q, q.allocated, t, s.job[j].demand)
        else:
            most[t] = s.job[j].demand - 1  # nor for a larger one
        head[t] = waiting(s, t, head[t] + 1, np.inf)
        for u in range(n):
            good[u] = next_possible(s, q, u, head[u], most[u], action) if head[u] != NOWHERE else NOWHERE
            if good[u] == NOWHERE and action != RECLAIM:
                head[u] = NOWHERE


@inlined
def next_possible(s: View, q: Queues, t: int, first: int, most: float, action: int) -> int:
    """Return the position of the next job of tenant `t` that fits, or with which it stays within its fair share."""
    more = float(s.free) if action == ALLOCATE else q.share[t, 0] - q.allocated[t, 0]
    most = min(most, room(s, q, t), more)
    return waiting(s, t, first, most) if most >= 1 else NOWHERE
