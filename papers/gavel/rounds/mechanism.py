"""Rounds ([Narayanan2020] §5), compiled.

A round lasts `round_length`. At its start every lease ends; the choice of Algorithm 1 runs until its end. A job that
gets the same workers again renews its lease and continues; a job that ran before and gets others pays `overhead`
seconds without progress. GPUs that become free inside a round, and jobs that arrive inside one, do not wait for the
next: the choice is made again among the jobs that do not run, without taking anything away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from astraea.core.arrays import IntArray
from astraea.core.compilation import borrowed, compiled, inlined
from papers.gavel.rounds.selection import Ranking, chosen, grouped, is_together, place, rank, ranking
from papers.gavel.rounds.state import DONE, LOG_FULL, SOLVE, STUCK, Rules, State, admit, dismiss


@compiled
def run(state: State, rules: Rules) -> int:
    """Run until the program must be solved, the log is full, or the jobs have ended; says which."""
    return rounds(state, rules, ranking(state, False))


@compiled
def rounds(state: State, rules: Rules, ranked: Ranking) -> int:
    """Do the work of `run`, given the combinations in order."""
    s, r = borrowed(state), borrowed(ranked)
    while True:
        if s.clock[0].ended >= rules.target:
            end_leases(s)
            return DONE
        if s.clock[0].logged + 2 * s.workers.kind.shape[0] > s.log.job.shape[0]:
            return LOG_FULL
        if s.clock[0].at_boundary:
            admit(s)
            due = s.clock[0].now - s.clock[0].solved_at >= rules.solve_interval or s.clock[0].turn == 0
            if s.clock[0].changed and due and s.clock[0].active > 0:
                return SOLVE
            s.clock[0].turn += 1
            s.clock[0].round_end = s.clock[0].now + rules.round_length
            rank(s, r)
            fill(s, r, rules)
            end_lost(s)
            if s.clock[0].running == 0:
                if s.clock[0].changed and s.clock[0].active > 0:
                    return SOLVE  # nobody gains from waiting
                if s.clock[0].arrived == s.jobs.arrival.shape[0]:
                    return STUCK
                s.clock[0].now = s.jobs.arrival[s.clock[0].arrived]
                continue
            s.clock[0].at_boundary = False
        to_next_event(s, r, rules)


@inlined
def to_next_event(s: State, r: Ranking, rules: Rules) -> None:
    """Go to the next end of a job, arrival or end of the round, whichever is first."""
    t = s.clock[0].round_end
    for slot in range(s.slots.first.shape[0]):
        for j in (s.slots.first[slot], s.slots.second[slot]):
            if j >= 0:
                t = min(t, s.jobs.finish[j])
    if s.clock[0].arrived < s.jobs.arrival.shape[0]:
        t = min(t, s.jobs.arrival[s.clock[0].arrived])
    s.clock[0].now = t
    changed = admit(s)
    for slot in range(s.slots.first.shape[0]):
        changed |= end_finished(s, slot, rules)
    if t >= s.clock[0].round_end or s.clock[0].running == 0:
        end_leases(s)
        s.clock[0].at_boundary = True
    elif changed:
        fill(s, r, rules)


@compiled
def fill(s: State, r: Ranking, rules: Rules) -> None:
    """Choose among the jobs that do not run, place them on the free workers, and start them."""
    free = np.zeros(s.jobs.alone.shape[1], np.int64)
    for i in range(s.workers.kind.shape[0]):
        if s.workers.first[i] < 0:
            free[s.workers.kind[i]] += 1
    if free.sum() > 0:
        picks = chosen(s, r, free, rules.idle_may_run, rules.aware)
        start_all(s, picks, place(s, picks), rules)


@inlined
def start_all(s: State, picks: IntArray, owner: IntArray, rules: Rules) -> None:
    """Begin or renew the leases of what was chosen."""
    slot, (workers, begins) = 0, grouped(owner, picks.shape[0])
    for p in range(picks.shape[0]):
        a, b, k, pair = picks[p, 0], picks[p, 1], picks[p, 2], picks[p, 3]
        begin, end = begins[p], begins[p + 1]
        together = is_together(s, workers, begin, end, rules.server_gpus)
        first, second = speed_of(s, a, 0, k, pair, together), speed_of(s, b, 1, k, pair, together)
        stays, second_stays = had(s, workers, begin, end, a), had(s, workers, begin, end, b)
        pause = 0.0
        for j, has in ((a, stays), (b, second_stays)):
            if j >= 0:
                s.jobs.pick[j] = -1
                if not has and s.jobs.leases[j] > 0:
                    pause = rules.overhead
        if first <= 0.0 or second <= 0.0 or s.clock[0].now + pause >= s.clock[0].round_end:
            continue  # it would not get on there
        while s.slots.first[slot] >= 0:
            slot += 1
        s.slots.first[slot], s.slots.second[slot], s.slots.kind[slot], s.slots.pair[slot] = a, b, k, pair
        s.slots.start[slot] = s.clock[0].now
        s.clock[0].running += 1
        start(s, a, slot, first, stays, pause, 1.0 if b < 0 else 0.5)
        if b >= 0:
            start(s, b, slot, second, second_stays, pause, 0.5)
        for n in range(begin, end):
            s.workers.first[workers[n]], s.workers.second[workers[n]] = a, b


@inlined
def speed_of(s: State, j: int, of: int, k: int, pair: int, together: bool) -> float:
    """Return the speed of a job on a type, in a pair or alone [steps/s], or 1 for no job."""
    if j < 0:
        return 1.0
    speed = s.jobs.alone[j, k] if pair < 0 else s.pairs.speed[pair, of, k]
    return speed if together else speed * (s.jobs.apart[j, k] / s.jobs.alone[j, k])


@inlined
def had(s: State, workers: IntArray, begin: int, end: int, j: int) -> bool:
    """Return True if job `j` still has its lease and had exactly these workers when the last round ended."""
    if j < 0 or s.jobs.row[j] < 0:
        return False
    for n in range(begin, end):
        if s.workers.former_first[workers[n]] != j and s.workers.former_second[workers[n]] != j:
            return False
    return True


@inlined
def start(s: State, j: int, slot: int, speed: float, renewed: bool, pause: float, part: float) -> None:
    """Let job `j` hold the workers of a slot from now on."""
    now = s.clock[0].now
    if s.jobs.row[j] >= 0 and not (renewed and s.log.part[s.jobs.row[j]] == part):
        close(s, j)
    if s.jobs.leases[j] == 0:
        s.jobs.first_start[j] = now
    elif not renewed and s.jobs.slot[j] == -2:
        s.jobs.preemptions[j] += 1  # moved
    if s.jobs.row[j] < 0:
        open_row(s, j, part)
    s.jobs.leases[j] += 1
    s.jobs.overhead[j] += pause
    s.jobs.slot[j], s.jobs.rate[j], s.jobs.since[j] = slot, speed, now + pause
    s.jobs.finish[j] = s.jobs.since[j] + s.jobs.left[j] / speed


@inlined
def open_row(s: State, j: int, part: float) -> None:
    """Write that job `j` holds its workers from now on, or half of them."""
    row = s.jobs.row[j] = s.clock[0].logged
    s.log.job[row], s.log.start[row], s.log.part[row] = j, s.clock[0].now, part
    s.clock[0].logged += 1


@inlined
def close(s: State, j: int) -> None:
    """Write when job `j` gave its workers back."""
    s.log.end[s.jobs.row[j]] = s.clock[0].now
    s.jobs.row[j] = -1


@inlined
def settle(s: State, slot: int) -> None:
    """Account for what ran in a slot up to now: time received, GPU-time held, steps done."""
    now, k, pair = s.clock[0].now, s.slots.kind[slot], s.slots.pair[slot]
    a, b = s.slots.first[slot], s.slots.second[slot]
    lasted = now - s.slots.start[slot]
    s.slots.start[slot] = now
    if pair < 0:
        s.jobs.received[a, k] += lasted
    else:
        s.pairs.received[pair, k] += lasted
    for j in (a, b):
        if j >= 0:
            s.jobs.held[j, k] += lasted * s.jobs.scale[j] * (1.0 if b < 0 else 0.5)
            if now > s.jobs.since[j]:
                done = min(s.jobs.left[j], s.jobs.rate[j] * (now - s.jobs.since[j]))
                s.jobs.left[j] -= done
                s.log.steps[s.jobs.row[j]] += done
                s.jobs.since[j] = now


@inlined
def end_finished(s: State, slot: int, rules: Rules) -> bool:
    """End the jobs of a slot that have done all steps; one that is left of a pair goes on alone."""
    a, b, now = s.slots.first[slot], s.slots.second[slot], s.clock[0].now
    if a < 0:
        return False
    first, second = s.jobs.finish[a] <= now, b >= 0 and s.jobs.finish[b] <= now
    if not (first or second):
        return False
    settle(s, slot)
    for j, is_over in ((a, first), (b, second)):
        if is_over:
            s.jobs.left[j], s.jobs.end[j], s.jobs.slot[j], s.jobs.share[j] = 0.0, now, -1, 0.0
            close(s, j)
            dismiss(s, j, rules.target)
    rest = -1
    if b >= 0 and first != second:
        rest = b if first else a
    if b >= 0 and rest >= 0:
        k, pair = s.slots.kind[slot], s.slots.pair[slot]
        close(s, rest)
        open_row(s, rest, 1.0)
        s.jobs.rate[rest] *= s.jobs.alone[rest, k] / s.pairs.speed[pair, 1 if first else 0, k]
        s.jobs.since[rest] = max(now, s.jobs.since[rest])
        s.jobs.finish[rest] = s.jobs.since[rest] + s.jobs.left[rest] / s.jobs.rate[rest]
        s.slots.pair[slot] = -1
    s.slots.first[slot], s.slots.second[slot] = rest, -1
    if rest < 0:
        s.clock[0].running -= 1
    for i in range(s.workers.kind.shape[0]):
        if s.workers.first[i] == a and s.workers.second[i] == b:
            s.workers.first[i], s.workers.second[i] = rest, -1
            s.workers.former_first[i], s.workers.former_second[i] = -1, -1
    return True


@compiled
def end_leases(s: State) -> None:
    """End the round: all jobs give their workers back, which are remembered as their former ones."""
    for i in range(s.workers.kind.shape[0]):
        s.workers.former_first[i], s.workers.former_second[i] = s.workers.first[i], s.workers.second[i]
        s.workers.first[i] = s.workers.second[i] = -1
    for slot in range(s.slots.first.shape[0]):
        a, b = s.slots.first[slot], s.slots.second[slot]
        if a >= 0:
            settle(s, slot)
            s.slots.first[slot], s.slots.second[slot] = -1, -1
            for j in (a, b):
                if j >= 0:
                    s.jobs.slot[j] = -2  # may renew
    s.clock[0].running = 0


@inlined
def end_lost(s: State) -> None:
    """Close the leases of those that were not renewed."""
    for i in range(s.workers.kind.shape[0]):
        for j in (s.workers.former_first[i], s.workers.former_second[i]):
            if j >= 0 and s.jobs.slot[j] == -2:
                s.jobs.slot[j] = -1
                s.jobs.preemptions[j] += 1
                close(s, j)


@dataclass(frozen=True)
class Mechanism:
    """A way to share out time; `simulate` takes one besides the policy.

    ``start(state, rules)`` gives the function that runs one simulation: ``run(state, rules)`` goes on until it needs
    something, and says what (`DONE`, `SOLVE`, `LOG_FULL`, `STUCK`). What it remembers lives there. With
    `tells_early_deadlines` policies are told of deadlines by a round and the time between two solves earlier: a program
    meets them to the second, rounds meet its shares on average.
    """

    name: str
    start: Callable[[State, Rules], Callable[[State, Rules], int]]
    tells_early_deadlines: bool = True


IN_ROUNDS: Final = Mechanism("rounds", lambda state, rules: run)
"""The rounds of the paper."""
