"""A burst after idle days: the cost of a long memory to the tenants that were there all the time.

A tenant that asks for nothing is owed nothing. Yet ASTRAEA compares tenants by GPU-time since the beginning over their
whole quota ([Ye2022] §6.1.1, Eq. 16): a tenant that was idle for a week is far behind, and is served first when it
comes. Here a new tenant is idle until an hour in which the cluster is busy. It then submits at once what would keep its
quota busy for four days. The comparison is with the same cluster in which the tenant never comes.
"""

from __future__ import annotations

import dataclasses
from typing import Final

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import quotas, whole
from astraea.core.metrics import hourly
from astraea.core.result import Result
from astraea.core.units import HOUR
from astraea.traces.trace import Trace

SIZE: Final = 8  # times as many GPUs as the quota of the tenant, asked for at once
DURATION: Final = 12 * HOUR  # of each job of the burst [s]
GANG: Final = 4  # GPUs of each, or the whole quota where that is less
HORIZON: Final = int(SIZE * DURATION / HOUR)  # hours that are looked at: what the burst needs on the quota alone


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


def done_and_lacking(idle: Result, burst: Result, tenant: str, start: float) -> pd.DataFrame:
    """Return what the burst gets and what the others lack by the hour.

    Parameters
    ----------
    idle, burst : Result
        The same scheduler without and with the burst.
    tenant : str
    start : float
        When the burst comes [s].

    Returns
    -------
    DataFrame, columns time, done, lacking
        One row for each hour since the burst came, `time` [s], up to `HORIZON`. `done` is GPU-time that the burst has
        attained, over all that it attains in the end. `lacking` is GPU-time that the others were owed and did not get
        (Eqs. 8 and 9), with the burst minus without it, over the same. GPU-time beyond a tenant's share in one hour
        does not make up for a shortfall in another.
    """
    first, short = int(start // HOUR), []
    for result in (idle, burst):
        by_time = hourly(result).pivot_table(
            index="time", columns="tenant", values=["attained_service", "fair_service"], sort=False
        )
        got, owed = (by_time[name].diff().iloc[1:] for name in ("attained_service", "fair_service"))
        rows = range(first, first + HORIZON)
        by_hour, due = (table.set_axis(range(len(table))).reindex(rows, fill_value=0.0) for table in (got, owed))
        short.append((due - by_hour).clip(lower=0).drop(columns=tenant).to_numpy().sum(axis=1))
    sums = {"done": by_hour[tenant].to_numpy(), "lacking": short[1] - short[0]}
    shares = {name: np.r_[0.0, np.cumsum(values)] / float(got[tenant].sum()) for name, values in sums.items()}
    return pd.DataFrame({"time": HOUR * np.arange(HORIZON + 1), **shares})
