"""Use of the cluster over time ([Wang2023] Figs 1 and 13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from astraea.core.units import DAY
from astraea.plots import look, order, style
from papers import charts
from papers.charts import PUBLISHED
from papers.charts.axes import log_ticks
from papers.charts.dots import SEED, SINGLE
from papers.market.study.pictures import OURS
from papers.market.workload import HERE, READINGS


def idle_and_full(hourly: pd.DataFrame, tenants: Sequence[str]) -> Figure:
    """Fig 1: utilization of two tenants over time [s], every other day shaded; columns tenant, time, utilization."""
    called = {name: f"Tenant {letter}" for name, letter in zip(tenants, "AB", strict=True)}
    fig, ax = charts.panels(width=7.0, height=2.3)
    lines = hourly.assign(tenant=hourly["tenant"].map(called)).sort_values(["tenant", "time"])
    charts.timeseries(lines, "utilization", by="tenant", ax=ax)
    ax.set_ylim(0, 1.02)
    with style():
        for day in range(0, int(lines["time"].max() // DAY) + 1, 2):
            ax.axvspan(day * DAY, (day + 1) * DAY, color="#EBEBEB", linewidth=0, zorder=0, label="every other day")
    wide = lines.pivot_table(index="time", columns="tenant", values="utilization")
    apart = 100 * float((wide.max(axis=1) - wide.min(axis=1) > 0.5).mean())
    return charts.legend(fig, headline=f"One tenant uses over 50 points more than the other in {apart:.0f} % of hours")


def makespans(used: pd.DataFrame, ax: Axes, paper: Mapping[str, float]) -> None:
    """Draw the last hour with any use, on a logarithmic axis, a row for each scheduler: trials and their mean.

    `paper` is scheduler -> Astraea's makespan over its, as published: diamonds in Astraea's row, in its colour.
    """
    last = used[used["utilization"] > 0].groupby(["scheduler", "trial"], as_index=False)["hour"].max()
    rows, means = order(last["scheduler"]), last.groupby("scheduler")["hour"].mean()
    with style():
        ax.set_xscale("log")
        for k, name in enumerate(rows):
            here, hours = look(name), last.loc[last["scheduler"] == name, "hour"]
            ax.plot(hours, [k + 0.24] * len(hours), color=here.color, **SEED)
            ax.plot(means[name], k, here.marker, color=here.color, markersize=6)
            ax.annotate(f"{means[name]:,.0f} h", (means[name], k), (0, 5), textcoords="offset points", fontsize=7.5,
                        ha="center", color=look(name).color)  # fmt: skip
        for other, ratio in paper.items():
            mark = {"markeredgecolor": look(other).color, "markersize": 5, "label": None}
            ax.plot(ratio * means[other], rows.index(OURS), **PUBLISHED | mark)
        if paper:
            said = "Astraea's end, by the paper's ratio to the scheduler of that colour"
            ax.plot([], [], **PUBLISHED | {"label": said})
        ax.set_yticks(range(len(rows)), [look(name).label for name in rows])
        ax.set_ylim(len(rows) - 0.4, -0.8)
        ax.set_xlim(0.2 * last["hour"].min(), 2.5 * last["hour"].max())
        marks = [m for m in (10**k for k in range(10)) if 0.2 * last["hour"].min() < m < 2.5 * last["hour"].max()]
        marks = marks[:: max(1, -(-len(marks) // 3))]
        ax.set_xticks(marks, [f"{mark:,}" for mark in marks])
        ax.minorticks_off()
        ax.set_xlabel("Last hour in use (log scale)")


def utilization(used: pd.DataFrame, paper: Mapping[str, float]) -> Figure:
    """Fig 13: workers in use in every hour, and below, until when they are (`makespans`)."""
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=2.5)
    last = int(used.loc[(used["reading"] == HERE) & (used["scheduler"] != "batch-sche"), "hour"].max())
    for ax, below, reading, letter, after in zip(axes, axes[2:], READINGS, "ab", "cd", strict=False):
        part = used[used["reading"] == reading]
        for scheduler in order(part["scheduler"]):
            here = look(scheduler)
            mine = part[(part["scheduler"] == scheduler) & (part["hour"] <= last)]
            wide = 100 * mine.pivot_table(index="hour", columns="trial", values="utilization")
            ax.step(wide.index, wide, where="post", color=here.color, linewidth=0.4, alpha=0.45)
            ax.step(wide.index, wide.mean(axis=1), where="post", color=here.color, linestyle=here.line,
                    label=here.label)  # fmt: skip
        ends = part.loc[part["utilization"] > 0, "hour"].max()
        scale = "log scale, axis cut" if ends > last else "log scale"
        ax.set(xscale="log", xlim=(1, last), ylim=(0, 103), xlabel=f"Hour ({scale})", ylabel="Workers in use [%]")
        log_ticks(ax.xaxis)
        ours = part[(part["scheduler"] == OURS) & (part["hour"] <= last)]
        peak = 100 * ours.groupby("hour")["utilization"].mean().max()
        charts.title(ax, f"({letter}) use, {reading}", f"Astraea: mean of at most {peak:.0f} % (paper 100 %)")
        charts.title(below, f"({after}) last hour in use, {reading}")
        makespans(part, below, paper if reading == HERE else {})
    axes[0].plot([], [], ".-", color="#777777", linewidth=0.5, markersize=3, label=SINGLE)
    hours = used[(used["reading"] == HERE) & (used["utilization"] > 0)].groupby(["scheduler", "trial"])["hour"].max()
    first = hours.groupby("scheduler").mean().sort_values()
    said = f"{look(str(first.index[0])).label} after {first.iloc[0]:,.0f} h, Astraea after {first[OURS]:,.0f} h"
    return charts.legend(fig, columns=3, headline=f"Done first in the reading “{HERE}”: {said}")
