"""Pictures of the notebooks on Gavel, from their tables, with the paper's values beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from astraea.core.units import HOUR
from astraea.core.wording import listed
from astraea.plots import look
from papers import charts
from papers.areas import heatmap
from papers.charts import PUBLISHED
from papers.charts.axes import BEHIND
from papers.gavel.study.gains import Factor, draw_ratios, gain, over_rate, room

TYPES: Final = (("#004488", "o"), ("#BB5566", "s"), ("#DDAA33", "D"))
"""Colours and marks of the accelerator types, from new to old; no scheduler has these colours."""

JOBS_OF: Final = {"continuous-single": "one GPU each", "continuous-multiple": "with gangs"}
"""Traces in words."""


def over_load(
    table: pd.DataFrame, shares: pd.DataFrame, trace: str, factors: Sequence[Factor], fairness: Factor | None = None
) -> Figure:
    """Draw average JCT over the rate of arrival, its ratios, and the distribution at the highest rate.

    `table` and `shares` are those of `tables.load_figures`, one row per run, and the points of `ecdf` of its jobs.
    The published `factors` are of average JCT at high load, `fairness` that of average finish-time fairness; without
    factors every policy is compared with the first.
    """
    fig, axes = charts.panels(columns=3, width=2.6, height=3.3)
    over_rate(table, "average_jct", axes[0])
    first, *others = charts.order(table["policy"])
    ratios = [("average_jct", factor) for factor in factors or [Factor(first, other) for other in others]]
    draw_ratios(table, ratios + ([("average_ftf", fairness)] if fairness else []), axes[1])
    value = "finish_time_fairness" if "finish_time_fairness" in shares else "jct"
    top = f"{table['jobs_per_hour'].max():g} jobs/h"
    if value == "finish_time_fairness":
        charts.cdf(shares, value, by="policy", ax=axes[2], log=True)
        charts.named_line(axes[2], 1, "1/n of the cluster")
        axes[2].set_xlabel("Fairness $\\rho$ (log scale)")
        marks = [2.0**k for k in range(-4, 12)]
    else:
        charts.cdf(shares.assign(hours=shares["jct"] / HOUR), "hours", by="policy", ax=axes[2], log=True)
        axes[2].set_xlabel("JCT [h] (log scale)")
        marks = [10.0**k for k in range(-2, 6)]
    low, high = axes[2].get_xlim()
    charts.name_values(axes[2], marks)
    axes[2].set_xlim(low, high)
    charts.titles(axes, f"(a) {JOBS_OF[trace]}", "(b) the gain", f"(c) jobs at {top}")
    column, factor = ratios[0]
    made = f"{look(factor.better).label} makes the JCT of {look(factor.baseline).label}"
    return charts.legend(fig, headline=f"At {top}, {made} {gain(table, column, factor)}")


def averages(table: pd.DataFrame, *, height: float = 2.8) -> Figure:
    """Draw average JCT over load, and its change from the reference of the same seed (Figs 13b and 14).

    The reference is the ideal execution, or the measured pairs.
    """
    fig, axes = charts.panels(columns=2, width=3.5, height=height)
    over_rate(table, "average_jct", axes[0], each=True)
    base = next(name for name in ("ideal", "oracle") if name in set(table["policy"]))
    keys = ["jobs_per_hour", "seed"]
    reference = table[table["policy"] == base].set_index(keys)["average_jct"].rename("reference")
    change = table.join(reference, on=keys)
    change["more"] = 100 * (change["average_jct"] / change["reference"] - 1)
    charts.lines(change, "jobs_per_hour", "more", by="policy", ax=axes[1], each=True)
    most = change.groupby(["policy", "jobs_per_hour"])["more"].mean().groupby("policy").max()
    spread = 0.1 * float(np.ptp(change["more"]))
    axes[1].set_ylim(min(0.0, change["more"].min()) - spread, change["more"].max() + spread)
    axes[1].set_ylabel("Change, same seed [%]")
    rates = sorted(table["jobs_per_hour"].unique())
    for ax in axes:
        ax.set_xticks(rates, [f"{rate:.2g}" for rate in rates])
    charts.titles(axes, "(a) over load", f"(b) against “{look(base).label}”")
    one_seed(fig, table)
    headline = f"Rounds lengthen average JCT by at most {most.get('rounds', 0):.0f} %"
    if base == "oracle":
        headline = f"Estimated pairs lengthen average JCT by at most {most['estimated']:.0f} %"
        headline += f", and by {most['estimated-known']:.0f} % if job types are known"
    return charts.legend(fig, columns=2, headline=headline)


def one_seed(fig: Figure, table: pd.DataFrame) -> None:
    """Say below a picture that its table is of one seed, if it is."""
    if table["seed"].min() == table["seed"].max():
        charts.footnote(fig, "One seed.")


def priorities(table: pd.DataFrame, high: float, low: float) -> Figure:
    """Fig 20: jobs of weight 5 and of weight 1, and the gains of both with the published ones."""
    fig, axes = charts.panels(columns=3, width=2.6, height=3.0)
    for ax, column in zip(axes, ("high_jct", "low_jct"), strict=False):
        over_rate(table, column, ax)
        ax.set_ylabel("Average JCT [h]")
    ratios = [("high_jct", Factor("las", "las-het", high)), ("low_jct", Factor("las", "las-het", low))]
    draw_ratios(table, ratios, axes[2])
    charts.titles(axes, "(a) weight 5", "(b) weight 1", "(c) the gain")
    heavy, light = (gain(table, column, factor) for column, factor in ratios)
    at = f"At {table['jobs_per_hour'].max():g} jobs/h"
    headline = f"{at}, LAS het. makes the JCT {heavy} for weight 5, {light} for weight 1"
    return charts.legend(fig, headline=headline)


def makespans(table: pd.DataFrame, published: dict[str, float]) -> Figure:
    """Fig 19: makespan over the number of jobs, and that over Makespan het.'s; `published` are such factors."""
    ours = table.loc[table["policy"] == "makespan-het"].set_index(["jobs", "seed"])["makespan"].rename("ours")
    relative = table.join(ours, on=["jobs", "seed"])
    relative["times"] = relative["makespan"] / relative["ours"]
    fig, axes = charts.panels(columns=2, width=3.5, height=2.7)
    charts.lines(table, "jobs", "makespan", by="policy", ax=axes[0])
    room(axes[0])
    charts.lines(relative, "jobs", "times", by="policy", ax=axes[1])
    for policy, times in published.items():
        axes[1].axhline(times, color=look(policy).color, linewidth=0.8)
        axes[1].annotate(f"paper, {look(policy).label}: {times:g}×", (0.02, times), (0, -9), fontsize=7,
                         xycoords=("axes fraction", "data"), textcoords="offset points", bbox=BEHIND)  # fmt: skip
    axes[1].set_ylim(0.6, 1.15 * max(relative["times"].max(), *published.values()))
    axes[1].set_ylabel("Relative makespan")
    charts.titles(axes, "(a) time to complete all jobs", "(b) over Makespan het.'s")
    means = table.groupby(["policy", "jobs"])["makespan"].mean()
    most = table["jobs"].max()
    longer = f"{means['fifo', most] / means['makespan-het', most]:.2g} times as long as Makespan het."
    paper = f"(paper\u00a0{published['fifo']:g})"
    return charts.legend(fig, columns=3, headline=f"With {most} jobs, FIFO takes {longer} {paper}")


