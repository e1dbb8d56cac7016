"""Counter-examples to ASTRAEA's lead: the smallest workload that reverses each ordering of [Ye2022] §6.3 and §6.4.

An ordering says that ASTRAEA has the lowest value of a measure. Random small workloads are simulated under ASTRAEA and
under a rival, both as one of the two `readings` has them: Algorithms 1 and 2 as printed against rivals as their own
papers describe them, or the authors' program against its own rivals. There are no overheads, and a rival that needs
running times is told the true ones. Where the rival is strictly better, the workload is shrunk (`smaller`) for as long
as it stays so. Every time is a multiple of a lease of 15 minutes, so that all events fall on rounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial
from itertools import combinations
from operator import attrgetter
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.simulate import simulate
from astraea.core.metrics import sharing_loss, tenant_sharing_loss
from astraea.core.result import Result
from astraea.core.units import HOUR
from astraea.experiments.grid import Grid
from astraea.experiments.run import Call
from astraea.traces.trace import Trace
from papers.scales import at_scale
from papers.shrinking import reversal
from papers.ye2022.readings import FROM_PAPERS, IN_PROGRAM, NO_COST, PAPERS, PROGRAM

LEASE: Final = 900.0
"""Default of every scheduler here [s]."""

SETTINGS: Final = replace(NO_COST, interval=LEASE)

MEASURES: Final = ("sharing_loss", "tenant_sharing_loss", "average_slowdown", "average_jct")
"""Measures of the orderings: Figs 10, 11, 12 and 13. A tenant's case is a whole hour, not a day."""

_COMPARED: Final = {PROGRAM: IN_PROGRAM, PAPERS: {name: get_policy(name) for name in FROM_PAPERS}}
RIVALS: Final = {reading: tuple(policies)[1:] for reading, policies in _COMPARED.items()}
_POLICIES: Final = {(reading, name): one for reading, policies in _COMPARED.items() for name, one in policies.items()}

SEARCHED: Final = {"small": (8, 1), "paper": (100, 2)}
"""Random workloads for each rival, and how many of those that reverse an ordering are shrunk."""

class Job(NamedTuple):
    """A gang; times in leases."""

    tenant: int
    demand: int
    submit: int
    duration: int


class SmallWorkload(NamedTuple):
    """Jobs in order of submission, tenants by their first job; and the cluster."""

    nodes: int
    gpus_per_node: int
    jobs: tuple[Job, ...]

    @property
    def gpus(self) -> int:
        """All GPUs [GPU]."""
        return self.nodes * self.gpus_per_node

    @property
    def tenants(self) -> int:
        """Number of tenants, which own equal shares of the cluster."""
        return len({job.tenant for job in self.jobs})

    @property
    def is_possible(self) -> bool:
        """True if two tenants share and every gang fits its tenant's quota: all schedulers then run the same jobs."""
        return self.tenants > 1 and self.gpus // self.tenants >= max(job.demand for job in self.jobs)

    @property
    def size(self) -> tuple[int, ...]:
        """Sizes, the most important first: jobs, tenants, GPUs, nodes; sums of demands, durations, submissions."""
        sums = [sum(column) for column in zip(*self.jobs, strict=True)]
        return len(self.jobs), self.tenants, self.gpus, self.nodes, sums[1], sums[3], sums[2]

    @property
    def trace(self) -> Trace:
        """The jobs by the names A, B, C, ..., the tenants by 1, 2, ...."""
        tenant, demand, submit, duration = np.array(self.jobs).T
        times = {"submit_time": LEASE * submit, "duration": LEASE * duration}
        return replace(_named(len(self.jobs), self.tenants), tenant=tenant, demand=demand, **times)


@lru_cache
def _named(jobs: int, tenants: int) -> Trace:
    """A trace with these names: to check a table takes as long as to simulate it, and there are thousands."""
    names = [chr(65 + i) for i in range(jobs)]
    columns = {"tenant": [str(1 + i % tenants) for i in range(jobs)], "demand": 1, "submit_time": 0.0, "duration": 1.0}
    return Trace.from_frame(pd.DataFrame({"job_id": names, **columns}), name="example")


def tidy(nodes: int, gpus_per_node: int, jobs: list[Job]) -> SmallWorkload:
    """Order jobs by submission, and number tenants by their first jobs."""
    jobs = sorted(jobs, key=lambda job: job.submit)
    numbers = {tenant: i for i, tenant in enumerate(dict.fromkeys(job.tenant for job in jobs))}
    return SmallWorkload(nodes, gpus_per_node, tuple(job._replace(tenant=numbers[job.tenant]) for job in jobs))


def random_workload(seed: int) -> SmallWorkload:
    """Four to eight jobs of up to three tenants on one or two nodes of two to four GPUs."""
    rng = np.random.default_rng([seed])
    nodes, gpus = int(rng.integers(1, 3)), int(rng.integers(2, 5))
    tenants = int(rng.integers(2, min(3, nodes * gpus) + 1))
    n, most = int(rng.integers(4, 9)), nodes * gpus // tenants
    columns = [rng.integers(low, high, n) for low, high in ((0, tenants), (1, most + 1), (0, 4), (1, 7))]
    columns[0][:2] = 0, 1
    return tidy(nodes, gpus, [Job(*row) for row in np.array(columns).T.tolist()])


