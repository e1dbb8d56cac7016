"""Slurm as many sites run it: Fair Tree over accounts, priority with age and size, backfill with time limits.

From Slurm's documentation, with its names:

Priority (https://slurm.schedmd.com/priority_multifactor.html)
    The sum of factors from 0 to 1, each times its weight, truncated to a whole number. The factors are the fair share
    of the user, age (time waited over `max_age`, at most 1), size, and a constant part (`Rules.bonus`: QOS, partition,
    TRES, nice). Jobs go in order of PriorityTier, then priority, then submission.
Fair Tree (https://slurm.schedmd.com/fair_tree.html)
    The level fair share of an account or user is its part of the shares over its part of the usage, among its siblings;
    infinite before any usage. The tree is walked in that order, and the factor of a user is its rank over the number of
    users; see `slurm_priority.rank`.
Usage (PriorityDecayHalfLife and PriorityCalcPeriod of https://slurm.schedmd.com/slurm.conf.html)
    GPU-seconds, or billing units (`Rules.charge`), halved every `half_life`. Usage, ranks and ages are computed every
    `calc_period` and do not change in between; a new job gets the last computed rank. As `sshare` of a running Slurm
    shows, a job's usage since the last computation is added when it ends, or at the next computation, times the decay
    over the time that it ran since then.
Two schedulers (https://slurm.schedmd.com/sched_config.html)
    The main one starts jobs in order of priority up to the first job of each partition that does not fit; later jobs
    may not take the nodes of that partition. Backfill continues after it: each job that cannot start reserves nodes for
    its expected start, from the time limits of running jobs, and a later job may start if it ends before that. See
    `slurm_backfill`. With EASY only the first job of each partition reserves (`bf_job_part_count_reserve=1`), with
    `none` no job starts after it.
Limits (https://slurm.schedmd.com/resource_limits.html)
    A job that would exceed a limit is skipped until it no longer would: it does not stop its partition and reserves
    nothing. See `Rules.cap`; without rules, `limit` is GrpTRES=gres/gpu of each account.

Without rules, an account is a tenant with one user, its shares are the tenant's weight, and the user root, which is in
every association tree and runs nothing, is a further account. No job is preempted.

Departures: in the size factor, which uses nodes and CPUs, GPUs replace the CPUs; a gang has the same number of GPUs on
each of its nodes. Both schedulers run in every round unless `sched_interval` and `bf_interval` are set. In Slurm they
run in turns (60 s and 30 s by default), the main one at full seconds, also after events, at most every 3 s. The main
one is taken to run every 3 s. A pass takes no time, so none is cut short (`bf_continue`), and GPUs are free as soon as
a job has ended, which takes Slurm some hundredths of a second. A pass is skipped if no job came, started or ended and
no ranks have changed since the last one.
"""

from __future__ import annotations

import numpy as np

from astraea.cluster.engine.state import WHILE_ONE_FITS, F, I, View
from astraea.cluster.policy import (
    all_candidates,
    grant,
    in_use,
    place_on,
    policy,
    some_job_fits,
    unpack,
)
from astraea.core.compilation import inlined, records_in
from astraea_ops.policies.slurm_backfill import (
    SLURM_24,
    Outlook,
    choose,
    expected_start,
    find_open,
    is_reserved,
    new_plan,
    occupy,
    reserve,
    second,
    shape,
    some_could_start,
    time_limit,
)
from astraea_ops.policies.slurm_priority import (
    ASSOCIATION_MEMORY,
    CONSERVATIVE,
    JOB_MEMORY,
    NONE,
    Parameters,
    compute_usage,
    sort_queue,
)


