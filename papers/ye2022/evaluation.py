"""The evaluation of [Ye2022] §6: its workloads, clusters, lease terms and sizes, in both readings.

At the scale ``small`` a workload is the first two days of its trace, or its first 1,500 jobs where these are more. Its
cluster is too small for them by a quarter, so that jobs have to wait. Otherwise the workload is the whole trace on the
evaluation's cluster. Lease terms below 900 s that give a trace more than `MOST_LEASES` leases are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any, Final

from astraea.cluster.cluster import Cluster
from astraea.cluster.settings import Settings
from astraea.cluster.simulation import simulated, split_off_impossible
from astraea.core.result import Result
from astraea.experiments.archive import Keep
from astraea.experiments.grid import Grid
from astraea.experiments.lease_term import MOST_LEASES
from astraea.experiments.run import Run
from astraea.traces.synthetic import SYNTHETIC
from astraea.traces.trace import Trace
from papers.scales import at_scale, seeds
from papers.ye2022 import readings
from papers.ye2022.readings import PAPERS, PROGRAM, READINGS, Scheduler, able, compared, policy_named, settings_of
from papers.ye2022.whole_rounds import simulate_in_whole_rounds
from papers.ye2022.workloads import INTERVAL, LARGE, LEASE_TERM, LEASE_TERMS, SIZES, at_load, load_workload

Row = dict[Any, Any]
"""Columns that distinguish a run."""

IN_FIG_14: Final = ("astraea", "tiresias-l")
LOADS: Final = {"small": (1.4, 1.6, 1.8, 2.0, 2.2, 2.4), "paper": (0.7, 0.8, 0.9, 1.0, 1.1, 1.2)}
"""Offered loads at which all schedulers are compared.

At the scale ``small``, half of what jobs of two days ask for would run after the last of them comes.
"""

FIRST_JOBS: Final = 10_000  # jobs of that comparison, and of the lease terms', where a trace has more than `LARGE`
READ: Final[Keep] = {
    "jobs": (
        "tenant", "demand", "submit_time", "first_start_time", "end_time", "duration", "jct", "queueing_delay",
        "slowdown", "attained_service", "fair_service", "rho_job", "leases", "preemptions", "overhead",
    ),
    "excluded_jobs": ("demand", "duration"),
    "timeline": ("time", "tenant", "attained_service", "fair_service", "held", "waiting"),
}  # fmt: skip
"""Columns of a run that notebooks 01 to 08 read, the same for all, so that a shared run is computed once.

The many runs over lease terms and cluster sizes keep a summary only, but on a log, whose weeks are resampled (`kept`).
"""


def run_of(
    trace: Trace, cluster: Cluster, scheduler: str, seed: int = 0, settings: Settings | None = None,
    keep: Keep = READ, **parameters: Any,
) -> Run:  # fmt: skip
    """Return one run beside the evaluation, with the usual settings unless others are given."""
    policy = policy_named(scheduler).with_parameters(**parameters)
    return Run(trace, cluster, policy, seed, settings or Settings(), keep)


def workloads(
    trace: str, scale: str, of: Iterable[int] | None = None, reading: str = PAPERS, load: float = 0.0
) -> Iterator[tuple[int, Trace, Cluster]]:
    """Yield every seed of a scale, or some, with its jobs at a load (`load_workload`) and the cluster that they run on.

    They are submitted in rounds (§6.1.3), unless the authors' program is to count its rounds itself.
    """
    for seed in seeds(trace, scale) if of is None else of:
        jobs, cluster = load_workload(trace, scale, seed, load)
        yield seed, jobs if reading == PROGRAM else jobs.in_rounds(INTERVAL), cluster


def first_jobs(trace: Trace) -> Trace:
    """Return the first `FIRST_JOBS` of a trace with more than `LARGE` jobs; any other trace as it is."""
    return trace.head(FIRST_JOBS) if len(trace) > LARGE else trace


def jobs_shown(trace: Trace) -> str:
    """Say for a picture which jobs `first_jobs` returns."""
    shown = len(first_jobs(trace))
    return f"The first {shown:,} of {len(trace):,} jobs." if shown < len(trace) else f"All {shown:,} jobs."


def few_seeds(trace: str, scale: str, usual: int = 2) -> tuple[int, ...]:
    """Return the first seeds of a trace, one if it has more than `LARGE` jobs."""
    return seeds(trace, scale)[: 1 if len(load_workload(trace, scale)[0]) > LARGE else usual]


def kept(trace: str) -> Keep:
    """Return what runs of Figs 9 and 14 keep of a trace; a log has one run, and its weeks are read from its jobs."""
    return "summary" if trace in SYNTHETIC else READ


def grid_of(rows: Iterable[tuple[int, Run, Mapping[str, Any]]]) -> Grid:
    """Runs on the workload of a seed; columns scheduler, seed, nodes, and what else distinguishes each."""
    return Grid.of(
        (run, {"scheduler": run.policy.name, "seed": seed, "nodes": run.cluster.nodes, **own})
        for seed, run, own in rows
    )


def simulator_of(reading: str) -> Callable[..., Result]:
    """Return the simulator of a reading: the authors' program counts in whole rounds."""
    return simulate_in_whole_rounds if reading == PROGRAM else simulated


