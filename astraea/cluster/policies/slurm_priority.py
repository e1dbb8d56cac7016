"""Slurm's multifactor priority with Fair Tree: usage that decays, ranks of accounts, priorities of waiting jobs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from astraea.cluster.engine.state import DONE, View
from astraea.cluster.policies.slurm_backfill import shape
from astraea.cluster.policy import level
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

    interval : s, time between two passes of both schedulers
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
