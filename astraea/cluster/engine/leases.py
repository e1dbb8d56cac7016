"""Steps in the life of a job: submission, start and end of a lease, loss of its GPUs, completion ([Ye2022] §5.1)."""

from __future__ import annotations

from typing import Final

import numpy as np

from astraea.cluster.engine import accounting, placement
from astraea.cluster.engine.queues import enqueue_one, push_event, put, remove_event, stop_to_run
from astraea.cluster.engine.state import DONE, EXPIRED, PENDING, RUNNING, Private, View
from astraea.core.compilation import inlined

HAIR: Final = 1e-8
"""Part of the time between rounds that is taken for a rounding error."""


@inlined
def arrive(s: View, x: Private, j: int, time: float) -> None:
    """Submit job `j`."""
    accounting.change_active(s, j, 1, time)
    c = s.job[j].fair_class
    s.job[j].fair_at_submit = s.share[c].fair
    s.job[j].contention_at_submit = s.contention
    s.job[j].status = PENDING
    s.job[j].waiting_since = time
    expect(s, j)
    enqueue_one(s, j)


@inlined
def time_of_round(s: View, number: float) -> float:
    """Return the time of a round [s]."""
    return number * s.interval_top / s.interval_bottom


@inlined
def end_of_leases(s: View, x: Private) -> float:
    """Return the end of leases that are granted in this round [s]."""
    term, now = x.lease_rounds, x.round_number
    if term == 0:
        return np.inf
    return time_of_round(s, now + term - (now % term if x.synchronous else 0))


@inlined
def finish_time(s: View, x: Private, j: int) -> float:
    """Return the time at which job `j` ends if its lease lasts long enough [s].

    An end that misses a round by a rounding error is at that round.
    """
    left = (x.job[j].duration - s.job[j].progress) / x.job[j].speed
    time = s.job[j].lease_start + x.job[j].restart + left
    at_round = time_of_round(s, np.floor(time / s.interval + 0.5))
    return at_round if abs(time - at_round) <= HAIR * min(s.interval, time) else time


@inlined
def charge(s: View, x: Private, j: int, end: float, time: float) -> None:
    """Charge job `j` for its GPUs from the start of its lease until `end`; it gives them up at `time`."""
    held = end - s.job[j].lease_start
    s.job[j].attained_service += s.job[j].demand * held
    s.job[j].executed += held
    accounting.change_held(s, s.job[j].tenant, -s.job[j].demand, time)
    stop_to_run(s, j)
    if x.keep_log:
        x.log[x.job[j].log_of].end = time


@inlined
def complete(s: View, x: Private, j: int, time: float) -> None:
    """End job `j`, which has received all its service."""
    end = min(time, finish_time(s, x, j))  # earlier than now if it was overlooked
    charge(s, x, j, end, time)
    x.job[j].overhead += x.job[j].restart
    s.job[j].progress = x.job[j].duration
    depart(s, x, j, end, time)
    placement.give_back(s, j)


@inlined
def depart(s: View, x: Private, j: int, end: float, time: float) -> None:
    """Let job `j`, which ended at `end`, be active until `time`."""
    x.job[j].end_time = end
    x.job[j].fair_service = accounting.job_fair(s, j, time)
    x.job[j].contention_mean = accounting.average_contention(s, j, time)
    accounting.change_active(s, j, -1, time)
    s.job[j].status = DONE
    x.n_done += 1


@inlined
def end_lease(s: View, x: Private, j: int, time: float) -> None:
    """End the lease of job `j`: its state is saved, and it asks for renewal (`decisions.apply`), still on its GPUs.

    Under a synchronous policy, `stop` charges the checkpoint once it is known that the job is not renewed.
    """
    charge(s, x, j, time, time)
    held = time - s.job[j].lease_start
    restart = min(x.job[j].restart, held)  # a lease of a synchronous policy may be shorter than it
    x.job[j].restart -= restart
    x.job[j].useful = held - restart
    x.job[j].unsaved = s.job[j].spared
    checkpoint = 0.0 if x.job[j].unsaved or x.synchronous else min(x.checkpoint, x.job[j].useful)
    x.job[j].overhead += restart + checkpoint
    s.job[j].progress += (x.job[j].useful - checkpoint) * x.job[j].speed
    expect(s, j)
    s.job[j].status = EXPIRED
    put(s.expired, s.n_expired, j)
    s.n_expired += 1


