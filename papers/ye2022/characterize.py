"""Measures of a workload in production: demands, running times, waiting and utilization under FIFO ([Ye2022] §3)."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.core.arrays import FloatArray
from astraea.core.metrics import tenant_windows
from astraea.core.result import Result
from astraea.core.units import DAY, HOUR
from astraea.traces.columns import STATES
from astraea.traces.describe import DEMANDS, RUNNING_TIMES
from astraea.traces.named import NODES
from astraea.traces.trace import Trace
from papers.charts.statistics import ecdf
from papers.ye2022.workloads import load_workload

PRODUCTION_NODES: Final = {"venus": 133, "helios-venus": 133, "philly": 311, "philly-two-weeks": 311}
"""Nodes of 8 GPUs that the workload ran on: 1,064 GPUs of Venus, 2,490 of Philly ([Ye2022] §6.1.2)."""

STUDIED_JOBS: Final = 109_734
"""Jobs of Venus in six months that §3 studies; §6 evaluates two weeks of them."""

CLASSES: Final = {"1": 1, "2-3": 3, "4-7": 7, "8": 8, ">8": np.inf}
"""Classes of demand of Figs 3 and 5, with the largest demand of each [GPU]."""

LONG_WAIT: Final = 1800.0
"""A job that waits for longer than this [s] waits long (§3.2)."""

LARGE_SLOWDOWN: Final = 5.0
"""A slowdown above this is large (§3.2)."""

LOW: Final = 0.5
HIGH: Final = 0.9
"""Utilization below and above which a virtual cluster counts as idle and as full (§3.1)."""

SMALL_TIME: Final = 10 * DAY  # of a trace at the scale ``small`` [s]


def demand_class(demand: Any) -> pd.Series[Any]:
    """Return the name in `CLASSES` of each job's demand, a categorical in order of size."""
    return pd.Series(pd.cut(np.asarray(demand), [0, *CLASSES.values()], labels=list(CLASSES)))


def shares_by_state(trace: Trace, *, service: bool) -> pd.DataFrame:
    """Return shares of jobs by demand and final state (Fig 1), or of GPU service time, demand x duration (Fig 2).

    Columns demand (a class of `astraea.traces.describe.DEMANDS`), state, share [0, 1]; a row per class and state that
    occurs, in order.
    """
    weight = trace.gpu_time if service else np.ones(len(trace))
    states = [state for state in STATES if (trace.state == state).any()]
    rows = [
        (name, state, float(weight[(trace.demand >= first) & (trace.demand <= last) & (trace.state == state)].sum()))
        for name, (first, last) in DEMANDS.items()
        for state in states
    ]
    found = pd.DataFrame(rows, columns=["demand", "state", "share"])
    return found.assign(share=found["share"] / float(weight.sum()))


def running_time_distributions(trace: Trace) -> pd.DataFrame:
    """Return distribution functions of running time and of GPU service time by class of demand (Fig 3).

    Columns demand, running_time [s], share [0, 1], service_time [GPU-s]; rows of the second kind have no
    `running_time`. Exact at the limits of Table 1.
    """
    columns = {"running_time": trace.duration, "service_time": trace.gpu_time}
    return _by_class(trace.demand, columns, {"running_time": list(RUNNING_TIMES.values())})


def production_cluster(name: str, evaluated: Cluster) -> Cluster:
    """Return the cluster that a known workload ran on, larger than the evaluated one; for any other trace the same.

    The evaluation takes fewer nodes than production had, to make usage more intensive ([Ye2022] §6.1.3). A part of a
    trace, evaluated on fewer nodes still, gets as many more in proportion.
    """
    if name not in PRODUCTION_NODES:
        return evaluated
    nodes = math.ceil(evaluated.nodes * PRODUCTION_NODES[name] / NODES[name])
    return Cluster(nodes, evaluated.gpus_per_node)


def described_workload(trace: str, scale: str = "paper", seed: int = 0) -> tuple[Trace, Cluster]:
    """Return the workload that notebook 01 describes, and the cluster that it ran on.

    At the scale ``small`` these are the first `SMALL_TIME` seconds on the whole cluster: long enough for queues to
    form, and for days on which tenants change places. The part that the evaluation takes there has two days.
    """
    jobs, evaluated = load_workload(trace, "paper" if scale == "small" else scale, seed)
    if scale == "small":
        jobs = jobs.head(max(1, int(np.searchsorted(jobs.submit_time, SMALL_TIME))))
    return jobs, production_cluster(trace, evaluated)


def pending(trace: Trace, result: Result) -> tuple[pd.DataFrame, str]:
    """Return how long each job waited, and its slowdown ([Ye2022] §3.2, Fig 5).

    Waits are those that the trace recorded, if it did, otherwise those of the simulation: the text is ``recorded`` or
    ``simulated``. Columns demand, running_time, pending_time [s], slowdown; a row per job whose waiting is known.
    """
    recorded = ~np.isnan(trace.queueing_delay)
    if recorded.any():
        jobs = trace.frame.loc[recorded, ["demand", "duration", "queueing_delay"]].reset_index(drop=True)
    else:
        jobs = result.jobs[["demand", "duration", "queueing_delay"]]
    jobs = jobs.rename(columns={"duration": "running_time", "queueing_delay": "pending_time"})
    jobs["slowdown"] = (jobs["running_time"] + jobs["pending_time"]) / jobs["running_time"]
    return jobs, "recorded" if recorded.any() else "simulated"


