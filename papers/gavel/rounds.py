"""Rounds ([Narayanan2020] §5), compiled.

At the start of a round, jobs and pairs are taken in the order of their priorities while their gangs fit (Algorithm 1).
A priority is X over what was received since X was computed. All hold their GPUs to the end of the round, or until they
have ended. A round is over when the last of its jobs has done the whole steps that fit in `round_length`. Every GPU of
a type is as good as another one, so a job that has the same type again, beside the same job or none, has the same GPUs
again. A job that ran before, but not there in the last round, first loses `overhead`.

`Rules` has what the paper and the program of its authors do differently. The program fills one type after the other
(`by_type`). So a job may be taken for a type on which it has less priority than on a later one. It gives what is left
to jobs whose X is 0 there (`leftovers`), those that are owed most first. A round in which a gang does fewer steps than
it has GPUs does not count there (`lost_rounds`), so that a job with such a rest is given up after five. §5 divides X by
the part of all time received on the type (`by_part`), the program by the time. The order on one type is the same, but
not that of all types at once, where some types are used less than others. Neither gives GPUs of jobs that end inside a
round to others (`refill`). Jobs that arrive wait for the next round, and until the program has been solved with them.

n jobs, J types of GPUs, P pairs, C combinations of a job or pair and a type. Times are in s on the workload's clock,
speeds in steps/s. Index -1 means none.
"""

from __future__ import annotations

import random
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.compilation import borrowed, compiled, inlined, with_scalars

#: what the compiled loop stopped for
DONE, SOLVE, LOG_FULL, STUCK = range(4)

INITIAL: Final = 0.5
"""Rounds that count as received by each job on each type when X is computed, so that no time is 0."""

ATTEMPTS: Final = 5
"""Rounds in a row that a job may lose; after them it is given up."""

ORDERS: Final = 4096
"""Orders of types that are drawn, for as many rounds; then they begin anew."""

CLOCK: Final = np.dtype(
    [
        ("now", float),
        ("began", float),  # start of the round
        ("solved_at", float),  # 0: never, or at once; then no `solve_interval` must pass, as in the authors' program
        ("active", int),  # jobs that have arrived and not ended
        ("arrived", int),
        ("ended", int),  # of the first `Rules.target`
        ("running", int),  # jobs that hold GPUs
        ("logged", int),  # rows of the log
        ("turn", int),  # rounds so far
        ("changed", bool),  # whether jobs came or went since the program was solved
        ("in_round", bool),
    ],
    align=True,
)


class Jobs(NamedTuple):
    """Arrays with an entry for each job, (n,) or (n, J)."""

    arrival: FloatArray
    scale: IntArray
    left: FloatArray  # steps to do
    alone: FloatArray  # speed
    share: FloatArray  # X of the last solved program
    known: npt.NDArray[np.bool_]  # whether that program had the job
    received: FloatArray  # time since then, and INITIAL
    deficit: FloatArray  # time due less time received, up to the last solved program
    at: IntArray  # type on which it holds GPUs
    mate: IntArray  # the job beside it there
    was_at: IntArray  # the same at the end of the last round
    was_with: IntArray
    start: FloatArray  # since when it holds them in this round
    steps: FloatArray  # that it does in this round
    finish: FloatArray  # when it has done them
    row: IntArray  # its open row in the log
    first_start: FloatArray
    end: FloatArray
    held: FloatArray  # GPU-s
    leases: IntArray
    preemptions: IntArray
    overhead: FloatArray
    lost: IntArray  # rounds in a row that were lost


class Pairs(NamedTuple):
    """Arrays with an entry for each pair to which the last program gave time: (P, 2), (P, 2, J) or (P, J)."""

    members: IntArray
    speed: FloatArray
    share: FloatArray
    received: FloatArray


class Combinations(NamedTuple):
    """Jobs and pairs that may run until the next solve, in the order that decides between equal priorities."""

    what: IntArray  # (C, 4) first job, second job or -1, type, pair or -1
    share: FloatArray  # (C,) X


class Log(NamedTuple):
    """One row for each time that a job held the same GPUs without a break."""

    job: IntArray
    start: FloatArray
    end: FloatArray
    part: FloatArray  # 1, or 0.5 where two jobs share the GPUs
    steps: FloatArray  # done in that time


@with_scalars
class State(NamedTuple):
    """The whole state of a simulation."""

    clock: Any  # (1,) of CLOCK, whose fields are attributes, too
    jobs: Jobs
    pairs: Pairs
    combinations: Combinations
    workers: IntArray  # (J,) GPUs of each type
    orders: IntArray  # (K, J) orders of types, one for each round
    log: Log
    queue: IntArray  # (n,) active jobs in order of arrival

    def __getattr__(self, name: str) -> Any:
        return self.clock[name].item()

    def __setattr__(self, name: str, value: Any) -> None:
        self.clock[name] = value