def costs(bills: pd.DataFrame, cheaper: dict[str, float], missed: dict[str, float]) -> Figure:
    """§7.3: cost of all jobs and missed deadlines, with the published values.

    `bills` has the columns policy, seed, cost [$] and missed. Published are, by policy, how many times `cheaper` than
    Max. throughput it is, and which share of deadlines it `missed`.
    """
    fig, axes = charts.panels(columns=2, width=3.5, height=2.9)
    dearest = bills[bills["policy"] == "max-throughput"].set_index("seed")["cost"]
    shown = bills.assign(share=bills["cost"] / bills["seed"].map(dearest), scheduler=bills["policy"])
    paper = {"share": {policy: 1 / times for policy, times in cheaper.items()}, "missed": missed}
    texts = ("(a) cost, against Max. throughput", "(b) missed deadlines")
    for ax, (column, values), text in zip(axes, paper.items(), texts, strict=True):
        names = charts.by_scheduler(shown, column, ax, published=values)
        ours = shown.groupby("policy")[column].mean()
        beside = {p: f"\n(paper {100 * x:.0f} %)" for p, x in values.items()}
        charts.name_rows(ax, [f"{look(p).label}, {100 * ours[p]:.0f} %{beside.get(p, '')}" for p in names])
        ax.set_xlim(left=-0.03 if column == "missed" else 0)  # whole marks at 0
        charts.title(ax, text)
    axes[0].set_xlabel("Cost [% of Max. throughput's]")
    axes[1].set_xlabel("Missed deadlines [% of jobs]")
    ours = shown.groupby("policy")["missed"].mean()
    return charts.legend(fig, headline=f"The cheapest policy misses {100 * ours['min-cost']:.0f} % of the deadlines")


