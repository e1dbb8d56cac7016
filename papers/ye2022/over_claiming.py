"""A tenant whose jobs ask for more GPUs than they need, and what it and all others gain or lose.

[Ye2022] §4.1.2 argues that tenants "may overclaim excessive resources for their jobs to increase the throughput,
resulting in a waste of GPU resources", and does not measure it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import quotas, whole
from astraea.core.errors import InputError
from astraea.traces.trace import Trace

CLAIMED: Final = 2  # times as many GPUs as a job needs
EFFICIENCY: Final = 0.8  # speed per GPU of an enlarged gang, over that of the needed one: 1.6 times as fast on twice


def over_claimed(trace: Trace, tenant: str, cluster: Cluster) -> Trace:
    """Return the trace in which a tenant's jobs ask for `CLAIMED` times the GPUs; everything else is the same.

    An enlarged job runs for 1 / (`CLAIMED` x `EFFICIENCY`) of its time, so it takes 1 / `EFFICIENCY` of its GPU-time.
    Jobs that would exceed the whole GPUs of the tenant's quota stay as they are. `InputError` if there is no such
    tenant.
    """
    if tenant not in trace.tenants:
        raise InputError(f"{trace.name}: no tenant is called {tenant!r}, expected one of {', '.join(trace.tenants)}")
    t = trace.tenants.index(tenant)
    larger = (trace.tenant == t) & (CLAIMED * trace.demand <= whole(quotas(trace, cluster.gpus))[t])
    return dataclasses.replace(
        trace,
        name=f"{trace.name}, {tenant} over-claims",
        demand=np.where(larger, CLAIMED * trace.demand, trace.demand),
        duration=np.where(larger, trace.duration / (CLAIMED * EFFICIENCY), trace.duration),
    )


def typical_tenant(trace: Trace) -> str:
    """Return the tenant whose GPU-time (demand x duration, summed) is the median of the tenants that have jobs.

    Of an even number, it is the lower one of the middle two; equal ones are in the order of their names.
    """
    with_jobs = np.unique(trace.tenant)
    total = np.bincount(trace.tenant, trace.gpu_time, len(trace.tenants))[with_jobs]
    return trace.tenants[int(with_jobs[np.argsort(total, kind="stable")[(len(total) - 1) // 2]])]


def own_and_others(before: pd.DataFrame, after: pd.DataFrame, tenants: Mapping[int, str]) -> pd.DataFrame:
    """Compare the jobs of a tenant, and those of all others, after a change with the same jobs before it.

    Parameters
    ----------
    before, after : DataFrame, columns scheduler, seed, tenant, duration, jct, attained_service
        One row per run and job.
    tenants : mapping of int to str
        The tenant that changes, by seed.

    Returns
    -------
    DataFrame, columns scheduler, seed, tenant, own_running, own_jct, own_service, others_jct
        Ratios, after over before: average running time, average JCT and attained GPU-time of the tenant's jobs, and the
        average JCT of all others; NaN where there is no such job.
    """
    keys = ["scheduler", "seed"]

    def figures(jobs: pd.DataFrame) -> pd.DataFrame:
        is_own = jobs["tenant"] == jobs["seed"].map(dict(tenants))
        own, others = jobs[is_own].groupby(keys, sort=False), jobs[~is_own].groupby(keys, sort=False)
        return pd.DataFrame({
            "own_running": own["duration"].mean(), "own_jct": own["jct"].mean(),
            "own_service": own["attained_service"].sum(), "others_jct": others["jct"].mean(),
        })  # fmt: skip

    ratios = (figures(after) / figures(before)).reset_index()
    ratios.insert(2, "tenant", ratios["seed"].map(dict(tenants)))
    return ratios
