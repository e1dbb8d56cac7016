"""Numbers that `astraea_released` keeps from round to round, as the simulator released by ASTRAEA's authors counts.

There everything grows in steps of one round: the GPU-time that a job deserves, and that a tenant has used in each hour.
Here sums are made in the same steps, so that ratios that tie there also tie here. Values that do not change while a job
waits are stored when it begins to wait, because thousands of jobs may wait.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from astraea.cluster.engine.records import record
from astraea.cluster.engine.state import View
from astraea.cluster.policy import all_candidates, candidates, in_use, remaining_service, running
from astraea.core.compilation import inlined, records_in
from astraea.core.units import HOUR

STARVATION: Final = 6 * HOUR
"""Waiting time after which a job starves [s]."""
WINDOW: Final = 24
"""Full hours over which tenants are compared."""

JOB_MEMORY: Final = record(
    ("deserved", float),  # GPU-time [GPU-s]
    ("waiting", int),  # its place in the order in which jobs began to wait; 0 if never seen, -1 if it runs
    ("unfairness", float),  # finish-time ratio when it last waited
    ("demand", int),  # of a job that waits, as the following [GPU]
    ("attained", float),  # useful GPU-time [GPU-s]
    ("starves", float),  # when it starves [s]
    ("tenant", int),
)
TENANT_MEMORY: Final = record(  # as the last round left it
    ("active", int),  # jobs
    ("held", int),  # [GPU]
    ("new", int),  # jobs that have never run
    ("last", int),  # with the first tenant: how many jobs began to wait
    ("uncounted", int),  # with the first tenant: rounds that are not counted yet
    ("used", float),  # GPU-time in the last full hours [GPU-s] ...
    ("hours", (float, WINDOW + 1)),  # ... and in each of them and this one
)


@inlined
def is_like_the_last(s: View) -> bool:
    """Return whether no job has come or ended since the last round, in the same hour: then it can be counted later."""
    last = s.now - s.interval
    return s.contention_until <= last and int(last / HOUR) == int(s.now / HOUR)


@inlined
def open_round(s: View, asks_deserved: bool) -> None:
    """Count the rounds that have passed, with deserved GPU-time if the order of jobs needs it; note waiting jobs."""
    of_tenant = records_in(s.tenant_memory, TENANT_MEMORY)
    rounds = of_tenant[0].uncounted + 1
    of_tenant[0].uncounted = 0
    count_used(s, rounds)
    if asks_deserved:
        count_deserved(s, rounds)
    note_waiting(s)


@inlined
def close_round(s: View) -> None:
    """Record what the next round must count of this one."""
    m = records_in(s.memory, JOB_MEMORY)
    of_tenant = records_in(s.tenant_memory, TENANT_MEMORY)
    for k in range(s.n_granted):
        m[s.granted[k]].waiting = -1
    for t in range(len(s.tenant)):
        active = 0
        for k in range(s.tenant[t].first_class, s.tenant[t].end_class):
            active += s.share[k].active
        of_tenant[t].active = active
        of_tenant[t].held = in_use(s, t)


@inlined
def count_used(s: View, rounds: int) -> None:
    """Add the GPU-time that each tenant has held since the last round to the bin of this hour."""
    of_tenant = records_in(s.tenant_memory, TENANT_MEMORY)
    tick = s.interval
    for k in range(rounds - 1, -1, -1):  # the last round of an hour may still be uncounted
        time = s.now - k * tick
        hour = int(time / HOUR)
        this_bin = hour % (WINDOW + 1)
        is_new_hour = int((time - tick) / HOUR) < hour
        for t in range(len(s.tenant)):
            if is_new_hour:
                of_tenant[t].hours[this_bin] = 0.0
                of_tenant[t].used = of_tenant[t].hours.sum()
            of_tenant[t].hours[this_bin] += of_tenant[t].held * tick


@inlined
def count_deserved(s: View, rounds: int) -> None:
    """Add min(demand, share) to what each active job deserves; nothing at the round that first sees it."""
    m = records_in(s.memory, JOB_MEMORY)
    of_tenant = records_in(s.tenant_memory, TENANT_MEMORY)
    tick = s.interval
    shares = np.empty(len(s.tenant))
    for t in range(len(s.tenant)):
        shares[t] = s.tenant[t].whole_quota / max(1.0, of_tenant[t].active)
        for j in candidates(s, t):
            add(s, j, min(m[j].demand, shares[t]) * tick, rounds)
    for j in running(s):
        add(s, j, min(m[j].demand, shares[m[j].tenant]) * tick, rounds)


@inlined
def add(s: View, j: int, gpu_time: float, rounds: int) -> None:
    """Add round by round, in the order of the released simulator's sum."""
    m = records_in(s.memory, JOB_MEMORY)
    total = m[j].deserved
    for _ in range(rounds):
        total += gpu_time
    m[j].deserved = total


@inlined
def note_waiting(s: View) -> None:
    """Number the jobs that wait from this round on.

    First come jobs whose lease has ended, in order of launch, then submitted jobs.
    """
    m = records_in(s.memory, JOB_MEMORY)
    of_tenant = records_in(s.tenant_memory, TENANT_MEMORY)
    jobs = all_candidates(s)
    launches, n = np.empty(s.gpus, np.int64), 0
    for j in jobs:
        if m[j].waiting < 0:
            launches[n] = s.job[j].launch
            n += 1
    launches = np.sort(launches[:n])
    first = of_tenant[0].last + 1
    of_tenant[0].last += n
    for j in jobs:
        if m[j].waiting < 0:
            begin_to_wait(s, j, first + np.searchsorted(launches, s.job[j].launch))
            of_tenant[s.job[j].tenant].new += s.job[j].leases == 0  # granted, but there was no place for it
        elif m[j].waiting == 0:
            of_tenant[0].last += 1
            begin_to_wait(s, j, of_tenant[0].last)
            of_tenant[s.job[j].tenant].new += 1


@inlined
def begin_to_wait(s: View, j: int, place: int) -> None:
    """Store the values that do not change while job `j` waits."""
    m = records_in(s.memory, JOB_MEMORY)
    m[j].waiting = place
    m[j].demand = s.job[j].demand
    m[j].tenant = s.job[j].tenant
    m[j].attained = s.job[j].demand * s.job[j].progress
    m[j].starves = s.now + STARVATION


@inlined
def fairness(s: View, j: int) -> float:
    """Return useful GPU-time up to the end of the last lease over what job `j` deserves; 0 at first."""
    m = records_in(s.memory, JOB_MEMORY)
    if m[j].deserved == 0:
        return 0.0
    return m[j].attained / m[j].deserved


@inlined
def note_unfairness(s: View) -> None:
    """Store, for each waiting job that does not starve, its life over that at its fair share, both to the job's end."""
    m = records_in(s.memory, JOB_MEMORY)
    for j in all_candidates(s):
        if s.now >= m[j].starves:
            continue
        m[j].unfairness = 1.0
        if m[j].deserved > 0:
            life, executed = s.now - s.job[j].submit_time, s.job[j].progress
            at_its_share = executed * fairness(s, j) + (life - executed) + remaining_service(s, j)
            m[j].unfairness = life / at_its_share