def smaller(w: SmallWorkload) -> Iterator[SmallWorkload]:
    """Workloads of less `size`, those that lack most first.

    They lack a job; have two tenants as one; lack a node or a GPU of each; or start at second 0. Others have one number
    of a job lower, or that of all jobs with the same; a lower demand may go with a GPU less on each node.
    """
    jobs = list(w.jobs)
    first = jobs[0].submit
    for k in range(len(jobs)):
        yield tidy(w.nodes, w.gpus_per_node, jobs[:k] + jobs[k + 1 :])
    for a, b in combinations(range(w.tenants), 2):
        yield tidy(w.nodes, w.gpus_per_node, [job._replace(tenant=a) if job.tenant == b else job for job in jobs])
    if w.nodes > 1:
        yield w._replace(nodes=w.nodes - 1)
        yield SmallWorkload(w.nodes - 1, w.gpus, w.jobs)
    for less in range(1, w.gpus_per_node):
        yield w._replace(gpus_per_node=less)
    if first > 0:
        yield w._replace(jobs=tuple(job._replace(submit=job.submit - first) for job in jobs))
    for field, least in (("demand", 1), ("duration", 1), ("submit", 0)):
        for same in sorted({getattr(job, field) for job in jobs}):
            for value in range(least, same):
                those = [k for k, job in enumerate(jobs) if getattr(job, field) == same]
                for some in ([k] for k in those):
                    yield _changed(w, some, field, value)
                if len(those) > 1:
                    yield _changed(w, those, field, value)
                if field == "demand" and w.gpus_per_node > 1:
                    yield _changed(w._replace(gpus_per_node=w.gpus_per_node - 1), those, field, value)


def _changed(w: SmallWorkload, those: list[int], field: str, value: int) -> SmallWorkload:
    changed = [job._replace(**{field: value}) if k in those else job for k, job in enumerate(w.jobs)]
    return tidy(w.nodes, w.gpus_per_node, changed)


def run(w: SmallWorkload, scheduler: str, reading: str = PAPERS, *, keep_log: bool = False) -> Result:
    """Simulate a workload under a scheduler as a reading has it."""
    cluster = Cluster(w.nodes, w.gpus_per_node)
    return simulate(w.trace, cluster, _POLICIES[reading, scheduler], settings=SETTINGS, keep_log=keep_log)


@lru_cache(maxsize=1 << 16)
def measured(w: SmallWorkload, scheduler: str, reading: str = PAPERS) -> tuple[float, ...]:
    """`MEASURES` of a workload under a scheduler; lower is better."""
    result = run(w, scheduler, reading)
    return (
        sharing_loss(result),
        tenant_sharing_loss(result, window=HOUR),
        float(result.jobs["slowdown"].mean()),
        float(result.jobs["jct"].mean()),
    )


def lead(rival: str, measure: str, w: SmallWorkload, reading: str = PAPERS) -> float:
    """Return ASTRAEA's value less the rival's: above 0 if the ordering is reversed.

    NaN if the workload cannot be run, or a measure is undefined.
    """
    if not w.is_possible:
        return float("nan")
    k = MEASURES.index(measure)
    return measured(w, "astraea", reading)[k] - measured(w, rival, reading)[k]


def reversals(rival: str, instances: int, starts: int, reading: str = PAPERS) -> pd.DataFrame:
    """Search the workloads of seeds 0 to `instances` - 1 for reversals, and shrink the smallest `starts`.

    Returns
    -------
    DataFrame
        A row per measure, and per job of the smallest workload found: measure, counts as of `reversal`, nodes,
        gpus_per_node, and those of `Job`. Without a reversal one row, with NaN for the workload.
    """
    rows: list[dict[str, Any]] = []
    drawn = [random_workload(seed) for seed in range(instances)]
    for measure in MEASURES:
        ahead = partial(lead, rival, measure, reading=reading)
        counts, small = reversal(drawn, ahead, smaller, attrgetter("size"), starts)
        row: dict[str, Any] = {"measure": measure, **counts}
        if not small:
            rows.append(row)
            continue
        row |= {"nodes": small[0].nodes, "gpus_per_node": small[0].gpus_per_node}
        rows += [{**row, **job._asdict()} for job in small[0].jobs]
    return pd.DataFrame(rows).reindex(columns=["measure", *counts, "nodes", "gpus_per_node", *Job._fields])


def falsifier_grid(scale: str = "paper") -> Grid:
    """The search of each rival; columns reading, rival."""
    instances, starts = at_scale(SEARCHED, scale)
    expected = 0.02 * instances + 2.0 * starts
    rows = [{"reading": reading, "rival": rival} for reading in (PAPERS, PROGRAM) for rival in RIVALS[reading]]
    return Grid.of(
        (Call(reversals, (row["rival"], instances, starts, row["reading"]), row, expected=expected), row)
        for row in rows
    )


def found(scale: str = "paper") -> pd.DataFrame:
    """Return the findings of `reversals` for all rivals of both readings."""
    return falsifier_grid(scale).table(lambda table: table)


def workload_of(rows: pd.DataFrame) -> SmallWorkload:
    """The workload of the rows of one ordering."""
    jobs = rows[[*Job._fields]].astype(int).itertuples(index=False, name=None)
    nodes, gpus_per_node = rows[["nodes", "gpus_per_node"]].iloc[0].astype(int)
    return SmallWorkload(int(nodes), int(gpus_per_node), tuple(Job(*row) for row in jobs))
