"""A job that trains under leases ([Ye2022] §5.1): the workflow (Fig 7), and an example (Fig 8)."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.result import Result
from astraea.core.units import MINUTE
from astraea.plots import OTHERS, style
from astraea.traces.trace import Trace
from papers.charts.axes import WIDTH, legend, name_axis, panels
from papers.ye2022.examples import ROUND

VISIBLE: Final = Settings(interval=30, checkpoint_overhead=1 * MINUTE, restart_overhead=2 * MINUTE)
"""Overheads of the example: so large beside a lease of `ROUND` that they can be drawn."""

WORKFLOW: Final = pd.DataFrame(
    [
        ("1", "users", "queues", "submit: a gang, no running time"),
        ("2", "queues", "scheduler", "the tenant with the smallest ρ"),
        ("3", "scheduler", "scheduler", "its job with the smallest ρ"),
        ("4", "scheduler", "GPUs", "a lease, and all GPUs of the gang"),
        ("5", "GPUs", "queues", "the lease ends: checkpoint, and request for renewal"),
        ("picked", "queues", "GPUs", "renewed, and trains on with the same GPUs"),
        ("not picked", "GPUs", "queues", "preempted, waits, and later resumes from its checkpoint"),
        ("done", "GPUs", "out", "leaves before its lease ends, and its GPUs are free"),
    ],
    columns=["step", "from", "to", "what"],
)
"""The arrows of Fig 7: 1 to 5 as numbered in §5, and what becomes of a job whose lease has ended."""

PARTS: Final = {"restart": "cold start", "training": "training", "checkpoint": "checkpoint"}
"""Uses of the GPUs of a lease by its job, in this order."""

AT_THE_END: Final = {"renewed": (">", "#009E73"), "preempted": ("X", "#D55E00"), "completed": ("D", "#111111")}
"""Ends of a lease, with their marks and colours."""


class LeaseExample(NamedTuple):
    """A simulation of four jobs, and what they do when (`lease_parts`)."""

    result: Result
    parts: pd.DataFrame


def lease_example() -> LeaseExample:
    """Four jobs of two tenants on four GPUs under ASTRAEA, with leases of 10 minutes and the overheads `VISIBLE`."""
    rows = [("A1", "vision", 2, 0, 40), ("A2", "vision", 2, 0, 30), ("B1", "speech", 2, 12, 22),
            ("B2", "speech", 2, 33, 6)]  # fmt: skip
    jobs = pd.DataFrame(rows, columns=["job_id", "tenant", "demand", "submit_time", "duration"])
    jobs[["submit_time", "duration"]] *= MINUTE
    trace = Trace.from_frame(jobs, name="example", weights={"vision": 1.0, "speech": 1.0})
    policy = get_policy("astraea").with_parameters(lease_term=ROUND)
    result = simulate(trace, Cluster(nodes=1, gpus_per_node=4), policy, settings=VISIBLE, keep_log=True)
    return LeaseExample(result, lease_parts(result, VISIBLE))


def lease_parts(result: Result, settings: Settings) -> pd.DataFrame:
    """Split every lease of a simulation with a log into what the job did in it (Fig 8), a row per stretch.

    Columns job_id, demand [GPU], lease, start, end [s], part, then. `part` is one of `PARTS`; `lease` counts the job's
    leases from 1; `then`, in the last row of each lease, is one of `AT_THE_END`.
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


def lease_picture(example: LeaseExample) -> Figure:
    """Draw Fig 8: each job a row, from its submission to its end."""
    jobs = example.result.jobs.set_index("job_id")
    fig, ax = panels(width=WIDTH, height=2.7)
    looks: dict[str, dict[str, Any]] = {
        "restart": {"facecolor": "#F0E442", "hatch": "////"},
        "training": {"facecolor": "#9FCBE6"},
        "checkpoint": {"facecolor": "#444444"},
    }
    with style():
        part: Any
        for k, name in enumerate(map(str, jobs.index)):
            ax.plot([jobs.loc[name, "submit_time"], jobs.loc[name, "end_time"]], [k, k], ":", color="#777777",
                    label="waiting" if k == 0 else None, zorder=1)  # fmt: skip
            ax.plot(jobs.loc[name, "submit_time"], k, "|", color="#111111", markersize=16,
                    label="submission" if k == 0 else None, linestyle="none")  # fmt: skip
            mine = example.parts[example.parts["job_id"] == name]
            for part in mine.itertuples():
                ax.add_patch(Rectangle((part.start, k - 0.3), part.end - part.start, 0.6, edgecolor="white", zorder=2,
                                       linewidth=0.8, **looks[part.part]))  # fmt: skip
            for number, lease in mine.groupby("lease"):
                train = lease[lease["part"] == "training"].iloc[0]
                ax.text((train["start"] + train["end"]) / 2, k, f"lease {number}", ha="center", va="center",
                        fontsize=7.5)  # fmt: skip
        for what, (marker, color) in AT_THE_END.items():
            ended = example.parts[example.parts["then"] == what]
            ax.plot(ended["end"], [list(jobs.index).index(name) - 0.42 for name in ended["job_id"]], marker,
                    color=color, markersize=5, linestyle="none", label=what, clip_on=False)  # fmt: skip
        for kind, text in PARTS.items():
            ax.bar(0, 0, 0, label=text, **looks[kind])
        ax.set_yticks(range(len(jobs)), [f"{name} ({row['tenant']})" for name, row in jobs.iterrows()])
        ax.set(xlim=(-20, jobs["end_time"].max() + 30), ylim=(len(jobs) - 0.5, -0.65))
        ax.grid(visible=False, axis="y")
        ax.tick_params(axis="y", length=0)
        name_axis(ax.xaxis, "time")
    return legend(fig, columns=4, headline="A job trains from lease to lease, or resumes later from its checkpoint")


