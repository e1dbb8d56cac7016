"""Pictures of the notebooks on Gavel, from their tables, with the paper's values beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from astraea.plots import charts
from astraea.plots.charts import PUBLISHED
from astraea.plots.style import REFERENCE, look, name_axis, style
from papers.gavel.study.tables import times_less

TYPES: Final = (("#0072B2", "o"), ("#E69F00", "s"), ("#009E73", "D"))
"""How the accelerator types are drawn, from new to old."""


class Factor(NamedTuple):
    """How many times smaller than under the baseline something is under a better policy, as published."""

    baseline: str
    better: str
    value: float


def over_load(
    table: pd.DataFrame, shares: pd.DataFrame, trace: str, factors: Sequence[Factor], fairness: Factor | None = None
) -> Figure:
    """Average JCT over the rate of arrival, and how JCTs or finish-time fairness are distributed at the highest rate.

    `table` and `shares` are as of `tables.load_figures`, one row per run, and the points of `ecdf` of its jobs.
    Published are the `factors` of average JCT, and that of average finish-time `fairness`.
    """
    fig, axes = charts.panels(columns=2, width=3.5, height=2.6)
    charts.lines(table, "jobs_per_hour", "average_jct", by="policy", ax=axes[0])
    room(axes[0])
    mark_factors(table, "average_jct", factors, axes[0])
    value = "finish_time_fairness" if "finish_time_fairness" in shares else "jct"
    charts.cdf(shares, value, by="policy", ax=axes[1], log=True)
    if value == "finish_time_fairness":
        axes[1].axvline(1, **REFERENCE)
        axes[1].text(1.04, 0.04, "1/n of the cluster", fontsize=7)
        if fairness is not None:
            baseline, better, paper = fairness
            ratio = times_less(table, "average_ftf", baseline, [better])[better].max()
            text = f"average, {look(better).label}:\npaper {paper:g}×, here {ratio:.2g}×"
            axes[1].text(
                0.02, 0.9, text, transform=axes[1].transAxes, fontsize=7, color=look(better).color, va="center"
            )
        low, high = axes[1].get_xlim()
        marks = [2.0**k for k in range(-4, 12) if low <= 2.0**k <= high]
        axes[1].set_xticks(marks, [f"{mark:g}" for mark in marks])
        axes[1].minorticks_off()
    charts.title(axes[0], f"(a) {trace}")
    charts.title(axes[1], f"(b) at {table['jobs_per_hour'].max():g} jobs/h")
    charts.legend(fig)
    return fig


def room(ax: Axes) -> None:
    """Begin at 0, and leave a tenth free above what is drawn."""
    ax.set_ylim(0, 1.1 * ax.get_ylim()[1])


def mark_factors(table: pd.DataFrame, column: str, factors: Sequence[Factor], ax: Axes) -> None:
    """Arrows from a baseline's mean, where its distance is largest, to where the published factor would lead."""
    means = table.pivot_table(index="jobs_per_hour", columns="policy", values=column)
    rates = means.index.to_numpy(float)
    with style():
        for k, (baseline, better, paper) in enumerate(factors):
            ratios, color = (means[baseline] / means[better]).to_numpy(), look(better).color
            largest = int(ratios.argmax())
            at, top = rates[largest] - 0.025 * k * np.ptp(rates), float(means[baseline].iloc[largest])
            ax.annotate("", (at, top / paper), (at, top), arrowprops={"arrowstyle": "-|>", "color": color, "lw": 0.8})
            ax.text(0.98, 0.03 + 0.08 * k, f"{look(better).label}: paper {paper:g}×, here {ratios[largest]:.2g}×",
                    transform=ax.transAxes, fontsize=7, color=color, ha="right")  # fmt: skip


def averages(table: pd.DataFrame, *, width: float = 4.4, height: float = 2.8) -> Figure:
    """Average JCT over load, in one panel (Figs 13b and 14)."""
    fig, ax = charts.panels(width=width, height=height)
    charts.lines(table, "jobs_per_hour", "average_jct", by="policy", ax=ax)
    rates = sorted(table["jobs_per_hour"].unique())
    if any(rate != round(rate, 1) for rate in rates):
        ax.set_xticks(rates, [f"{rate:.2f}" for rate in rates])
    room(ax)
    charts.legend(fig)
    return fig