class Rules(NamedTuple):
    """Constants of a simulation."""

    round_length: float
    solve_interval: float
    overhead: float
    target: int  # the run ends when the first so many jobs have ended
    by_type: bool
    leftovers: bool
    lost_rounds: bool
    refill: bool
    by_part: bool


def new_state(
    arrival: FloatArray, steps: FloatArray, scale: IntArray, alone: FloatArray, workers: IntArray, *, shuffled: bool
) -> State:
    """Return the state before the first job arrives; types are filled in random order if `shuffled`."""
    n, types = alone.shape

    def none() -> IntArray:
        return np.full(n, -1, np.int64)

    def zeros(*shape: int) -> FloatArray:
        return np.zeros(shape)

    jobs = Jobs(
        arrival.copy(), scale.copy(), steps.copy(), alone, zeros(n, types), np.zeros(n, np.bool_), zeros(n, types),
        zeros(n, types), none(), none(), none(), none(), zeros(n), zeros(n), zeros(n), none(), np.full(n, np.nan),
        np.full(n, np.inf), zeros(n, types), np.zeros(n, np.int64), np.zeros(n, np.int64), zeros(n),
        np.zeros(n, np.int64),
    )  # fmt: skip
    clock = np.zeros(1, CLOCK)
    clock["now"] = arrival[0]
    order, draw = np.flatnonzero(workers).tolist(), random.Random(5)  # as in the program of the authors
    orders = []
    for _ in range(ORDERS if shuffled else 1):
        orders.append(order.copy())
        if shuffled:
            draw.shuffle(orders[-1])
    log = Log(*(np.zeros(4 * n + 64, dtype) for dtype in (np.int64, float, float, float, float)))
    pairs = Pairs(np.zeros((0, 2), np.int64), zeros(0, 2, types), zeros(0, types), zeros(0, types))
    nothing = Combinations(np.zeros((0, 4), np.int64), zeros(0))
    return State(clock, jobs, pairs, nothing, workers, np.array(orders, np.int64), log, np.zeros(n, np.int64))


def with_longer_log(s: State) -> State:
    """Return the state with four times the rows in the log; unwritten rows cost nothing."""
    log = Log._make(np.zeros(4 * len(column), column.dtype) for column in s.log)
    for new, old in zip(log, s.log, strict=True):
        new[: len(old)] = old
    return s._replace(log=log)


def with_answer(s: State, active: IntArray, share: FloatArray, pairs: Pairs, rules: Rules) -> State:
    """Return the state with the X that a policy gave the active jobs and pairs, (active, J) and in `pairs`.

    The time owed to each job is noted, and time received counts anew.
    """
    initial, elapsed = INITIAL * rules.round_length, s.now - s.solved_at
    pairs.received[:] = initial
    renew(s.jobs, active, share, elapsed, initial)
    s.solved_at, s.changed = s.now, False
    return s._replace(pairs=pairs, combinations=Combinations(*combined(s.jobs, pairs, active, rules.leftovers)))


@compiled
def renew(jobs: Jobs, active: IntArray, share: FloatArray, elapsed: float, initial: float) -> None:
    """Do this for each job."""
    for j in active:
        for k in range(share.shape[1]):
            if jobs.known[j]:
                jobs.deficit[j, k] += jobs.share[j, k] * elapsed - (jobs.received[j, k] - initial)
            jobs.received[j, k] = initial
    jobs.known[:] = False
    for i, j in enumerate(active):
        jobs.known[j] = True
        jobs.share[j] = share[i]


@compiled
def combined(jobs: Jobs, pairs: Pairs, active: IntArray, leftovers: bool) -> tuple[IntArray, FloatArray]:
    """`Combinations` of the active jobs and the pairs: those with most time owed first, then with most X."""
    types, c = jobs.alone.shape[1], 0
    room = (active.shape[0] + pairs.share.shape[0]) * types
    what, share, due = np.empty((room, 4), np.int64), np.empty(room), np.zeros(room)
    for j in active:
        for k in range(types):
            if jobs.alone[j, k] > 0.0 and (leftovers or jobs.share[j, k] > 0.0):
                what[c, 0], what[c, 1], what[c, 2], what[c, 3] = j, -1, k, -1
                share[c], due[c], c = jobs.share[j, k], jobs.deficit[j, k], c + 1
    for p in range(pairs.share.shape[0]):
        for k in range(types):
            if pairs.share[p, k] > 0.0 and pairs.speed[p, 0, k] > 0.0 and pairs.speed[p, 1, k] > 0.0:
                what[c, 0], what[c, 1], what[c, 2], what[c, 3] = pairs.members[p, 0], pairs.members[p, 1], k, p
                share[c], c = pairs.share[p, k], c + 1
    order = np.argsort(-share[:c], kind="mergesort")
    order = order[np.argsort(-due[:c][order], kind="mergesort")]
    return what[order], share[order]