def runs_of(
    schedulers: Iterable[Scheduler], reading: str, seed: int, trace: Trace, cluster: Cluster, keep: Keep = READ,
    **own: Any,
) -> Iterator[tuple[Run, Row]]:  # fmt: skip
    """Yield runs of schedulers on one trace by the rules of a reading, each with its row of an index."""
    for s in schedulers:
        run = Run(trace, cluster, s.made, 0, settings_of(reading, s), keep, simulator_of(reading))
        yield run, {"reading": reading, "scheduler": s.name, "seed": seed, "nodes": cluster.nodes, **own}


def leased(schedulers: Iterable[Scheduler], lease_term: float) -> tuple[Scheduler, ...]:
    """Return the schedulers under a lease term [s]; those without leases as they are. `InputError` for no number."""
    return tuple(
        s._replace(parameters={**s.parameters, "lease_term": lease_term}) if "lease_term" in s.made.parameters else s
        for s in schedulers
    )


def main_grid(trace: str, scale: str = "paper", *, lease_term: float = LEASE_TERM, load: float = 0.0) -> Grid:
    """Every scheduler of both readings on every seed: Figs 10 to 13; columns reading, scheduler, seed, nodes.

    `lease_term` as of `leased`, `load` as of `load_workload`.
    """
    return Grid.of(
        row
        for reading in READINGS
        for seed, jobs, cluster in workloads(trace, scale, reading=reading, load=load)
        for row in runs_of(leased(compared(reading, jobs), lease_term), reading, seed, jobs, cluster)
    )


def accounting_grid(trace: str, scale: str = "paper", *, lease_term: float = LEASE_TERM, load: float = 0.0) -> Grid:
    """Reading `PAPERS` with submissions to the second and in rounds; as `main_grid`, and ``accounting``."""
    rows: list[tuple[Run, Row]] = []
    for seed in few_seeds(trace, scale):
        recorded, cluster = load_workload(trace, scale, seed, load)
        both = leased(compared(PAPERS, recorded), lease_term)
        for accounting, jobs in (("to the second", recorded), ("in rounds", recorded.in_rounds(INTERVAL))):
            rows += runs_of(both, PAPERS, seed, jobs, cluster, accounting=accounting)
    return Grid.of(rows)


def lease_grid(trace: str, scale: str = "paper") -> Grid:
    """ASTRAEA of both readings with lease terms from a minute to an hour: Fig 9; the column is `lease_term` [s].

    The overheads that Fig 9 shows are charged in both, also where the authors' program only counts them.
    """
    busy = float(load_workload(trace, scale)[0].duration.sum())
    terms = [t for t in LEASE_TERMS if t >= 900 or busy / t <= MOST_LEASES]
    rows: list[tuple[Run, Row]] = []
    for reading, scheduler in {PROGRAM: readings.RELEASED, PAPERS: readings.ASTRAEA}.items():
        for seed, jobs, cluster in workloads(trace, scale, few_seeds(trace, scale), reading):
            for t in terms:
                own = {"reading": reading, "scheduler": "astraea", "seed": seed, "lease_term": t}
                policy, simulator = scheduler.made.with_parameters(lease_term=t), simulator_of(reading)
                run = Run(jobs, cluster, policy, keep=kept(trace), function=simulator)
                rows.append((run, own))
    return Grid.of(rows)


def size_grid(trace: str, scale: str = "paper", *, lease_term: float = LEASE_TERM, load: float = 0.0) -> Grid:
    """ASTRAEA and Tiresias-L on smaller and larger clusters: Fig 14; the column is `nodes_percent` [%].

    `lease_term`, and `load`, which is that on the evaluation's cluster, as of `main_grid`. The jobs are the same at
    every size: those that the smallest cluster can run under static quotas.
    """
    rows: list[tuple[Run, Row]] = []
    for reading in READINGS:
        for seed, submitted, cluster in workloads(trace, scale, few_seeds(trace, scale), reading, load):
            clusters = {percent: Cluster(math.ceil(cluster.nodes * percent / 100)) for percent in SIZES}
            jobs, too_large = split_off_impossible(submitted, clusters[SIZES[0]])
            both = [s for s in leased(compared(reading, jobs), lease_term) if s.name in IN_FIG_14]
            for percent, resized in clusters.items():
                own = {"nodes_percent": percent, "excluded_jobs": len(too_large)}
                rows += runs_of(both, reading, seed, jobs, resized, kept(trace), **own)
    return Grid.of(rows)


def load_grid(trace: str, scale: str = "paper", *, lease_term: float = LEASE_TERM) -> Grid:
    """Every scheduler of both readings at several offered loads (`LOADS`), under a lease term as of `leased`.

    The jobs are `first_jobs`. Columns as of `main_grid`, and `load`.
    """
    rows: list[tuple[Run, Row]] = []
    for seed in few_seeds(trace, scale, usual=1):
        recorded, cluster = load_workload(trace, scale, seed)
        some = first_jobs(recorded)
        for reading, load in product(READINGS, at_scale(LOADS, scale)):
            scaled = at_load(some, cluster, load)
            jobs = scaled if reading == PROGRAM else scaled.in_rounds(INTERVAL)
            schedulers = leased(compared(reading, jobs), lease_term)
            rows += runs_of(schedulers, reading, seed, jobs, cluster, "summary", load=load)
    return Grid.of(rows)


def baselines_grid(trace: str, scale: str = "paper") -> Grid:
    """`BASELINES`: the baselines and what their papers leave open; columns as of `main_grid`."""
    rows: list[tuple[Run, Row]] = []
    for seed, jobs, cluster in workloads(trace, scale, few_seeds(trace, scale)):
        rows += runs_of(able(readings.BASELINES, jobs), PAPERS, seed, jobs, cluster)
    return Grid.of(rows)
