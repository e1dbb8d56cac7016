"""LTGF beside Gavel's policies on GPUs of several types, where both have something to divide: tenants ([Ye2022], §4).

Long-term GPU-time fairness is about tenants with quotas, and Gavel's traces have none. So the jobs are those of a trace
with tenants: the synthetic Philly, unless another is named. Its durations are taken for durations on V100s, job types
are drawn (`from_trace`), and tenants are the entities that `hierarchical` and `ltgf` divide the cluster among.

The whole trace has too many jobs for programs that are solved every half hour, and its first 1,500 arrive within 16
hours, after which only a queue runs dry. So every k-th job of the *whole* two weeks is kept, with k such that about
`JOBS` remain: arrivals, tenants, gangs and durations stay as they are, and the cluster is as much smaller. It has
equally many GPUs of each type. `LOAD` of them would be busy if no job had to wait, with GPU-time counted at each job's
mean speed over the types. On so few GPUs a gang is a larger part of a quota. At the scale `small`, only the first
`SMALL_JOBS` of these jobs.

Measured is what both papers measure: average and worst finish-time fairness and makespan ([Narayanan2020] §7), JCT and
slowdown, jobs and tenants with sharing loss ([Ye2022] §6). Shares of what was due are counted in GPU-time as held and
in effective GPU-time (`gavel.record`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from math import ceil
from operator import add
from pathlib import Path
from typing import Any, Final

import numpy as np

from astraea.core.arrays import FloatArray
from astraea.core.metrics import sharing_loss, tenant_sharing_loss
from astraea.core.result import Result
from astraea.experiments.grid import Grid
from astraea.traces.named import named_trace
from astraea.traces.readers import read_trace, recognise
from astraea.traces.trace import Trace
from papers.gavel.generators import from_trace
from papers.gavel.policy_calls import Speeds
from papers.gavel.record import pace
from papers.gavel.study.runs import grid_of, throughputs_of
from papers.gavel.sums import dot
from papers.gavel.throughputs.table import Throughputs
from papers.gavel.workload import Workload
from papers.scales import seeds

POLICIES: Final = ("las", "las-het", "hierarchical", "hierarchical-het", "ltgf", "ltgf-het")

JOBS: Final = 1100
"""Jobs that are kept of the whole trace, about."""

SMALL_JOBS: Final = 200

LOAD: Final = 0.9
"""Busy part of the GPUs if nobody had to wait, in effective GPU-time."""

SEEDS: Final = {"small": 1, "paper": 2}
"""Number of seeds of a synthetic trace; a real trace is used once."""


def tenants_grid(scale: str = "paper", table: str = "", trace: str = "philly") -> Grid:
    """Every policy of `POLICIES` on the same jobs; columns policy, seed, workers [GPU of each type].

    `table` is a file of measured throughputs, if any; `trace` is as in `traces.named.named_trace`, or Gavel's traces in
    a file or a folder, one tenant each, which need `table`.
    """
    throughputs = throughputs_of(table)
    grids = []
    for seed in seeds(trace, scale, SEEDS):
        jobs = tenant_jobs(_trace(trace, table, seed), throughputs, scale, seed)
        each = equal_workers(jobs, throughputs)
        drawn = [({"seed": seed, "workers": each}, jobs, None)]
        grids.append(grid_of(drawn, throughputs, (each,) * len(throughputs.types), {p: (p,) for p in POLICIES}))
    return reduce(add, grids)


def tenant_jobs(trace: Trace, throughputs: Throughputs, scale: str, seed: int) -> Workload:
    """Every k-th job of a trace, as the module says."""
    jobs = from_trace(trace, throughputs, seed=seed)
    thinned = jobs.some(slice(None, None, max(1, round(len(jobs) / JOBS))))
    return thinned.first(min(SMALL_JOBS, len(thinned))) if scale == "small" else thinned


def effective_load(jobs: Workload, throughputs: Throughputs) -> float:
    """GPUs that would be busy on average until the last arrival if nobody had to wait, in effective GPU-time [GPU].

    For equally many GPUs of each type.
    """
    gang = jobs.scale_factor
    equal = np.full(len(throughputs.types), int(gang.max()))
    duration: FloatArray = jobs.total_steps / pace(jobs, Speeds(jobs, throughputs, equal, 1).alone, equal) / gang
    span = float(jobs.arrival_time[-1])
    return float(dot(gang, np.minimum(duration, span - jobs.arrival_time))) / max(span, 1.0)


def equal_workers(jobs: Workload, throughputs: Throughputs) -> int:
    """GPUs of each type, so that `LOAD` of them are busy; at least as many as the largest gang needs."""
    needed = ceil(effective_load(jobs, throughputs) / LOAD / len(throughputs.types))
    return max(needed, int(jobs.scale_factor.max()))


def in_effective_time(result: Result) -> Result:
    """The result with effective GPU-time in place of the GPU-time held, for every metric of `astraea.core.metrics`."""
    jobs, timeline = result.jobs, result.timeline
    return replace(
        result,
        jobs=jobs.assign(attained_service=jobs["effective_service"], rho_job=jobs["rho_effective"]),
        timeline=timeline.assign(attained_service=timeline["effective_service"]),
    )


def both_papers(result: Result) -> dict[str, Any]:
    """Return the metrics of both papers: times in s, shares in [0, 1]; `effective_...` counts effective GPU-time.

    `tenant_sharing_loss` is the share of (tenant, day) cases, a day beginning every hour, with rho_tenant < 1, and
    `tenant_sharing_loss_95` with rho_tenant < 0.95.
    """
    jobs = result.jobs
    out: dict[str, Any] = {
        "average_jct": float(jobs["jct"].mean()),
        "p99_jct": float(jobs["jct"].quantile(0.99)),
        "average_slowdown": float(jobs["slowdown"].mean()),
        "p99_slowdown": float(jobs["slowdown"].quantile(0.99)),
        "average_ftf": float(jobs["finish_time_fairness"].mean()),
        "worst_ftf": float(jobs["finish_time_fairness"].max()),
        "makespan": result.makespan,
    }
    for unit, counted in (("", result), ("effective_", in_effective_time(result))):
        out[f"{unit}sharing_loss"] = sharing_loss(counted)
        out[f"{unit}tenant_sharing_loss"] = tenant_sharing_loss(counted)
        out[f"{unit}tenant_sharing_loss_95"] = tenant_sharing_loss(counted, 0.95)
    return out


def _trace(name: str, table: str, seed: int) -> Trace:
    path = Path(name)
    if table and path.exists() and recognise(path) == "gavel":
        return read_trace(path, throughputs=table)
    return named_trace(name, seed=seed)
