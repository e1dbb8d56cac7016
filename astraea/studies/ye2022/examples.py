"""The six-GPU example of [Ye2022] §4.1 and Fig 6: three jobs, three mechanisms.

Job1 needs 6 GPUs, Job2 and Job3 need 3 each, 40 minutes every one, on one node of 6 GPUs with rounds of 10 minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.policy import Policy
from astraea.cluster.settings import Settings
from astraea.core.errors import InputError
from astraea.traces.trace import Trace

MINUTE: Final = 60.0
ROUND: Final = 10 * MINUTE
"""One scheduling round, and one lease [s] ([Ye2022] §4.1.2)."""

SIX_GPUS: Final = Cluster(nodes=1, gpus_per_node=6)
NO_OVERHEADS: Final = Settings(interval=10, checkpoint_overhead=0, restart_overhead=0)


def six_gpu_trace(demands: Sequence[int] = (6, 3, 3), minutes: float = 40) -> Trace:
    """Job1, Job2, ... of one tenant, all submitted at 0, each `minutes` long with a gang of so many GPUs."""
    names = [f"Job{k}" for k in range(1, len(demands) + 1)]
    columns = {"job_id": names, "tenant": "all", "demand": demands, "submit_time": 0.0, "duration": minutes * MINUTE}
    return Trace.from_frame(pd.DataFrame(columns), name="example")


def divided(trace: Trace) -> Trace:
    """Each gang as a tenant of its own with `demand` tasks of one GPU: the divisible work of [Ye2022] §4.1.1."""
    whole = trace.frame.loc[np.repeat(np.arange(len(trace)), trace.demand)]
    number = whole.groupby("job_id", sort=False).cumcount() + 1
    tasks = whole.assign(job_id=whole["job_id"] + "." + number.astype(str), tenant=whole["job_id"], demand=1)
    return Trace.from_frame(tasks.reset_index(drop=True), name=f"{trace.name} divided")


def rejoined(grants: pd.DataFrame) -> pd.DataFrame:
    """Leases of `divided` gangs as one row per gang and round: `demand` counts the GPUs that it got."""
    sums = grants.groupby(["start", "end", "tenant"])["demand"].sum().reset_index()
    before = sums.groupby("tenant")["demand"].shift()
    sums["job_id"], sums["kind"] = sums["tenant"], np.where(sums["demand"] == before, "renewal", "start")
    return sums


def mechanisms() -> dict[str, Policy]:
    """The three mechanisms of Fig 6 with the example's lease, in the order of its panels."""
    names = ("max-min", "finish-time-fairness", "astraea")
    return {name: get_policy(name)(lease_term=ROUND) for name in names}


def window_shares(grants: pd.DataFrame, gpus: int, window: float, until: float) -> pd.DataFrame:
    """What each job got of the cluster's GPU-time in windows that start with every round.

    `grants` are those of a `Result` on `gpus` [GPU]; a window has the length `window`, and ends by `until` [s].

    Returns
    -------
    DataFrame, columns window_start, window_end [s], job_id, share [0, 1]

    Raises
    ------
    InputError
        If not even one window ends by `until`.
    """
    if not 0 < window <= until:
        raise InputError(f"a window must be above 0 and at most {until:g} s long, got {window:g} s")
    starts = np.arange(0.0, until - window + 1e-9, ROUND)
    names = sorted(set(grants["job_id"]))
    rows = []
    for start in starts:
        end = start + window
        held = (grants["end"].clip(upper=end) - grants["start"].clip(lower=start)).clip(lower=0)
        sums = (held * grants["demand"]).groupby(grants["job_id"]).sum()
        rows += [(start, end, name, float(sums[name]) / (gpus * window)) for name in names]
    return pd.DataFrame(rows, columns=["window_start", "window_end", "job_id", "share"])
