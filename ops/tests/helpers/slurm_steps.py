"""The naive twin of Slurm, put into the state that a log of a real Slurm had, second by second.

A replay of a whole log soon differs from it, because one other start moves all that follow. Here every second in which
jobs started begins with the real state, so each is a test of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from slurm_naive import PERIOD, Job, Slurm

from astraea.cluster.observed import recorded_runs
from astraea.cluster.rules import Rules
from astraea.traces.readers import read_trace
from astraea_ops.audit.replays import plan_of
from astraea_ops.site.site import read_site
from astraea_ops.slurm.words import hosts_of

VERSIONS = 22.05, 23.11, 24.11, 25.11


class Steps:
    """A log and its settings; times are seconds since a full minute."""

    def __init__(self, log: Path, settings: list[Path]) -> None:
        site, trace = read_site(settings), read_trace(log, format="slurm")
        assert site.cluster is not None
        assert trace.details is not None
        own, rules, _ = plan_of(site, trace, "slurm", {}, site.cluster)
        assert rules is not None
        p, number_of = own.parameters, {node.name: k for k, node in enumerate(site.nodes)}
        offset, self.weight = p["clock_offset"] % 60, p["weight_fairshare"]
        runs = recorded_runs(trace).sort_values("job")
        self.start, self.end = (runs[name].to_numpy() + offset for name in ("start", "end"))
        self.nodes = [sorted(number_of[h] for h in hosts_of(t)) for t in trace.details["node_list"].astype(str)]
        jobs = [
            Job(j, "", int(trace.demand[j]), trace.submit_time[j] + offset, self.end[j] - self.start[j],
                trace.time_limit[j], str(rules.association[j]),
                frozenset(np.flatnonzero(rules.allowed[rules.kind[j]]).tolist()), int(rules.nodes[j]), rules.charge[j],
                *caps_of(rules, j), str(rules.partition[j]), int(rules.tier[j]), rules.bonus[j])
            for j in range(len(trace))
        ]  # fmt: skip
        root = next(a for a in range(len(rules.parent)) if rules.parent[a] < 0 and a not in rules.association
                    and a not in rules.parent)  # fmt: skip # the twin adds it
        self.slurm = Slurm(
            jobs, {str(a): rules.shares[a] for a in range(len(rules.parent)) if a != root},
            [int(node.tres[site.resource]) for node in site.nodes], p["half_life"], p["bf_window"], 500, "conservative",
            {str(a): str(above) for a, above in enumerate(rules.parent) if above >= 0},
            {str(k): most for k, most in enumerate(rules.cap)},
            {str(k): set(np.flatnonzero(row).tolist()) for k, row in enumerate(rules.partition_nodes)},
            VERSIONS[int(p["bf_rules"])],
        )  # fmt: skip
        self.slurm.computed = (p["calc_offset"] + offset) % PERIOD - PERIOD

    def same(self) -> list[bool]:
        """For each second in which jobs started, return whether the twin starts the same ones."""
        return [self.starts_as_recorded(second) for second in np.unique(self.start)]

    def starts_as_recorded(self, second: float) -> bool:
        """Return whether it does for some order of the pass and of what else happened in this second."""
        s, wanted = self.slurm, set(np.flatnonzero(self.start == second))
        ending = np.flatnonzero((self.end == second) & (self.start < second))
        came = [j.number for j in s.jobs if j.submit == second]
        found = False
        for late in (2, 0):  # usage may be computed after the pass
            self.compute(second + 0.5 - late)
            for ended in subsets(ending):
                for k, plans in itertools.product(range(len(came) + 1), (True, False)):
                    found = found or self.starts(second, ended, set(came[k:]), plans) == wanted
        return found

    def compute(self, now: float) -> None:
        """Compute usage and ranks from what really ran."""
        s = self.slurm
        for j in s.jobs:
            j.start = self.start[j.number]
        s.now = now
        s.account()

    def starts(self, second: float, ended: set[int], later: set[int], plans: bool) -> set[int]:
        """Return the jobs that the twin starts in the real state, with backfill or not; some come `later`."""
        s = self.slurm
        s.now, s.free, s.running, waiting = second + 0.5, list(s.sizes), [], list[Job]()
        for j in s.jobs:
            begun, k = self.start[j.number] < second, j.number
            j.start, j.nodes = (self.start[k], self.nodes[k]) if begun else (math.inf, [])
            if begun and (self.end[k] > second or (self.end[k] == second and k not in ended)):
                s.running.append(j)
                for node, part in s.parts(j, j.nodes):
                    s.free[node] -= part
            elif not begun and j.submit <= second and k not in later:
                waiting.append(j)
        waiting.sort(key=lambda j: (-j.tier, -math.floor(self.weight * s.rank[j.user] + j.bonus), j.number))
        s.one_pass(waiting, plans)
        return {j.number for j in waiting if j.start < math.inf}


def caps_of(rules: Rules, j: int) -> tuple[dict[str, float], str]:
    """Return the part of each cap that a job takes, and a cap that does not hold it."""
    named = [(str(c), t, b) for c, t, b in zip(rules.caps[j], rules.takes[j], rules.binds[j], strict=False) if c >= 0]
    return {c: float(t) for c, t, _ in named}, next((c for c, _, b in named if not b), "")


def subsets(of: np.ndarray) -> Iterator[set[int]]:
    """All subsets, the small ones first."""
    for k in range(len(of) + 1):
        yield from (set(some) for some in itertools.combinations(of.tolist(), k))
