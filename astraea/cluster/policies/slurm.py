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

from astraea.cluster.engine.state import DONE, WHILE_ONE_FITS, I, View
from astraea.cluster.policies.slurm_backfill import (
    Plan,
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
from astraea.cluster.policy import (
    NO_JOB,
    all_candidates,
    candidates,
    grant,
    in_use,
    level,
    place_on,
    policy,
    some_job_fits,
    unpack,
)
from astraea.core.compilation import inlined

CONSERVATIVE, EASY, NONE = range(3)

# kept in place of a job: the running jobs, in the order of their expected ends
BY_END = 0
# kept per tenant: decayed usage [GPU-s] and fair-share factor
USAGE, FACTOR = range(2)
# kept beside the first tenant: how many jobs run, how many the last round let wait (-1 if it started any), and how
# often usage was computed
RUN, WAIT, COMPUTED = range(2, 5)


class Parameters(NamedTuple):
    """Parameters of Slurm; its own names where it has any.

    interval : s, time between two passes of both schedulers; see below
    half_life : s, age at which GPU-time counts half (PriorityDecayHalfLife)
    calc_period : s, time between two computations of usage and ranks (PriorityCalcPeriod, of which 300 is the default)
    calc_offset : s, when the first one is
    weight_fairshare : PriorityWeightFairshare
    weight_age : PriorityWeightAge
    max_age : s, time waited at which the age factor is 1 (PriorityMaxAge)
    weight_jobsize : PriorityWeightJobSize
    favor_small : whether the size factor is that of small jobs (PriorityFavorSmall)
    backfill : who reserves nodes: all that cannot start, the first one, or nobody, and then none overtakes it
    bf_resolution : s, to multiples of which backfill cuts times down
    bf_window : s, how far ahead backfill plans
    bf_max_job_test : jobs that backfill looks at in one pass
    clock_offset : s, what backfill's clock shows at second 0, as seconds past a full minute
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
    bf_max_job_test: float = 500.0
    clock_offset: float = 0.0
    limit: float = 0.0


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
def backfill(s: View, p: Parameters, plan: Plan, j: int, reserves: bool) -> None:
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
def start(s: View, plan: Plan, j: int, nodes: I) -> None:
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


@inlined
def priority(s: View, p: Parameters, j: int) -> float:
    """Priority of a waiting job: weighted factors, as of the last computation, cut to a whole number."""
    last = p.calc_offset + (s.tenant_memory[COMPUTED, 0] - 1) * p.calc_period
    age = min(max(last - s.job[j].submit_time, 0.0) / p.max_age, 1.0)
    size = (shape(s, j)[0] / len(s.node_free) + s.job[j].demand / s.clock[0].gpus) / 2
    if p.favor_small > 0:
        size = 1 - size
    factor = s.tenant_memory[FACTOR, s.job[j].tenant]
    return np.floor(p.weight_fairshare * factor + p.weight_age * age + p.weight_jobsize * size)


@inlined
def compute_usage(s: View, p: Parameters) -> None:
    """Add what jobs used since the last round, and decay and rank it whenever `calc_period` is over."""
    rate = np.log(2) / p.half_life
    last = p.calc_offset + (s.tenant_memory[COMPUTED, 0] - 1) * p.calc_period
    while last + p.calc_period <= s.clock[0].now:
        charge(s, last, last + p.calc_period, rate, True)
        s.tenant_memory[USAGE] *= np.exp(-rate * p.calc_period)
        charge(s, last, last + p.calc_period, rate, False)
        rank(s)
        s.tenant_memory[COMPUTED, 0] += 1
        last += p.calc_period
    charge(s, last, np.inf, rate, True)
    n = 0
    for k in range(int(s.tenant_memory[RUN, 0])):
        if s.job[int(s.memory[BY_END, k])].status != DONE:
            s.memory[BY_END, n] = s.memory[BY_END, k]
            n += 1
    s.tenant_memory[RUN, 0] = n


@inlined
def charge(s: View, since: float, until: float, rate: float, ended: bool) -> None:
    """Add what jobs used from `since` to `until`: those that ended in that time, or those that did not."""
    faded = np.exp(-rate * (until - since))
    for k in range(int(s.tenant_memory[RUN, 0])):
        j = int(s.memory[BY_END, k])
        begin = s.job[j].lease_start
        end = begin + s.job[j].executed if s.job[j].status == DONE else np.inf
        if end <= since or (end <= until and end < np.inf) != ended:
            continue
        if begin <= since and not ended:  # as nearly all
            s.tenant_memory[USAGE, s.job[j].tenant] += s.job[j].demand * (until - since) * faded
        else:
            run = max(min(end, until) - max(begin, since), 0.0)
            s.tenant_memory[USAGE, s.job[j].tenant] += s.job[j].demand * run * np.exp(-rate * run)


@inlined
def rank(s: View) -> None:
    """Fair Tree: the factor of an account is 1 for the highest level fair share, and less for the ranks below."""
    users = len(s.tenant) + 1.0
    for t in range(len(s.tenant)):
        above = 1.0 if s.tenant_memory[USAGE, t] > 0 else 0.0  # root
        for other in range(len(s.tenant)):
            above += level_fair_share(s, other) > level_fair_share(s, t)
        s.tenant_memory[FACTOR, t] = (users - above) / users


@inlined
def level_fair_share(s: View, t: int) -> float:
    """Norm shares of an account over its part of all usage; infinite before any."""
    if s.tenant_memory[USAGE, t] == 0:
        return np.inf
    everyone = s.tenant_memory[USAGE].sum() / s.tenant.weight.sum()
    return level(s.tenant[t].weight * everyone / s.tenant_memory[USAGE, t])
