"""The simulation: arrivals, completions and lease ends between rounds; selection, preemption and placement in them.

A round is at every multiple of the scheduling interval ([Ye2022] §6.1.3: 10 s). Between two rounds jobs are
submitted and end at their exact times; at a round the policy chooses among the pending jobs and those whose lease
has just ended, over all GPUs that are not under a running lease (§5.1.2).

A lease ends at a round: its term is rounded up to whole rounds. A job that can finish inside it leaves at once;
any other spends the last seconds of the term on its checkpoint (§5.1.1: before the end of the lease). A job that
was preempted starts its next lease with a cold restart.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from astraea.engine import accounting, events, placement
from astraea.engine.state import (
    ASKING,
    DONE,
    EVERY_ROUND,
    PENDING,
    RUNNING,
    WHILE_ONE_FITS,
    WHILE_ONE_WAITS,
    Private,
    View,
)
from astraea.jit import compiled

FINISHED: Final = 0
FULL: Final = 1
"""The timeline or a log has no room left; call again with more."""
BROKEN: Final = 2
"""The policy broke a rule; see `Private.violation`."""

PAUSED: Final = 3
"""Some rounds are done; call again. In between Python sees an interrupt."""

ROUNDS: Final = 100_000

NOT_A_JOB: Final = 1
NOT_A_CANDIDATE: Final = 2
GRANTED_TWICE: Final = 3
OVER_CAPACITY: Final = 4
NOT_RUNNING: Final = 5
STUCK: Final = 6

PATIENCE: Final = 100_000
"""Rounds in a row in which nothing runs, nothing arrives and nothing is granted before a policy counts as stuck."""


@compiled
def run(s: View, x: Private, select: Any) -> int:
    """Simulate until every job is done; FINISHED, PAUSED or FULL (call again), or BROKEN."""
    for _ in range(ROUNDS):
        if x.engine[0].n_done == len(s.job):
            return FINISHED
        number = next_round(s, x)
        round_time = number * x.engine[0].interval
        if s.moment[0].n_hours + (round_time - s.moment[0].now) / 3600.0 + 2 > len(s.timeline) or log_is_full(s, x):
            return FULL
        advance(s, x, round_time)
        x.engine[0].round_number = number
        if s.region[len(s.tenant)].length > 0:
            select(s)
            if not answer_is_valid(s, x):
                return BROKEN
            apply(s, x)
            if is_stuck(s, x):
                return BROKEN
    return PAUSED


@compiled
def next_round(s: View, x: Private) -> int:
    """Number of the next round in which a decision could differ from the last one.

    Without an event the last round's answer stands, unless the order of the policy moves with time and what moved
    could be granted.
    """
    began = x.engine[0].round_number > 0 or x.engine[0].next_arrival > 0
    if began and looks_again(s, x):
        return x.engine[0].round_number + 1
    time = np.inf
    if x.engine[0].next_arrival < len(s.job):
        time = s.job[x.engine[0].next_arrival].submit_time
    if x.engine[0].heap_size > 0:
        time = min(time, x.heap[0].time)
    if time == np.inf:  # all wait and nothing runs
        return x.engine[0].round_number + 1
    number = round_at(time, x.engine[0].interval)
    return max(number, x.engine[0].round_number + 1) if began else number


@compiled
def round_at(time: float, interval: float) -> int:
    """Number of the first round that is not before `time`, by the very products that are the rounds' times."""
    number = int(np.ceil(time / interval))
    if number > 0 and (number - 1) * interval >= time:
        return number - 1
    if number * interval < time:
        return number + 1
    return number


@compiled
def looks_again(s: View, x: Private) -> bool:
    """Whether the policy is asked at the very next round, whatever happens."""
    looks = x.engine[0].looks
    waits = s.region[len(s.tenant)].length > 0
    if looks == EVERY_ROUND or (looks == WHILE_ONE_WAITS and waits):
        return True
    if looks == WHILE_ONE_FITS and waits:
        for gpus in range(1, s.moment[0].free + 1):
            if s.open_gangs[gpus] > 0:
                return True
    return False


