"""The rounds of Gavel once more, naively: lists, dicts and a loop, written from the rules only."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from typing import Any


class Rounds:
    """One run. `share` and `speed` map (job, None or the job beside it, type) to X and to steps/s of the first.

    What a policy answers never changes. A key without a speed cannot run.
    """

    def __init__(
        self, arrival: list, steps: list, gang: list, workers: list, share: dict, speed: dict, options: Any,
        shuffled: bool = False,
    ) -> None:  # fmt: skip
        self.arrival, self.left, self.gang, self.workers = arrival, list(steps), gang, workers
        self.share, self.speed, self.o = share, speed, options
        self.order, self.draw = [k for k, n in enumerate(workers) if n], random.Random(5) if shuffled else None
        self.due, self.end, self.first = defaultdict(float), {}, {}
        self.preemptions, self.overhead = [0] * len(steps), [0.0] * len(steps)
        self.lost, self.news = [0] * len(steps), False
        self.was: dict[int, tuple] = {}  # what ran to the end of the last round, and where
        self.now, self.solved, self.known, self.received = float(arrival[0]), 0.0, [], {}

    def run(self) -> None:
        n, seen, types = len(self.arrival), 0, self.order
        target = range(self.o.until or n)
        while not all(j in self.end for j in target):
            self.active = [j for j in range(n) if self.arrival[j] <= self.now and j not in self.end]
            news = self.news or (self.active, len(self.end)) != seen
            if news and (self.now - self.solved >= self.o.solve_interval or self.solved == 0):
                self.solve()
                seen = (self.active, len(self.end))
            if self.draw:
                self.order = types.copy()
                self.draw.shuffle(self.order)
            self.held: dict[int, list] = {}  # job -> its key, start, steps, finish
            self.began = self.now
            self.choose()
            for j in set(self.was) - set(self.held):
                self.preemptions[j] += 1
                del self.was[j]
            if self.held:
                self.play()
            elif self.active and (self.news or (self.active, len(self.end)) != seen):
                self.solve()
                seen = (self.active, len(self.end))
            else:
                self.now = float(min(t for t in self.arrival if t > self.now))

    def solve(self) -> None:
        half = self.o.round_length / 2
        for j in self.known:
            for k in range(len(self.workers)):
                key = j, None, k
                if j in self.active:
                    owed = self.share.get(key, 0.0) * (self.now - self.solved)
                    self.due[key] += owed - (self.received.get(key, half) - half)
        self.known, self.solved, self.received, self.news = self.active, self.now, {}, False
        keys = [(j, None, k) for j in self.active for k in range(len(self.workers)) if (j, None, k) in self.speed]
        keys = [key for key in keys if self.o.leftovers or self.share.get(key)]
        keys += [k for k in self.share if k[1] in self.active and k[0] in self.active and k in self.speed]
        self.keys = sorted(keys, key=lambda key: (-self.due[key], -self.share.get(key, 0.0)))

    def choose(self) -> None:
        half = self.o.round_length / 2
        free = self.workers.copy()
        for k, gang in {(id(h), h[0][2], self.gang[j]): (h[0][2], self.gang[j]) for j, h in self.held.items()}.values():
            free[k] -= gang
        got = {key: self.received.get(key, half) for key in self.keys}
        spent = [sum(t for key, t in got.items() if key[2] == k) for k in range(len(free))]
        due = {key: self.share.get(key, 0.0) / t * (spent[key[2]] if self.o.by_part else 1) for key, t in got.items()}
        ranked = sorted(self.keys, key=lambda key: -due[key])
        for k in self.order if self.o.by_type else [None]:
            for a, b, at in ranked:
                idle = all(j is None or (j not in self.held and j not in self.end) for j in (a, b))
                if k in (None, at) and idle and self.gang[a] <= free[at] and self.start(a, b, at):
                    free[at] -= self.gang[a]

    def start(self, a: int, b: int | None, k: int) -> bool:
        both = [(a, b)] + ([(b, a)] if b is not None else [])
        moves = any(j in self.first and self.was.get(j) != (mate, k) for j, mate in both)
        pause = self.o.preemption_overhead if moves else 0.0
        room = self.began + self.o.round_length - self.now - pause
        if self.now > self.began and min(self.speed[j, mate, k] for j, mate in both) * room < 1:
            return False
        place = [(a, b, k), {}]
        for j, mate in both:
            speed = self.speed[j, mate, k]
            steps = min(max(1.0, math.floor(speed * room)), self.left[j])
            place[1][j] = self.now + pause + steps / speed, steps
            self.preemptions[j] += j in self.was and self.was[j] != (mate, k)
            self.was[j] = mate, k
            self.first.setdefault(j, self.now)
            self.overhead[j] += pause
            self.held[j] = place
        place.append(self.now)
        return True

    def play(self) -> None:
        """Go to the end of the round."""
        while self.held:
            finish = {j: h[1][j] for j, h in self.held.items()}
            over = max(at for at, _ in finish.values())
            lost = {j for j, (_, steps) in finish.items() if self.o.lost_rounds and steps < self.gang[j]}
            done = {j for j in finish if (self.lost[j] == 4 if j in lost else finish[j][1] >= self.left[j])}
            ends = [finish[j][0] for j in done]
            refills = self.o.refill and min(ends, default=over) < over
            self.now = min(ends) if refills else over
            for j, (at, steps) in finish.items():
                if refills and not (j in done and at <= self.now):
                    continue
                (key, _, start) = self.held.pop(j)
                self.lost[j] = self.lost[j] + 1 if j in lost else 0
                if j == key[0] and j not in lost:
                    self.received[key] = self.received.get(key, self.o.round_length / 2) + (at - start)
                self.left[j] -= 0 if j in lost else steps
                self.news = self.news or j in lost
                if j in done:
                    self.left[j] = 0
                    self.end[j] = at
                    self.was.pop(j)
            if refills:
                self.choose()
