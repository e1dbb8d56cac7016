"""Slurm's schedulers said the long way: lists and dictionaries, everything computed anew at every pass.

Times are seconds of the simulation.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

INTERVAL, PERIOD = 2.0, 60.0
"""Time between passes, and between two computations of usage [s]."""


@dataclass
class Job:
    """A job and what became of it."""

    number: int
    account: str
    demand: int
    submit: float
    duration: float
    limit: float
    start: float = math.inf
    nodes: list[int] = field(default_factory=list)

    def end(self) -> float:
        """When it really ends."""
        return self.start + self.duration


def minute(time: float) -> float:
    """The last full minute."""
    return time // 60 * 60


@dataclass
class Slurm:
    """A cluster under Slurm; `run` fills in the starts of the jobs."""

    jobs: list[Job]
    shares: dict[str, float]
    count: int
    gpus: int
    half_life: float
    window: float
    tests: int
    backfill: str

    def __post_init__(self) -> None:
        self.free = [self.gpus] * self.count
        self.usage = dict.fromkeys(self.shares, 0.0)
        self.rank = dict.fromkeys(self.shares, 0.0)
        self.computed = -PERIOD
        self.now = 0.0
        self.running: list[Job] = []
        self.space: list[tuple[float, float, set[int]]] = []

    def run(self) -> None:
        """Pass after pass, until every job has started."""
        last: object = None
        while any(j.start == math.inf for j in self.jobs):
            self.account()
            for j in self.running:
                if j.end() <= self.now:
                    for node, part in self.parts(j, j.nodes):
                        self.free[node] += part
            self.running = [j for j in self.running if j.end() > self.now]
            waiting = [j for j in self.jobs if j.submit <= self.now and j.start == math.inf]
            waiting.sort(key=lambda j: (-self.rank[j.account], j.number))
            seen = [j.number for j in waiting], [j.number for j in self.running], self.computed
            if seen != last:  # a pass is repeated after something has happened, or if it started somebody
                self.one_pass(waiting)
            last = seen
            self.now += INTERVAL

    def parts(self, j: Job, nodes: list[int]) -> list[tuple[int, int]]:
        """Node and GPUs of each part of a job."""
        each, left, out = self.shape(j)[1], j.demand, []
        for node in nodes:
            out.append((node, min(each, left)))
            left -= out[-1][1]
        return out

    def shape(self, j: Job) -> tuple[int, int]:
        """Nodes, and GPUs on each."""
        nodes = math.ceil(j.demand / self.gpus)
        return nodes, math.ceil(j.demand / nodes)

    def account(self) -> None:
        """Usage up to the last full period, and the ranks that follow."""
        while self.computed + PERIOD <= self.now:
            since, until = self.computed, self.computed + PERIOD
            factor = 0.5 ** (1 / self.half_life)
            for a in self.usage:
                self.usage[a] *= factor**PERIOD
            for j in self.jobs:
                ran = min(j.end(), until) - max(since, j.start)
                if ran > 0:  # what has ended is counted before the decay of the period
                    self.usage[j.account] += j.demand * ran * factor ** (ran + PERIOD * (j.end() <= until))
            self.computed = until
            users = len(self.shares) + 1
            level = {a: self.shares[a] / u if u > 0 else math.inf for a, u in self.usage.items()}
            for a in level:
                better = sum(level[b] > level[a] * (1 + 1e-9) for b in level) + (level[a] < math.inf)
                self.rank[a] = (users - better) / users

    def choose(self, free: list[int], allowed: set[int], j: Job) -> list[int]:
        """Nodes of the shortest run of neighbours that is long enough."""
        count, each = self.shape(j)
        usable = [n for n in sorted(allowed) if free[n] >= each]
        if len(usable) < count:
            return []
        runs: list[list[int]] = []
        for n in usable:
            if not runs or runs[-1][-1] < n - 1:
                runs.append([])
            runs[-1].append(n)
        found: list[int] = []
        while len(found) < count:
            wanted = count - len(found)
            enough = [r for r in runs if len(r) >= wanted]
            best = min(enough, key=len) if enough else max(runs, key=len)
            found += best[:wanted]
            runs.remove(best)
        return found

    def begin(self, j: Job, nodes: list[int]) -> None:
        """The job starts."""
        j.start, j.nodes = self.now, nodes
        for node, part in self.parts(j, nodes):
            self.free[node] -= part
        self.running.append(j)

    def one_pass(self, waiting: list[Job]) -> None:
        """The main scheduler, then backfill."""
        everywhere = set(range(self.count))
        while waiting and (nodes := self.choose(self.free, everywhere, waiting[0])):
            self.begin(waiting.pop(0), nodes)
        if self.backfill == "none":
            return
        self.space = [(minute(self.now), minute(self.now) + self.window, everywhere)]
        for k, j in enumerate(waiting[: self.tests]):
            self.test(j, self.backfill == "conservative" or k == 0)

    def test(self, j: Job, reserves: bool) -> None:
        """Backfill looks at one job."""
        at = self.now
        while at < self.now + self.window:
            allowed, later = set(range(self.count)), math.inf
            for k, (begin, end, nodes) in enumerate(self.space):
                if end > at and begin <= at + j.limit:
                    allowed &= nodes
                    if k + 1 < len(self.space) and self.space[k + 1][2] - nodes:
                        later = min(later, end)
            begin, nodes = self.expected(j, allowed)
            begin = max(begin, at)
            if begin <= self.now:
                self.begin(j, nodes)
                return
            if not reserves:
                return
            if begin > later or begin == math.inf:
                at = later
                continue
            first, last = minute(begin), minute(begin + j.limit)
            if any(e > first and b < last and set(nodes) - n for b, e, n in self.space):
                at = begin
                continue
            if begin <= self.now + self.window:
                self.reserve(set(nodes), first, last)
            return

    def reserve(self, nodes: set[int], first: float, last: float) -> None:
        """Cut the time to come at both ends, and take the nodes out in between."""
        out = []
        for begin, end, there in self.space:
            cuts = sorted({begin, end} | {t for t in (first, last) if begin < t < end})
            for a, b in itertools.pairwise(cuts):
                out.append((a, b, there - nodes if a >= first and b <= last else there))
        self.space = out

    def expected(self, j: Job, allowed: set[int]) -> tuple[float, list[int]]:
        """When the job could start on these nodes, going by time limits in groups of 30, 60, ... seconds."""
        if nodes := self.choose(self.free, allowed, j):
            return self.now, nodes
        free, group = list(self.free), 30.0
        ends = sorted(((r.start + r.limit, self.parts(r, r.nodes)) for r in self.running), key=lambda e: e[0])
        while ends:
            first = last = math.inf
            while ends:
                end, parts = ends.pop(0)
                if any(node in allowed for node, _ in parts):
                    for node, part in parts:
                        free[node] += part
                    last, first = end, min(first, end)
                    if ends and ends[0][0] > first + group:
                        break
            group *= 2
            if last < math.inf and (nodes := self.choose(free, allowed, j)):
                return max(last, self.now + 1), nodes
        return math.inf, []
