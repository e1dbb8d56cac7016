"""What `astraea_released` keeps from round to round, as the simulator that ASTRAEA's authors released counts it.

There everything grows in steps of one round: what a job deserves, what a tenant has used in each hour. Sums are made
in the same steps here, so that ratios that tie there tie here too.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from astraea.engine.state import ASKING, HOUR, View
from astraea.jit import compiled
from astraea.policies.base import all_candidates, remaining_service, running

STARVING: Final = 6 * HOUR
WINDOW: Final = 24
"""Full hours over which tenants are compared."""

# per job: deserved GPU-time [GPU-s], number in the order of waiting, finish-time ratio when it last waited
DESERVED, WAITING, UNFAIRNESS = 0, 1, 2
PER_JOB: Final = 3
# per tenant, as the last round left them: active jobs, GPUs held, whether a job of it has never run, how many began
# to wait (of all tenants, in the first), GPU-time used in each of the last hours [GPU-s]
ACTIVE, HELD, NEW, LAST, BIN = 0, 1, 2, 3, 4
PER_TENANT: Final = BIN + WINDOW + 1


@compiled
def count_round(s: View) -> None:
    """What the round that ends now adds: GPU-time held in its hour, and to each job min(demand, share)."""
    tick = s.moment[0].interval
    hour = int(s.moment[0].now / HOUR)
    this_bin = BIN + hour % (WINDOW + 1)
    for t in range(len(s.tenant)):
        if int((s.moment[0].now - tick) / HOUR) < hour:
            s.tenant_memory[this_bin, t] = 0.0
        s.tenant_memory[this_bin, t] += s.tenant_memory[HELD, t] * tick
    for j in all_candidates(s):
        count_deserved(s, j, tick)
    for j in running(s):
        count_deserved(s, j, tick)


@compiled
def count_deserved(s: View, j: int, tick: float) -> None:
    """Add a round to what job `j` deserves; nothing at the round that first sees it."""
    if s.memory[WAITING, j] > 0:
        t = s.job[j].tenant
        share = s.tenant[t].whole_quota / s.tenant_memory[ACTIVE, t]
        s.memory[DESERVED, j] += min(float(s.job[j].demand), share) * tick


@compiled
def note_waiting(s: View) -> None:
    """Number the jobs that wait from this round on, and note which tenants have a new job.

    First those whose lease has ended, in the order in which they were launched, then those submitted.
    """
    jobs = all_candidates(s)
    asking, n = np.empty(s.moment[0].gpus, np.int64), 0
    for j in jobs:
        if s.job[j].status == ASKING:
            asking[n] = s.job[j].launch
            n += 1
    launches = np.sort(asking[:n])
    s.tenant_memory[NEW] = 0.0
    for j in jobs:
        if s.job[j].status == ASKING:
            s.memory[WAITING, j] = s.tenant_memory[LAST, 0] + 1 + np.searchsorted(launches, s.job[j].launch)
    s.tenant_memory[LAST, 0] += n
    for j in jobs:
        if s.memory[WAITING, j] == 0:
            wait_last(s, j)
        if s.job[j].leases == 0:
            s.tenant_memory[NEW, s.job[j].tenant] = 1.0


@compiled
def wait_last(s: View, j: int) -> None:
    """Job `j` is the last that began to wait."""
    s.tenant_memory[LAST, 0] += 1
    s.memory[WAITING, j] = s.tenant_memory[LAST, 0]


@compiled
def used_and_owed(s: View, t: int) -> tuple[float, float]:
    """GPU-time that tenant `t` used in the last full hours, and its whole quota of them [GPU-s]."""
    hour = int(s.moment[0].now / HOUR)
    used, owed = 0.0, 0.0
    for h in range(max(0, hour - WINDOW), hour):
        used += s.tenant_memory[BIN + h % (WINDOW + 1), t]
        owed += s.tenant[t].whole_quota * HOUR
    return used, owed


@compiled
def is_starving(s: View, j: int) -> bool:
    """Whether job `j` has waited for 6 h since it was seen, or since it last ran."""
    tick = s.moment[0].interval
    return s.job[j].status != ASKING and s.moment[0].now - np.ceil(s.job[j].waiting_since / tick) * tick >= STARVING


@compiled
def fairness(s: View, j: int) -> float:
    """Useful GPU-time up to the end of the last lease over what job `j` deserves; 0 at first."""
    if s.memory[DESERVED, j] == 0:
        return 0.0
    return s.job[j].demand * s.job[j].progress / s.memory[DESERVED, j]


@compiled
def finish_time_ratio(s: View, j: int) -> float:
    """Life over the life that it would be at its fair share, both counted to the end of the job."""
    if s.memory[DESERVED, j] == 0:
        return 1.0
    life, executed = s.moment[0].now - s.job[j].submit_time, s.job[j].progress
    return life / (executed * fairness(s, j) + (life - executed) + remaining_service(s, j))
