"""State of the mechanism, as plain arrays: n jobs, J accelerator types, W workers, P pairs.

Times are in s on the workload's clock, speeds in steps/s. Index -1 means none.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.compilation import compiled, inlined

#: what the compiled loop stopped for
DONE, SOLVE, LOG_FULL, STUCK = range(4)

CLOCK: Final = np.dtype(
    [
        ("now", float),
        ("round_end", float),
        ("solved_at", float),
        ("active", int),  # jobs that have arrived and not ended
        ("arrived", int),
        ("ended", int),  # of the first `Rules.target`
        ("running", int),  # slots in use
        ("logged", int),  # rows of the log
        ("turn", int),  # rounds so far
        ("changed", bool),  # whether jobs came or went since the program was solved
        ("at_boundary", bool),  # whether a round begins now
    ],
    align=True,
)

INITIAL: Final = 0.5
"""Rounds that count as received by each job on each type at a solve, so that fractions are never 0."""


class Jobs(NamedTuple):
    """Arrays with an entry for each job, (n,) or (n, J)."""

    arrival: FloatArray
    scale: IntArray
    left: FloatArray  # steps to do
    alone: FloatArray  # speed on as few servers as its gang can have
    apart: FloatArray  # speed on more
    share: FloatArray  # X of the last solved program
    known: npt.NDArray[np.bool_]  # whether that program had the job
    received: FloatArray  # time since then, and INITIAL
    deficit: FloatArray  # time due less time received, up to the last solved program
    rate: FloatArray  # speed now
    since: FloatArray  # from when it runs at that speed
    finish: FloatArray  # when it would end
    slot: IntArray  # where it runs
    row: IntArray  # its open row in the log
    pick: IntArray  # which of the combinations that are being started has it
    first_start: FloatArray
    end: FloatArray
    held: FloatArray  # GPU-s
    leases: IntArray
    preemptions: IntArray
    overhead: FloatArray


class Pairs(NamedTuple):
    """Arrays with an entry for each pair to which the last program gave time: (P, 2), (P, 2, J) or (P, J)."""

    members: IntArray
    speed: FloatArray
    share: FloatArray
    received: FloatArray


class Workers(NamedTuple):
    """Arrays with an entry for each worker (GPU), (W,)."""

    kind: IntArray
    server: IntArray
    first: IntArray  # jobs that run there
    second: IntArray
    former_first: IntArray  # jobs that ran there when the last round ended
    former_second: IntArray


class Slots(NamedTuple):
    """Jobs and pairs that run now, on their workers, (W,)."""

    first: IntArray
    second: IntArray
    kind: IntArray
    pair: IntArray
    start: FloatArray  # since when its time is not yet accounted for


class Log(NamedTuple):
    """One row for each time that a job held the same workers without a break."""

    job: IntArray
    start: FloatArray
    end: FloatArray
    part: FloatArray  # 1, or 0.5 where two jobs share the workers
    steps: FloatArray  # done in that time


class State(NamedTuple):
    """The whole state of a simulation."""

    jobs: Jobs
    pairs: Pairs
    workers: Workers
    slots: Slots
    log: Log
    active: IntArray  # (n,) active jobs in order of arrival
    clock: Any  # record array (1,) of CLOCK


class Rules(NamedTuple):
    """Constants of a simulation."""

    round_length: float
    solve_interval: float
    overhead: float
    target: int  # the run ends when the first so many jobs have ended
    idle_may_run: bool  # whether GPUs that the program left over go to jobs that it gave nothing there
    aware: bool  # whether the policy knows the speed of types
    server_gpus: int


def new_state(
    arrival: FloatArray, steps: FloatArray, scale: IntArray, alone: FloatArray, apart: FloatArray, workers: IntArray,
    server_gpus: int,
) -> State:  # fmt: skip
    """Return the state before the first job arrives."""
    n, types = alone.shape
    total = int(workers.sum())
    kind = np.repeat(np.arange(types), workers)
    within = np.arange(total) - np.repeat(np.cumsum(workers) - workers, workers)
    servers = -(-workers // server_gpus)
    server = np.repeat(np.cumsum(servers) - servers, workers) + within // server_gpus

    def none(size: int) -> IntArray:
        return np.full(size, -1, np.int64)

    jobs = Jobs(
        arrival.copy(), scale.copy(), steps.copy(), alone, apart, np.zeros((n, types)), np.zeros(n, np.bool_),
        np.zeros((n, types)), np.zeros((n, types)), np.zeros(n), np.zeros(n), np.full(n, np.inf), none(n), none(n),
        none(n), np.full(n, np.nan), np.full(n, np.inf), np.zeros((n, types)), np.zeros(n, np.int64),
        np.zeros(n, np.int64), np.zeros(n),
    )  # fmt: skip
    clock = np.zeros(1, CLOCK).view(np.recarray)
    clock["now"], clock["at_boundary"] = arrival[0], True
    on = Workers(kind, server, none(total), none(total), none(total), none(total))
    slots = Slots(none(total), none(total), none(total), none(total), np.zeros(total))
    rows = 4 * total + 64
    log = Log(*(np.zeros(rows, dtype) for dtype in (np.int64, float, float, float, float)))
    pairs = Pairs(np.zeros((0, 2), np.int64), np.zeros((0, 2, types)), np.zeros((0, types)), np.zeros((0, types)))
    return State(jobs, pairs, on, slots, log, np.zeros(n, np.int64), clock)


def with_longer_log(s: State) -> State:
    """Return the log with four times the rows; unwritten rows cost nothing."""
    log = Log._make(np.zeros(4 * len(column), column.dtype) for column in s.log)
    for new, old in zip(log, s.log, strict=True):
        new[: len(old)] = old
    return s._replace(log=log)


@inlined
def admit(s: State) -> bool:
    """Let in the jobs that have arrived by now; return True if there was one."""
    came = False
    while s.clock[0].arrived < len(s.jobs.arrival) and s.jobs.arrival[s.clock[0].arrived] <= s.clock[0].now:
        s.active[s.clock[0].active] = s.clock[0].arrived
        s.clock[0].active += 1
        s.clock[0].arrived += 1
        came = True
    if came:
        s.clock[0].changed = True
    return came


@inlined
def dismiss(s: State, j: int, target: int) -> None:
    """End job `j`."""
    k = 0
    while s.active[k] != j:
        k += 1
    for i in range(k, s.clock[0].active - 1):
        s.active[i] = s.active[i + 1]
    s.clock[0].active -= 1
    s.clock[0].changed = True
    if j < target:
        s.clock[0].ended += 1


def reset_received_time(s: State, initial: float) -> None:
    """Note the time owed to each job, and count received time anew, before the program is solved."""
    clock, jobs = s.clock.view(CLOCK, np.ndarray)[0], s.jobs  # whose columns are found faster
    active, elapsed = s.active[: clock["active"]], float(clock["now"] - clock["solved_at"])
    _reset(active, jobs.known, jobs.share, jobs.received, jobs.deficit, elapsed, initial)
    clock["solved_at"], clock["changed"] = clock["now"], False


@compiled
def _reset(
    active: IntArray, known: npt.NDArray[np.bool_], share: FloatArray, received: FloatArray, deficit: FloatArray,
    elapsed: float, initial: float,
) -> None:  # fmt: skip
    for j in active:
        for k in range(share.shape[1]):
            if known[j]:
                deficit[j, k] += share[j, k] * elapsed - (received[j, k] - initial)
            received[j, k] = initial