@compiled
def run(state: State, rules: Rules) -> int:
    """Run until the program must be solved, the log is full, or the jobs have ended; says which."""
    s = borrowed(state)
    while True:
        if s.logged + 2 * s.jobs.arrival.shape[0] > s.log.job.shape[0]:
            return LOG_FULL
        if s.in_round:
            to_next_event(s, rules)
            continue
        if s.ended >= rules.target:
            return DONE
        admit(s)
        since = s.now - s.solved_at
        if s.changed and (since >= rules.solve_interval or s.solved_at == 0.0):
            return SOLVE
        begin_round(s, rules)
        if s.running == 0:
            if s.changed and s.active > 0:
                return SOLVE  # nobody gains from waiting
            if s.arrived == s.jobs.arrival.shape[0]:
                return STUCK
            s.now = s.jobs.arrival[s.arrived]
        else:
            s.in_round = True


@inlined
def admit(s: State) -> None:
    """Let in the jobs that have arrived by now."""
    while s.arrived < s.jobs.arrival.shape[0] and s.jobs.arrival[s.arrived] <= s.now:
        s.queue[s.active] = s.arrived
        s.active += 1
        s.arrived += 1
        s.changed = True


@inlined
def begin_round(s: State, rules: Rules) -> None:
    """Choose what runs, and take their GPUs from those that lost them."""
    s.began = s.now
    s.turn += 1
    choose(s, rules)
    for i in range(s.active):
        j = s.queue[i]
        if s.jobs.row[j] >= 0 and s.jobs.at[j] < 0:
            s.jobs.preemptions[j] += 1
            close(s, j)


@compiled
def choose(s: State, rules: Rules) -> None:
    """Take combinations by priority while their jobs do not run and their gangs fit (Algorithm 1), and start them."""
    what, free = s.combinations.what, s.workers.copy()
    for i in range(s.active):
        j = s.queue[i]
        k, mate = s.jobs.at[j], s.jobs.mate[j]
        if k >= 0 and (mate < j or s.jobs.at[mate] < 0):  # a pair counts once, by its second job unless that has ended
            free[k] -= s.jobs.scale[j]
    if free.sum() == 0:
        return
    received, spent = np.empty(what.shape[0]), np.zeros(free.shape[0])
    for c in range(what.shape[0]):
        a, k, pair = what[c, 0], what[c, 2], what[c, 3]
        received[c] = max(s.jobs.received[a, k] if pair < 0 else s.pairs.received[pair, k], 1e-9)
        spent[k] += received[c]
    priority = s.combinations.share / received
    if rules.by_part:
        priority *= spent[what[:, 2]]
    ranked = np.argsort(-priority, kind="mergesort")
    types = s.orders[(s.turn - 1) % s.orders.shape[0]]
    for k in range(types.shape[0] if rules.by_type else 1):
        left = free[types[k]] if rules.by_type else free.sum()
        for c in ranked:
            if left == 0:
                break
            a, b, at = what[c, 0], what[c, 1], what[c, 2]
            if (not rules.by_type or at == types[k]) and is_free(s, a) and (b < 0 or is_free(s, b)):
                if s.jobs.scale[a] <= free[at] and start(s, a, b, at, what[c, 3], rules):
                    free[at] -= s.jobs.scale[a]
                    left -= s.jobs.scale[a]


@inlined
def is_free(s: State, j: int) -> bool:
    """Return True if a job has not ended and holds no GPUs."""
    return s.jobs.at[j] < 0 and s.jobs.left[j] > 0.0


@compiled
def start(s: State, a: int, b: int, k: int, pair: int, rules: Rules) -> bool:
    """Let a job, or two, hold GPUs of a type until the round ends; return False if they would do no step."""
    pause, least = 0.0, np.inf
    speeds = np.empty(2)
    for of, (j, mate) in enumerate(((a, b), (b, a))):
        if j >= 0:
            speeds[of] = s.jobs.alone[j, k] if pair < 0 else s.pairs.speed[pair, of, k]
            least = min(least, speeds[of])
            if s.jobs.leases[j] > 0 and not stays(s, j, mate, k):
                pause = rules.overhead
    room = s.began + rules.round_length - s.now - pause
    if s.now > s.began and least * room < 1.0:
        return False
    for of, (j, mate) in enumerate(((a, b), (b, a))):
        if j >= 0:
            hold(s, j, mate, k, 1.0 if b < 0 else 0.5)
            s.jobs.overhead[j] += pause
            s.jobs.steps[j] = min(max(1.0, np.floor(speeds[of] * room)), s.jobs.left[j])
            s.jobs.finish[j] = s.now + pause + s.jobs.steps[j] / speeds[of]
    return True