@compiled
def log_is_full(s: View, x: Private) -> bool:
    """Whether one more round could overflow the logs."""
    m = s.moment[0].gpus
    return x.engine[0].keep_log and (x.engine[0].n_log + m > len(x.log) or x.engine[0].n_place + m > len(x.place_log))


@compiled
def advance(s: View, x: Private, round_time: float) -> None:
    """Everything that happens up to `round_time`, in order of time."""
    while True:
        arrival, event = np.inf, np.inf
        if x.engine[0].next_arrival < len(s.job):
            arrival = s.job[x.engine[0].next_arrival].submit_time
        if x.engine[0].heap_size > 0:
            event = x.heap[0].time
        time = min(arrival, event)
        if time > round_time:
            break
        accounting.record_hours(s, time)
        if event <= arrival:
            j = x.heap[0].job
            events.remove(x, j)
            if time < x.job[j].lease_end or ends_with_its_lease(s, x, j):
                complete(s, x, j, time)
            else:
                end_lease(s, x, j, time)
        else:
            arrive(s, x, x.engine[0].next_arrival, time)
            x.engine[0].next_arrival += 1
    accounting.record_hours(s, round_time)
    s.moment[0].now = round_time


@compiled
def arrive(s: View, x: Private, j: int, time: float) -> None:
    """Job `j` is submitted."""
    accounting.change_active(s, j, 1, time)
    c = s.job[j].fair_class
    s.job[j].fair_at_submit = s.share[c].fair
    s.job[j].contention_at_submit = s.moment[0].contention
    s.job[j].status = PENDING
    s.job[j].waiting_since = time
    enqueue(s, j)


@compiled
def finish_time(s: View, x: Private, j: int) -> float:
    """When job `j` ends if its lease lasts long enough [s]."""
    restart = x.engine[0].restart if x.job[j].cold else 0.0
    return s.job[j].lease_start + restart + (x.job[j].duration - s.job[j].progress) / x.job[j].speed


@compiled
def ends_with_its_lease(s: View, x: Private, j: int) -> bool:
    """Whether job `j` finishes in the very second its lease ends."""
    return finish_time(s, x, j) <= x.job[j].lease_end


@compiled
def charge(s: View, x: Private, j: int, time: float) -> None:
    """Job `j` has held its GPUs from the start of its lease until `time`."""
    held = time - s.job[j].lease_start
    s.job[j].attained_service += s.job[j].demand * held
    s.job[j].executed += held
    accounting.change_held(s, s.job[j].tenant, -s.job[j].demand, time)
    s.moment[0].n_running -= 1
    last = s.running[s.moment[0].n_running]
    s.running[s.job[j].running_position] = last
    s.job[last].running_position = s.job[j].running_position
    if x.engine[0].keep_log:
        x.log[x.job[j].log_of].end = time


@compiled
def complete(s: View, x: Private, j: int, time: float) -> None:
    """Job `j` has had all its service and leaves."""
    charge(s, x, j, time)
    if x.job[j].cold:
        x.job[j].overhead += x.engine[0].restart
    s.job[j].progress = x.job[j].duration
    x.job[j].end_time = time
    x.job[j].fair_service = accounting.job_fair(s, j, time)
    life = time - s.job[j].submit_time
    x.job[j].contention_mean = (accounting.contention_integral(s, time) - s.job[j].contention_at_submit) / life
    accounting.change_active(s, j, -1, time)
    s.job[j].status = DONE
    x.engine[0].n_done += 1
    placement.give_back(x, j)
    s.moment[0].free += s.job[j].demand


@compiled
def end_lease(s: View, x: Private, j: int, time: float) -> None:
    """The lease of job `j` is over: it has saved its state and asks for renewal, still on its GPUs."""
    charge(s, x, j, time)
    overhead = x.engine[0].checkpoint + (x.engine[0].restart if x.job[j].cold else 0.0)
    x.job[j].overhead += overhead
    s.job[j].progress += (time - s.job[j].lease_start - overhead) * x.job[j].speed
    s.job[j].status = ASKING
    x.asking[x.engine[0].n_asking] = j
    x.engine[0].n_asking += 1
    enqueue(s, j)
    s.moment[0].free += s.job[j].demand


