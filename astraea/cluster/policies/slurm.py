"""Slurm as many sites run it: Fair Tree over accounts, age and size in the priority, backfill on time limits.

From Slurm's documentation, under the names that it uses:

Priority (https://slurm.schedmd.com/priority_multifactor.html)
    The sum of factors from 0 to 1, each times its weight, cut to a whole number: fair share of the account, age (time
    waited over `max_age`, at most 1), size. Jobs go in order of priority, then of submission.
Fair Tree (https://slurm.schedmd.com/fair_tree.html)
    The level fair share of an account is its norm shares over its effective usage, infinite before any. Accounts are
    ranked by it, ties share a rank, and the factor is the rank over the number of users. The user root, who is in every
    association tree and runs nothing, is one of them.
Usage (PriorityDecayHalfLife and PriorityCalcPeriod of https://slurm.schedmd.com/slurm.conf.html)
    GPU-seconds, halved every `half_life`. Usage, ranks and ages are computed every `calc_period` and stand still in
    between; a new job gets the rank of the last time. As `sshare` shows it of a running Slurm, what a job used since
    the last computation is added when it ends, or at the next one, times the decay over the time that it ran since.
Two schedulers (https://slurm.schedmd.com/sched_config.html)
    The main one starts jobs in order of priority up to the first that does not fit. Backfill goes on behind it: each
    job that cannot start reserves nodes for the time at which it will, by the time limits of those that run, and one
    behind it may start if it ends before. See `slurm_backfill`. With EASY only the first job reserves
    (`bf_job_part_count_reserve=1`), with `none` nobody starts behind it.
Limits (https://slurm.schedmd.com/resource_limits.html)
    A job that would bring its account above GrpTRES=gres/gpu is passed over until it no longer does.

An account is a tenant, its shares are the tenant's weight. Nothing is preempted.

Departures: accounts are one level, and users inside them are not ranked; of the sizes in the size factor, nodes and
CPUs, GPUs stand for the CPUs; a job gets as few nodes as hold its gang, the same number of GPUs on each. Both run
at every round. Slurm's run in turns (`sched_interval`, 60 s by default, and `bf_interval`, 30 s), the main one also
after what happens, at most every 3 s. With 2 s for either, GPUs that become free wait 1 s for the next pass on average:
so they do in a log in whole seconds under rounds of 2.5 s, but half a second under rounds of 2 s. Backfill looks again
when a job came, started or ended or ranks are new, not at every round.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from astraea.cluster.engine.state import WHILE_ONE_FITS, I, View
from astraea.cluster.policies.slurm_backfill import (
    Outlook,
    choose,
    expected_start,
    find_open,
    hold,
    is_reserved,
    new_plan,
    reserve,
    shape,
    some_could_start,
    time_limit,
)
from astraea.cluster.policies.slurm_priority import (
    BY_END,
    COMPUTED,
    CONSERVATIVE,
    NONE,
    RUN,
    WAIT,
    Parameters,
    compute_usage,
    priority,
)
from astraea.cluster.policy import (
    NO_JOB,
    all_candidates,
    candidates,
    grant,
    in_use,
    place_on,
    policy,
    some_job_fits,
    unpack,
)
from astraea.core.compilation import inlined


class Queue(NamedTuple):
    """Waiting jobs, those of each account in order of priority."""

    jobs: I  #: (waiting,)
    at: I  #: (T,) the next job of each account in `jobs`
    end: I  #: (T,) where its jobs end


@policy(
    "slurm",
    Parameters,
    revisit=lambda _: WHILE_ONE_FITS,
    memory=(1, 5),
    largest=lambda p: p["limit"] if p["limit"] > 0 else np.inf,
    at_least={
        "interval": 0.01, "half_life": 1, "calc_period": 1, "max_age": 1, "bf_resolution": 1, "bf_max_job_test": 1,
    },
    choices={"favor_small": ("no", "yes"), "backfill": ("conservative", "easy", "none")},
)  # fmt: skip
def slurm(s: View) -> None:
    """Slurm's multifactor priority with Fair Tree and its backfill scheduler (https://slurm.schedmd.com)."""
    p = unpack(Parameters, s.parameters)
    before = s.tenant_memory[RUN, 0], s.tenant_memory[COMPUTED, 0], s.tenant_memory[WAIT, 0]
    compute_usage(s, p)
    waiting = len(all_candidates(s))
    if (s.tenant_memory[RUN, 0], s.tenant_memory[COMPUTED, 0], waiting) != before and some_job_fits(s):
        schedule(s, p)
    s.tenant_memory[WAIT, 0] = waiting if s.clock[0].n_granted == 0 else -1  # one pass may open the way for the next


