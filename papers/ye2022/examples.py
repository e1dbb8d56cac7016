"""The six-GPU example of [Ye2022] §4.1 and Fig 6: three jobs, three mechanisms.

Job1 needs 6 GPUs, Job2 and Job3 need 3 each, 40 minutes every one, on one node of 6 GPUs with rounds of 10 minutes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.policy import Policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError
from astraea.core.units import HOUR, MINUTE
from astraea.plots import OTHERS, style
from astraea.traces.trace import Trace
from papers.areas import gantt
from papers.charts.axes import name_axis, named_line, panels, title
from papers.charts.dots import PUBLISHED
from papers.layout import quick

ROUND: Final = 10 * MINUTE  # one scheduling round, and one lease [s] ([Ye2022] §4.1.2)
SIX_GPUS: Final = Cluster(nodes=1, gpus_per_node=6)
SHORT: Final = {"max-min": "Max-min", "finish-time-fairness": "Finish-time fairness", "astraea": "LTGF"}
"""Names of `mechanisms` for the titles of panels."""

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
    return {name: get_policy(name).with_parameters(lease_term=ROUND) for name in names}


class Asked(NamedTuple):
    """The shares and ends of jobs that asked for some gangs."""

    shares: pd.Series[float]  # parts of the cluster's GPU-time in [0, 1]
    ends: pd.Series[float]  # when they ended [s]
    grants: pd.DataFrame  # leases, as in a `Result`


def asking(mechanism: str, demands: Sequence[int], hours: Sequence[float], window: float) -> Asked:
    """Let Job1, Job2, ... with these gangs [GPU] and running times [h] share the six GPUs under one of `mechanisms`.

    Shares are those of the first `window` seconds, with what nobody held as the last, ``nobody``.
    """
    frame = six_gpu_trace(demands).frame.assign(duration=HOUR * np.asarray(hours, dtype=float))
    trace = Trace.from_frame(frame, name="example")
    jobs = divided(trace) if mechanism == "max-min" else trace
    result = simulate(jobs, SIX_GPUS, mechanisms()[mechanism], settings=NO_OVERHEADS, keep_log=True)
    grants = rejoined(result.log) if mechanism == "max-min" else result.log
    shares = window_shares(grants, SIX_GPUS.gpus, window, window).set_index("job_id")["share"]
    ends = grants.groupby("job_id")["end"].max()
    return Asked(pd.concat([shares, pd.Series({"nobody": 1 - shares.sum()})]), ends, grants)


def asking_picture(demands: Sequence[int], hours: float = 30, shown: float = 100 * MINUTE) -> Figure:
    """Draw the first part of `asking` under each of `mechanisms` [s], and the shares of the first 10 hours below it."""
    got = {name: asking(name, demands, [hours] * len(demands), 600 * MINUTE) for name in mechanisms()}
    fig, axes = panels(columns=3, rows=2, width=3.0, height=2.3)
    for ax, (name, asked) in zip(axes, got.items(), strict=False):
        part = asked.grants[asked.grants["start"] < shown]
        gantt(part.assign(job_id=part["job_id"].str[-1]), ax, gpus=SIX_GPUS.gpus)
        title(ax, SHORT[name])
    share_bars({name: asked.shares for name, asked in got.items()}, axes[3:])
    return quick(fig, bottom=0.1, top=0.93, hspace=0.4)


def share_bars(
    shares: Mapping[str, pd.Series[float]], axes: Sequence[Axes],
    published: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
) -> None:  # fmt: skip
    """Draw each mechanism's shares of jobs (`Asked`) in a panel, in the colours of `gantt`; a line at the equal one.

    `published` has the paper's shares by mechanism and job, open diamonds.
    """
    for ax, (mechanism, part) in zip(axes, shares.items(), strict=True):
        jobs = part.drop("nobody", errors="ignore")
        idle = part.get("nobody", 0.0)
        with style():
            ax.bar(jobs.index, jobs, 0.7, color=OTHERS[: len(jobs)], alpha=0.55)
            if idle > 1e-9:
                ax.bar(["idle"], [idle], 0.7, color="white", edgecolor="#777777", hatch="//")
            for k, value in enumerate([*jobs, *([idle] if idle > 1e-9 else [])]):
                text = f"{100 * value:.0f}"
                ax.annotate(text, (k, 0), (0, 3), textcoords="offset points", ha="center", fontsize=8)
            ax.set_ylim(0, max(0.7, 1.2 * part.max()))
            named_line(ax, 1 / len(jobs), "equal shares", vertical=False)
            printed = published.get(mechanism, {})
            if printed:
                ax.plot(list(printed), list(printed.values()), **PUBLISHED)
                ax.legend(loc="upper right", fontsize=7.5, handletextpad=0.1)
            ax.grid(visible=False, axis="x")
            name_axis(ax.yaxis, "share")
            ax.set_ylabel("GPU-time [%]")


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