@inlined
def stop(s: View, x: Private, j: int, time: float) -> None:
    """Preempt job `j`, whose lease has ended and is not renewed."""
    if x.synchronous:
        overhead = min(x.checkpoint, x.job[j].useful)  # earlier saves are not lost
        x.job[j].overhead += overhead
        s.job[j].progress -= overhead * x.job[j].speed
        expect(s, j)
    lose(s, x, j, time)


@inlined
def lose(s: View, x: Private, j: int, time: float) -> None:
    """Take the GPUs of job `j`, which waits from now on."""
    placement.give_back(s, j)
    s.job[j].status = PENDING
    s.job[j].waiting_since = time
    s.job[j].streak = 0
    x.job[j].preemptions += 1


@inlined
def start_lease(s: View, x: Private, j: int, time: float) -> None:
    """Start a lease of job `j`, which has its nodes."""
    renewal = s.job[j].status == EXPIRED
    if s.job[j].leases == 0:
        x.job[j].first_start = time
    if not renewal:
        x.job[j].restart = x.restart if s.job[j].leases > 0 else 0.0
        x.job[j].speed = x.job[j].sensitivity if placement.count_nodes(s, j) > s.rules.nodes[j] else 1.0
    if x.keep_log:
        write_log(s, x, j, time, 2 if renewal else int(s.job[j].leases > 0))
    s.job[j].leases += 1
    s.job[j].streak += 1
    s.job[j].lease_start = time
    s.job[j].launch = s.n_launched
    s.n_launched += 1
    s.job[j].lease_end = s.lease_end
    s.job[j].status = RUNNING
    s.running[s.n_running] = j
    s.n_running += 1
    accounting.change_held(s, s.job[j].tenant, s.job[j].demand, time)
    push_event(x, j, min(finish_time(s, x, j), s.job[j].lease_end))


@inlined
def write_log(s: View, x: Private, j: int, time: float, kind: int) -> None:
    """Write one line per lease, with nodes only if they are new."""
    line = x.n_log
    x.log[line].time, x.log[line].job, x.log[line].kind = time, j, kind
    x.log[line].nodes = placement.count_nodes(s, j)
    x.job[j].log_of = line
    x.n_log += 1
    piece = s.job[j].first_piece if kind < 2 else -1
    while piece >= 0:
        row = x.place_log[x.n_place]
        row[0], row[1], row[2] = line, s.piece[piece].node, s.piece[piece].gpus
        x.n_place += 1
        piece = s.piece[piece].next


@inlined
def revoke_lease(s: View, x: Private, j: int, time: float) -> None:
    """Take the GPUs of job `j` in the middle of a lease; its work since its last checkpoint is lost."""
    remove_event(x, j)
    charge(s, x, j, time, time)
    x.job[j].overhead += time - s.job[j].lease_start
    lose(s, x, j, time)
    enqueue_one(s, j)


@inlined
def expect(s: View, j: int) -> None:
    """Update the estimate of job `j`'s total service after its progress has changed ([Ye2022] §6.1.5).

    The estimate is a log-logistic distribution around its median m, with one shape below and one above it. Its
    survival function is S(x) = 1 / (1 + (x / m)^(1 / spread)). The expected total is the conditional median after the
    service e that the job has received, S(x) = S(e) / 2. It is always above e, so a job that outlives its estimate
    never has nothing left. Without spread, and before any service, it is m.
    """
    median, had = s.job[j].estimate, s.job[j].progress
    above = s.job[j].spread_above
    spread = s.job[j].spread_below if had < median else above
    if np.isnan(median):  # the policy uses no estimates
        return
    if had <= 0 or spread == 0:
        s.job[j].total_service = max(median, had)
        return
    log_odds = np.log(had / median) / spread
    if log_odds > 30:  # in the far tail the distribution is a power law, and this is its limit
        s.job[j].total_service = had * 2**above
    else:
        s.job[j].total_service = max(median * (1 + 2 * np.exp(log_odds)) ** above, had)
