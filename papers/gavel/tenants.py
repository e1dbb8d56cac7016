"""Tenants on GPUs of several types: the jobs of a trace that has them, and the metrics of two papers ([Ye2022], §4).

Long-term GPU-time fairness is about tenants with quotas, and Gavel's traces have none. So the jobs are those of a trace
with tenants, such as the synthetic Philly. Its durations are taken for durations on V100s, job types are drawn
(`from_trace`), and tenants are the entities that `hierarchical` and `ltgf` divide the cluster among.

The whole trace has too many jobs for programs that are solved every half hour, and its first 1,500 arrive within 16
hours, after which only a queue runs dry. So every k-th job of the *whole* two weeks is kept, with k such that about
`JOBS` remain: arrivals, tenants, gangs and durations stay as they are, and the cluster is as much smaller. It has
equally many GPUs of each type. `LOAD` of them would be busy if no job had to wait, with GPU-time counted at each job's
mean speed over the types. On so few GPUs a gang is a larger part of a quota.

Measured is what both papers measure: average and worst finish-time fairness ([Narayanan2020] §7), JCT and slowdown,
jobs and tenants with sharing loss ([Ye2022] §6). Shares of what was due are counted in GPU-time as held and in
effective GPU-time (`gavel.record`).
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import Final

import numpy as np

from astraea.core.arrays import FloatArray
from astraea.core.metrics import sharing_loss, tenant_sharing_loss
from astraea.core.result import Result
from astraea.traces.trace import Trace
from papers.gavel.generators import from_trace
from papers.gavel.policy_calls import Speeds
from papers.gavel.record import pace
from papers.gavel.sums import dot
from papers.gavel.throughputs.table import Throughputs
from papers.gavel.workload import Workload

JOBS: Final = 1100
"""Jobs that are kept of the whole trace, about."""

LOAD: Final = 0.9
"""Busy part of the GPUs if nobody had to wait, in effective GPU-time."""


def tenant_jobs(trace: Trace, throughputs: Throughputs, *, seed: int) -> Workload:
    """Keep every k-th job of a trace, as the module says."""
    jobs = from_trace(trace, throughputs, seed=seed)
    return jobs.some(slice(None, None, max(1, round(len(jobs) / JOBS))))


def effective_load(jobs: Workload, throughputs: Throughputs) -> float:
    """GPUs that would be busy on average until the last arrival if nobody had to wait, in effective GPU-time [GPU].

    For equally many GPUs of each type.
    """
    gang = jobs.scale_factor
    equal = np.full(len(throughputs.types), int(gang.max()))
    duration: FloatArray = jobs.total_steps / pace(jobs, Speeds(jobs, throughputs, equal).alone, equal) / gang
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


def both_papers(result: Result) -> dict[str, float]:
    """Return the metrics of both papers: times in s, shares in [0, 1]; `effective_...` counts effective GPU-time.

    `tenant_sharing_loss` is the share of (tenant, day) cases, a day beginning every hour, with rho_tenant < 0.95.
    """
    jobs = result.jobs
    out: dict[str, float] = {
        "average_jct": float(jobs["jct"].mean()),
        "p99_jct": float(jobs["jct"].quantile(0.99)),
        "average_slowdown": float(jobs["slowdown"].mean()),
        "p99_slowdown": float(jobs["slowdown"].quantile(0.99)),
        "average_ftf": float(jobs["finish_time_fairness"].mean()),
        "worst_ftf": float(jobs["finish_time_fairness"].max()),
    }
    for unit, counted in (("", result), ("effective_", in_effective_time(result))):
        out[f"{unit}sharing_loss"] = sharing_loss(counted)
        out[f"{unit}tenant_sharing_loss"] = tenant_sharing_loss(counted, 0.95)
    return out
