"""A workload in production: waiting and utilization under FIFO in each virtual cluster ([Ye2022] §3)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from astraea.cluster.cluster import Cluster
from astraea.core.arrays import FloatArray
from astraea.core.metrics import tenant_windows
from astraea.core.result import Result
from astraea.core.units import DAY, HOUR
from astraea.experiments.grid import Grid
from astraea.traces.columns import STATES
from astraea.traces.describe import DEMANDS, RUNNING_TIMES
from astraea.traces.named import NODES
from astraea.traces.trace import Trace
from papers import charts
from papers.charts.axes import name_axis, name_ticks
from papers.charts.statistics import ecdf
from papers.scales import seeds
from papers.ye2022.evaluation import grid_of, load_workload, run_of

PRODUCTION_NODES: Final = {"venus": 133, "helios-venus": 133, "philly": 311, "philly-two-weeks": 311}
"""Nodes of 8 GPUs that the workload ran on: 1,064 GPUs of Venus, 2,490 of Philly ([Ye2022] §6.1.2)."""

CLASSES: Final = {"1": 1, "2-3": 3, "4-7": 7, "8": 8, ">8": np.inf}  # classes of demand of Figs 3 and 5: last GPU count
LONG_WAIT: Final = 1800.0  # [s] (§3.2)
LARGE_SLOWDOWN: Final = 5.0  # (§3.2)
BARS: Final = {"g1": ["1"], "g8": ["8"], "gt8": [">8"], "ge8": ["8", ">8"]}
"""Published shares by demand: the classes that each is of."""

POINTS: Final = {
    "g1.1h": ("running_time", HOUR, False),
    "g1.1d": ("running_time", DAY, True),
    "g1.30m": ("pending_time", LONG_WAIT, True),
}
"""Published shares of 1-GPU jobs: the column, the value up to which, and whether the share is of those beyond it."""

SMALL_TIME: Final = 10 * DAY  # of a trace at the scale ``small`` [s]
LOW: Final = 0.5
HIGH: Final = 0.9  # utilization below and above which a virtual cluster counts as idle and as full (§3.1)


def demand_class(demand: Any) -> pd.Series[Any]:
    """Return the name in `CLASSES` of each job's demand, a categorical in order of size."""
    return pd.Series(pd.cut(np.asarray(demand), [0, *CLASSES.values()], labels=list(CLASSES)))


def class_label(name: str) -> str:
    """Write a class of demand for a legend."""
    return f"{name.replace('>', '> ')} GPU{'' if name == '1' else 's'}"


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


def production_grid(trace: str, scale: str = "paper") -> Grid:
    """Return runs of FIFO in every virtual cluster, on a cluster of production size: every seed of the evaluation."""
    drawn = ((seed, *load_workload(trace, scale, seed)) for seed in seeds(trace, scale))  # as recorded, to the second
    return grid_of(
        (seed, run_of(jobs, production_cluster(trace, evaluated), "yarn-cs", seed=seed), {})
        for seed, jobs, evaluated in drawn
    )


def described_workload(trace: str, scale: str = "paper", seed: int = 0) -> tuple[Trace, Cluster]:
    """Return the workload that notebook 01 describes, and the cluster that it ran on.

    At the scale ``small`` these are the first `SMALL_TIME` seconds on the whole cluster: long enough for queues to
    form, and for days on which tenants change places. The part that the evaluation takes there has two days.
    """
    jobs, evaluated = load_workload(trace, "paper" if scale == "small" else scale, seed)
    if scale == "small":
        jobs = jobs.head(max(1, int(np.searchsorted(jobs.submit_time, SMALL_TIME))))
    return jobs, production_cluster(trace, evaluated)


def described_grid(trace: str, scale: str = "paper") -> Grid:
    """Return runs of FIFO in every virtual cluster of each `described_workload`, as recorded, to the second."""
    drawn = ((seed, *described_workload(trace, scale, seed)) for seed in seeds(trace, scale))
    return grid_of((seed, run_of(jobs, cluster, "yarn-cs", seed=seed), {}) for seed, jobs, cluster in drawn)


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