def priorities(table: pd.DataFrame, high: float, low: float) -> Figure:
    """Fig 20: jobs of weight 5 and of weight 1, with the published factors of both."""
    fig, axes = charts.panels(columns=2, width=3.5, height=2.6)
    parts = (("high_jct", "(a) weight 5", high), ("low_jct", "(b) weight 1", low))
    for ax, (column, text, paper) in zip(axes, parts, strict=True):
        charts.lines(table, "jobs_per_hour", column, by="policy", ax=ax)
        mark_factors(table, column, [Factor("las", "las-het", paper)], ax)
        charts.title(ax, text)
    top = 1.1 * max(ax.get_ylim()[1] for ax in axes)
    for ax, (column, *_) in zip(axes, parts, strict=True):
        ax.set_ylim(0, top)
        name_axis(ax.yaxis, column)
    charts.legend(fig)
    return fig


def makespans(table: pd.DataFrame, published: dict[str, float]) -> Figure:
    """Fig 19: makespan over the number of jobs, and that over Makespan het.'s; `published` are such factors."""
    ours = table.loc[table["policy"] == "makespan-het"].set_index(["jobs", "seed"])["makespan"].rename("ours")
    relative = table.join(ours, on=["jobs", "seed"])
    relative["times"] = relative["makespan"] / relative["ours"]
    fig, axes = charts.panels(columns=2, width=3.5, height=2.7)
    charts.lines(table, "jobs", "makespan", by="policy", ax=axes[0])
    charts.lines(relative, "jobs", "times", by="policy", ax=axes[1])
    first, second = sorted(table["jobs"].unique())[:2]
    for policy, times in published.items():
        axes[1].axhline(times, color=look(policy).color, linewidth=0.8)
        side = 2 if times > 1 else -9
        axes[1].annotate(f"paper: {times:g}×", ((first + second) / 2, times), (0, side), fontsize=7, ha="center",
                         textcoords="offset points", color=look(policy).color)  # fmt: skip
    room(axes[0])
    axes[1].set_ylim(0.75, 1.15 * max(relative["times"].max(), *published.values()))
    axes[1].set_ylabel("Times Makespan het.")
    charts.legend(fig, columns=3)
    return fig


def costs(bills: pd.DataFrame, cheaper: dict[str, float], missed: dict[str, float]) -> Figure:
    """§7.3: cost of all jobs and missed deadlines, with the published values.

    `bills` has the columns policy, seed, cost [$] and missed. Published are, by policy, how many times `cheaper` than
    Max. throughput it is, and which share of deadlines it `missed`.
    """
    fig, axes = charts.panels(columns=2, width=3.8, height=2.9)
    names = charts.ordered(bills["policy"])
    dearest = float(bills.loc[bills["policy"] == "max-throughput", "cost"].mean())
    paper = {"cost": {policy: dearest / times for policy, times in cheaper.items()}, "missed": missed}
    for ax, (column, values) in zip(axes, paper.items(), strict=True):
        charts.bars(bills, "policy", column, ax=ax)
        # white below the dark mark, so that it is seen on a dark bar too
        at = [names.index(policy) + 0.2 for policy in values]
        for edge, width in (("white", 3.0), ("#111111", 1.2)):
            ax.plot(at, list(values.values()), **PUBLISHED | {"markeredgecolor": edge, "markeredgewidth": width,
                    "label": "published value" if width < 2 else None, "clip_on": False})  # fmt: skip
        ax.set_xlabel("")
    axes[1].set_ylim(bottom=-0.02)  # room for a mark at 0
    charts.legend(fig)
    return fig


def physical_cluster(table: pd.DataFrame) -> Figure:
    """Table 3: a table of `physical.table3`; the paper's values above, ours below in each row."""
    fig, axes = charts.panels(columns=2, width=4.0, height=2.1)
    for ax, (trace, part) in zip(axes, table.groupby("trace", sort=False), strict=True):
        rows = np.arange(len(part))
        ax.plot(part["physical"], rows + 0.16, **PUBLISHED | {"label": "paper's cluster"})
        ax.plot(part["paper"], rows + 0.16, "D", color="#222222", markersize=3.5, label="paper's simulation")
        ax.hlines(rows - 0.16, part["low"], part["high"], color="#D55E00", linewidth=1.2)
        ax.plot(part["drawn"], rows - 0.16, "o", color="#D55E00", markersize=6, label="drawn jobs")
        if part["authors"].notna().any():
            ax.plot(part["authors"], rows - 0.16, "s", color="#0072B2", markersize=5, label="authors' jobs")
        ax.set_yticks(rows, [look(policy).label for policy in part["policy"]])
        ax.set_ylim(-0.6, len(part) - 0.4)
        ax.set_xlim(0, 1.1 * float(np.nanmax(part[["physical", "paper", "high", "authors"]].to_numpy())))
        ax.set_xlabel(f"{part['objective'].iloc[0]} [h]")
        charts.title(ax, str(trace))
    charts.legend(fig)
    return fig


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
