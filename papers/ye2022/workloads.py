"""The workloads of [Ye2022] §6: jobs, and the cluster that they run on.

At the scale ``small`` a workload is the first two days of its trace, or its first 1,500 jobs where these are more. Its
cluster is too small for them by a quarter, so that jobs have to wait. Otherwise the workload is the whole trace on the
evaluation's cluster.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from astraea.cluster.cluster import Cluster
from astraea.cluster.settings import Settings
from astraea.core.checks import number, one_of
from astraea.core.units import DAY
from astraea.traces.describe import offered_load, suitable_nodes
from astraea.traces.named import FETCHED, NODES, named_trace
from astraea.traces.sources import RAW
from astraea.traces.synthetic import SYNTHETIC
from astraea.traces.trace import Trace
from papers import ROOT

SCALES: Final = ("small", "paper")
LEASE_TERM: Final = 900.0  # of all figures but Fig 9 [s]
LEASE_TERMS: Final = (60.0, 120.0, 300.0, 600.0, 900.0, 1200.0, 1800.0, 3600.0)  # of Fig 9 [s]
SIZES: Final = (60, 80, 100, 120, 150, 200)  # of Fig 14: nodes, relative to the evaluation [%]
SMALL_JOBS: Final = 1500
SMALL_TIME: Final = 2 * DAY  # [s]
SMALL_LOAD: Final = 1.25  # served load of the first seed over the GPUs: in two days a queue has little time to grow
LARGE: Final = 20_000  # jobs from which on a trace counts as large

INTERVAL: Final = Settings().interval  # between rounds, which submissions are counted in [s]


def load_workload(trace: str, scale: str = "paper", seed: int = 0, load: float = 0.0) -> tuple[Trace, Cluster]:
    """Return one trace of the evaluation (named as in `traces.named.named_trace`) and the cluster that it runs on.

    A synthetic trace has many seeds, a real one is the same for all. `load` is the offered load over the GPUs that the
    jobs are to have, submitted slower or faster; 0 leaves them as they are. `InputError` if there is no such trace or
    scale, or the load is none.
    """
    number(load, "the load", least=0)
    jobs, cluster = _loaded(trace, one_of(scale, SCALES, "scale"), seed if trace in SYNTHETIC else 0)
    return at_load(jobs, cluster, load) if load else jobs, cluster


def at_load(trace: Trace, cluster: Cluster, load: float) -> Trace:
    """Return the same jobs, submitted so much slower or faster that they offer `load` times the GPUs."""
    return trace.scale_load(load * cluster.gpus / offered_load(trace))


@lru_cache(maxsize=12)
def _loaded(name: str, scale: str, seed: int) -> tuple[Trace, Cluster]:
    trace = named_trace(name, seed=seed)
    if scale == "small":
        trace = trace.head(max(SMALL_JOBS, int(np.searchsorted(trace.submit_time, SMALL_TIME))))
    # the same cluster for every seed
    return trace, _loaded(name, scale, 0)[1] if seed else evaluated_cluster(name, trace, scale)


def evaluated_cluster(name: str, trace: Trace, scale: str) -> Cluster:
    """Return the cluster for the simulated part of a named workload."""
    return Cluster(crowded_nodes(trace) if scale == "small" else NODES.get(name) or suitable_nodes(trace))


def served_load(trace: Trace) -> float:
    """Average number of busy GPUs until the last submission if no job had to wait [GPU].

    Like `offered_load`, without the part of each job that would run after the last submission; over at least 1 s.
    """
    served = np.minimum(trace.duration, trace.span - trace.submit_time)
    return float(trace.demand @ served) / max(trace.span, 1.0)


def crowded_nodes(trace: Trace) -> int:
    """Return the 8-GPU nodes of which `SMALL_LOAD` times as many would be busy on average while jobs are submitted."""
    return max(1, math.ceil(served_load(trace) / (8 * SMALL_LOAD)))


def title(trace: Trace, seeds: int) -> str:
    """Return what the title of a picture says of its workload: its name, where it is from, its seeds and jobs."""
    name = f"{trace.name.capitalize()} (synthetic)" if trace.name in SYNTHETIC else trace.name
    jobs = f"{len(trace):,} jobs"
    return f"{name}, {seeds} seeds, {jobs} each" if seeds > 1 else f"{name}, 1 run, {jobs}"


def paths_of(names: Iterable[str]) -> list[Path]:
    """Return where the downloads of recorded workloads are, or should be."""
    return [ROOT / RAW / FETCHED[name] for name in names]
