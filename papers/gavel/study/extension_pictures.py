"""Pictures of what goes beyond the paper's figures: pairs, placement, both fairnesses, tenants."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from astraea.plots import charts
from astraea.plots.style import look
from papers.gavel.study.pictures import room


def colocation(table: pd.DataFrame) -> Figure:
    """Fig 15: a table of `tables.colocation`; cells that cannot share a GPU are orange."""
    fig, ax = charts.panels(width=7.0, height=5.2)
    charts.heatmap(table, "beside", "job", "normalized", ax, is_part=True)
    ax.grid(visible=False)
    ax.set_facecolor("#D55E00")
    ax.set_xticks(np.arange(table["beside"].nunique()) + 0.5, table["beside"].unique(), rotation=90, fontsize=6)
    ax.set_yticks(np.arange(table["job"].nunique()) + 0.5, table["job"].unique(), fontsize=6)
    return fig


def placement(mixed: pd.DataFrame) -> Figure:
    """Average JCT of gangs and of jobs on one GPU, by what LAS het. is told of placement."""
    fig, axes = charts.panels(columns=2, width=4.0, height=2.7)
    columns = ["gang_jct", "single_jct"]
    hours = mixed.assign(**{column: mixed[column] / 3600 for column in columns})
    for ax, column, text in zip(axes, columns, ("(a) gangs of 2 to 8", "(b) jobs on one GPU"), strict=True):
        charts.lines(hours, "jobs_per_hour", column, by="told", ax=ax)
        ax.set_ylim(0, 1.05 * float(hours[columns].to_numpy().max()))
        ax.set_ylabel("Average JCT [h]")
        charts.title(ax, text)
    charts.legend(fig)
    return fig


def both_fairnesses(table: pd.DataFrame) -> Figure:
    """LAS and LTGF in the metrics of both papers, over load; columns as of `tables.steady`."""
    fig, axes = charts.panels(columns=3, width=3.5, height=3.2)
    titles = {"average_jct": "Average JCT [h]", "average_ftf": "Average finish-time\nfairness",
              "sharing_loss": "Jobs with\nsharing loss [%]"}  # fmt: skip
    for ax, (column, text) in zip(axes, titles.items(), strict=True):
        charts.lines(table, "jobs_per_hour", column, by="policy", ax=ax)
        room(ax)
        if table[column].max() == 0:
            ax.set_ylim(0, 0.05)
        ax.set_ylabel("")
        charts.title(ax, text)
    charts.legend(fig)
    return fig


TENANT_PANELS: Final = (
    ("average_jct", "p99_jct", "JCT [h]"),
    ("average_slowdown", "p99_slowdown", "Slowdown"),
    ("average_ftf", "worst_ftf", "Finish-time fairness"),
    ("effective_sharing_loss", "sharing_loss", "Jobs with $\\rho < 0.95$"),
    ("effective_tenant_sharing_loss", "tenant_sharing_loss", "Tenants' days, $\\rho < 1$"),
    ("effective_tenant_sharing_loss_95", "tenant_sharing_loss_95", "Tenants' days, $\\rho < 0.95$"),
)
"""Columns of the full and of the hollow marks, and what they are."""


def tenants(means: pd.DataFrame) -> Figure:
    """Averages and tails above, shares that lost by sharing below; index policy, columns of `tenants.both_papers`."""
    fig, axes = charts.panels(columns=3, rows=2, width=3.5, height=2.4)
    row = np.arange(len(means))[::-1]
    for k, (ax, (filled, hollow, text)) in enumerate(zip(axes, TENANT_PANELS, strict=True)):
        unit = 3600 if filled == "average_jct" else 1
        for y, policy in zip(row, means.index, strict=True):
            here = look(policy)
            x = means.loc[policy, [filled, hollow]].to_numpy(float) / unit
            ax.plot(x, [y, y], color=here.color, linewidth=0.8)
            ax.plot(x[0], y, here.marker, color=here.color, markersize=6)
            ax.plot(x[1], y, here.marker, color=here.color, markersize=6, markerfacecolor="white")
        if k < 3:
            _round_ticks(ax)
        else:
            ax.set_xlim(left=-0.03 * float(means[[filled, hollow]].to_numpy().max()))
            ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        ax.set_yticks(row, [look(p).label for p in means.index] if k % 3 == 0 else [""] * len(means))
        ax.set_ylim(-0.6, len(means) - 0.4)
        ax.set_xlabel(text)
        tail = "worst" if "worst" in hollow else "99th perc."
        charts.title(ax, f"({'abcdef'[k]}) hollow: {tail if k < 3 else 'as held'}")
    charts.footnote(fig, "Full marks: averages in (a) to (c), effective GPU-time in (d) to (f).")
    return fig


def _round_ticks(ax: Axes) -> None:
    """A logarithmic axis with ticks at 1, 2, 5, 10, ..., or at 1, 10, 100, ... if it is long."""
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    steps = (1, 2, 5) if high < 100 * low else (1,)
    marks = [a * 10.0**b for b in range(-2, 6) for a in steps if low <= a * 10.0**b <= high]
    ax.set_xticks(marks, [f"{mark:g}" for mark in marks])
    ax.minorticks_off()
