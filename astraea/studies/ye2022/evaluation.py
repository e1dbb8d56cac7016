"""The evaluation of [Ye2022] §6: which workloads, clusters, schedulers, lease terms and sizes are simulated.

A grid is named by the trace and the scale, so that everybody who asks for it finds the same results in the cache. At
the scale ``small`` a workload is the first two days of its trace, or its first 1,500 jobs where these are more, on a
cluster of as many GPUs as would be busy on average if nobody had to wait; otherwise it is the whole trace on the
evaluation's cluster. Except at the scale ``full``, lease terms below 900 s that give a trace more than `MOST_LEASES`
leases are left out: the time that a simulation takes grows with their number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import split_off_impossible
from astraea.core.checks import one_of
from astraea.experiments.archive import Kept
from astraea.experiments.grid import Grid
from astraea.experiments.run import Run
from astraea.studies.scales import SCALES, seeds
from astraea.traces.describe import offered_load, served_load
from astraea.traces.named import named_trace
from astraea.traces.synthetic import SYNTHETIC
from astraea.traces.trace import Trace

NODES: Final = {"venus": 100, "philly": 210, "helios-venus": 100, "philly-two-weeks": 210}
"""8-GPU nodes of the evaluation (§6.1.3)."""

LEASE_TERMS: Final = (60.0, 120.0, 300.0, 600.0, 900.0, 1200.0, 1800.0, 3600.0)
"""Of Fig 9 [s]."""

SIZES: Final = (60, 80, 100, 120, 150, 200)
"""Of Fig 14: nodes, relative to the evaluation [%]."""

SMALL_JOBS: Final = 1500
SMALL_TIME: Final = 2 * 86_400.0
LARGE: Final = 20_000
"""Jobs from which on a trace counts as large."""

MOST_LEASES: Final = 3_000_000

SCHEDULERS: Final = (
    "astraea", "astraea-released", "hived", "allox", "tiresias-l", "themis", "gandiva-fair", "yarn-cs", "fifo",
)  # fmt: skip
"""The seven schedulers that the evaluation compares (§6.1.5), ASTRAEA also as it was released, and FIFO.

In the order of the figures.
"""

READ: Final[Kept] = {
    "jobs": (
        "tenant", "demand", "submit_time", "first_start_time", "end_time", "duration", "jct", "queueing_delay",
        "slowdown", "attained_service", "fair_service", "rho_job", "leases", "preemptions", "overhead",
    ),
    "excluded_jobs": ("demand", "duration"),
    "timeline": ("time", "tenant", "attained_service", "fair_service", "held", "waiting"),
}  # fmt: skip
"""What notebooks 01 to 08 read of a run: `metrics.summary`, `metrics.tenant_windows` and their own measures.

One for all, because a run that two of them share is computed once for both; only of the many runs over lease terms and
cluster sizes the summary is kept.
"""


def load_workload(trace: str, scale: str = "paper", seed: int = 0) -> tuple[Trace, Cluster]:
    """One trace of the evaluation and the cluster that it runs on.

    Parameters
    ----------
    trace : str
        As in `traces.named.named_trace`.
    scale : {"small", "paper", "full"}
    seed : int
        Of a synthetic trace; a real one is the same for all.

    Raises
    ------
    InputError
        If there is no such trace or scale.
    """
    return _loaded(trace, one_of(scale, SCALES, "scale"), seed if trace in SYNTHETIC else 0)


@lru_cache(maxsize=12)
def _loaded(name: str, scale: str, seed: int) -> tuple[Trace, Cluster]:
    trace = named_trace(name, seed=seed)
    if scale == "small":
        trace = trace.head(max(SMALL_JOBS, int(np.searchsorted(trace.submit_time, SMALL_TIME))))
    # the same cluster for every seed
    return trace, _loaded(name, scale, 0)[1] if seed else evaluated_cluster(name, trace, scale)


def evaluated_cluster(name: str, trace: Trace, scale: str) -> Cluster:
    """The cluster that the workload of some name runs on; `trace` is what is simulated of it."""
    return Cluster(busy_nodes(trace) if scale == "small" else NODES.get(name) or suitable_nodes(trace))


def busy_nodes(trace: Trace) -> int:
    """8-GPU nodes that would be busy on average, up to the last submission, if nobody had to wait."""
    return max(1, math.ceil(served_load(trace) / 8))


def suitable_nodes(trace: Trace) -> int:
    """8-GPU nodes for a trace: offered load 1, and more where the tenants' quotas would not hold 99 % of the gangs."""
    whole = trace.demand * trace.tenant_weight.sum() / trace.tenant_weight[trace.tenant]
    largest = float(np.quantile(whole, 0.99, method="higher"))
    return max(1, math.ceil(float(np.fmax(offered_load(trace), largest)) / 8 - 1e-9))  # the load of one moment is NaN


