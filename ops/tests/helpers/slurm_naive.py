"""Slurm's schedulers, written naively: lists and dictionaries, everything computed anew at every pass.

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
    """A job and its result."""

    number: int
    account: str
    demand: int
    submit: float
    duration: float
    limit: float
    user: str = ""  # in the tree; the account without one
    allowed: frozenset[int] = frozenset()  # nodes; all if empty
    asks: int = 0  # nodes; as few as hold it if 0
    charge: float = 0.0  # per second; its GPUs if 0
    caps: dict[str, float] = field(default_factory=dict)  # what it takes of each
    free_of: str = ""  # a cap that does not hold it
    partition: str = ""
    tier: int = 0
    bonus: float = 0.0
    start: float = math.inf
    nodes: list[int] = field(default_factory=list)

    def end(self) -> float:
        """Time at which it really ends."""
        return self.start + self.duration


def minute(time: float) -> float:
    """The last full minute."""
    return time // 60 * 60


@dataclass
class Slurm:
    """A cluster under Slurm; `run` fills in the starts of the jobs."""

    jobs: list[Job]
    shares: dict[str, float]
    sizes: list[int]
    half_life: float
    window: float
    tests: int
    backfill: str
    parent: dict[str, str] = field(default_factory=dict)  # of accounts and users that are not at the top
    caps: dict[str, float] = field(default_factory=dict)
    partitions: dict[str, set[int]] = field(default_factory=dict)
    version: float = 22.05
    bf_interval: float = INTERVAL

    def __post_init__(self) -> None:
        everywhere = set(range(len(self.sizes)))
        self.partitions = self.partitions or {"": everywhere}
        for j in self.jobs:
            j.user, j.allowed, j.charge = j.user or j.account, j.allowed or frozenset(everywhere), j.charge or j.demand
        self.users = [a for a in self.shares if a not in self.parent.values()]
        self.free = list(self.sizes)
        self.usage = dict.fromkeys(self.users, 0.0)
        self.rank: dict[str, float] = dict.fromkeys(self.users, 1.0)
        self.computed = -PERIOD
        self.now = 0.0
        self.running: list[Job] = []
        self.space: list[tuple[float, float, set[int]]] = []

    def run(self) -> None:
        """Pass after pass, until every job has started."""
        last: object = None
        behind = False
        while any(j.start == math.inf for j in self.jobs):
            self.account()
            for j in self.running:
                if j.end() <= self.now:
                    for node, part in self.parts(j, j.nodes):
                        self.free[node] += part
            self.running = [j for j in self.running if j.end() > self.now]
            waiting = [j for j in self.jobs if j.submit <= self.now and j.start == math.inf]
            waiting.sort(key=lambda j: (-j.tier, -math.floor(1e5 * self.rank[j.user] + j.bonus), j.number))
            seen = [j.number for j in waiting], [j.number for j in self.running], self.computed
            changed = seen != last  # a pass is repeated after something has happened, or if it started somebody
            behind = behind or changed
            plans = behind and self.now % self.bf_interval == 0
            if changed or plans:
                self.one_pass(waiting, plans)
                behind = behind and not plans
            last = seen
            self.now += INTERVAL

    def parts(self, j: Job, nodes: list[int]) -> list[tuple[int, int]]:
        """Node and GPUs of each part of a job."""
        each, left, out = self.shape(j)[1], j.demand, []
        for k, node in enumerate(nodes):
            others = len(nodes) - 1 - k  # each of them gets at least a GPU
            out.append((node, min(each, left - others)))
            left -= out[-1][1]
        return out

    def shape(self, j: Job) -> tuple[int, int]:
        """Nodes, and GPUs on each."""
        for nodes in (j.asks, *range(1, len(self.sizes) + 1)):
            each = math.ceil(j.demand / nodes) if nodes else 0
            if nodes and nodes <= j.demand and sum(self.sizes[n] >= each for n in j.allowed) >= nodes:
                return nodes, each
        raise AssertionError(f"job {j.number} fits nowhere")

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
                    self.usage[j.user] += j.charge * ran * factor ** (ran + PERIOD * (j.end() <= until))
            self.computed = until
            place = 0
            for k, (user, shares_rank) in enumerate(self.walk([""], False)):
                place = place if shares_rank else k
                self.rank[user] = (len(self.users) + 1 - place) / (len(self.users) + 1)

    def walk(self, accounts: list[str], tied: bool) -> list[tuple[str, bool]]:
        """All users below some equal accounts in order, each with true if it shares the rank of the one before.

        At the top is the user root, which runs nothing.
        """
        below = [a for a in self.shares if self.parent.get(a, "") in accounts]
        level = {a: self.level(a) for a in below}
        if accounts == [""]:
            level["root"] = math.inf
        found: list[tuple[str, bool]] = []
        for value in sorted(set(level.values()), reverse=True):
            equal = [a for a in level if level[a] == value]
            for user in [a for a in equal if a not in self.parent.values()]:
                found.append((user, tied))
                tied = True
            if inner := [a for a in equal if a in self.parent.values()]:
                found += self.walk(inner, tied)
            tied = False
        return found

    def used(self, a: str) -> float:
        """Usage of a user, or of all below an account."""
        return self.usage.get(a, 0.0) + sum(self.used(b) for b in self.shares if self.parent.get(b, "") == a)

    def level(self, a: str) -> float:
        """Level fair share, in steps that floating point does not touch."""
        beside = [b for b in self.shares if self.parent.get(b, "") == self.parent.get(a, "")]
        if self.used(a) == 0:
            return math.inf
        shares = self.shares[a] / sum(self.shares[b] for b in beside)
        return round(1e7 * shares * sum(self.used(b) for b in beside) / self.used(a))

    def choose(self, free: list[int], allowed: set[int], j: Job) -> list[int]:
        """Nodes of the shortest run of neighbours that is long enough."""
        count, each = self.shape(j)
        usable = [n for n in sorted(allowed & j.allowed) if free[n] >= each]
        if len(usable) < count:
            return []
        if count == 1 and self.version >= 25.11:
            return usable[:1]
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

    def is_over(self, j: Job) -> bool:
        """Return true if a cap keeps the job from starting now."""
        taken = {c: sum(r.caps.get(c, 0) for r in self.running) for c in j.caps}
        return any(taken[c] + j.caps[c] > self.caps[c] for c in j.caps if c != j.free_of)

    def begin(self, j: Job, nodes: list[int]) -> None:
        """The job starts."""
        j.start, j.nodes = self.now, nodes
        for node, part in self.parts(j, nodes):
            self.free[node] -= part
        self.running.append(j)

    def one_pass(self, waiting: list[Job], plans: bool) -> None:
        """The main scheduler, up to the first job of each partition that has no place; then backfill."""
        left, stopped, behind = set(range(len(self.sizes))), set[str](), list[Job]()
        for j in waiting:
            if self.is_over(j):
                continue
            if j.partition not in stopped:
                if chosen := self.choose(self.free, left, j):
                    self.begin(j, chosen)
                    continue
                stopped.add(j.partition)
                left -= self.partitions[j.partition]
            behind.append(j)
        if self.backfill == "none" or not plans:
            return
        self.space = [(minute(self.now), minute(self.now) + self.window, set(range(len(self.sizes))))]
        reserved = set[str]()
        for j in behind[: self.tests]:
            if not self.is_over(j):
                self.test(j, self.backfill == "conservative" or j.partition not in reserved)
                reserved.add(j.partition)

    def test(self, j: Job, reserves: bool) -> None:
        """Backfill looks at one job."""
        at = self.now
        while at < self.now + self.window:
            allowed, later = set(range(len(self.sizes))), math.inf
            for k, (begin, end, nodes) in enumerate(self.space):
                if end <= at:
                    continue
                following = self.space[k + 1 :]
                if following and (following[0][2] - (allowed & nodes)) & self.partitions[j.partition]:
                    later = min(later, end)
                if begin > at + j.limit:
                    if len(following) > 1 and self.version >= 24.11:
                        later = min(later, following[0][1])
                    break
                allowed &= nodes
            begin, chosen = self.expected(j, allowed, at, later)
            begin = max(begin, at)
            if begin <= self.now:
                self.begin(j, chosen)
                return
            if not reserves:
                return
            if begin > later or begin == math.inf:
                at = later
                continue
            first, last = minute(begin), minute(begin + j.limit + 59 * (self.version >= 24.11))
            if any(e > first and b < last and set(chosen) - n for b, e, n in self.space):
                at = begin
                continue
            if begin <= self.now + self.window:
                self.reserve(set(chosen), first, last)
            return

    def reserve(self, nodes: set[int], first: float, last: float) -> None:
        """Split the future at both ends, and remove the nodes in between."""
        out = []
        for begin, end, there in self.space:
            cuts = sorted({begin, end} | {t for t in (first, last) if begin < t < end})
            for a, b in itertools.pairwise(cuts):
                out.append((a, b, there - nodes if a >= first and b <= last else there))
        self.space = out

    def expected(self, j: Job, allowed: set[int], at: float, later: float) -> tuple[float, list[int]]:
        """Return the earliest start of the job on these nodes, from time limits in groups of 30, 60, ... seconds."""
        free, group, fixed = list(self.free), 30.0, 0.0
        ends = sorted(((r.start + r.limit, self.parts(r, r.nodes)) for r in self.running), key=lambda e: e[0])
        if self.version >= 23.11:
            ends = [e for e in ends if e[0] <= later]
            while at > self.now and ends and (ends[0][0] <= at if self.version >= 25.11 else ends[0][0] < at):
                for node, part in ends.pop(0)[1]:
                    free[node] += part
        if nodes := self.choose(free, allowed, j):
            return self.now, nodes
        allowed = allowed & j.allowed
        gone: list[tuple[float, list[tuple[int, int]]]] = []
        while ends:
            last = math.inf
            while ends:
                end, parts = ends.pop(0)
                gone.append((end, parts))
                if any(node in allowed for node, _ in parts):
                    for node, part in parts:
                        free[node] += part
                    last = end
                    fixed = fixed or (end // 30 + 1) * 30
                    if ends and ends[0][0] > fixed + group:
                        break
            group *= 2
            while ends and ends[0][0] > fixed + group:
                group *= 2
            if last < math.inf and (nodes := self.choose(free, allowed, j)):
                if self.version >= 25.11:
                    last = max(end for end, parts in gone if any(node in nodes for node, _ in parts))
                return max(last, self.now + 1), nodes
        return math.inf, []