def physical_cluster(table: pd.DataFrame) -> Figure:
    """Table 3: a table of `physical.table3`; the paper's values are above, ours below in each row."""
    fig, axes = charts.panels(columns=2, width=4.0, height=2.1)
    for ax, (trace, part) in zip(axes, table.groupby("trace", sort=False), strict=True):
        rows = np.arange(len(part))
        ax.plot(part["physical"], rows + 0.16, **PUBLISHED | {"label": "paper's cluster"})
        ax.plot(part["paper"], rows + 0.16, "D", color="#222222", markersize=3.5, label="paper's simulation")
        ax.hlines(rows - 0.16, part["low"], part["high"], color="#888888", linewidth=1.2)
        ax.plot(part["drawn"], rows - 0.16, "o", color="#888888", markersize=6,
                label="here, drawn jobs: mean and range over seeds")  # fmt: skip
        if part["authors"].notna().any():
            ax.plot(part["authors"], rows - 0.16, "s", color="#222222", markersize=5, label="here, authors' jobs")
        ax.set_yticks(rows, [look(policy).label for policy in part["policy"]])
        ax.set_ylim(-0.6, len(part) - 0.4)
        ax.set_xlim(0, 1.1 * float(np.nanmax(part[["physical", "paper", "high", "authors"]].to_numpy())))
        ax.set_xlabel(f"{part['objective'].iloc[0]} [h]")
        ours = part["drawn"].to_numpy()
        ends = part["physical"].to_numpy()
        charts.title(ax, f"{trace}: {ours.max() / ours.min():.2g} times, cluster {ends.max() / ends.min():.2g}")
    off = (table["drawn"] / table["physical"] - 1).abs().median()
    return charts.legend(fig, columns=2, headline=f"Drawn jobs are {100 * off:.0f} % off the paper's cluster (median)")


def colocation(table: pd.DataFrame) -> Figure:
    """Fig 15: a table of `tables.colocation`; pink are jobs that do not fit on one GPU together."""
    fig, ax = charts.panels(width=7.0, height=5.2)
    heatmap(table, "beside", "job", "normalized", ax, is_part=True)
    ax.grid(visible=False)
    ax.set_facecolor("#EE99AA")
    ax.plot([], [], "s", color="#EE99AA", label="dotted: do not fit into the memory of one GPU")
    ax.set_xticks(np.arange(table["beside"].nunique()) + 0.5, table["beside"].unique(), rotation=90, fontsize=6)
    ax.set_yticks(np.arange(table["job"].nunique()) + 0.5, table["job"].unique(), fontsize=6)
    median = 100 * float(table["normalized"].median())
    headline = f"Beside another on a P100, a job has {median:.0f} % of its speed alone (median)"
    return charts.legend(fig, headline=headline)


TOLD: Final = {
    "blind": "gangs are as fast on any servers", "strict": "no gang on spread servers",
    "aware": "true speeds of both kinds",
}  # fmt: skip
"""Words for what LAS het. is told of placement."""


def placement(mixed: pd.DataFrame) -> Figure:
    """Draw average JCT of gangs and of jobs on one GPU, by what LAS het. is told of placement."""
    fig, axes = charts.panels(columns=2, width=3.5, height=2.9)
    columns, words = ["gang_jct", "single_jct"], mixed["told"].map(TOLD)
    hours = mixed.assign(told=words, **{column: mixed[column] / HOUR for column in columns})
    for ax, column, text in zip(axes, columns, ("(a) gangs of 2 to 8", "(b) jobs on one GPU"), strict=True):
        charts.lines(hours, "jobs_per_hour", column, by="told", ax=ax)
        ax.set_ylim(0, 1.05 * float(hours[columns].to_numpy().max()))
        ax.set_ylabel("Average JCT [h]")
        top = hours[hours["jobs_per_hour"] == hours["jobs_per_hour"].max()].groupby("told")[column].mean()
        times = top[TOLD["blind"]] / top[TOLD["aware"]]
        charts.title(ax, text, f"{times:.2g} times as long if placement is unknown")
    rates = list(dict.fromkeys((hours["jobs_per_hour"].min(), hours["jobs_per_hour"].max())))
    jct = hours.groupby(["told", "jobs_per_hour"])["gang_jct"].mean()
    times = [f"{jct[TOLD['blind'], at] / jct[TOLD['aware'], at]:.2g}" for at in rates]
    one_seed(fig, mixed)
    headline = f"Placement unknown: gangs take {' and '.join(times)} times as long at {listed(rates)} jobs/h"
    return charts.legend(fig, columns=3, headline=headline)