def workflow_picture() -> Figure:
    """Draw Fig 7: the path of a job through ASTRAEA, drawn from `WORKFLOW`."""
    fig, ax = panels(width=WIDTH, height=3.0)
    says = WORKFLOW.set_index("step")["what"]
    with style():
        ax.set(xlim=(0, 70), ylim=(3, 33))
        ax.axis("off")
        for x, width, heading in ((9, 13, "Pending jobs"), (29, 17, "Two-phase scheduler"), (52.5, 13, "GPUs")):
            _box(ax, x, 13, width, 14, "#F4F4F4")
            ax.text(x + width / 2, 25.6, heading, ha="center", va="center", fontsize=9, weight="bold")
        for k, tenant in enumerate("ABC"):
            ax.text(10, 22.5 - 3 * k, f"tenant {tenant}", va="center", fontsize=8)
            for m in range(4 - k):
                ax.add_patch(Rectangle((15.6 + 1.5 * m, 21.8 - 3 * k), 1.2, 1.5, facecolor=OTHERS[k], alpha=0.7))
        for y, step in ((19.2, "2"), (14.2, "3")):
            _box(ax, 30, y, 15, 4.2, "white")
            two_lines = says[step].replace(" with", "\nwith")
            ax.text(37.5, y + 2.1, f"{step}  {two_lines}", ha="center", va="center", fontsize=8)
        for k, holder in enumerate((0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 2)):
            ax.add_patch(Rectangle((53.8 + 2.7 * (k % 4), 21 - 2.9 * (k // 4)), 2.2, 2.2, facecolor=OTHERS[holder],
                                   alpha=0.7))  # fmt: skip
        for begin, end in (((0.5, 20), (9, 20)), ((22, 20), (29, 20)), ((46, 20), (52.5, 20)), ((65.5, 20), (70, 20))):
            _arrow(ax, begin, end)
        ax.text(4.4, 20.6, "1  submit", ha="center", va="bottom", fontsize=8)
        ax.text(49.1, 20.6, "4  grant", ha="center", va="bottom", fontsize=8)
        ax.text(49.1, 19.3, "a lease,\nthe gang", ha="center", va="top", fontsize=7.5)
        ax.text(67.7, 20.6, "done", ha="center", va="bottom", fontsize=8)
        ax.plot([59, 59, 15.5], [13, 8.5, 8.5], color="#222222", linewidth=1.1)
        _arrow(ax, (15.5, 8.5), (15.5, 13))
        ax.text(37.2, 9.1, f"5  {says['5']}", ha="center", va="bottom", fontsize=8)
        ax.plot([15.5, 15.5, 59], [27, 30, 30], color="#009E73", linewidth=1.1)
        _arrow(ax, (59, 30), (59, 27), "#009E73")
        ax.text(37.2, 30.6, f"if picked: {says['picked']}", ha="center", va="bottom", fontsize=8,
                color="#00694D")  # fmt: skip
        ax.text(37.2, 5.6, f"if not picked: {says['not picked']}", ha="center", va="bottom", fontsize=8,
                color="#A84300")  # fmt: skip
    return legend(fig, headline="The path of a job through ASTRAEA")


def _box(ax: Axes, x: float, y: float, width: float, height: float, color: str) -> None:
    ax.add_patch(FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0,rounding_size=0.8", facecolor=color,
                                edgecolor="#777777", linewidth=0.8))  # fmt: skip


def _arrow(ax: Axes, begin: tuple[float, float], end: tuple[float, float], color: str = "#222222") -> None:
    ax.annotate("", end, begin, arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 1.1, "shrinkA": 0,
                                            "shrinkB": 0})  # fmt: skip
