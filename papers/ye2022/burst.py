"""A burst after idle days: the cost of a long memory to the tenants that were there all the time.

A tenant that asks for nothing is owed nothing. Yet ASTRAEA compares tenants by GPU-time since the beginning over their
whole quota ([Ye2022] §6.1.1, Eq. 16): a tenant that was idle for a week is far behind, and is served first when it
comes. Here a new tenant is idle until an hour in which the cluster is busy. It then submits at once what would keep its
quota busy for four days. The comparison is with the same cluster in which the tenant never comes.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import quotas, whole
from astraea.core.arrays import FloatArray
from astraea.core.metrics import SHARING_LOSS
from astraea.core.result import Result
from astraea.core.units import HOUR
from astraea.experiments.grid import Grid
from astraea.traces.trace import Trace
from papers.ye2022.evaluation import Row, few_seeds, runs_of, workloads
from papers.ye2022.one_tenant import KEYS, Experiment, experiment_grid, experiments, hourly_service, hours
from papers.ye2022.readings import COMPARED, MEMORIES, PAPERS

SIZE: Final = 8  # times as many GPUs as the quota of the tenant, asked for at once
DURATION: Final = 12 * HOUR  # of each job of the burst [s]
GANG: Final = 4  # GPUs of each, or the whole quota where that is less
HORIZON: Final = int(SIZE * DURATION / HOUR)  # hours that are looked at: what the burst needs on the quota alone

SCHEDULERS: Final = (
    *(s for s in COMPARED[PAPERS] if s.name in ("tiresias-l", "themis", "gandiva-fair", "yarn-cs")),
    *MEMORIES,
)
"""Schedulers to compare: memories of all lengths, and some without memory."""


def burst_grid(trace: str, scale: str = "paper") -> Grid:
    """Return `experiment_grid` of `SCHEDULERS`, without the burst and with it."""

    def experiment(jobs: Trace, cluster: Cluster) -> Experiment:
        start = burst_start(jobs)
        idle, tenant = with_newcomer(jobs, cluster)
        return Experiment(tenant, idle, with_burst(idle, cluster, tenant, start), start)

    return experiment_grid(trace, scale, experiment, schedulers=SCHEDULERS)


def with_newcomer(trace: Trace, cluster: Cluster) -> tuple[Trace, str]:
    """Return the trace with one more tenant, of average weight and without a job, and the tenant's name.

    Its weight is larger where its quota would be less than one GPU.
    """
    name = "newcomer"
    while name in trace.tenants:
        name += "+"
    total = float(trace.tenant_weight.sum())
    weight = max(total / len(trace.tenants), total / max(cluster.gpus - 1, 1))
    more = trace.with_weights(_weights(trace) | {name: weight})
    return dataclasses.replace(more, name=f"{trace.name} and {name}"), name


def with_burst(trace: Trace, cluster: Cluster, tenant: str, start: float) -> Trace:
    """Return the trace in which a tenant also submits a burst of jobs at `start` [s]."""
    quota = int(whole(quotas(trace, cluster.gpus))[trace.tenants.index(tenant)])
    gang = min(GANG, quota)
    ids = [f"{tenant}-{k:05}" for k in range(SIZE * quota // gang)]
    jobs = {"job_id": ids, "tenant": tenant, "demand": gang, "submit_time": start, "duration": DURATION}
    burst = Trace.from_frame(pd.DataFrame(jobs))
    return Trace.from_frame(
        pd.concat([trace.frame, burst.frame], ignore_index=True),
        name=f"{trace.name} with a burst",
        weights=_weights(trace),
        origin=trace.origin,
        history=trace.history,
        excluded_jobs=trace.excluded_jobs,
    )


def _weights(trace: Trace) -> dict[str, float]:
    return dict(zip(trace.tenants, trace.tenant_weight.tolist(), strict=True))


def burst_start(trace: Trace) -> float:
    """Return the whole hour in the third quarter of the trace at which jobs would hold most GPUs without waiting [s].

    The first of equal ones; of a trace of less than a few hours, the hour in which its half is.
    """
    first, last = int(np.ceil(trace.span / 2 / HOUR)), int(0.75 * trace.span / HOUR)
    if last < first:
        return float(trace.span / 2 // HOUR * HOUR)
    at = HOUR * np.arange(first, last + 1)
    there = (trace.submit_time <= at[:, None]) & (at[:, None] < trace.submit_time + trace.duration)
    return float(at[(there @ trace.demand).argmax()])


def burst_figures(result: Result) -> dict[str, Any]:
    """Return `hourly_service`, and the end of the last job of each tenant [s]: dict `last_end`."""
    return {**hourly_service(result), "last_end": result.jobs.groupby("tenant")["end_time"].max().to_dict()}


def burst_curves(table: pd.DataFrame) -> pd.DataFrame:
    """Return what the burst gets and the others lack by the hour; `table` is ``burst_grid(...).table(burst_figures)``.

    Columns scheduler, seed, tenant, time since the burst came [s], in whole hours up to `HORIZON`, done and lacking.
    Done is GPU-time that the burst has attained, over all that it attains in the end. Lacking is GPU-time that the
    others were owed and did not get, with the burst minus without it, over the same. GPU-time beyond a tenant's share
    in one hour does not make up for a shortfall in another.
    """
    parts = []
    for key, old, new in experiments(table):
        tenant, first = key["tenant"], int(old["start"] // HOUR)
        total = float(new["attained"][tenant].sum())
        done = hours(new["attained"][[tenant]], first, HORIZON)[:, 0]
        short = [np.maximum(0.0, owed - got) for got, owed in _of_others(old, new, tenant)]
        lacking = (short[1] - short[0]).sum(axis=1)
        sums = {c: np.r_[0.0, np.cumsum(v)] / total for c, v in (("done", done), ("lacking", lacking))}
        parts.append(pd.DataFrame({**key, "time": HOUR * np.arange(HORIZON + 1), **sums}))
    return pd.concat(parts, ignore_index=True)


def burst_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return when the burst ends, and how long the others are short; `table` as in `burst_curves`.

    Columns scheduler, seed, tenant, finished, short_without, short_with, lacking_soon, lacking. `finished` is the time
    from the burst to the end of its last job [s]. The next two are hours within `HORIZON` in which another tenant got
    less than 95 % of what it was owed, averaged over tenants. The last two are as in `burst_curves`, after `DURATION`
    and `HORIZON`.
    """
    curves = burst_curves(table).set_index([*KEYS, "time"])["lacking"]
    rows = []
    for key, old, new in experiments(table):
        finished = new["last_end"][key["tenant"]] - old["start"] // HOUR * HOUR
        short = [(got < SHARING_LOSS * owed).sum() / got.shape[1] for got, owed in _of_others(old, new, key["tenant"])]
        soon, late = (float(curves[(*key.values(), t)]) for t in (DURATION, HORIZON * HOUR))
        figures = {"finished": finished, "short_without": short[0], "short_with": short[1]}
        rows.append({**key, **figures, "lacking_soon": soon, "lacking": late})
    return pd.DataFrame(rows)


def _of_others(old: Row, new: Row, tenant: str) -> list[tuple[FloatArray, FloatArray]]:
    """Return GPU-time that the others got and were owed in each hour of `HORIZON`, without the burst and with it."""
    others, first = [t for t in new["fair"] if t != tenant], int(old["start"] // HOUR)
    return [
        (hours(r["attained"][others], first, HORIZON), hours(r["fair"][others], first, HORIZON)) for r in (old, new)
    ]


def memory_grid(trace: str, scale: str = "paper") -> Grid:
    """Return runs of `MEMORIES`, which differ in how much of the past decides the next turn; columns as `main_grid`."""
    drawn = workloads(trace, scale, few_seeds(trace, scale))
    return Grid.of(row for work in drawn for row in runs_of(MEMORIES, PAPERS, *work))
