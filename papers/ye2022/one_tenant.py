"""One tenant and all others, before and after a change to that tenant alone.

[Ye2022] argues about such changes and does not measure them. The same jobs are run twice under every scheduler,
`before` and `after` the change, and each figure is compared within a scheduler and a seed. There are three experiments;
`burst` is the third.

over-claiming
    The jobs of a typical tenant ask for more GPUs than they need. The paper argues that tenants "may overclaim
    excessive resources for their jobs to increase the throughput, resulting in a waste of GPU resources" (§4.1.2).
paid share
    A tenant pays for twice the share, and its jobs stay as they are. Every tenant has a quota in proportion to what it
    pays (Eq. 6). A share is worth nothing to a tenant that asks for less, so the tenant is the one with the largest
    load for its quota. Its GPU-time is compared in the hours in which it asks for its whole quota, old and new.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import quotas, whole
from astraea.cluster.simulation import split_off_impossible
from astraea.core.arrays import FloatArray
from astraea.core.errors import InputError
from astraea.core.metrics import hourly
from astraea.core.result import Result
from astraea.core.units import HOUR
from astraea.experiments.grid import Grid
from astraea.experiments.run import Run
from astraea.traces.trace import Trace
from papers.ye2022.evaluation import Row, few_seeds, runs_of, workloads
from papers.ye2022.readings import COMPARED, PAPERS, Scheduler, able

KEYS: Final = ["scheduler", "seed", "tenant"]  # a comparison is within these
CLAIMED: Final = 2  # times as many GPUs as a job needs, when its tenant over-claims
EFFICIENCY: Final = 0.8  # speed per GPU of an enlarged gang, over that of the needed one: 1.6 times as fast on twice
PAID: Final = 2.0  # times as much weight as before
_SLACK: Final = 1e-6


class Experiment(NamedTuple):
    """A change on one workload."""

    tenant: str  # the one about which something changes
    before: Trace
    after: Trace
    start: float = 0.0  # when it does [s]


def experiment_grid(
    trace: str, scale: str, experiment: Callable[[Trace, Cluster], Experiment], *,
    schedulers: Sequence[Scheduler] = COMPARED[PAPERS],
) -> Grid:  # fmt: skip
    """Return runs of schedulers from the papers, on a few seeds, before and after the change.

    The columns are those of `evaluation.main_grid`, and `tenant`, `run` (``before`` or ``after``), `quota` of the
    tenant in the run [GPU], and `start` of the change [s].
    """
    rows: list[tuple[Run, Row]] = []
    for seed, jobs, cluster in workloads(trace, scale, few_seeds(trace, scale)):
        tenant, before, after, start = experiment(jobs, cluster)
        for when, ran in (("before", before), ("after", after)):
            quota = float(quotas(ran, cluster.gpus)[ran.tenants.index(tenant)])
            own: Row = {"tenant": tenant, "run": when, "quota": quota, "start": start}
            rows += runs_of(able(schedulers, jobs), PAPERS, seed, ran, cluster, **own)
    return Grid.of(rows)


def over_claiming_grid(trace: str, scale: str = "paper") -> Grid:
    """Return `experiment_grid` of `over_claiming`; its honest runs are those of `evaluation.main_grid`."""
    return experiment_grid(trace, scale, over_claiming)


def over_claiming(jobs: Trace, cluster: Cluster) -> Experiment:
    """Return the jobs with the typical tenant honest, and with it over-claiming."""
    tenant = typical_tenant(jobs)
    largest = whole(quotas(jobs, cluster.gpus))[jobs.tenants.index(tenant)]
    return Experiment(tenant, jobs, over_claimed(jobs, tenant, int(largest)))


def over_claimed(trace: Trace, tenant: str, largest: int) -> Trace:
    """The trace in which a tenant's jobs ask for `CLAIMED` times the GPUs; everything else is the same.

    An enlarged job runs for 1 / (`CLAIMED` x `EFFICIENCY`) of its time: it takes 1 / `EFFICIENCY` of its GPU-time. Jobs
    that would exceed `largest`, the whole GPUs of the tenant's quota, stay as they are [GPU]. `InputError` if there is
    no such tenant.
    """
    larger = (trace.tenant == _place(trace, tenant)) & (CLAIMED * trace.demand <= largest)
    return dataclasses.replace(
        trace,
        name=f"{trace.name}, {tenant} over-claims",
        demand=np.where(larger, CLAIMED * trace.demand, trace.demand),
        duration=np.where(larger, trace.duration / (CLAIMED * EFFICIENCY), trace.duration),
    )


def _place(trace: Trace, tenant: str) -> int:
    if tenant not in trace.tenants:
        raise InputError(f"{trace.name}: no tenant is called {tenant!r}, expected one of {', '.join(trace.tenants)}")
    return trace.tenants.index(tenant)


def typical_tenant(trace: Trace) -> str:
    """Name of the tenant whose GPU-time (demand x duration, summed) is the median of the tenants that have jobs.

    Of an even number, the lower one of the middle two; equal ones in the order of their names.
    """
    with_jobs = np.unique(trace.tenant)
    total = np.bincount(trace.tenant, trace.gpu_time, len(trace.tenants))[with_jobs]
    return trace.tenants[int(with_jobs[np.argsort(total, kind="stable")[(len(total) - 1) // 2]])]


def paid_share_grid(trace: str, scale: str = "paper") -> Grid:
    """`experiment_grid` before and after the busiest tenant has `PAID` times its weight."""

    def experiment(jobs: Trace, cluster: Cluster) -> Experiment:
        tenant = busiest_tenant(jobs, cluster)
        return Experiment(tenant, *before_and_after(jobs, cluster, tenant))

    return experiment_grid(trace, scale, experiment)


def heavier(trace: Trace, tenant: str) -> Trace:
    """The trace in which a tenant has `PAID` times its weight; `InputError` if there is no such tenant."""
    weight = trace.tenant_weight.copy()
    weight[_place(trace, tenant)] *= PAID
    return dataclasses.replace(trace, name=f"{trace.name}, {tenant} weighs {PAID:g} times", tenant_weight=weight)


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


def tenant_figures(result: Result) -> dict[str, Any]:
    """Jobs, sum of JCTs [s], of running times [s] and attained GPU-time [GPU-s] of each tenant: dict `by_tenant`."""
    jobs = result.jobs.groupby("tenant", sort=True)
    sums = jobs[["jct", "duration", "attained_service"]].sum().assign(jobs=jobs.size())
    return {"by_tenant": sums.to_dict("index")}


def hourly_service(result: Result) -> dict[str, Any]:
    """GPU-time in every whole hour [GPU-s]: `attained` and `fair` (Eqs. 9, 11), frames of hours x tenants."""
    by_time = hourly(result).pivot_table(
        index="time", columns="tenant", values=["attained_service", "fair_service"], sort=False
    )
    totals = {c: by_time[f"{c}_service"] for c in ("attained", "fair")}
    return {c: total.diff().iloc[1:].set_axis(range(len(total) - 1)) for c, total in totals.items()}


def hours(frame: pd.DataFrame, first: int, number: int) -> FloatArray:
    """Rows `first` and following of a frame of `hourly_service`, shape (number, tenants); 0 after the last job."""
    found: FloatArray = frame.reindex(range(first, first + number), fill_value=0.0).to_numpy(dtype=np.float64)
    return found


def own_and_others(table: pd.DataFrame) -> pd.DataFrame:
    """Return figures of the tenant and of the others in each run of a grid measured with `tenant_figures`.

    Columns scheduler, seed, tenant, run, own_running, own_jct, others_jct, means over jobs [s], and own_service, the
    GPU-time that the tenant attained [GPU-s]. NaN where there is no such job.
    """
    rows = []
    for row in table.to_dict("records"):
        by_tenant = pd.DataFrame.from_dict(row["by_tenant"], orient="index")
        own = by_tenant.index == row["tenant"]
        sums = by_tenant.groupby(own).sum().reindex([True, False])  # NaN without a job
        mine, others = sums.loc[True], sums.loc[False]
        running, jct = mine["duration"] / mine["jobs"], mine["jct"] / mine["jobs"]
        theirs = others["jct"] / others["jobs"]
        rows.append((*(row[key] for key in (*KEYS, "run")), running, jct, theirs, mine["attained_service"]))
    return pd.DataFrame(rows, columns=[*KEYS, "run", "own_running", "own_jct", "others_jct", "own_service"])


def changes(figures: pd.DataFrame) -> pd.DataFrame:
    """Each figure of `own_and_others` after the change, over the same before it, within each scheduler and seed."""
    before, after = _pairs(figures)
    return (after / before).reset_index()


def _pairs(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of the runs before and after the change, in the same order, indexed by `KEYS`."""
    before, after = (table[table["run"] == r].set_index(KEYS).drop(columns="run") for r in ("before", "after"))
    return before, after.loc[before.index]


def experiments(table: pd.DataFrame) -> list[tuple[Row, Row, Row]]:
    """Return for every scheduler and seed `KEYS`, and the rows before and after the change."""
    before, after = _pairs(table)
    keys = before.index.to_frame().to_dict("records")
    return list(zip(keys, before.to_dict("records"), after.to_dict("records"), strict=True))


def attained_when_busy(table: pd.DataFrame) -> pd.DataFrame:
    """GPU-time of the tenant in the hours in which it asks for its whole quota, both before and after.

    A tenant that is owed its quota for a whole hour (Eq. 8) asked for as much, or more, at every moment of it. `table`
    is that of `paid_share_grid`, measured with `hourly_service`. Columns scheduler, seed, tenant, busy_hours, before,
    after (GPU-time over quota), gained (GPU-time after over that before), paid (quota likewise); NaN without such an
    hour.
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
