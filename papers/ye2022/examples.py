"""Worked examples of [Ye2022] §4 and §5 on six GPUs, and the measures that Figs 6 and 8 and Eqs. 8 to 16 need.

In the example of §4.1, Job1 needs 6 GPUs, Job2 and Job3 need 3 each, and each runs for 40 minutes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.policy import Policy
from astraea.cluster.settings import Settings
from astraea.core.errors import InputError
from astraea.core.result import Result
from astraea.core.units import MINUTE
from astraea.traces.trace import Trace
from papers.areas import gpu_rows as gpu_rows

ROUND: Final = 10 * MINUTE  # one scheduling round, and one lease [s] ([Ye2022] §4.1.2)
SIX_GPUS: Final = Cluster(nodes=1, gpus_per_node=6)
NO_OVERHEADS: Final = Settings(interval=10, checkpoint_overhead=0, restart_overhead=0)


def six_gpu_trace(demands: Sequence[int] = (6, 3, 3), minutes: float | Sequence[float] = 40) -> Trace:
    """Return Job1, Job2, ... of one tenant, all submitted at 0, with these gangs [GPU] and running times [min]."""
    names = [f"Job{k}" for k in range(1, len(demands) + 1)]
    times = MINUTE * np.broadcast_to(np.asarray(minutes, dtype=float), len(demands))
    columns = {"job_id": names, "tenant": "all", "demand": demands, "submit_time": 0.0, "duration": times}
    return Trace.from_frame(pd.DataFrame(columns), name="example")


def two_tenants() -> Trace:
    """Return five jobs of two tenants that own three GPUs each; all times are whole rounds."""
    rows = [("A1", "vision", 3, 0, 40), ("A2", "vision", 2, 0, 30), ("A3", "vision", 1, 0, 40),
            ("B1", "speech", 3, 10, 20), ("B2", "speech", 2, 20, 30)]  # fmt: skip
    jobs = pd.DataFrame(rows, columns=["job_id", "tenant", "demand", "submit_time", "duration"])
    jobs[["submit_time", "duration"]] *= MINUTE
    return Trace.from_frame(jobs, name="example", weights={"vision": 1.0, "speech": 1.0})


def mechanisms() -> dict[str, Policy]:
    """Return the three mechanisms of Fig 6 with the example's lease, in the order of its panels."""
    names = ("max-min", "finish-time-fairness", "astraea")
    return {name: get_policy(name).with_parameters(lease_term=ROUND) for name in names}


def divided(trace: Trace) -> Trace:
    """Return each gang as a tenant of its own with `demand` tasks of one GPU: the divisible work of [Ye2022] §4.1.1."""
    whole = trace.frame.loc[np.repeat(np.arange(len(trace)), trace.demand)]
    number = whole.groupby("job_id", sort=False).cumcount() + 1
    tasks = whole.assign(job_id=whole["job_id"] + "." + number.astype(str), tenant=whole["job_id"], demand=1)
    return Trace.from_frame(tasks.reset_index(drop=True), name=f"{trace.name} divided")


def rejoined(grants: pd.DataFrame) -> pd.DataFrame:
    """Return the leases of `divided` gangs as one row per gang and round: `demand` counts the GPUs that it got."""
    sums = grants.groupby(["start", "end", "tenant"])["demand"].sum().reset_index()
    before = sums.groupby("tenant")["demand"].shift()
    sums["job_id"], sums["kind"] = sums["tenant"], np.where(sums["demand"] == before, "renewal", "start")
    return sums


def window_shares(grants: pd.DataFrame, gpus: int, window: float, until: float) -> pd.DataFrame:
    """Return each job's share of the cluster's GPU-time in windows that start with every round.

    `grants` are those of a `Result` on `gpus` [GPU]; a window has the length `window`, and ends by `until` [s].
    Columns window_start, window_end [s], job_id, share [0, 1]. `InputError` if not even one window ends by `until`.
    """
    if not 0 < window <= until:
        raise InputError(f"a window must be above 0 and at most {until:g} s long, got {window:g} s")
    names = sorted(set(grants["job_id"]))
    rows = []
    for start in np.arange(0.0, until - window + 1e-9, ROUND):
        end = start + window
        held = (grants["end"].clip(upper=end) - grants["start"].clip(lower=start)).clip(lower=0)
        sums = (held * grants["demand"]).groupby(grants["job_id"]).sum()
        rows += [(start, end, name, float(sums[name]) / (gpus * window)) for name in names]
    return pd.DataFrame(rows, columns=["window_start", "window_end", "job_id", "share"])


def fair_service(
    jobs: pd.DataFrame, quota: Mapping[str, float], until: float
) -> tuple[pd.Series[float], pd.Series[float]]:
    """Return the GPU-time that each job and each tenant was owed until `until` [s] ([Ye2022] Eqs. 8, 9, 13, 14).

    Parameters
    ----------
    jobs : DataFrame
        `Result.jobs`: job_id, tenant, demand [GPU], submit_time and end_time [s]. All jobs have the same weight.
    quota : mapping
        GPUs of each tenant (Eq. 6).
    until : float
        End of the period that begins at 0 [s].

    Returns
    -------
    tuple of two Series [GPU-s]
        By job_id (Eq. 14), and by tenant (Eq. 9 with Eq. 8).
    """
    begin, end = jobs["submit_time"].clip(upper=until).to_numpy(), jobs["end_time"].clip(upper=until).to_numpy()
    demand = jobs["demand"].to_numpy(dtype=float)
    of_jobs, of_tenants = np.zeros(len(jobs)), pd.Series(0.0, [*quota])
    for first, last in pairwise(np.unique(np.concatenate([begin, end, [until]]))):
        is_active = (begin <= first) & (end >= last)
        for name, gpus in quota.items():
            mine = is_active & (jobs["tenant"] == name).to_numpy()
            if mine.any():
                share = min(float(demand[mine].sum()), gpus)  # Eq. 8
                of_tenants[name] += share * (last - first)
                of_jobs[mine] += np.minimum(demand[mine], share / int(mine.sum())) * (last - first)  # Eqs. 13, 14
    return pd.Series(of_jobs, jobs["job_id"]), of_tenants


def lease_parts(result: Result, settings: Settings) -> pd.DataFrame:
    """Split every lease of a simulation with a log into what the job did in it (Fig 8), a row per stretch.

    Columns job_id, demand [GPU], lease, start, end [s], part, then. `part` is restart, training or checkpoint; `lease`
    counts the job's leases from 1; `then`, in the last row of each lease, is renewed, preempted or completed.
    """
    rows = []
    for name, leases in result.log.groupby("job_id", sort=True):
        follows = [*leases["kind"].iloc[1:], "completed"]
        ends = {"renewal": "renewed", "restart": "preempted"}
        lease: Any
        for number, (lease, after) in enumerate(zip(leases.itertuples(), follows, strict=True), 1):
            is_last = after == "completed"
            trains = lease.start + (settings.restart_overhead if lease.kind == "restart" else 0.0)
            saves = lease.end - (0.0 if is_last else settings.checkpoint_overhead)
            edges = {"restart": (lease.start, trains), "training": (trains, saves), "checkpoint": (saves, lease.end)}
            for part, (start, end) in edges.items():
                if end <= start:
                    continue
                then = ends.get(after, after) if end == lease.end else ""
                rows.append((name, lease.demand, number, start, end, part, then))
    return pd.DataFrame(rows, columns=["job_id", "demand", "lease", "start", "end", "part", "then"])