@inlined
def schedule(s: View, p: Parameters) -> None:
    """One pass of the main scheduler, and of backfill behind the first job that does not fit."""
    now, queue = s.clock[0].now, waiting_jobs(s, p)
    everywhere = np.ones(len(s.node_free), np.bool_)
    running = s.memory[BY_END, : int(s.tenant_memory[RUN, 0])].copy()
    most = min(len(queue.jobs), int(p.bf_max_job_test))
    plan = new_plan(s, running, cut_down(p, now), cut_down(p, now) + p.bf_window, most)
    blocked, n = np.empty(most, np.int64), 0
    while n < most:
        j = next_job(s, p, queue)
        if j == NO_JOB:
            break
        if is_over_limit(s, p, j):
            continue
        if n == 0:
            count, gpus = shape(s, j)
            nodes = choose(plan.free, everywhere, count, gpus)
            if len(nodes) > 0:
                start(s, plan, j, nodes)
                continue
            if p.backfill == NONE or not some_job_fits(s):
                break
        blocked[n] = j
        n += 1
    for k in range(n):
        if not some_could_start(s, plan, blocked[k:n]):
            break
        if not is_over_limit(s, p, blocked[k]):
            backfill(s, p, plan, blocked[k], p.backfill == CONSERVATIVE or k == 0)


@inlined
def backfill(s: View, p: Parameters, plan: Outlook, j: int, reserves: bool) -> None:
    """Start job `j` where no reservation is in its way, or reserve the nodes on which it will start the earliest."""
    now, limit, (count, gpus) = s.clock[0].now, time_limit(s, j), shape(s, j)
    allowed = np.empty(len(plan.free), np.bool_)
    at = now
    while at < now + p.bf_window:
        later = find_open(plan, at, at + limit, allowed)
        begin, nodes = expected_start(plan, allowed, count, gpus, now)
        begin = max(begin, at)
        if begin <= now:
            start(s, plan, j, nodes)
            return
        if not reserves:
            return
        if begin > later or begin == np.inf:
            at = later  # with the nodes that are reserved until then
        elif is_reserved(plan, nodes, cut_down(p, begin), cut_down(p, begin + limit)):
            at = begin
        else:
            if begin <= now + p.bf_window:
                reserve(plan, nodes, cut_down(p, begin), cut_down(p, begin + limit))
            return


@inlined
def start(s: View, plan: Outlook, j: int, nodes: I) -> None:
    """Job `j` starts on some nodes."""
    grant(s, j)
    left, end = s.job[j].demand, s.clock[0].now + time_limit(s, j)
    for node in nodes:
        part = min(left, shape(s, j)[1])
        place_on(s, j, node, part)
        hold(plan, j, node, part, end)
        left -= part
    k = int(s.tenant_memory[RUN, 0])
    s.tenant_memory[RUN, 0] += 1
    while k > 0 and expected_end(s, int(s.memory[BY_END, k - 1])) > end:
        s.memory[BY_END, k] = s.memory[BY_END, k - 1]
        k -= 1
    s.memory[BY_END, k] = j


@inlined
def expected_end(s: View, j: int) -> float:
    """When a job that runs, or starts at this round, reaches its time limit [s]."""
    begin = s.clock[0].now if s.job[j].leases == 0 else s.job[j].lease_start
    return begin + time_limit(s, j)


@inlined
def cut_down(p: Parameters, time: float) -> float:
    """A time at the resolution of backfill."""
    return np.floor((time + p.clock_offset) / p.bf_resolution) * p.bf_resolution - p.clock_offset


@inlined
def is_over_limit(s: View, p: Parameters, j: int) -> bool:
    """Whether job `j` would bring its account above the GPUs that it may have at once."""
    t = s.job[j].tenant
    return p.limit > 0 and in_use(s, t) + s.job[j].demand > np.floor(p.limit * s.tenant[t].quota + 1e-9)


@inlined
def waiting_jobs(s: View, p: Parameters) -> Queue:
    """The queue of a pass."""
    jobs, at = np.empty(len(all_candidates(s)), np.int64), np.empty(len(s.tenant), np.int64)
    end, n = np.empty(len(s.tenant), np.int64), 0
    for t in range(len(s.tenant)):
        of = candidates(s, t)
        at[t] = n
        end[t] = n + len(of)
        if p.weight_jobsize > 0:  # or the first submitted has the highest priority, by its age
            negative = np.array([-priority(s, p, j) for j in of])
            of = of[np.argsort(negative, kind="mergesort")]
        for j in of:
            jobs[n] = j
            n += 1
    return Queue(jobs, at, end)


@inlined
def next_job(s: View, p: Parameters, queue: Queue) -> int:
    """Take the job with the highest priority out of the queue, the first submitted of equals; none if it is empty."""
    best, best_priority = NO_JOB, -1.0
    for t in range(len(s.tenant)):
        if queue.at[t] < queue.end[t]:
            j = queue.jobs[queue.at[t]]
            found = priority(s, p, j)
            if found > best_priority or (found == best_priority and j < best):
                best, best_priority = j, found
    if best != NO_JOB:
        queue.at[s.job[best].tenant] += 1
    return best
