"""The simulation loop: arrivals, completions and lease ends between rounds; selection, preemption, placement in rounds.

There is a round at every multiple of the scheduling interval ([Ye2022] §6.1.3: 10 s). Between two rounds jobs are
submitted and end at their exact times. In a round the policy chooses among the pending jobs and those whose lease
has just ended, for all GPUs that are not under a running lease (§5.1.2).

A lease ends at a round: its term is rounded up to whole rounds. A job that can finish within it leaves at once;
any other spends the last seconds of the term on its checkpoint (§5.1.1: before the end of the lease). A job that
was preempted starts its next lease with a cold restart.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numba
import numpy as np
from numba import types

from astraea.cluster.engine import accounting, decisions, leases, placement, queues
from astraea.cluster.engine.state import EVERY_ROUND, WHILE_ONE_FITS, WHILE_ONE_WAITS, Private, View
from astraea.core.compilation import Reference, announced, borrowed, inlined
from astraea.core.units import HOUR

# return values of `run`
FINISHED: Final = 0
FULL: Final = 1  # the timeline or a log is full: call again with more room
BROKEN: Final = 2  # the policy broke a rule: see `Private.violation`
PAUSED: Final = 3  # `AT_ONCE` rounds are done: call again; in between Python can handle an interrupt

AT_ONCE: Final = 100_000
"""Number of rounds after which the loop pauses."""

PATIENCE: Final = 100_000
"""Consecutive rounds without a running job, an arrival or a grant after which a policy counts as stuck."""


@inlined
def run(view: View, private: Private, select: Any) -> int:
    """Simulate until every job is done; FINISHED, PAUSED or FULL (call again), or BROKEN."""
    s, x = borrowed(view), borrowed(private)
    for _ in range(AT_ONCE):
        if x.n_done == len(s.job):
            return FINISHED
        number = next_round(s, x)
        round_time = leases.time_of_round(s, number)
        if timeline_is_full(s) or log_is_full(s, x):
            return FULL
        x.round_number = number
        advance(s, x, round_time)
        s.lease_end = leases.end_of_leases(s, x)
        if s.region[len(s.tenant)].length > 0 or x.revisit == EVERY_ROUND:
            s.free = placement.free_gpus(s)
            while True:
                refused = x.n_refused
                select(s)
                something = s.n_granted + s.n_revoked + s.n_expired + s.n_choices > 0
                if something and not (decisions.are_valid(s, x) and decisions.apply(s, x)):
                    return BROKEN
                if x.n_refused == refused or s.region[len(s.tenant)].length == 0:
                    break  # else choose again: gangs for which there are no nodes hold nothing back
            decisions.end_round(s, x)
            if is_stuck(s, x):
                return BROKEN
    return PAUSED


@inlined
def next_round(s: View, x: Private) -> int:
    """Return the number of the next round in which a decision may differ from the last one.

    Without an event the last round's decision remains, unless the policy's order changes with time and a job that moved
    could be granted.
    """
    began = x.round_number > 0 or x.next_arrival > 0
    if began and looks_again(s, x):
        return x.round_number + 1
    time = np.inf
    if x.next_arrival < len(s.job):
        time = s.job[x.next_arrival].submit_time
    if x.heap_size > 0:
        time = min(time, x.heap[0].time)
    if time == np.inf:  # all jobs wait and none runs
        return x.round_number + 1
    number = round_at(s, time)
    return max(number, x.round_number + 1) if began else number


@inlined
def looks_again(s: View, x: Private) -> bool:
    """Return whether the policy may decide otherwise at the next round although nothing happens."""
    revisit, waits = x.revisit, s.region[len(s.tenant)].length > 0
    if revisit == EVERY_ROUND or (revisit == WHILE_ONE_WAITS and waits):
        return True
    return revisit == WHILE_ONE_FITS and queues.some_job_fits(s)


@inlined
def round_at(s: View, time: float) -> int:
    """Return the number of the first round not before `time`."""
    number = int(np.ceil(time / s.interval))
    if number > 0 and leases.time_of_round(s, number - 1) >= time:
        return number - 1
    if leases.time_of_round(s, number) < time:
        return number + 1
    return number


@inlined
def timeline_is_full(s: View) -> bool:
    """Return whether one more round could overflow the timeline.

    All events until the next round happen in the last interval before it; the hours before those need two rows.
    """
    return s.n_rows + s.interval / HOUR + 5 > len(s.timeline)


@inlined
def log_is_full(s: View, x: Private) -> bool:
    """Return whether one more round could overflow the logs."""
    m = s.gpus
    return x.keep_log and (x.n_log + m > len(x.log) or x.n_place + m > len(x.place_log))


@inlined
def advance(s: View, x: Private, round_time: float) -> None:
    """Process everything that happens up to `round_time`, in order of time."""
    if x.list_removal_flaw:
        hold_back_neighbours(s, x, round_time)
    while True:
        arrival, event = np.inf, np.inf
        if x.next_arrival < len(s.job):
            arrival = s.job[x.next_arrival].submit_time
        if x.heap_size > 0:
            event = x.heap[0].time
        time = min(arrival, event)
        if time > round_time:
            break
        accounting.record_hours(s, time)
        if event <= arrival:
            j = x.heap[0].job
            queues.remove_event(x, j)
            # including a job that finishes exactly when its lease ends
            if time < s.job[j].lease_end or leases.finish_time(s, x, j) <= s.job[j].lease_end:
                leases.complete(s, x, j, time)
            else:
                leases.end_lease(s, x, j, time)
        else:
            leases.arrive(s, x, x.next_arrival, time)
            x.next_arrival += 1
    accounting.record_hours(s, round_time)
    s.now = round_time
    queues.enqueue(s, s.expired, s.n_expired)


@inlined
def hold_back_neighbours(s: View, x: Private, round_time: float) -> None:
    """Extend some leases by a round: a flaw of the simulator that ASTRAEA's authors released.

    That simulator walks the running jobs in order of launch and removes those that end a lease or complete by this
    round. It skips the job behind a removed one, which keeps its GPUs and its lease until the next round.
    """
    if x.heap_size == 0 or x.heap[0].time > round_time:
        return
    number = x.round_number
    last_round, late = leases.time_of_round(s, number - 1), leases.time_of_round(s, number + 1)
    is_behind = False
    for j in s.running[: s.n_running]:
        time = x.heap[x.job[j].heap_position].time
        if time <= last_round:  # it had no work left when it got its lease
            queues.move_event(x, j, round_time)
        if is_behind and time <= round_time:
            s.job[j].lease_end = max(s.job[j].lease_end, late)
            # a job with all its service leaves when it is looked at; otherwise it may finish before
            finish = leases.finish_time(s, x, j)
            queues.move_event(x, j, late if finish <= round_time else min(finish, late))
        is_behind = time <= round_time and not is_behind


@inlined
def is_stuck(s: View, x: Private) -> bool:
    """Return whether the policy leaves all jobs waiting in an idle cluster, apparently forever."""
    if x.heap_size > 0 or x.next_arrival < len(s.job):
        x.idle_rounds = 0
        return False
    x.idle_rounds += 1
    if x.idle_rounds <= PATIENCE:
        return False
    first_submitted = s.queue[s.region[len(s.tenant)].start]
    return not decisions.broken(x, decisions.STUCK, first_submitted)


def is_compiled() -> bool:
    """Return whether the engine is compiled, in this process or on disk; otherwise the next simulation compiles it."""
    if numba.config.DISABLE_JIT or run.overloads:
        return True
    return bool(run.stats.cache_path) and any(Path(run.stats.cache_path).glob("loop.run-*.nbi"))


def compiled_for(
    select: Any, s: View, x: Private | tuple[()], entry: Any = run, returns: Any = types.int64,
    between: tuple[Any, ...] = (),
) -> tuple[Any, Any]:  # fmt: skip
    """Return an entry point of the engine and a policy, compiled for each other and for such a state.

    The entry is compiled only once. `between` are the types of its arguments between the state and the policy.
    """
    if numba.config.DISABLE_JIT:
        return entry, select
    view, private = numba.typeof(s), numba.typeof(x)
    select_signature = types.void(Reference(view.state))
    signature = returns(view, private, *between, types.FunctionType(select_signature))
    if signature.args not in entry.overloads:
        with announced("the simulator"):
            entry.compile(signature)
        entry.disable_compile()  # otherwise it is compiled again for the type of each policy's dispatcher
    select.compile(select_signature)
    return entry, select
