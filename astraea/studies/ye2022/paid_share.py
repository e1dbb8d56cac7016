"""Weights: a tenant pays for twice the share, and its jobs stay as they are ([Ye2022] Eq. 6).

The paper gives every tenant a quota in proportion to what it pays, and does not measure whether more weight brings
more. A share is worth nothing to a tenant that asks for less, so the tenant is the one with the largest load for its
quota, and its GPU-time is compared in the hours in which it asks for its whole quota, the old one before and the new
one after.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import quotas
from astraea.cluster.simulate import split_off_impossible
from astraea.core.checks import number
from astraea.core.errors import InputError
from astraea.core.metrics import HOUR
from astraea.core.result import Result
from astraea.experiments.grid import Grid
from astraea.studies.ye2022.evaluation import SCHEDULERS, Rows, grid_of, run_of
from astraea.studies.ye2022.one_tenant import experiments, few_seeds, hourly_service, tenant_figures
from astraea.traces.trace import Trace

FACTOR: Final = 2.0
"""Times as much weight."""

_SLACK: Final = 1e-6


def heavier(trace: Trace, tenant: str, factor: float = FACTOR) -> Trace:
    """The trace in which a tenant has `factor` times its weight; jobs and other weights are the same.

    Raises
    ------
    InputError
        If there is no such tenant, or the factor is not a number above 0.
    """
    if tenant not in trace.tenants:
        raise InputError(f"{trace.name}: no tenant is called {tenant!r}, expected one of {', '.join(trace.tenants)}")
    number(factor, f"{trace.name}: the factor of a weight", above=0)
    weight = trace.tenant_weight.copy()
    weight[trace.tenants.index(tenant)] *= factor
    return dataclasses.replace(trace, name=f"{trace.name}, {tenant} weighs {factor:g} times", tenant_weight=weight)


def busiest_tenant(trace: Trace, cluster: Cluster) -> str:
    """Name of the tenant with the largest load for its quota; of equal ones the first.

    Its load is the GPU-time that its jobs would take until the last submission if nobody had to wait. Jobs that can
    never run do not count.
    """
    jobs, _ = split_off_impossible(trace, cluster)
    served = jobs.demand * np.minimum(jobs.duration, trace.span - jobs.submit_time)
    load = np.bincount(jobs.tenant, served, len(trace.tenants)) / quotas(trace, cluster.gpus)
    return trace.tenants[int(load.argmax())]


def before_and_after(trace: Trace, cluster: Cluster, tenant: str) -> tuple[Trace, Trace]:
    """The same jobs under the old weights and with the heavier tenant.

    A larger quota of one tenant makes those of the others smaller; jobs that can run only under one of the two are in
    neither. Where there are none, the first is `trace` itself.
    """
    runnable, _ = split_off_impossible(trace, cluster)
    after, lost = split_off_impossible(heavier(runnable, tenant), cluster)
    if lost.empty:
        return trace, after
    return dataclasses.replace(after, name=f"{trace.name}, fewer jobs", tenant_weight=trace.tenant_weight), after


def paid_share_grid(trace: str, scale: str = "paper") -> Grid:
    """Every scheduler on a few seeds, before and after the busiest tenant has twice its weight.

    The columns are `tenant`, `run` (``before`` or ``after``) and `quota`, that of the tenant in the run [GPU].
    """

    def runs_on(jobs: Trace, cluster: Cluster, _: int) -> Rows:
        tenant = busiest_tenant(jobs, cluster)
        for run, weighted in zip(("before", "after"), before_and_after(jobs, cluster, tenant), strict=True):
            quota = float(quotas(weighted, cluster.gpus)[jobs.tenants.index(tenant)])
            own = {"tenant": tenant, "run": run, "quota": quota}
            yield from ((run_of(weighted, cluster, p), own) for p in SCHEDULERS)

    return grid_of(trace, scale, few_seeds(trace, scale), runs_on)


def paid_share_figures(result: Result) -> dict[str, Any]:
    """`tenant_figures` and `hourly_service`."""
    return {**tenant_figures(result), **hourly_service(result)}


def attained_when_busy(table: pd.DataFrame) -> pd.DataFrame:
    """GPU-time of the tenant in the hours in which it asks for its whole quota, both before and after.

    A tenant that is owed its quota for a whole hour (Eq. 8) asked for as much, or more, at every moment of it. `table`
    is ``paid_share_grid(...).table(paid_share_figures)``.

    Returns
    -------
    DataFrame, columns scheduler, seed, tenant, busy_hours, before, after, gained, paid
        Hours; GPU-time over quota before and after; GPU-time after over that before, and quota likewise. NaN without
        such an hour.
    """
    rows = []
    for key, old, new in experiments(table):
        tenant, number = key["tenant"], min(len(old["fair"]), len(new["fair"]))
        got, owed = (
            [r[c][tenant].to_numpy()[:number] / HOUR / r["quota"] for r in (old, new)] for c in ("attained", "fair")
        )
        busy = (owed[0] >= 1 - _SLACK) & (owed[1] >= 1 - _SLACK)
        before, after = (float(g[busy].mean()) if busy.any() else float("nan") for g in got)
        paid = new["quota"] / old["quota"]
        gained = after / before * paid if before > 0 else float("nan")
        figures = {"busy_hours": int(busy.sum()), "before": before, "after": after, "gained": gained, "paid": paid}
        rows.append({**key, **figures})
    return pd.DataFrame(rows)