def both_fairnesses(table: pd.DataFrame) -> Figure:
    """Draw LAS and LTGF in the metrics of both papers, over load; columns as of `tables.steady`."""
    fig, axes = charts.panels(columns=3, width=2.6, height=3.0)
    over_rate(table, "average_jct", axes[0])
    for ax, column, text in (
        (axes[1], "average_ftf", "$T_{shared}$ / $T_{isolated}$"),
        (axes[2], "sharing_loss", "Jobs with loss [%]"),
    ):
        charts.lines(table, "jobs_per_hour", column, by="policy", ax=ax)
        room(ax)
        if table[column].max() == 0:
            ax.set_ylim(0, 0.05)
        ax.set_ylabel(text)
    charts.titles(axes, "(a) completion time", "(b) Gavel's fairness, mean", "(c) ASTRAEA's fairness")
    charts.footnote(fig, "(c) counts GPU-time as held: a job on few fast GPUs, not many slow ones, is short there.")
    top = table[table["jobs_per_hour"] == table["jobs_per_hour"].max()].groupby("policy")["average_jct"].mean()
    gains = [f"{look(name).label} {top[name] / top[f'{name}-het']:.2g} times" for name in ("las", "ltgf")]
    headline = f"Knowing the types makes the JCT shorter at the highest load: {', '.join(gains)}"
    return charts.legend(fig, headline=headline)


TENANT_PANELS: Final = (
    ("average_jct", "p99_jct", "mean and 99 %", "JCT [h]"),
    ("average_slowdown", "p99_slowdown", "mean and 99 %", "Slowdown"),
    ("average_ftf", "worst_ftf", "mean and worst", "Finish-time fairness"),
    ("effective_sharing_loss", "sharing_loss", "jobs, $\\rho < 0.95$", "Jobs [%]"),
    ("effective_tenant_sharing_loss", "tenant_sharing_loss", "tenants, $\\rho < 1$", "Tenants' days [%]"),
    ("effective_tenant_sharing_loss_95", "tenant_sharing_loss_95", "tenants, $\\rho < 0.95$", "Tenants' days [%]"),
)
"""Columns of the full mark and of the other one, the title, and the label."""

HELD: Final[dict[str, Any]] = {"marker": "|", "markersize": 11, "markeredgewidth": 2.2}
"""Mark of what counts GPU-time as held."""


def tenants(means: pd.DataFrame) -> Figure:
    """Draw averages and tails, and shares that lost by sharing; index policy, columns of `tenants.both_papers`."""
    fig, axes = charts.panels(columns=3, rows=2, width=3.5, height=3.4)
    row = np.arange(len(means))[::-1]
    for k, (ax, (filled, other, text, label)) in enumerate(zip(axes, TENANT_PANELS, strict=True)):
        unit = HOUR if filled == "average_jct" else 1
        for y, policy in zip(row, means.index, strict=True):
            here = look(policy)
            x = means.loc[policy, [filled, other]].to_numpy(float) / unit
            ax.plot(x, [y, y], color=here.color, linewidth=0.8)
            ax.plot(x[0], y, here.marker, color=here.color, markersize=6)
            mark: dict[str, Any] = {"marker": here.marker, "markersize": 6, "markerfacecolor": "white"}
            ax.plot(x[1], y, color=here.color, **mark if k < 3 else HELD)
        if k < 3:
            _round_ticks(ax)
        else:
            ax.set_xlim(left=-0.03 * float(means[[filled, other]].to_numpy().max()))
            ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
        ax.set_yticks(row, [look(p).label for p in means.index] if k % 3 == 0 else [""] * len(means))
        ax.set_ylim(-0.6, len(means) - 0.4)
        ax.set_xlabel(label)
        charts.title(ax, f"({'abcdef'[k]}) {text}")
    grey: dict[str, Any] = {"color": "#444444", "linestyle": ""}
    axes[0].plot([], [], marker="o", label="mean; in (d) to (f) by effective GPU-time", **grey)
    axes[0].plot([], [], marker="o", markerfacecolor="white", label="99 % quantile or worst", **grey)
    axes[0].plot([], [], label="by GPU-time held", **grey | HELD)
    best = means["average_jct"].sort_values()
    jct = f"{best.iloc[0] / 3600:.2g} h"
    return charts.legend(fig, columns=3, headline=f"{look(str(best.index[0])).label} has the lowest average JCT, {jct}")


def _round_ticks(ax: Axes) -> None:
    """Set a logarithmic axis with ticks at 1, 2, 5, 10, ..., or at 1, 10, 100, ... if it is long."""
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    steps = (1, 2, 5) if high < 100 * low else (1,)
    charts.name_values(ax, [a * 10.0**b for b in range(-2, 6) for a in steps if low <= a * 10.0**b <= high])
