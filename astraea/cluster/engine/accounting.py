"""Exact integrals of GPU-time: attained, fair, and the number of active jobs ([Ye2022] §4.2).

Between two changes every integrand is constant, so an integral is its sum up to the last change plus a rectangle.
Sums are advanced only when an integrand changes, and reading them does not advance them: neither the number of reads
nor skipped rounds can change a single bit.

`min(demand, share)` is the same for all jobs of a tenant with the same demand and weight. One sum per such class,
read at submission and at the end, serves all of them, and its cost does not depend on the number of waiting jobs.
"""

from __future__ import annotations

import numpy as np

from astraea.cluster.engine.state import PENDING, View
from astraea.core.compilation import inlined
from astraea.core.units import HOUR


@inlined
def tenant_alloc(s: View, t: int, time: float) -> float:
    """GPU-time that tenant `t` has attained in [0, time] [GPU-s], Eq. 11."""
    return s.tenant[t].attained + s.tenant[t].held * (time - s.tenant[t].attained_until)


@inlined
def tenant_decayed(s: View, t: int, time: float) -> float:
    """GPU-time that tenant `t` has attained in [0, time], each second weighted by exp(-decay × its age) [GPU-s].

    NaN without a decay.
    """
    faded = -np.expm1(-s.decay * (time - s.tenant[t].attained_until))  # part of held(t) / decay reached so far
    return s.tenant[t].decayed * (1 - faded) + s.tenant[t].held * faded / s.decay


@inlined
def tenant_fair(s: View, t: int, time: float) -> float:
    """GPU-time that tenant `t` deserved in [0, time] [GPU-s], Eq. 9."""
    return s.tenant[t].fair + min(float(s.tenant[t].demand), s.tenant[t].quota) * (time - s.tenant[t].fair_until)


@inlined
def job_fair(s: View, j: int, time: float) -> float:
    """GPU-time that job `j` deserved since its submission [GPU-s], Eq. 14."""
    c = s.job[j].fair_class
    total = s.share[c].fair + s.share[c].rate * (time - s.tenant[s.job[j].tenant].fair_until)
    return total - s.job[j].fair_at_submit


@inlined
def contention_integral(s: View, time: float) -> float:
    """Integral of the number of active jobs over [0, time] [job-s]."""
    return s.contention + s.active_jobs * (time - s.contention_until)


@inlined
def average_contention(s: View, j: int, time: float) -> float:
    """Return the average number of active jobs since job `j` was submitted; the current number if just submitted."""
    life = time - s.job[j].submit_time
    if life <= 0:
        return s.active_jobs
    return (contention_integral(s, time) - s.job[j].contention_at_submit) / life


@inlined
def change_held(s: View, t: int, gpus: int, time: float) -> None:
    """Let tenant `t` hold `gpus` more (or fewer) from `time` on."""
    if s.decay > 0:
        s.tenant[t].decayed = tenant_decayed(s, t, time)
    s.tenant[t].attained = tenant_alloc(s, t, time)
    s.tenant[t].attained_until = time
    s.tenant[t].held += gpus
    s.changed = time


@inlined
def change_active(s: View, j: int, sign: int, time: float) -> None:
    """Make job `j` active (+1) or inactive (-1) at `time`, and update the shares of its tenant's jobs."""
    t = s.job[j].tenant
    s.changed = time
    s.contention = contention_integral(s, time)
    s.contention_until = time
    s.active_jobs += sign

    s.tenant[t].fair = tenant_fair(s, t, time)
    elapsed = time - s.tenant[t].fair_until
    s.tenant[t].fair_until = time
    s.tenant[t].demand += sign * s.job[j].demand
    s.share[s.job[j].fair_class].active += sign

    weights = 0.0
    for c in range(s.tenant[t].first_class, s.tenant[t].end_class):
        s.share[c].fair += s.share[c].rate * elapsed
        weights += s.share[c].active * s.share[c].weight
    fair_share = min(float(s.tenant[t].demand), s.tenant[t].quota)  # Eq. 8
    for c in range(s.tenant[t].first_class, s.tenant[t].end_class):
        if s.share[c].active > 0:
            s.share[c].rate = min(float(s.share[c].demand), fair_share * s.share[c].weight / weights)  # Eqs. 13, 14
        else:
            s.share[c].rate = 0.0


@inlined
def record_hours(s: View, time: float) -> None:
    """Record the whole hours up to `time`; nothing has changed since the last event.

    Of consecutive hours in which nothing changes, only the first and the last have a row.
    """
    last = int(time // HOUR)
    while s.n_hours <= last:
        row = s.n_rows
        if s.every_hour == 0 and row >= 2 and s.changed <= s.hour[row - 2] * HOUR:
            row -= 1  # in place of the last row
        s.hour[row] = s.n_hours
        write_row(s, row)
        s.n_rows = row + 1
        s.n_hours += 1
        if s.every_hour == 0 and s.n_hours < last:
            s.n_hours = last


@inlined
def write_row(s: View, row: int) -> None:
    """Write a row of the timeline at its hour."""
    at = s.hour[row] * HOUR
    for t in range(len(s.tenant)):
        s.timeline[row, t].attained = tenant_alloc(s, t, at)
        s.timeline[row, t].fair = tenant_fair(s, t, at)
        s.timeline[row, t].held = s.tenant[t].held
        s.timeline[row, t].waiting = 0
    everyone = len(s.tenant)
    first = s.region[everyone].start
    for q in range(first, first + s.region[everyone].length):
        j = s.queue[q]
        if s.job[j].status == PENDING:
            s.timeline[row, s.job[j].tenant].waiting += s.job[j].demand


@inlined
def alloc_at_hour(s: View, t: int, hour: int) -> float:
    """GPU-time that tenant `t` has attained until a whole hour that is over [GPU-s]."""
    row = int(np.searchsorted(s.hour[: s.n_rows], hour))
    since = s.hour[row] - hour  # GPUs held in these hours are those of the row
    return s.timeline[row, t].attained - s.timeline[row, t].held * since * HOUR
