"""Rounds of the simulator that Gavel's authors released, compiled; for comparison with its results.

The rounds differ from `papers.gavel.rounds.mechanism` in this:

* a round lasts until the last of its jobs has done the whole steps that fit in `round_length`; jobs that ended or
  arrived before wait for its end;
* preemption is free, or costs a job that did not run in the round before `overhead` of a whole round (Shockwave's
  change);
* types are filled one after the other (in random order under policies that do not know speeds). So a job may be taken
  for a type where it has less priority than on a later one;
* the GPUs of a type are taken in order, as if in one server;
* a job that the program has not seen yet may be chosen, and its GPUs then idle;
* the two jobs of a pair end together;
* a round in which a gang does fewer steps than it has GPUs is lost, so a job with such a rest is dropped after five;
* after an idle time, time received counts from the end of the last round;
* the program is solved at every change as long as it was last solved at second 0.

Policies see deadlines unchanged.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from astraea.core.arrays import IntArray
from astraea.core.compilation import compiled
from papers.gavel.rounds.mechanism import Mechanism, close, start
from papers.gavel.rounds.selection import place, ranking, take
from papers.gavel.rounds.state import DONE, LOG_FULL, SOLVE, STUCK, Rules, State, admit, dismiss

ATTEMPTS: Final = 5
"""Rounds in a row in which a job may do fewer steps than its gang has GPUs; after that it is dropped."""

NO_ORDER: Final = 100
"""The compiled loop stopped because it has no order of types for the next round."""

CLOCK: Final = np.dtype([("round_start", float), ("last_end", float)])
"""Start of the round from which time received is counted, and end of the last one (NaN: there was none) [s]."""


class Memory(NamedTuple):
    """Memory of these rounds besides the state."""

    failures: IntArray  # (n,) rounds in a row that each job lost
    clock: Any  # record array (1,) of CLOCK
    orders: IntArray  # (K, J) order of types in each round


def begin(s: State, rules: Rules) -> Callable[[State, Rules], int]:
    """A run of one simulation, with its memory."""
    s.workers.server[:] = s.workers.kind
    types = np.unique(s.workers.kind).tolist()
    failures, orders = np.zeros(len(s.jobs.arrival), np.int64), np.zeros((0, len(types)), np.int64)
    memory = Memory(failures, np.array([(0.0, np.nan)], CLOCK).view(np.recarray), orders)
    shuffle = random.Random(5)

    def more() -> IntArray:
        orders = [types.copy() for _ in range(4096)]
        if not rules.aware:
            for order in orders:
                shuffle.shuffle(order)
        return np.array(orders, np.int64)

    def run(s: State, rules: Rules) -> int:
        nonlocal memory
        while (outcome := int(run_as_released(s, rules, memory))) == NO_ORDER:
            memory = memory._replace(orders=np.concatenate([memory.orders, more()]))
        return outcome

    return run


RELEASED_ROUNDS: Final = Mechanism("rounds as released", begin, tells_early_deadlines=False)
"""Mechanism of the released simulator."""


@compiled
def run_as_released(s: State, rules: Rules, memory: Memory) -> int:
    """Run until the program must be solved, there is no order of types or room in the log, or the jobs have ended."""
    while True:
        if s.clock[0].logged + 2 * s.workers.kind.shape[0] > s.log.job.shape[0]:
            return LOG_FULL
        if s.clock[0].turn >= memory.orders.shape[0]:
            return NO_ORDER
        if s.clock[0].at_boundary:
            if s.clock[0].ended >= rules.target:
                return DONE
            if not to_round_end(s, rules, memory):
                return STUCK
            s.clock[0].at_boundary = False
        free_to_solve = s.clock[0].now - s.clock[0].solved_at >= rules.solve_interval or s.clock[0].solved_at == 0.0
        if s.clock[0].changed and free_to_solve:
            return SOLVE
        next_round(s, rules, memory)
        s.clock[0].at_boundary = True


@compiled
def to_round_end(s: State, rules: Rules, memory: Memory) -> bool:
    """Go to the end of the round, or to the next arrival if nothing runs; False if there is nothing to wait for."""
    if s.clock[0].running > 0:
        if not np.isnan(memory.clock[0].last_end):
            memory.clock[0].round_start = memory.clock[0].last_end
        end = 0.0
        for slot in range(s.slots.first.shape[0]):
            if s.slots.first[slot] >= 0:
                end = max(end, slot_end(s, slot))
        s.clock[0].now = memory.clock[0].last_end = end
        s.workers.former_first[:], s.workers.former_second[:] = s.workers.first, s.workers.second
        s.workers.first[:], s.workers.second[:] = -1, -1
        last = np.empty(s.clock[0].running)
        for slot in range(s.clock[0].running):
            last[slot] = slot_end(s, slot)
        by_job = np.argsort(s.slots.first[: s.clock[0].running], kind="mergesort")
        for slot in by_job[np.argsort(-last[by_job], kind="mergesort")]:  # their order, for their sums to the last bit
            end_slot(s, slot, rules, memory)
        s.clock[0].now = end
        s.clock[0].running = 0
    elif s.clock[0].arrived < s.jobs.arrival.shape[0]:
        s.clock[0].now = s.jobs.arrival[s.clock[0].arrived]
    elif not s.clock[0].changed:
        return False
    else:
        s.clock[0].solved_at = 0.0
    admit(s)
    return True


@compiled
def slot_end(s: State, slot: int) -> float:
    """Return the time at which the later job of a slot has done its steps of this round."""
    a, b = s.slots.first[slot], s.slots.second[slot]
    return float(s.jobs.finish[a]) if b < 0 else max(float(s.jobs.finish[a]), float(s.jobs.finish[b]))


@compiled
def end_slot(s: State, slot: int, rules: Rules, memory: Memory) -> None:
    """Account for a round's work in a slot."""
    a, b, k, pair = s.slots.first[slot], s.slots.second[slot], s.slots.kind[slot], s.slots.pair[slot]
    end = slot_end(s, slot)
    s.clock[0].now = end
    lost = False
    for j in (a, b):
        if j >= 0:
            s.jobs.held[j, k] += (end - s.slots.start[slot]) * s.jobs.scale[j] * (1.0 if b < 0 else 0.5)
            lost = lost or s.jobs.since[j] < s.jobs.scale[j]
    if not lost:
        counted = end - memory.clock[0].round_start
        if pair < 0:
            s.jobs.received[a, k] += counted
        else:
            s.pairs.received[pair, k] += counted
    for j in (a, b):
        if j >= 0:
            s.jobs.slot[j] = -2
            s.log.steps[s.jobs.row[j]] = 0.0 if lost else s.jobs.since[j]
            close(s, j)
            if lost:
                memory.failures[j] += 1 if b < 0 else 0
                s.clock[0].changed = True
            else:
                memory.failures[j] = 0
                s.jobs.left[j] -= s.jobs.since[j]
            if s.jobs.left[j] <= 0.0 or memory.failures[j] >= ATTEMPTS:
                s.jobs.left[j], s.jobs.end[j], s.jobs.slot[j], s.jobs.share[j] = 0.0, end, -1, 0.0
                dismiss(s, j, rules.target)
    s.slots.first[slot], s.slots.second[slot] = -1, -1


