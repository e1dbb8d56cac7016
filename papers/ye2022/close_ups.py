"""Pictures for the notebooks only: one part of a workload or of a run, seen closely."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from astraea.cluster.settings import Settings
from astraea.core.arrays import FloatArray
from astraea.core.result import Result
from astraea.core.units import DAY, HOUR, MINUTE
from astraea.experiments.lease_term import recommended_term
from astraea.plots import OTHERS, look, style
from astraea.traces.trace import Trace
from papers import charts
from papers.charts.axes import log_ticks, name_axis
from papers.layout import quick

GREY: Final = "#999999"
CHOSEN: Final = OTHERS[0]
"""Colours of what is for comparison, and of what the reader chose."""

MOST: Final = 24
LONG: Final = 30 * MINUTE
"""Jobs that `leases_of` draws: how many at most, and with which running time at least [s]."""

ALIKE: Final = 1.1
"""Ratio of two slowdowns up to which they count as alike."""

SIZES: Final = {"one node": OTHERS[0], "more than one node": OTHERS[1]}
"""Colours of gangs that fit a node, and of larger ones."""


def at_least(trace: Trace, gpus: int) -> str:
    """Say how long the jobs with at least so many GPUs run, beside all jobs."""
    large = trace.demand >= gpus
    longer, of_all = (100 * float((time > HOUR).mean()) for time in (trace.duration[large], trace.duration))
    return (
        f"{int(large.sum()):,} jobs with at least {gpus} GPU{'s' if gpus > 1 else ''}: "
        f"{longer:.0f} % run for more than an hour, of all jobs {of_all:.0f} %"
    )


def running_times_from(trace: Trace, gpus: int) -> Figure:
    """Draw the distributions of running and service time of jobs with at least so many GPUs, over those of all jobs."""
    fig, axes = charts.panels(columns=2, width=3.5, height=2.5)
    columns: dict[str, FloatArray] = {"running_time": trace.duration, "service_time": trace.gpu_time}
    with style():
        for ax, (column, values) in zip(axes, columns.items(), strict=True):
            for which, color, width in ((trace.demand > 0, GREY, 1.5), (trace.demand >= gpus, CHOSEN, 2.2)):
                part = np.sort(values[which])
                ax.plot(part, np.arange(1, len(part) + 1) / len(part), color=color, linewidth=width)
            ax.set(xscale="log", xlim=(max(values.min(), 1.0), values.max()), ylim=(0, 1.02), ylabel="Jobs [%]")
            ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g}")
            name_axis(ax.xaxis, column, log=True)
        fig.suptitle(at_least(trace, gpus), x=0.5, y=0.98, fontsize=9, color=CHOSEN)
    return quick(fig, top=0.85, wspace=0.3)


def dear_leases(swept: pd.DataFrame) -> Figure:
    """Draw the average JCT above the best as a map of lease terms and overheads; a frame is the recommended term.

    `swept` is the table of `lease_term.sensitivity_grid`; only its rows under the usual load are drawn.
    """
    part = swept[swept["load"] == 1.0]
    table = part.pivot_table(index="overheads", columns="lease_term", values="average_jct").sort_index(ascending=False)
    excess = 100 * table.div(table.min(axis=1), axis=0) - 100
    terms, factors = (axis.to_numpy(dtype=float).tolist() for axis in (table.columns, table.index))
    usual = Settings()
    fig, ax = charts.panels(width=5.2, height=2.6)
    with style():
        top = max(10.0, float(np.nanmax(excess.to_numpy())))
        mesh = ax.imshow(excess, cmap="YlOrRd", vmin=0, vmax=top, aspect="auto")
        for (row, column), value in np.ndenumerate(excess.to_numpy()):
            color = "white" if value > 0.6 * top else "black"
            ax.text(column, row, f"{value:.1f}", ha="center", va="center", color=color)
        for row, factor in enumerate(factors):
            term, _ = recommended_term(part[part["overheads"] == factor])
            at = (terms.index(term) - 0.5, row - 0.5)
            ax.add_patch(Rectangle(at, 1, 1, fill=False, edgecolor="black", linewidth=2))
        ax.set_xticks(range(len(terms)), [f"{term / 60:g}" for term in terms])
        costs = [(usual.checkpoint_overhead * factor, usual.restart_overhead * factor) for factor in factors]
        ax.set_yticks(range(len(factors)), [f"{checkpoint:g} s and {restart:g} s" for checkpoint, restart in costs])
        ax.set(xlabel="Lease term [min]", ylabel="Checkpoint and restart")
        ax.grid(visible=False)
        fig.colorbar(mesh, ax=ax, label="Average JCT above the best [%]")
    charts.footnote(fig, "Frame: the recommended term. ASTRAEA from the papers, mean over seeds.")
    cheap, dear = (recommended_term(part[part["overheads"] == at(factors)])[0] / 60 for at in (min, max))
    change = f"stays at {cheap:g}" if cheap == dear else f"goes from {cheap:g} to {dear:g}"
    return charts.legend(fig, headline=f"The recommended lease term {change} min as checkpoints cost more", axes=[])


def leases_of(honest: Result, other: Result, tenant: str) -> Figure:
    """Draw when a tenant's jobs of `LONG` and more wait and run, in two runs side by side.

    These are the first `MOST` of such jobs that are submitted within a day. Boxes are leases, lines are waits, the
    number is the gang [GPU]. Jobs whose gang differs between the runs have a colour of their own. The results need
    their logs, and the tenant such a job.
    """
    long = honest.jobs[(honest.jobs["tenant"] == tenant) & (honest.jobs["duration"] >= LONG)]
    begin = float(long["submit_time"].min())
    demands = long[long["submit_time"] <= begin + DAY].head(MOST).set_index("job_id")["demand"]
    changed = other.jobs.set_index("job_id")["demand"].loc[demands.index] != demands
    fig, axes = charts.panels(columns=2, width=3.5, height=3.2)
    means = []
    for ax, (heading, result) in zip(axes, (("honest", honest), ("asks for twice the GPUs", other)), strict=True):
        jobs = result.jobs.set_index("job_id").loc[demands.index]
        means.append(jobs["jct"].mean() / HOUR)
        leases = result.log[result.log["job_id"].isin(demands.index)].groupby("job_id")
        row: Any
        with style():
            for place, row in enumerate(jobs.itertuples()):
                held, color = leases.get_group(row.Index), OTHERS[1] if changed[row.Index] else OTHERS[0]
                ax.hlines(place, row.submit_time - begin, row.end_time - begin, color=GREY, linewidth=1.0, zorder=0.5)
                ax.barh(np.full(len(held), place), held["end"] - held["start"], 0.7, held["start"] - begin, color=color)
                ax.annotate(f"{row.demand}", (row.submit_time - begin, place), (-3, 0), textcoords="offset points",
                            va="center", ha="right", fontsize=7)  # fmt: skip
            ax.set(yticks=[], ylim=(len(jobs), -1), xlim=(-0.06 * DAY, DAY))
            ax.grid(visible=False, axis="y")
            name_axis(ax.xaxis, "time")
        charts.title(ax, heading, f"mean JCT of these {len(jobs)} jobs: {means[-1]:.1f} h")
    axes[0].set_ylabel("Jobs, by submission")
    charts.footnote(fig, f"ASTRAEA from the papers; jobs of {tenant} of {LONG / MINUTE:g} min and more in one day. "
                    "Boxes are leases, lines waits, numbers GPUs; the second colour asks for twice.")  # fmt: skip
    return charts.legend(fig, headline=f"{tenant} asks for twice: mean JCT {means[0]:.1f} to {means[1]:.1f} h", axes=[])


def job_by_job(x: Result, y: Result, gpus_per_node: int) -> Figure:
    """Draw each job's slowdown under two schedulers of the same jobs; on the dashed line both serve it alike."""
    first, second = (result.jobs["slowdown"].to_numpy() for result in (x, y))
    small = x.jobs["demand"].to_numpy() <= gpus_per_node
    names = [look(result.policy).label for result in (x, y)]
    fig, ax = charts.panels(width=4.6, height=4.0)
    with style():
        for (label, color), which in zip(SIZES.items(), (small, ~small), strict=True):
            ax.plot(first[which], second[which], "o", color=color, markersize=3, alpha=0.45, markeredgewidth=0,
                    label=f"gang on {label}")  # fmt: skip
        top = 1.3 * max(first.max(), second.max())
        ax.plot([1, top], [1, top], color="#444444", linewidth=0.8, linestyle="--")
        ax.set(xscale="log", yscale="log", xlim=(0.9, top), ylim=(0.9, top))
        ax.set(xlabel=f"Slowdown under {names[0]}", ylabel=f"Slowdown under {names[1]}")
        log_ticks(ax.xaxis)
        log_ticks(ax.yaxis)
    ratio = first / second
    shares = [100 * float(which.mean()) for which in (ratio > ALIKE, ratio < 1 / ALIKE)]
    charts.footnote(fig, f"Alike: {100 - sum(shares):.0f} %. From the papers, first seed.")
    said = f"{shares[0]:.0f} % of the jobs are slower under {names[0]}, {shares[1]:.0f} % under {names[1]}"
    return charts.legend(fig, headline=said)


