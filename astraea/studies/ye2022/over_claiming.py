"""Over-claiming: what a tenant gains when its jobs ask for more GPUs than they need ([Ye2022] §4.1.2).

The paper argues that tenants "may overclaim excessive resources for their jobs to increase the throughput, resulting
in a waste of GPU resources", and does not measure it. Here one tenant does so, and nobody else changes anything.
"""

from __future__ import annotations

import dataclasses
from typing import Final

import numpy as np

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import quotas, whole
from astraea.core.errors import InputError
from astraea.experiments.grid import Grid
from astraea.studies.ye2022.evaluation import SCHEDULERS, Rows, grid_of, run_of
from astraea.studies.ye2022.one_tenant import few_seeds
from astraea.traces.trace import Trace

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
    """Every scheduler on a few seeds, with the typical tenant honest and over-claiming.

    The columns are `tenant`, the typical one of the seed, and `run`, ``before`` (honest, a run of
    `evaluation.main_grid`) or ``after``.
    """

    def runs_on(jobs: Trace, cluster: Cluster, _: int) -> Rows:
        tenant = typical_tenant(jobs)
        quota = whole(quotas(jobs, cluster.gpus))[jobs.tenants.index(tenant)]
        for run, claimed in (("before", jobs), ("after", over_claimed(jobs, tenant, int(quota)))):
            yield from ((run_of(claimed, cluster, p), {"tenant": tenant, "run": run}) for p in SCHEDULERS)

    return grid_of(trace, scale, few_seeds(trace, scale), runs_on)
