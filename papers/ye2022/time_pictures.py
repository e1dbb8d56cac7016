"""Pictures of the time of jobs and GPUs in the evaluation: queues over time, and what the time of jobs is spent on."""

from __future__ import annotations

from typing import Final

import pandas as pd
from matplotlib.figure import Figure

from astraea.core.units import HOUR
from astraea.plots import OTHERS, look
from papers import charts
from papers.charts.axes import footnote

PAIR: Final = ("astraea", "yarn-cs")  # schedulers of `queue`: one cluster for all, and a quota for each tenant
STEP: Final = 6 * HOUR  # over which it shows means

SPENT: Final = {
    "running": ("running", OTHERS[3], ""),
    "average_queueing_delay": ("waiting", "#E8E8E8", "//"),
    "overhead": ("checkpoints and restarts", OTHERS[1], ""),
}
"""Parts of the average JCT: name, colour and hatch of each."""


def queue(table: pd.DataFrame) -> Figure:
    """Draw GPUs in use and GPUs waited for over time, means of `STEP`, of the schedulers of `PAIR`.

    Columns scheduler, time [s], utilization [0, 1], waiting [GPU]; the first seed.
    """
    mine = table[table["scheduler"].isin(PAIR)]
    means = mine.groupby(["scheduler", mine["time"] // STEP * STEP])[["utilization", "waiting"]].mean().reset_index()
    fig, axes = charts.panels(columns=2, width=3.5, height=2.7)
    for ax, column, text in zip(axes, ("utilization", "waiting"), ("in use", "waited for"), strict=True):
        charts.timeseries(means, column, by="scheduler", ax=ax)
        charts.title(ax, f"({'ab'[column == 'waiting']}) GPUs {text}")
    axes[0].set(ylim=(0, 1.02), ylabel="GPUs in use [%]")
    axes[1].set_ylabel("GPUs waited for")
    axes[1].yaxis.set_major_formatter("{x:,.0f}")
    footnote(fig, "Means of 6 hours in one run, from the papers. The table has all schedulers.")
    of = mine.groupby("scheduler")[["utilization", "waiting"]].mean().loc[list(PAIR)]
    use, waits = (
        ", ".join(f"{look(name).label} {value:,.0f}{unit}" for name, value in column.items())
        for column, unit in ((100 * of["utilization"], " %"), (of["waiting"], ""))
    )
    return charts.legend(fig, headline=f"GPUs in use, on average: {use}\nGPUs waited for: {waits}")


def overheads(table: pd.DataFrame) -> Figure:
    """Draw the average JCT of each scheduler, split into running, waiting and overhead, beside its preemptions.

    Columns scheduler, seed, average_jct, average_queueing_delay [s], overhead_share [0, 1], preemptions_per_job.
    """
    means = table.groupby("scheduler")[["average_jct", "average_queueing_delay", "overhead_share"]].mean()
    means["overhead"] = means["overhead_share"] * means["average_jct"]
    means["running"] = means["average_jct"] - means["average_queueing_delay"] - means["overhead"]
    names = charts.order(means.index)
    fig, (left, right) = charts.panels(columns=2, width=3.5, height=2.6)
    before = pd.Series(0.0, index=means.index)
    for column, (text, color, hatch) in SPENT.items():
        share = 100 * means[column] / means["average_jct"]
        left.barh(range(len(names)), share[names], 0.72, before[names], color=color, hatch=hatch, label=text,
                  edgecolor="white" if not hatch else "#999999", linewidth=0.4)  # fmt: skip
        before = before + share
    for k, name in enumerate(names):
        text = f"{100 * means.loc[name, 'overhead_share']:.2f}"
        left.annotate(text, (1.02, k), xycoords=("axes fraction", "data"), va="center", fontsize=8)
    charts.name_rows(left, [look(name).label for name in names])
    left.annotate("overhead [%]", (1.02, 1), xycoords="axes fraction", va="bottom", fontsize=7.5)
    left.set(xlim=(0, 100), xlabel="Average JCT [%]")
    charts.by_scheduler(table, "preemptions_per_job", right, names=names)
    right.set(xlim=(0, right.get_xlim()[1]), xlabel="Preemptions per job", yticklabels=[])
    for ax, text in ((left, "(a) time of jobs"), (right, "(b) preemptions")):
        charts.title(ax, text)
    shares = means["overhead_share"]
    said = f"{100 * shares.max():.1f} % of the JCT, under {look(str(shares.idxmax())).label}"
    return charts.legend(fig, headline=f"Checkpoints and restarts take at most {said}")