def pending_distributions(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return distribution functions of pending time and slowdown by class of demand (Fig 5); `jobs` as of `pending`.

    Columns demand, pending_time [s], share [0, 1], slowdown; rows of the second kind have no `pending_time`. Exact at
    30 min and at a slowdown of 5.
    """
    columns = {name: jobs[name].to_numpy() for name in ("pending_time", "slowdown")}
    return _by_class(jobs["demand"], columns, {"pending_time": [LONG_WAIT], "slowdown": [LARGE_SLOWDOWN]})


def pending_table(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the shares of long waits ([Ye2022] §3.2) of jobs on 1 GPU, on fewer than 4, and on 4 and more.

    Columns demand, jobs, pending_over_30min [0, 1], average_pending_time [s], slowdown_over_5 [0, 1]; NaN for a class
    without jobs.
    """
    groups = {"1": jobs["demand"] == 1, "<4": jobs["demand"] < 4, ">=4": jobs["demand"] >= 4}
    rows = []
    for name, which in groups.items():
        part = jobs[which]
        late, slow = (part["pending_time"] > LONG_WAIT).mean(), (part["slowdown"] > LARGE_SLOWDOWN).mean()
        rows.append((name, len(part), late, part["pending_time"].mean(), slow))
    columns = ["demand", "jobs", "pending_over_30min", "average_pending_time", "slowdown_over_5"]
    return pd.DataFrame(rows, columns=columns)


def own_gpus(trace: Trace, gpus: int) -> pd.Series[float]:
    """Return the whole GPUs of each tenant's virtual cluster, by name ([Ye2022] Eq. 6, rounded down) [GPU]."""
    return pd.Series(np.floor(gpus * trace.tenant_weight / trace.tenant_weight.sum()), trace.tenants)


def tenant_utilization(trace: Trace, result: Result, step: float = HOUR) -> pd.DataFrame:
    """Return GPU-time that each tenant held over that of its `own_gpus`, in periods of some whole hours (Fig 4).

    Columns time [s], the beginning of a period, tenant, utilization; as many periods as the submissions fill, rounded.
    With static quotas utilization is at most 1. A tenant with a quota below one GPU is left out: it has no cluster
    of its own.
    """
    quota = own_gpus(trace, result.gpus)
    periods = tenant_windows(result, step, step)
    periods = periods.rename(columns={"window_start": "time"})
    periods = periods[periods["time"] < round(trace.span / step) * step]
    share = periods["attained_service"] / (periods["tenant"].map(quota) * step)
    own = periods.assign(utilization=share)[(periods["tenant"].map(quota) >= 1).to_numpy()]
    return own[["time", "tenant", "utilization"]].reset_index(drop=True)


class Swap(NamedTuple):
    """Two tenants that change places: on `day_1` B is busier, on `day_2` A is."""

    tenant_a: str
    tenant_b: str
    day_1: int  # of the trace, from 0
    day_2: int
    gap: float  # the smaller of the two differences in utilization
    is_full: bool  # on both days the idle one is below `LOW` and the full one above `HIGH`


def widest_swap(daily: pd.DataFrame) -> Swap | None:
    """Find the two tenants and two days that show unbalanced demand best (Fig 4).

    Pairs of tenants and days with one tenant below `LOW` and the other above `HIGH` on both days go first, and among
    them the one with the largest `gap`. Of equals, the earliest days win, then the first tenants. Day 0, on which the
    cluster fills from empty, does not count.

    `daily` is `tenant_utilization` with a step of one day. None if no two tenants change places between two days.
    """
    table = daily.pivot_table(index="time", columns="tenant", values="utilization")
    use, names = table.to_numpy(), list(table.columns)
    lead = use[:, None, :] - use[:, :, None]  # day, a, b: by how much b is busier
    opposed = (use[:, :, None] < LOW) & (use[:, None, :] > HIGH)
    best, found = (False, 0.0), None
    for first, second in combinations(range(int(0 in table.index), len(use)), 2):
        gap = np.minimum(lead[first], lead[second].T)
        full = opposed[first] & opposed[second].T
        a, b = np.unravel_index(np.argmax(2.0 * full + gap), gap.shape)  # a gap is at most 1
        here = bool(full[a, b]), float(gap[a, b])
        if here > best:
            best, found = here, Swap(str(names[a]), str(names[b]), first, second, here[1], here[0])
    return found


def _by_class(demand: Any, columns: dict[str, FloatArray], at: dict[str, list[float]]) -> pd.DataFrame:
    """Return distribution functions of some columns by class of demand, one below the other."""
    jobs = pd.DataFrame({"demand": demand_class(demand), **columns}).sort_values("demand", kind="stable")
    return pd.concat([ecdf(jobs, name, by="demand", at=at.get(name, [])) for name in columns], ignore_index=True)