@policy(
    "slurm",
    Parameters,
    about="Slurm's multifactor priority (Fair Tree over decayed usage, age, size), with GPU limits of accounts, and"
    " with EASY or conservative backfill. With a cluster's own settings it has a tree of accounts and users, "
    "limits, and partitions with tiers.",
    paper="https://slurm.schedmd.com",
    sees_tenants=True,
    revisit=lambda _: WHILE_ONE_FITS,
    memory=JOB_MEMORY,
    association_memory=ASSOCIATION_MEMORY,
    equal_parts=True,
    largest=lambda p: p["limit"] if p["limit"] > 0 else np.inf,
    at_least={
        "interval": 0.01, "half_life": 1, "calc_period": 1, "max_age": 1, "bf_resolution": 1, "bf_max_job_test": 1,
    },
    choices={
        "favor_small": ("no", "yes"), "backfill": ("conservative", "easy", "none"),
        "bf_rules": ("slurm-22.05", "slurm-23.11", "slurm-24.11", "slurm-25.11"),
    },
)  # fmt: skip
def slurm(s: View) -> None:
    """Slurm's multifactor priority with Fair Tree and its backfill scheduler (https://slurm.schedmd.com)."""
    p, kept = unpack(Parameters, s.parameters), records_in(s.association_memory, ASSOCIATION_MEMORY)
    starts, plans = is_due(s, p.sched_interval, p.sched_offset), is_due(s, p.bf_interval, p.bf_offset)
    if not (starts or plans):
        return
    before = kept[0].run, kept[0].computed, kept[0].wait
    compute_usage(s, p)
    waiting = len(all_candidates(s))
    if (kept[0].run, kept[0].computed, waiting) != before:
        kept[0].to_start = kept[0].to_plan = True
    starts, plans = starts and kept[0].to_start, plans and kept[0].to_plan
    if (starts or plans) and some_job_fits(s):
        kept[0].to_start = False
        if plans:
            kept[0].to_plan = False
        schedule(s, p, plans)
    kept[0].wait = waiting if s.n_granted == 0 else -1  # one pass may open the way for the next


@inlined
def is_due(s: View, every: float, offset: float) -> bool:
    """Return whether a scheduler that passes at `offset`, and every `every` seconds from then on, does so now."""
    return every == 0 or (s.now - offset) % every < s.interval - 1e-6


@inlined
def schedule(s: View, p: Parameters, plans: bool) -> None:
    """Make one pass of the main scheduler, and of backfill after the first job of each partition that does not fit."""
    now, queue = s.now, sort_queue(s, p)
    kept = records_in(s.association_memory, ASSOCIATION_MEMORY)
    running = records_in(s.memory, JOB_MEMORY).by_end[: kept[0].run].copy()
    most = min(len(queue), int(p.bf_max_job_test))
    plan = new_plan(s, running, cut_down(p, now), cut_down(p, now) + p.bf_window, most, p.clock_offset)
    taken = np.zeros(len(s.rules.cap))  # of each cap, by running jobs
    for place in running:
        add_to_caps(s, taken, place)
    stopped, left = np.zeros(len(s.rules.partition_nodes), np.bool_), np.ones(len(plan.free), np.bool_)
    behind, n = np.empty(most, np.int64), 0
    for j in queue:
        if n == most and stopped.all():
            break
        if is_over_limit(s, p, taken, j):
            continue
        partition = s.rules.partition[j]
        if not stopped[partition]:
            count, gpus = shape(s, j)
            nodes = choose(plan.free, left & s.rules.allowed[s.rules.kind[j]], count, gpus, p.bf_rules)
            if len(nodes) > 0:
                start(s, p, plan, taken, j, nodes)
                continue
            stopped[partition] = True
            left &= ~s.rules.partition_nodes[partition]
            if not some_job_fits(s) or (stopped.all() and (p.backfill == NONE or not plans)):
                break
        if n < most:
            behind[n] = j
            n += 1
    if not plans or p.backfill == NONE:
        return
    stopped[:] = False  # by the first job that has reserved nodes
    for k in range(n):
        if not some_could_start(s, plan, behind[k:n], second(now, p.clock_offset)):
            break
        partition = s.rules.partition[behind[k]]
        if not is_over_limit(s, p, taken, behind[k]):
            backfill(s, p, plan, taken, behind[k], p.backfill == CONSERVATIVE or not stopped[partition])
            stopped[partition] = True


