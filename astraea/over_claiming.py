"""Over-claiming: what a tenant gains when its jobs ask for more GPUs than they need ([Ye2022] §4.1.2).

The paper argues that tenants "may overclaim excessive resources for their jobs to increase the throughput, resulting
in a waste of GPU resources", and does not measure it. Here one tenant does so, and nobody else changes anything.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.engine.state import quotas, whole
from astraea.errors import InputError
from astraea.evaluation import SCHEDULERS, Grid, load_workload, run_of, seeds
from astraea.result import Result
from astraea.trace import Trace

FACTOR: Final = 2
"""Times as many GPUs as a job needs."""

EFFICIENCY: Final = 0.8
"""Speed per GPU of an enlarged gang, relative to the gang that the job needs: twice the GPUs, 1.6 times as fast."""


def over_claimed(
    trace: Trace, tenant: str, largest: int, *, factor: int = FACTOR, efficiency: float = EFFICIENCY
) -> Trace:
    """The trace in which a tenant's jobs ask for `factor` times the GPUs; everything else is the same.

    An enlarged job runs for 1 / (`factor` x `efficiency`) of its time: it takes 1 / `efficiency` of its GPU-time.

    Parameters
    ----------
    tenant : str
        Its name.
    largest : int
        Largest gang that it may ask for: the whole GPUs of its quota. Jobs that would exceed it stay as they are [GPU].
    factor : int
        At least 2.
    efficiency : float
        In (0, 1].

    Raises
    ------
    InputError
        If there is no such tenant, or a number is out of range.
    """
    if tenant not in trace.tenants:
        raise InputError(f"{trace.name}: no tenant is called {tenant!r}, expected one of {', '.join(trace.tenants)}")
    if factor < 2 or not 0 < efficiency <= 1:
        raise InputError(
            f"{trace.name}: over-claiming needs a factor of at least 2 and an efficiency in (0, 1], "
            f"got {factor} and {efficiency:g}"
        )
    larger = (trace.tenant == trace.tenants.index(tenant)) & (factor * trace.demand <= largest)
    return dataclasses.replace(
        trace,
        name=f"{trace.name}, {tenant} over-claims",
        demand=np.where(larger, factor * trace.demand, trace.demand),
        duration=np.where(larger, trace.duration / (factor * efficiency), trace.duration),
    )


def typical_tenant(trace: Trace) -> str:
    """Name of the tenant whose GPU-time (demand x duration, summed) is the median of the tenants that have jobs.

    Of an even number, the lower one of the middle two; equal ones in the order of their names.
    """
    with_jobs = np.unique(trace.tenant)
    total = np.bincount(trace.tenant, trace.gpu_time, len(trace.tenants))[with_jobs]
    return trace.tenants[int(with_jobs[np.argsort(total, kind="stable")[(len(total) - 1) // 2]])]


def over_claiming_grid(trace: str, scale: str = "paper") -> Grid:
    """Every scheduler on every seed, with the typical tenant honest and over-claiming.

    The columns are `tenant`, the typical one of the seed, and `claim`, ``honest`` or ``over``. The honest runs are
    those of `evaluation.main_grid`.
    """
    runs, rows = [], []
    for seed in seeds(trace, scale):
        jobs, cluster = load_workload(trace, scale, seed)
        tenant = typical_tenant(jobs)
        quota = whole(quotas(jobs, cluster.gpus))[jobs.tenants.index(tenant)]
        for claim, claimed in (("honest", jobs), ("over", over_claimed(jobs, tenant, int(quota)))):
            for p in SCHEDULERS:
                runs.append(run_of(claimed, cluster, p))
                rows.append({"scheduler": p, "seed": seed, "nodes": cluster.nodes, "tenant": tenant, "claim": claim})
    return Grid(runs, pd.DataFrame(rows))


def tenant_figures(result: Result) -> dict[str, Any]:
    """Jobs, sum of JCTs [s], of running times [s] and attained GPU-time [GPU-s] of each tenant: dict `by_tenant`."""
    jobs = result.jobs.groupby("tenant", sort=True)
    sums = jobs[["jct", "duration", "attained_service"]].sum().assign(jobs=jobs.size())
    return {"by_tenant": sums.to_dict("index")}


def claim_table(table: pd.DataFrame) -> pd.DataFrame:
    """What became of the tenant and of the others in each run.

    Parameters
    ----------
    table : DataFrame
        Of `over_claiming_grid(...).table(tenant_figures)`.

    Returns
    -------
    DataFrame, columns scheduler, seed, tenant, claim, own_running, own_jct, others_jct, own_service
        Mean running time of the tenant's jobs, mean JCT of its jobs and of all others' [s]; GPU-time that it attained
        [GPU-s]. NaN where there is no such job.
    """
    rows = []
    for row in table.to_dict("records"):
        by_tenant = pd.DataFrame.from_dict(row["by_tenant"], orient="index")
        own = by_tenant.index == row["tenant"]
        mine, others = by_tenant[own].sum(), by_tenant[~own].sum()
        rows.append(
            {
                **{key: row[key] for key in ("scheduler", "seed", "tenant", "claim")},
                "own_running": mine["duration"] / mine["jobs"],
                "own_jct": mine["jct"] / mine["jobs"],
                "others_jct": others["jct"] / others["jobs"],
                "own_service": mine["attained_service"],
            }
        )
    return pd.DataFrame(rows)


def gains(claims: pd.DataFrame) -> pd.DataFrame:
    """Each figure of `claim_table` when the tenant over-claims, over the same when it is honest.

    Returns
    -------
    DataFrame, columns scheduler, seed, tenant, own_running, own_jct, others_jct, own_service
        Ratios within each scheduler and seed; a JCT below 1 has become shorter.
    """
    keys = ["scheduler", "seed", "tenant"]
    honest, over = (claims[claims["claim"] == c].set_index(keys).drop(columns="claim") for c in ("honest", "over"))
    return (over.loc[honest.index] / honest).reset_index()
