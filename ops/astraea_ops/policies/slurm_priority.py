"""Slurm's multifactor priority with Fair Tree: decayed usage, ranks of users, and the queue in order of priority."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from astraea.cluster.engine.records import record
from astraea.cluster.engine.state import DONE, PENDING, F, I, View
from astraea.cluster.policy import all_candidates, level
from astraea.core.compilation import inlined, records_in
from astraea_ops.policies.slurm_backfill import SLURM_22, shape

CONSERVATIVE, EASY, NONE = range(3)

JOB_MEMORY: Final = record(  # by position, not by job
    ("by_end", int),  # running jobs in order of their expected ends
    ("queue", int),  # waiting jobs in order of priority
)
ASSOCIATION_MEMORY: Final = record(
    ("usage", float),  # decayed usage of a user [units x s]
    ("factor", float),  # fair-share factor
    # with the first association:
    ("run", int),  # jobs that run
    ("wait", int),  # jobs that the last round left waiting; -1 if it started any
    ("computed", int),  # how often usage was computed
    ("queued", int),  # jobs in the queue
    ("sorted", int),  # computation for which it is sorted
    ("came", int),  # jobs that came before
    ("to_start", bool),  # whether anything happened since the last pass of the main scheduler ...
    ("to_plan", bool),  # ... and of backfill
)


class Parameters(NamedTuple):
    """Parameters of Slurm, with its own names if it has any.

    interval : s, time between two readings of the clock, and two passes of both schedulers
    half_life : s, age at which GPU-time counts half (PriorityDecayHalfLife)
    calc_period : s, time between two computations of usage and ranks (PriorityCalcPeriod, 300 by default)
    calc_offset : s, time of the first computation
    weight_fairshare : PriorityWeightFairshare
    weight_age : PriorityWeightAge
    max_age : s, time waited at which the age factor is 1 (PriorityMaxAge)
    weight_jobsize : PriorityWeightJobSize
    favor_small : the size factor favours small jobs (PriorityFavorSmall)
    backfill : jobs that reserve nodes: all that cannot start, only the first, or none (no job overtakes it)
    bf_resolution : s, backfill rounds times down to multiples of this
    bf_window : s, time ahead that backfill plans
    bf_max_job_test : most jobs that backfill tries in one pass
    sched_interval : s, time between two passes of the main scheduler; 0 for every `interval`
    sched_offset : s, time of its first pass
    bf_interval : s, time between two passes of backfill; 0 for every `interval`
    bf_offset : s, time of its first pass
    bf_rules : rules of backfill as in Slurm 22.05, 23.11, 24.11, or 25.11 and newer
    clock_offset : s, backfill's clock at second 0, in seconds past a full minute
    limit : most GPUs of an account at once, as a multiple of its quota (GrpTRES); 0 for no limit
    """

    interval: float = 2.5
    half_life: float = 604_800.0
    calc_period: float = 60.0
    calc_offset: float = 0.0
    weight_fairshare: float = 100_000.0
    weight_age: float = 1_000.0
    max_age: float = 604_800.0
    weight_jobsize: float = 0.0
    favor_small: float = 0.0
    backfill: float = CONSERVATIVE
    bf_resolution: float = 60.0
    bf_window: float = 86_400.0
    bf_max_job_test: int = 500
    sched_interval: float = 0.0
    sched_offset: float = 0.0
    bf_interval: float = 0.0
    bf_offset: float = 0.0
    bf_rules: float = SLURM_22
    clock_offset: float = 0.0
    limit: float = 0.0


@inlined
def priority(s: View, p: Parameters, j: int) -> float:
    """Return the priority of a waiting job: weighted factors as of the last computation, truncated to an integer."""
    kept = records_in(s.association_memory, ASSOCIATION_MEMORY)
    last = p.calc_offset + (kept[0].computed - 1) * p.calc_period
    age = min(max(last - s.job[j].submit_time, 0.0) / p.max_age, 1.0)
    size = (shape(s, j)[0] / len(s.node_free) + s.job[j].demand / s.gpus) / 2
    if p.favor_small > 0:
        size = 1 - size
    factor = kept[s.rules.association[j]].factor
    return np.floor(
        p.weight_fairshare * factor + p.weight_age * age + p.weight_jobsize * size + s.rules.bonus[j]
    )


@inlined
def sort_queue(s: View, p: Parameters) -> I:
    """Return the waiting jobs by tier, then priority, then submission; sorted anew after each computation of usage."""
    kept, queue, n = records_in(s.association_memory, ASSOCIATION_MEMORY), records_in(s.memory, JOB_MEMORY).queue, 0
    candidates = all_candidates(s)
    if kept[0].sorted != kept[0].computed:
        negative = np.array([-priority(s, p, j) for j in candidates])
        order = np.argsort(negative, kind="mergesort")
        order = order[np.argsort(-s.rules.tier[candidates[order]], kind="mergesort")]
        n = len(candidates)
        queue[:n] = candidates[order]
        kept[0].sorted = kept[0].computed
    else:
        for k in range(kept[0].queued):
            if s.job[queue[k]].status == PENDING:
                queue[n] = queue[k]
                n += 1
        for j in candidates[np.searchsorted(candidates, kept[0].came) :]:
            k = n
            while k > 0 and is_before(s, p, j, queue[k - 1]):
                queue[k] = queue[k - 1]
                k -= 1
            queue[k] = j
            n += 1
    kept[0].queued = n
    if len(candidates) > 0:
        kept[0].came = max(kept[0].came, candidates[-1] + 1)
    return queue[:n].copy()


@inlined
def is_before(s: View, p: Parameters, j: int, other: int) -> bool:
    """Return whether a job goes before another one that was submitted earlier."""
    if s.rules.tier[j] != s.rules.tier[other]:
        return s.rules.tier[j] > s.rules.tier[other]
    return priority(s, p, j) > priority(s, p, other)


@inlined
def compute_usage(s: View, p: Parameters) -> None:
    """Add the usage of jobs since the last round, and decay and rank it at the end of each `calc_period`."""
    m, kept = records_in(s.memory, JOB_MEMORY), records_in(s.association_memory, ASSOCIATION_MEMORY)
    rate, usage = np.log(2) / p.half_life, kept.usage
    if kept[0].computed == 0 and s.n_launched == 0:
        usage[:] = s.rules.usage
        rank(s)
    last = p.calc_offset + (kept[0].computed - 1) * p.calc_period
    while last + p.calc_period <= s.now:
        add_usage(s, last, last + p.calc_period, rate, True)
        usage *= np.exp(-rate * p.calc_period)
        add_usage(s, last, last + p.calc_period, rate, False)
        rank(s)
        kept[0].computed += 1
        last += p.calc_period
    if kept[0].run == s.n_running:
        return  # no job has ended since the last round
    add_usage(s, last, np.inf, rate, True)
    n = 0
    for k in range(kept[0].run):
        if s.job[m.by_end[k]].status != DONE:
            m.by_end[n] = m.by_end[k]
            n += 1
    kept[0].run = n


@inlined
def add_usage(s: View, since: float, until: float, rate: float, ended: bool) -> None:
    """Add the usage of jobs from `since` to `until`: of jobs that ended in that time, or of those that did not."""
    m, kept = records_in(s.memory, JOB_MEMORY), records_in(s.association_memory, ASSOCIATION_MEMORY)
    faded, usage = np.exp(-rate * (until - since)), kept.usage
    for k in range(kept[0].run):
        j = m.by_end[k]
        user, units = s.rules.association[j], s.rules.charge[j]
        begin = s.job[j].lease_start
        end = begin + s.job[j].executed if s.job[j].status == DONE else np.inf
        if end <= since or (end <= until and end < np.inf) != ended:
            continue
        if begin <= since and not ended:  # the usual case
            usage[user] += units * (until - since) * faded
        else:
            run = max(min(end, until) - max(begin, since), 0.0)
            usage[user] += units * run * np.exp(-rate * run)


@inlined
def rank(s: View) -> None:
    """Fair Tree: walk the tree by level fair share; the first user has the factor 1, each further user less.

    Equal users share a rank. A user goes before an account equal to it and shares the rank of the first user in there.
    Users of equal accounts are ranked together.
    """
    parent, fair, kept = s.rules.parent, level_fair_shares(s), records_in(s.association_memory, ASSOCIATION_MEMORY)
    n = len(parent)
    depth, users, is_account = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.bool_)
    for a in range(n):
        if parent[a] >= 0:
            depth[a] = depth[parent[a]] + 1
            is_account[parent[a]] = True
    for a in range(n - 1, -1, -1):
        users[a] += not is_account[a]
        if parent[a] >= 0:
            users[parent[a]] += users[a]
    everyone = n - is_account.sum()
    # accounts that are walked together, from 1; 0 is the root: the next rank, and the one that its first user shares
    group, groups = np.zeros(n, np.int64), 0
    following, shared = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    following[0] = everyone
    for d in range(depth.max() + 1):
        members = np.flatnonzero(depth == d)
        above = np.array([group[parent[a]] if parent[a] >= 0 else 0 for a in members])
        order = np.argsort(is_account[members], kind="mergesort")
        order = order[np.argsort(-fair[members[order]], kind="mergesort")]
        order = order[np.argsort(above[order], kind="mergesort")]
        before = -1
        for k in order:
            a, g = members[k], above[k]
            is_first = before < 0 or above[before] != g
            is_tied = shared[g] > 0 if is_first else fair[members[before]] == fair[a]
            if not is_tied:
                shared[g] = following[g]
            if not is_account[a]:
                kept[a].factor = shared[g] / everyone
            elif not is_first and is_tied and is_account[members[before]]:
                group[a] = groups
            else:
                groups += 1
                group[a], following[groups] = groups, following[g]
                shared[groups] = shared[g] if is_tied else 0
            following[g] -= users[a]
            before = k


@inlined
def level_fair_shares(s: View) -> F:
    """Return parts of the shares over parts of the usage, among siblings; infinite before any usage."""
    parent, shares = s.rules.parent, s.rules.shares
    usage, n = records_in(s.association_memory, ASSOCIATION_MEMORY).usage.copy(), len(parent)
    for a in range(n):
        if parent[a] >= 0:
            usage[parent[a]] = 0
    for a in range(n - 1, -1, -1):
        if parent[a] >= 0:
            usage[parent[a]] += usage[a]
    shares_of, usage_of = np.zeros(n + 1), np.zeros(n + 1)  # totals per parent; the last entry is the root's
    for a in range(n):
        if shares[a] < np.inf:
            shares_of[parent[a]] += shares[a]
        usage_of[parent[a]] += usage[a]
    found = np.full(n, np.inf)
    for a in range(n):
        if shares[a] == 0:
            found[a] = 0
        elif usage[a] > 0:
            found[a] = level(shares[a] * (usage_of[parent[a]] / shares_of[parent[a]]) / usage[a])
    return found