@compiled
def next_round(s: State, rules: Rules, memory: Memory) -> None:
    """Choose type by type, place, and start the steps of a round."""
    free = np.bincount(s.workers.kind, minlength=s.jobs.alone.shape[1])
    ranked = ranking(s, rules.idle_may_run)  # those without a share by time owed, then in order of arrival
    s.jobs.pick[:] = -1
    picks, n = np.empty_like(ranked.what), 0
    for k in memory.orders[s.clock[0].turn]:
        for c in ranked.order[: ranked.size[0]]:
            a, b, kind, _ = ranked.what[c]
            if kind == k and take(s, a, b, k, n, free) and s.jobs.known[a]:
                picks[n] = ranked.what[c]
                n += 1
    s.clock[0].turn += 1
    picks = picks[:n]
    owner = place(s, picks)
    now = s.clock[0].now
    for p in range(n):
        a, b, k, pair = picks[p]
        s.slots.first[p], s.slots.second[p], s.slots.kind[p], s.slots.pair[p] = a, b, k, pair
        s.slots.start[p] = now
        same = True
        for i in range(owner.shape[0]):
            if owner[i] == p:
                s.workers.first[i], s.workers.second[i] = a, b
                same = same and s.workers.former_first[i] == a and s.workers.former_second[i] == b
        for i, j in enumerate((a, b)):
            if j >= 0:
                speed = s.jobs.alone[j, k] if pair < 0 else s.pairs.speed[pair, i, k]
                resumes = s.jobs.slot[j] != -2  # it did not run in the last round
                start(s, j, p, speed, same, 0.0, 1.0 if b < 0 else 0.5)
                steps = min(max(1.0, np.floor(speed * rules.round_length)), s.jobs.left[j])
                s.jobs.since[j], s.jobs.finish[j] = steps, now + steps / speed  # whole steps of this round
                if resumes and steps / speed > rules.round_length - 5.0:
                    s.jobs.since[j] = np.floor(steps * (1.0 - rules.overhead * speed / steps))
    s.clock[0].running = n
    for i in range(s.clock[0].active):
        j = s.active[i]
        if s.jobs.slot[j] == -2:
            s.jobs.slot[j] = -1
            s.jobs.preemptions[j] += 1