@inlined
def stays(s: State, j: int, mate: int, k: int) -> bool:
    """Return True if a job held the same GPUs when the last round ended."""
    return s.jobs.row[j] >= 0 and s.jobs.was_at[j] == k and s.jobs.was_with[j] == mate


@inlined
def hold(s: State, j: int, mate: int, k: int, part: float) -> None:
    """Begin or renew the lease of job `j`."""
    now = s.now
    if s.jobs.row[j] >= 0 and not stays(s, j, mate, k):
        s.jobs.preemptions[j] += 1  # moved
        close(s, j)
    if s.jobs.leases[j] == 0:
        s.jobs.first_start[j] = now
    if s.jobs.row[j] < 0:
        row = s.jobs.row[j] = s.logged
        s.log.job[row], s.log.start[row], s.log.part[row] = j, now, part
        s.logged += 1
    s.jobs.leases[j] += 1
    s.jobs.at[j], s.jobs.mate[j], s.jobs.start[j] = k, mate, now
    s.running += 1


@inlined
def close(s: State, j: int) -> None:
    """Write when job `j` gave its GPUs back."""
    s.log.end[s.jobs.row[j]] = s.jobs.finish[j]
    s.jobs.row[j] = -1


@inlined
def to_next_event(s: State, rules: Rules) -> None:
    """Go to the end of the round or, where GPUs are given again inside it, to the next end of a job."""
    over, event = s.began, np.inf
    for i in range(s.active):
        j = s.queue[i]
        if s.jobs.at[j] >= 0:
            over = max(over, s.jobs.finish[j])
            if completes(s, rules, j):
                event = min(event, s.jobs.finish[j])
    if rules.refill and event < over:
        s.now = event
        give_back(s, rules, event)
        choose(s, rules)
    else:
        s.now = over
        give_back(s, rules, np.inf)
        s.in_round = False


@compiled
def give_back(s: State, rules: Rules, until: float) -> None:
    """Take the GPUs of the jobs that end by then and, at the end of the round, of all."""
    kept = 0
    for i in range(s.active):
        j = s.queue[i]
        k, mate, ends = s.jobs.at[j], s.jobs.mate[j], completes(s, rules, j)
        if k >= 0 and (until == np.inf or (ends and s.jobs.finish[j] <= until)):
            last = s.jobs.finish[j] if ends else max(s.jobs.finish[j], s.now)
            settle(s, rules, j, mate, k, last)
            if ends:
                s.jobs.left[j], s.jobs.end[j], s.jobs.share[j] = 0.0, last, 0.0
                s.changed = True
                if j < rules.target:
                    s.ended += 1
                close(s, j)
        if s.jobs.left[j] > 0.0:
            s.queue[kept] = j
            kept += 1
    s.active = kept


@inlined
def loses(s: State, rules: Rules, j: int) -> bool:
    """Return True if the steps of job `j` in this round do not count."""
    return rules.lost_rounds and s.jobs.steps[j] < s.jobs.scale[j]


@inlined
def completes(s: State, rules: Rules, j: int) -> bool:
    """Return True if job `j` ends with its steps of this round, or is given up."""
    return s.jobs.lost[j] + 1 == ATTEMPTS if loses(s, rules, j) else s.jobs.steps[j] >= s.jobs.left[j]


@inlined
def settle(s: State, rules: Rules, j: int, mate: int, k: int, last: float) -> None:
    """Account for what job `j` held and did in this round: time received, GPU-time, steps."""
    lasted, worked = last - s.jobs.start[j], s.jobs.finish[j] - s.jobs.start[j]
    s.jobs.held[j, k] += lasted * s.jobs.scale[j] * (1.0 if mate < 0 else 0.5)
    s.jobs.lost[j] = s.jobs.lost[j] + 1 if loses(s, rules, j) else 0
    if s.jobs.lost[j] > 0:
        s.changed, s.jobs.steps[j], worked = True, 0.0, 0.0
    if mate < 0:
        s.jobs.received[j, k] += worked
    elif j < mate:
        for p in range(s.pairs.members.shape[0]):
            if s.pairs.members[p, 0] == j and s.pairs.members[p, 1] == mate:
                s.pairs.received[p, k] += worked
    s.jobs.left[j] -= s.jobs.steps[j]
    s.log.steps[s.jobs.row[j]] += s.jobs.steps[j]
    s.jobs.finish[j] = last
    s.jobs.was_at[j], s.jobs.was_with[j], s.jobs.at[j], s.jobs.mate[j] = k, mate, -1, -1
    s.running -= 1