def states_picture(table: pd.DataFrame, published: Mapping[str, float], *, service: bool) -> Figure:
    """Draw `shares_by_state`, with the paper's shares of the classes of `BARS` (Figs 1 and 2)."""
    fig, ax = charts.panels(width=5.0, height=2.6)
    wide = table.pivot_table(index="demand", columns="state", values="share", aggfunc="sum", sort=False).fillna(0.0)
    bottom = np.zeros(len(wide))
    with charts.style():
        for k, name in enumerate(charts.order(wide.columns)):
            here = charts.look(name, k)
            ax.bar(range(len(wide)), wide[name], 0.75, bottom, label=here.label, color=here.color, hatch=here.hatch,
                   edgecolor="white", linewidth=0.5)  # fmt: skip
            bottom += wide[name].to_numpy()
        name_ticks(ax, "demand", list(wide.index))
        ax.tick_params(axis="x", length=0)
        ax.grid(visible=False, axis="x")
        name_axis(ax.yaxis, "share")
    ax.set_ylabel("GPU service time [%]" if service else "Jobs [%]")
    sums = table.groupby("demand", sort=False)["share"].sum()
    for name, value in published.items():
        at = [list(sums.index).index(demand) for demand in BARS[name]]
        if len(at) > 1:
            ax.plot(at, [sums[BARS[name]].sum()] * len(at), color="#444444", label="8 and more")
        ax.plot(np.mean(at), value, **charts.PUBLISHED)
    ax.set_ylim(0, 1.1 * max([sums.max(), *published.values()]))
    large = f"Jobs with eight GPUs and more have {100 * sums.reindex(BARS['ge8']).sum():.0f} % of the GPU-time"
    return charts.legend(fig, headline=large if service else f"{100 * sums['1']:.0f} % of the jobs ask for one GPU")


def by_class_picture(table: pd.DataFrame, columns: tuple[str, str], published: Mapping[str, float]) -> Figure:
    """Draw two of these distribution functions side by side (Figs 3 and 5), long waits and large slowdowns marked.

    `published` are the paper's shares of 1-GPU jobs: `POINTS`.
    """
    marks = {"pending_time": (LONG_WAIT, "30 min"), "slowdown": (LARGE_SLOWDOWN, "5")}
    shown = table.assign(demand=table["demand"].map(class_label))
    fig, axes = charts.panels(columns=2, width=3.5, height=2.7)
    for ax, column in zip(axes, columns, strict=True):
        charts.cdf(shown.dropna(subset=[column]), column, by="demand", ax=ax, log=True)
        if column == "pending_time":
            ax.set_xlim(left=5)  # the next round is at most 10 s away
            name_axis(ax.xaxis, column, log=True)
        for name, (of, at, is_rest) in POINTS.items():
            if of == column and name in published:
                share = 1 - published[name] if is_rest else published[name]
                ax.plot(at, share, **charts.PUBLISHED, clip_on=False)
        if column in marks:
            value, text = marks[column]
            charts.mark_line(ax, value, "")
            ax.text(value, 1.02, text, fontsize=8, color="#444444", ha="center")
    said, at = (("Running for more than an hour", HOUR) if columns[0] == "running_time" else
                ("Waiting for more than half an hour", LONG_WAIT))  # fmt: skip
    charts.footnote(fig, f"{said}: {_rest_of_each(table, columns[0], at)}.")
    rows = table[table[columns[0]] == at].sort_values("share")
    ends = [
        f"{100 * (1 - share):.0f} % of those on {class_label(demand)}"
        for demand, share in zip(rows["demand"].iloc[[-1, 0]], rows["share"].iloc[[-1, 0]], strict=True)
    ]
    return charts.legend(fig, headline=f"Jobs {said[0].lower()}{said[1:]}: {' to '.join(ends)}")


def _rest_of_each(table: pd.DataFrame, column: str, at: float) -> str:
    """Write the share of each class beyond a value that is among the points of a distribution."""
    rows = table[table[column] == at]
    shares = zip(rows["demand"], rows["share"], strict=True)
    texts = [f"{100 * (1 - share):.1f} % on {str(name).replace('>', '> ')}" for name, share in shares]
    return f"{', '.join(texts)} GPUs"


def _by_class(demand: Any, columns: dict[str, FloatArray], at: dict[str, list[float]]) -> pd.DataFrame:
    """Return distribution functions of some columns by class of demand, one below the other."""
    jobs = pd.DataFrame({"demand": demand_class(demand), **columns}).sort_values("demand", kind="stable")
    return pd.concat([ecdf(jobs, name, by="demand", at=at.get(name, [])) for name in columns], ignore_index=True)


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


def tenant_utilization(trace: Trace, result: Result, step: float = HOUR) -> pd.DataFrame:
    """Return GPU-time that each tenant held over that of its whole-GPU quota, in periods of some whole hours (Fig 4).

    Columns time [s], the beginning of a period, tenant, utilization; as many periods as the submissions fill, rounded.
    With static quotas utilization is at most 1. A tenant with a quota below one GPU is left out: it has no cluster
    of its own.
    """
    quota = pd.Series(np.floor(result.gpus * trace.tenant_weight / trace.tenant_weight.sum()), trace.tenants)
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
