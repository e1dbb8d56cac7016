"""Numbers that `astraea_released` keeps from round to round, as the simulator released by ASTRAEA's authors counts.

There everything grows in steps of one round: the GPU-time that a job deserves, and that a tenant has used in each hour.
Here sums are made in the same steps, so that ratios that tie there also tie here. Values that do not change while a job
waits are stored when it begins to wait, because thousands of jobs may wait.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from astraea.cluster.engine.state import View
from astraea.cluster.policy import all_candidates, candidates, in_use, remaining_service, running
from astraea.core.compilation import inlined
from astraea.core.units import HOUR

STARVATION: Final = 6 * HOUR
"""Waiting time after which a job starves [s]."""
WINDOW: Final = 24
"""Full hours over which tenants are compared."""

# per job: deserved GPU-time [GPU-s]; its place in the order in which jobs began to wait, 0 if never seen, -1 if it
# runs; finish-time ratio when it last waited; GPUs, useful GPU-time [GPU-s] and when it starves [s], of jobs that wait;
# its tenant
DESERVED, WAITING, UNFAIRNESS, DEMAND, ATTAINED, STARVES, TENANT = range(7)
PER_JOB: Final = 7
# per tenant, as the last round left them: active jobs, GPUs held, whether a job of it has never run, how many began
# to wait, rounds that are not counted yet (both of all tenants, in the first), GPU-time used in the last full hours,
# and in each hour [GPU-s]
ACTIVE, HELD, NEW, LAST, UNCOUNTED, USED, BIN = range(7)
PER_TENANT: Final = BIN + WINDOW + 1


@inlined
def is_like_the_last(s: View) -> bool:
    """Return whether no job has come or ended since the last round, in the same hour: then it can be counted later."""
    last = s.now - s.interval
    return s.contention_until <= last and int(last / HOUR) == int(s.now / HOUR)


@inlined
def open_round(s: View, asks_deserved: bool) -> None:
    """Count the rounds that have passed, with deserved GPU-time if the order of jobs needs it; note waiting jobs."""
    rounds = int(s.tenant_memory[UNCOUNTED, 0]) + 1
    s.tenant_memory[UNCOUNTED, 0] = 0.0
    count_used(s, rounds)
    if asks_deserved:
        count_deserved(s, rounds)
    note_waiting(s)


@inlined
def close_round(s: View) -> None:
    """Record what the next round must count of this one."""
    for k in range(s.n_granted):
        s.memory[WAITING, s.granted[k]] = -1.0
    for t in range(len(s.tenant)):
        active = 0.0
        for k in range(s.tenant[t].first_class, s.tenant[t].end_class):
            active += s.share[k].active
        s.tenant_memory[ACTIVE, t] = active
        s.tenant_memory[HELD, t] = in_use(s, t)


@inlined
def count_used(s: View, rounds: int) -> None:
    """Add the GPU-time that each tenant has held since the last round to the bin of this hour."""
    tick = s.interval
    for k in range(rounds - 1, -1, -1):  # the last round of an hour may still be uncounted
        time = s.now - k * tick
        hour = int(time / HOUR)
        this_bin = BIN + hour % (WINDOW + 1)
        is_new_hour = int((time - tick) / HOUR) < hour
        for t in range(len(s.tenant)):
            if is_new_hour:
                s.tenant_memory[this_bin, t] = 0.0
                s.tenant_memory[USED, t] = s.tenant_memory[BIN:, t].sum()
            s.tenant_memory[this_bin, t] += s.tenant_memory[HELD, t] * tick


@inlined
def count_deserved(s: View, rounds: int) -> None:
    """Add min(demand, share) to what each active job deserves; nothing at the round that first sees it."""
    tick = s.interval
    shares = np.empty(len(s.tenant))
    for t in range(len(s.tenant)):
        shares[t] = s.tenant[t].whole_quota / max(1.0, s.tenant_memory[ACTIVE, t])
        for j in candidates(s, t):
            add(s, j, min(s.memory[DEMAND, j], shares[t]) * tick, rounds)
    for j in running(s):
        add(s, j, min(s.memory[DEMAND, j], shares[int(s.memory[TENANT, j])]) * tick, rounds)


@inlined
def add(s: View, j: int, gpu_time: float, rounds: int) -> None:
    """Add round by round, in the order of the released simulator's sum."""
    total = s.memory[DESERVED, j]
    for _ in range(rounds):
        total += gpu_time
    s.memory[DESERVED, j] = total


@inlined
def note_waiting(s: View) -> None:
    """Number the jobs that wait from this round on.

    First come jobs whose lease has ended, in order of launch, then submitted jobs.
    """
    jobs = all_candidates(s)
    launches, n = np.empty(s.gpus, np.int64), 0
    for j in jobs:
        if s.memory[WAITING, j] < 0:
            launches[n] = s.job[j].launch
            n += 1
    launches = np.sort(launches[:n])
    first = s.tenant_memory[LAST, 0] + 1
    s.tenant_memory[LAST, 0] += n
    for j in jobs:
        if s.memory[WAITING, j] < 0:
            begin_to_wait(s, j, first + np.searchsorted(launches, s.job[j].launch))
            s.tenant_memory[NEW, s.job[j].tenant] += s.job[j].leases == 0  # granted, but there was no place for it
        elif s.memory[WAITING, j] == 0:
            s.tenant_memory[LAST, 0] += 1
            begin_to_wait(s, j, s.tenant_memory[LAST, 0])
            s.tenant_memory[NEW, s.job[j].tenant] += 1


@inlined
def begin_to_wait(s: View, j: int, place: float) -> None:
    """Store the values that do not change while job `j` waits."""
    s.memory[WAITING, j] = place
    s.memory[DEMAND, j] = s.job[j].demand
    s.memory[TENANT, j] = s.job[j].tenant
    s.memory[ATTAINED, j] = s.job[j].demand * s.job[j].progress
    s.memory[STARVES, j] = s.now + STARVATION


@inlined
def fairness(s: View, j: int) -> float:
    """Return useful GPU-time up to the end of the last lease over what job `j` deserves; 0 at first."""
    if s.memory[DESERVED, j] == 0:
        return 0.0
    return s.memory[ATTAINED, j] / s.memory[DESERVED, j]


@inlined
def note_unfairness(s: View) -> None:
    """Store, for each waiting job that does not starve, its life over that at its fair share, both to the job's end."""
    for j in all_candidates(s):
        if s.now >= s.memory[STARVES, j]:
            continue
        s.memory[UNFAIRNESS, j] = 1.0
        if s.memory[DESERVED, j] > 0:
            life, executed = s.now - s.job[j].submit_time, s.job[j].progress
            at_its_share = executed * fairness(s, j) + (life - executed) + remaining_service(s, j)
            s.memory[UNFAIRNESS, j] = life / at_its_share