def on_curve(curve: pd.DataFrame, percent: int) -> Figure:
    """Draw average JCT and sharing loss over the nodes as lines, and as large dots at one size [%].

    `curve` has the columns scheduler, nodes_percent, average_jct [s], sharing_loss [0, 1].
    """
    fig, axes = charts.panels(columns=2, width=3.5, height=2.5)
    chosen = curve[curve["nodes_percent"] == percent]
    for ax, column in zip(axes, ("average_jct", "sharing_loss"), strict=True):
        charts.lines(curve, "nodes_percent", column, by="scheduler", ax=ax)
        with style():
            for row in chosen.to_dict("records"):
                ax.plot(percent, row[column], "o", color=look(row["scheduler"]).color, markersize=9)
    charts.legend(fig, headline=on_curve_words(curve, percent))
    return quick(fig, top=0.76, bottom=0.2, wspace=0.3)


def on_curve_words(curve: pd.DataFrame, percent: int) -> str:
    """Say the values at one size [%]."""
    rows = curve[curve["nodes_percent"] == percent].to_dict("records")
    said = [
        f"{look(row['scheduler']).label} {row['average_jct'] / HOUR:.2f} h, loss {100 * row['sharing_loss']:.1f} %"
        for row in rows
    ]
    return f"{percent} % of the nodes: {'; '.join(said)}"