@inlined
def backfill(s: View, p: Parameters, plan: Outlook, taken: F, j: int, reserves: bool) -> None:
    """Start job `j` if no reservation is in its way, or reserve the nodes on which it can start earliest."""
    now, limit, (count, gpus) = second(s.now, p.clock_offset), time_limit(s, j), shape(s, j)
    allowed = np.empty(len(plan.free), np.bool_)
    at = now
    while at < now + p.bf_window:
        later = find_open(s, plan, j, at, at + limit, p.bf_rules, allowed)
        begin, nodes = expected_start(plan, allowed, count, gpus, now, at, later, p.bf_rules, p.clock_offset)
        begin = max(begin, at)
        if begin <= now:
            start(s, p, plan, taken, j, nodes)
            return
        if not reserves:
            return
        if begin > later or begin == np.inf:
            at = later  # with the nodes that are reserved until then
        elif is_reserved(plan, nodes, cut_down(p, begin), cut_end(p, begin + limit)):
            at = begin
        else:
            if begin <= now + p.bf_window:
                reserve(plan, nodes, cut_down(p, begin), cut_end(p, begin + limit))
            return


@inlined
def start(s: View, p: Parameters, plan: Outlook, taken: F, j: int, nodes: I) -> None:
    """Start job `j` on some nodes, with at least one GPU on each."""
    grant(s, j)
    left, end = s.job[j].demand, second(s.now, p.clock_offset) + time_limit(s, j)
    for k in range(len(nodes)):
        part = min(left - (len(nodes) - 1 - k), shape(s, j)[1])
        place_on(s, j, nodes[k], part)
        occupy(plan, j, nodes[k], part, end)
        left -= part
    add_to_caps(s, taken, j)
    m, kept = records_in(s.memory, JOB_MEMORY), records_in(s.association_memory, ASSOCIATION_MEMORY)
    k = kept[0].run
    kept[0].run += 1
    while k > 0 and expected_end(s, p, m.by_end[k - 1]) > end:
        m.by_end[k] = m.by_end[k - 1]
        k -= 1
    m.by_end[k] = j


@inlined
def expected_end(s: View, p: Parameters, j: int) -> float:
    """Return when a job that runs, or starts in this round, reaches its time limit [s]."""
    begin = s.now if s.job[j].leases == 0 else s.job[j].lease_start
    return second(begin, p.clock_offset) + time_limit(s, j)


@inlined
def cut_down(p: Parameters, time: float) -> float:
    """Return a time at the resolution of backfill."""
    return np.floor((time + p.clock_offset) / p.bf_resolution) * p.bf_resolution - p.clock_offset


@inlined
def cut_end(p: Parameters, time: float) -> float:
    """Return the end of a reservation at the resolution of backfill."""
    if p.bf_rules < SLURM_24:
        return cut_down(p, time)
    return np.ceil((time + p.clock_offset) / p.bf_resolution - 1e-9) * p.bf_resolution - p.clock_offset


@inlined
def is_over_limit(s: View, p: Parameters, taken: F, j: int) -> bool:
    """Return whether job `j` would take its account above its limit of GPUs, or exceed one of its caps."""
    t = s.job[j].tenant
    if p.limit > 0 and in_use(s, t) + s.job[j].demand > np.floor(p.limit * s.tenant[t].quota + 1e-9):
        return True
    for k in range(s.rules.caps.shape[1]):
        c = s.rules.caps[j, k]
        if c >= 0 and s.rules.binds[j, k] and taken[c] + s.rules.takes[j, k] > s.rules.cap[c]:
            return True
    return False


@inlined
def add_to_caps(s: View, taken: F, j: int) -> None:
    """Add the part of each of its caps that job `j` takes."""
    for k in range(s.rules.caps.shape[1]):
        if s.rules.caps[j, k] >= 0:
            taken[s.rules.caps[j, k]] += s.rules.takes[j, k]