def estimator_for(trace: Trace) -> str:
    """Where schedulers that need running times get them: learned from the history of the trace, if it has one."""
    return "oracle" if trace.history is None else "gradient-boosting"


def run_of(
    trace: Trace, cluster: Cluster, scheduler: str, seed: int = 0, settings: Settings | None = None,
    kept: Kept = READ, **parameters: Any,
) -> Run:  # fmt: skip
    """One run of the evaluation; estimates are those of `estimator_for`, unless settings are given."""
    policy = get_policy(scheduler)(**parameters)
    estimator = estimator_for(trace) if policy.needs_estimates else "oracle"
    return Run(trace, cluster, policy, seed, settings or Settings(estimator=estimator), kept)


def workloads(trace: str, scale: str, of: Iterable[int] | None = None) -> Iterator[tuple[int, Trace, Cluster]]:
    """Every seed of a scale, or some, with its jobs and the cluster that they run on."""
    for seed in seeds(trace, scale) if of is None else of:
        yield seed, *load_workload(trace, scale, seed)


def few_seeds(trace: str, scale: str, usual: int, large: int) -> tuple[int, ...]:
    """The first seeds of a trace, fewer of one with more than `LARGE` jobs; all of them at the scale `full`."""
    if scale == "full":
        return seeds(trace, scale)
    return seeds(trace, scale)[: large if len(load_workload(trace, scale)[0]) > LARGE else usual]


def grid_of(rows: Iterable[tuple[int, Run, Mapping[str, Any]]]) -> Grid:
    """Runs on the workload of a seed; columns scheduler, seed, nodes, and what else distinguishes each."""
    return Grid.of(
        (run, {"scheduler": run.policy.name, "seed": seed, "nodes": run.cluster.nodes, **own})
        for seed, run, own in rows
    )


def main_grid(trace: str, scale: str = "paper") -> Grid:
    """Every scheduler on every seed: Figs 10 to 13."""
    drawn = workloads(trace, scale)
    return grid_of((seed, run_of(jobs, cluster, p), {}) for seed, jobs, cluster in drawn for p in SCHEDULERS)


def lease_grid(trace: str, scale: str = "paper") -> Grid:
    """ASTRAEA with lease terms from a minute to an hour: Fig 9; the column is `lease_term` [s]."""
    busy = float(load_workload(trace, scale)[0].duration.sum())
    terms = [t for t in LEASE_TERMS if t >= 900 or scale == "full" or busy / t <= MOST_LEASES]
    return grid_of(
        (seed, run_of(jobs, cluster, "astraea", kept="summary", lease_term=t), {"lease_term": t})
        for seed, jobs, cluster in workloads(trace, scale)
        for t in terms
    )


def size_grid(trace: str, scale: str = "paper", schedulers: Sequence[str] = SCHEDULERS) -> Grid:
    """Every scheduler on smaller and larger clusters: Fig 14; the column is `nodes_percent` [%].

    The jobs are the same at every size: those that the smallest cluster can run under static quotas. Except at the
    scale `full` there are three seeds, or two of a large trace.
    """
    rows = []
    for seed, submitted, cluster in workloads(trace, scale, few_seeds(trace, scale, usual=3, large=2)):
        clusters = {percent: Cluster(math.ceil(cluster.nodes * percent / 100)) for percent in SIZES}
        jobs, too_large = split_off_impossible(submitted, clusters[SIZES[0]])
        for percent, resized in clusters.items():
            own = {"nodes_percent": percent, "set_aside_jobs": len(too_large)}
            rows += [(seed, run_of(jobs, resized, p, kept="summary"), own) for p in schedulers]
    return grid_of(rows)