@compiled
def lose(s: View, x: Private, j: int, time: float) -> None:
    """Job `j` gives up its GPUs and waits."""
    placement.give_back(x, j)
    s.job[j].status = PENDING
    s.job[j].waiting_since = time
    s.job[j].streak = 0
    x.job[j].preemptions += 1


@compiled
def start_lease(s: View, x: Private, j: int, time: float) -> None:
    """A lease for job `j`, which is placed."""
    renewal = s.job[j].status == ASKING
    x.job[j].cold = not renewal and s.job[j].leases > 0
    if s.job[j].leases == 0:
        x.job[j].first_start = time
    if not renewal:
        spans, least = placement.count_nodes(x, j), -(-s.job[j].demand // x.engine[0].gpus_per_node)
        x.job[j].speed = x.job[j].sensitivity if spans > least else 1.0
    if x.engine[0].keep_log:
        write_log(s, x, j, time, 2 if renewal else int(s.job[j].leases > 0))
    s.job[j].leases += 1
    s.job[j].streak += 1
    s.job[j].lease_start = time
    x.job[j].lease_end = np.inf
    if x.engine[0].lease_rounds > 0:
        x.job[j].lease_end = (x.engine[0].round_number + x.engine[0].lease_rounds) * x.engine[0].interval
    s.job[j].status = RUNNING
    s.running[s.moment[0].n_running] = j
    s.job[j].running_position = s.moment[0].n_running
    s.moment[0].n_running += 1
    accounting.change_held(s, s.job[j].tenant, s.job[j].demand, time)
    events.push(x, j, min(finish_time(s, x, j), x.job[j].lease_end))
    dequeue(s, j)


@compiled
def write_log(s: View, x: Private, j: int, time: float, kind: int) -> None:
    """One line per lease; nodes only where they are new."""
    line = x.engine[0].n_log
    x.log[line].time, x.log[line].job, x.log[line].kind = time, j, kind
    x.log[line].nodes = placement.count_nodes(x, j)
    x.job[j].log_of = line
    x.engine[0].n_log += 1
    piece = x.job[j].first_piece if kind < 2 else -1
    while piece >= 0:
        row = x.place_log[x.engine[0].n_place]
        row[0], row[1], row[2] = line, x.piece[piece].node, x.piece[piece].gpus
        x.engine[0].n_place += 1
        piece = x.piece[piece].next


@compiled
def answer_is_valid(s: View, x: Private) -> bool:
    """Check what the policy chose: real candidates, each once, within the GPUs that are there."""
    gpus = x.node_free.sum()
    for k in range(x.engine[0].n_asking):
        gpus += s.job[x.asking[k]].demand
    for k in range(s.moment[0].n_revoked):
        j = s.revoked[k]
        if not 0 <= j < len(s.job) or s.job[j].status != RUNNING:
            x.engine[0].violation, x.engine[0].violator = NOT_RUNNING, j
            return False
        s.job[j].picked = False
    for k in range(s.moment[0].n_revoked):
        if s.job[s.revoked[k]].picked:
            x.engine[0].violation, x.engine[0].violator = NOT_RUNNING, s.revoked[k]
            return False
        s.job[s.revoked[k]].picked = True
        gpus += s.job[s.revoked[k]].demand
    if s.moment[0].n_picks > s.moment[0].gpus:
        x.engine[0].violation, x.engine[0].violator = OVER_CAPACITY, s.picks[s.moment[0].gpus]
        return False
    for k in range(s.moment[0].n_picks):
        if 0 <= s.picks[k] < len(s.job):
            s.job[s.picks[k]].picked = False
    for k in range(s.moment[0].n_picks):
        j = s.picks[k]
        code = 0
        if not 0 <= j < len(s.job):
            code = NOT_A_JOB
        elif s.job[j].status != PENDING and s.job[j].status != ASKING:
            code = NOT_A_CANDIDATE
        elif s.job[j].picked:
            code = GRANTED_TWICE
        elif s.job[j].demand > gpus:
            code = OVER_CAPACITY
        if code > 0:
            x.engine[0].violation, x.engine[0].violator = code, j
            return False
        gpus -= s.job[j].demand
        s.job[j].picked = True
    return True


@compiled
def is_stuck(s: View, x: Private) -> bool:
    """Whether the policy lets all jobs wait in an idle cluster, for ever as far as one can tell."""
    if x.engine[0].heap_size > 0 or x.engine[0].next_arrival < len(s.job):
        x.engine[0].idle_rounds = 0
        return False
    x.engine[0].idle_rounds += 1
    if x.engine[0].idle_rounds <= PATIENCE:
        return False
    x.engine[0].violation, x.engine[0].violator = STUCK, all_first(s)
    return True


@compiled
def all_first(s: View) -> int:
    """The candidate that was submitted first."""
    return s.queue[s.region[len(s.tenant)].start]


@compiled
def apply(s: View, x: Private) -> None:
    """Carry the answer out: revocations, renewals and preemptions first, then new placements in order of selection."""
    time = s.moment[0].now
    for k in range(s.moment[0].n_revoked):
        s.job[s.revoked[k]].picked = False
        revoke_lease(s, x, s.revoked[k], time)
    for k in range(x.engine[0].n_asking):
        j = x.asking[k]
        if s.job[j].picked:
            start_lease(s, x, j, time)
        else:
            lose(s, x, j, time)
    for k in range(s.moment[0].n_picks):
        j = s.picks[k]
        s.job[j].picked = False
        s.open_gangs[s.job[j].demand] += 1
        if s.job[j].status == PENDING and placement.place(x, j, s.job[j].demand) > 0:
            start_lease(s, x, j, time)
    x.engine[0].n_asking = 0
    s.moment[0].n_picks = 0
    s.moment[0].n_revoked = 0
    for t in range(len(s.tenant)):
        s.tenant[t].granted = 0
        s.tenant[t].revoked = 0
    s.moment[0].free = x.node_free.sum()


@compiled
def revoke_lease(s: View, x: Private, j: int, time: float) -> None:
    """Job `j` loses its GPUs in the middle of a lease, and what it did since its last checkpoint."""
    events.remove(x, j)
    charge(s, x, j, time)
    x.job[j].overhead += time - s.job[j].lease_start
    lose(s, x, j, time)
    enqueue(s, j)


@compiled
def enqueue(s: View, j: int) -> None:
    """Job `j` becomes a candidate, in its tenant's queue and in everyone's."""
    insert(s, s.job[j].tenant, j)
    insert(s, len(s.tenant), j)
    s.open_gangs[s.job[j].demand] += 1


@compiled
def dequeue(s: View, j: int) -> None:
    """Job `j` is no candidate any more."""
    delete(s, s.job[j].tenant, j)
    delete(s, len(s.tenant), j)
    s.open_gangs[s.job[j].demand] -= 1


@compiled
def insert(s: View, region: int, j: int) -> None:
    """Put job `j` in its place in a queue in job order; a new arrival belongs at the end."""
    q = s.region[region].start + s.region[region].length
    while q > s.region[region].start and s.queue[q - 1] > j:
        s.queue[q] = s.queue[q - 1]
        q -= 1
    s.queue[q] = j
    s.region[region].length += 1


@compiled
def delete(s: View, region: int, j: int) -> None:
    """Take job `j` out of a queue."""
    first, last = s.region[region].start, s.region[region].start + s.region[region].length - 1
    q = first + np.searchsorted(s.queue[first : last + 1], j)
    while q < last:
        s.queue[q] = s.queue[q + 1]
        q += 1
    s.region[region].length -= 1
