"""Running jobs that KAI evicts for a job that reclaims: found one by one in its order, until there are enough."""

from __future__ import annotations

from typing import Any

import numpy as np

from astraea.cluster.engine.state import F, I, View
from astraea.cluster.policies.kai_division import Queues, hold
from astraea.cluster.policies.kai_order import NO_QUEUE, next_leaf
from astraea.cluster.policies.kai_reclaim import is_candidate, is_reclaimable, may_lose
from astraea.cluster.policy import NO_JOB, in_use, is_open, running
from astraea.core.compilation import compiled, inlined


@compiled
def victims_for(s: View, p: Any, q: Queues, t: int, j: int, total: F) -> tuple[bool, I]:
    """Return whether there are enough victims so that job `j` of tenant `t` fits, and the victims."""
    job, nothing = np.zeros(len(total)), np.zeros(q.share.shape)
    job[0] = s.job[j].demand
    pool = np.sort(running(s))[::-1].copy()  # in each queue, the last submitted first
    found, n = np.empty(len(pool), np.int64), 0
    spare = s.clock[0].free - s.job[j].demand
    place = np.full(len(s.tenant), NO_JOB)
    for v in range(len(s.tenant)):
        if spare < 0 and v != t and in_use(s, v) > 0 and is_candidate(q, t, job, v):
            place[v] = next_victim(s, p, v, pool, 0)
    lost, left = np.zeros(q.share.shape), q.allocated.copy()
    while spare < 0 or n > 0:
        ready = np.flatnonzero(place != NO_JOB)
        with_next = lost.copy()
        for u in ready:
            with_next[u, 0] += s.job[pool[place[u]]].demand
        v = next_leaf(q, ready, nothing, with_next, total, True)
        if v == NO_QUEUE:
            return False, found[:0]
        k = pool[place[v]]
        place[v] = next_victim(s, p, v, pool, place[v] + 1)
        lost[v] = with_next[v]
        if may_lose(q, t, job, v, left):
            found[n] = k
            n += 1
            spare += s.job[k].demand
            hold(q, left, v, -s.job[k].demand)
            if spare >= 0:
                victims = needed(s, found[:n], spare)
                if may_have(s, q, t, job, victims, p.saturation):
                    return True, victims
    return True, found[:0]


@inlined
def needed(s: View, found: I, spare: int) -> I:
    """Return the victims found, in order, whose GPUs are needed."""
    victims, n = np.empty(len(found), np.int64), 0
    for k in found:
        if s.job[k].demand > spare:
            victims[n] = k
            n += 1
        else:
            spare -= s.job[k].demand
    return victims[:n]


@compiled
def next_victim(s: View, p: Any, v: int, pool: I, first: int) -> int:
    """Return the position of the next running job of tenant `v`, from a position on, that has run long enough."""
    for place in range(first, len(pool)):
        k = pool[place]
        if s.job[k].tenant == v and is_open(s, k):
            ran = s.clock[0].now - s.job[k].lease_start + (s.job[k].streak - 1) * p.lease_term
            if ran >= p.min_runtime:
                return place
    return NO_JOB


@inlined
def may_have(s: View, q: Queues, t: int, job: F, victims: I, saturation: float) -> bool:
    """Return whether tenant `t` may replace these victims with its job."""
    queues, held = np.empty(len(victims), np.int64), np.zeros((len(victims), len(job)))
    for k in range(len(victims)):
        queues[k], held[k, 0] = s.job[victims[k]].tenant, s.job[victims[k]].demand
    return is_reclaimable(q, t, job, True, queues, held, saturation)
