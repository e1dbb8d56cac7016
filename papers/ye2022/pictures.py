"""Pictures of [Ye2022] §6, Figs 10 to 14, and of the evaluation at other loads and in rounds.

Every function takes the table that is written beside the picture, and draws both readings where it has both. Curves are
of the paper's seven schedulers; FIFO is in the rows below them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from astraea.cluster.cluster import Cluster
from astraea.core.units import HOUR
from astraea.plots import look
from astraea.traces.describe import offered_load
from astraea.traces.trace import Trace
from papers import charts
from papers.charts.axes import BEHIND, footnote, log_ticks, name_axis, named_line
from papers.ye2022.beside_astraea import over_tiresias, with_loss
from papers.ye2022.evaluation import first_jobs, jobs_shown
from papers.ye2022.messages import leaders, same_seed, several_seeds, times_ahead
from papers.ye2022.readings import PAPERS, READINGS
from papers.ye2022.tables import TENANT_LEVELS, relative_to

RHO_RANGE: Final = (0.5, 1.5)  # of the boxes of Fig 11; a triangle marks a whisker that goes on beyond
FAR: Final = 2.0  # of Fig 13: an average JCT over ASTRAEA's from which on it is written at the edge

_KNOWN: Final = "In the authors' program, Themis knows true running times."
_EDGE: Final[dict[str, Any]] = {"color": "#444444", "markersize": 3.5, "linestyle": "none", "clip_on": False}
_LEVELS: Final = dict(zip(TENANT_LEVELS, ("o", "o", "|"), strict=True))  # figure of a tenant -> its mark
_SIDES: Final = (("v", "low", RHO_RANGE[0], -1, "below"), ("^", "high", RHO_RANGE[1], 1, "above"))


def _seven(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["scheduler"] != "fifo"]


def job_fairness(points: pd.DataFrame, losses: pd.DataFrame, published: Mapping[str, float]) -> Figure:
    """Draw Fig 10: distributions of rho_job (`ecdf`), and `sharing_loss` by seed and as published."""
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=2.5)
    names = charts.order(losses["scheduler"])
    for k, (reading, part) in enumerate(points.groupby("reading", sort=False)):
        above, below = axes[k], axes[k + 2]
        charts.cdf(_seven(part), "rho_job", by="scheduler", ax=above, reference=(0.95, ""))
        above.set(xlim=(0, 2), xticks=[0, 0.5, 1, 1.5, 2], xticklabels=["0", "0.5", "1", "1.5", "2"])
        above.annotate("0.95", (0.95, 0.97), (-3, 0), textcoords="offset points", fontsize=8, ha="right", va="top")
        mine = losses[losses["reading"] == reading]
        charts.by_scheduler(mine, "sharing_loss", below, published=published, names=names)
        below.set_xlim(0, 1.05 * max([*losses["sharing_loss"], *(published.get(name, 0.0) for name in names)]))
        for ax, letter, text in ((above, "ab"[k], "all jobs"), (below, "cd"[k], r"jobs with $\rho < 0.95$")):
            charts.title(ax, f"({letter}) {reading}: {text}")
    axes[3].set_yticklabels([])
    footnote(fig, _KNOWN)
    return charts.legend(fig, headline=f"Fewest jobs below 95 % of their share:\n{leaders(losses, 'sharing_loss')}")


def tenant_fairness(boxes: pd.DataFrame, shares: pd.DataFrame, published: Mapping[str, float]) -> Figure:
    """Draw Fig 11: shares of tenant cases below each level, and the cases (`box_stats`) of two schedulers.

    `shares` are `TENANT_LEVELS` by reading, scheduler and seed; `published` are the paper's shares below 1.
    """
    means = shares.groupby(["reading", "scheduler"], sort=False)[list(TENANT_LEVELS)].mean()
    names = charts.order(shares["scheduler"])
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=2.5)
    for k, reading in enumerate(READINGS):
        _below_levels(means.loc[[reading]].droplevel(0), published, names, axes[k])
        most = 100 * max([*means["tenant_sharing_loss"], *(published.get(name, 0.0) for name in names)])
        axes[k].set_xlim(-0.03 * most, 1.05 * most)
        charts.title(axes[k], f"({'ab'[k]}) {reading}")
    axes[1].set_yticklabels([])
    for k, name in enumerate(("astraea", "tiresias-l")):
        mine = boxes[(boxes["reading"] == PAPERS) & (boxes["scheduler"] == name)]
        _each_tenant(mine, name, axes[k + 2])
        charts.title(axes[k + 2], f"({'cd'[k]}) {look(name).label}, {PAPERS}")
    axes[3].set(ylabel="", yticklabels=[])
    drawn = boxes[(boxes["reading"] == PAPERS) & boxes["scheduler"].isin(["astraea", "tiresias-l"])]["median"]
    beyond = " A number is a median beyond the panel." if not drawn.between(*RHO_RANGE).all() else ""
    whiskers = "whiskers are the 5 % and the 95 % quantile of its cases"
    footnote(fig, f"(c), (d): a box per tenant; {whiskers}.{beyond} {_KNOWN}")
    fewest = leaders(shares, "tenant_below_99")
    headline = f"Fewest cases below 0.99 of what a tenant is owed in a day:\n{fewest}"
    return charts.legend(fig, columns=3, headline=headline)


def _below_levels(means: pd.DataFrame, published: Mapping[str, float], names: list[str], ax: Axes) -> None:
    """Draw shares of the cases below each level, one row per scheduler."""
    marks = list(zip(_LEVELS.items(), (True, False, False), strict=True))
    for (level, mark), is_full in marks:
        face = "#444444" if is_full else "white"
        text = f"cases below {TENANT_LEVELS[level]:g}"
        ax.plot([], [], mark, color="#444444", markerfacecolor=face, markersize=5, label=text)
    for k, name in enumerate(names):
        color = look(name).color
        if name in means.index:
            row = 100 * means.loc[name]
            ax.hlines(k, row.min(), row.max(), color=color, linewidth=0.8)
            for (level, mark), is_full in marks:
                face = color if is_full else "white"
                ax.plot(row[level], k, mark, color=color, markerfacecolor=face, markersize=5)
        if name in published:
            ax.plot(100 * published[name], k, **charts.PUBLISHED | {"label": "cases below 1, published value"})
        if name not in means.index:
            charts.write_in_row(ax, k, "not run", 100 * published[name] if name in published else None)
    charts.name_rows(ax, [look(name).label for name in names])
    ax.set_xlabel("Tenant cases below 1, 0.99, 0.95 [%]")


def _each_tenant(mine: pd.DataFrame, name: str, ax: Axes) -> None:
    """Draw a box per tenant inside `RHO_RANGE`; whiskers: 5 % to 95 % quantile. A median beyond is a number there."""
    names = {"low": "whislo", "q1": "q1", "median": "med", "q3": "q3", "high": "whishi"}
    figures: Any = mine[list(names)].rename(columns=names).to_dict("records")
    with charts.style():
        drawn = ax.bxp(figures, positions=range(len(mine)), widths=0.62, showfliers=False, patch_artist=True,
                       medianprops={"color": "#111111", "linewidth": 1.4}, manage_ticks=False)  # fmt: skip
        for box in drawn["boxes"]:
            box.set(facecolor=look(name).color, alpha=0.75, linewidth=0.6)
        for line in (*drawn["whiskers"], *drawn["caps"]):
            line.set(linewidth=0.8, color="#444444")
        ax.grid(visible=False, axis="x")
        name_axis(ax.yaxis, "rho_tenant")
    charts.mark_line(ax, 1, "", vertical=False)
    ax.set(xlim=(-0.6, len(mine) - 0.4), ylim=RHO_RANGE, xticks=[], xlabel="Tenants")
    for mark, column, edge, sign, where in _SIDES:
        beyond = np.flatnonzero(sign * (mine[column].to_numpy() - edge) > 0)
        if len(beyond):  # the layout fails at an empty line
            ax.plot(beyond, np.full(len(beyond), edge), marker=mark, label=f"continues {where} its panel", **_EDGE)
        for k in np.flatnonzero(sign * (mine["median"].to_numpy() - edge) > 0):
            ax.annotate(f"{mine['median'].iloc[k]:.2f}", (k, edge), (0, -9 * sign), textcoords="offset points",
                        ha="center", va="center", fontsize=8, fontweight="bold", bbox=BEHIND)  # fmt: skip


def accounting(table: pd.DataFrame) -> Figure:
    """Draw jobs with sharing loss by scheduler, submitted in rounds and to the second: column `accounting`."""
    means = 100 * table.pivot_table(index="scheduler", columns="accounting", values="sharing_loss")
    names = charts.order(means.index)
    fig, ax = charts.panels(width=5.2, height=2.6)
    for k, name in enumerate(names):
        here, (rounds, second) = look(name), means.loc[name, ["in rounds", "to the second"]]
        ax.hlines(k, *sorted((rounds, second)), color=here.color, linewidth=1.4)
        for value, face in ((rounds, here.color), (second, "white")):
            ax.plot(value, k, here.marker, color=here.color, markerfacecolor=face, markersize=6.5)
        ax.annotate(f"{second - rounds:+.1f}", (1.02, k), xycoords=("axes fraction", "data"), va="center", fontsize=8)
    ax.annotate("[points]", (1.02, 1), xycoords="axes fraction", va="bottom", fontsize=8)
    for text, face in (("submissions in rounds of 10 s", "#444444"), ("submissions to the second", "white")):
        ax.plot([], [], "o", color="#444444", markerfacecolor=face, label=text)
    charts.name_rows(ax, [look(name).label for name in names])
    ax.set_xlim(0, 1.08 * means.to_numpy().max())
    ax.set_xlabel("Jobs with sharing loss [%]")
    if np.allclose(means["in rounds"], means["to the second"]):
        footnote(fig, "Both are the same on this trace.")
    return charts.legend(fig, headline="What waiting for the first round costs")


def longest_waits(waits: pd.DataFrame) -> Figure:
    """Draw the longest wait until a first start, and of all waits of a job together, by scheduler and seed."""
    fig, axes = charts.panels(columns=2, width=3.5, height=2.7)
    panels = (("first_wait", "(a) until the first start"), ("total_wait", "(b) all waits of one job together"))
    for ax, (column, text) in zip(axes, panels, strict=True):
        charts.by_scheduler(waits.assign(longest=waits[column].clip(lower=10) / HOUR), "longest", ax, log=True)
        ax.set_xlabel("Longest wait [h] (log scale)")
        charts.title(ax, text)
    axes[1].set_yticklabels([])
    means = waits.groupby("scheduler")["first_wait"].mean().sort_values() / 3600
    ends = [f"{means.iloc[k]:,.2g} h" if means.iloc[k] < 10 else f"{means.iloc[k]:,.0f} h" for k in (0, -1)]
    ends = [f"{end} ({look(str(means.index[k])).label})" for end, k in zip(ends, (0, -1), strict=True)]
    return charts.legend(fig, headline=f"The longest wait for a first start: {' to '.join(ends)}")


def slowdown(points: pd.DataFrame, averages: pd.DataFrame) -> Figure:
    """Draw Fig 12: jobs with more than each slowdown (`ecdf`), and the average by scheduler and seed."""
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=2.5)
    names = charts.order(averages["scheduler"])
    for k, (reading, part) in enumerate(points.groupby("reading", sort=False)):
        above, below = axes[k], axes[k + 2]
        charts.cdf(_seven(part), "slowdown", by="scheduler", ax=above, log=True, tail=True)
        above.set_ylabel("Jobs with more than this\n[%] (log scale)")
        charts.by_scheduler(averages[averages["reading"] == reading], "average_slowdown", below, log=True, names=names)
        below.set_xlim(0.8, 1.5 * averages["average_slowdown"].max())
        log_ticks(below.xaxis)
        charts.title(above, f"({'ab'[k]}) {reading}: all jobs")
        charts.title(below, f"({'cd'[k]}) {reading}: average")
    axes[3].set_yticklabels([])
    footnote(fig, _KNOWN)
    return charts.legend(fig, headline=f"Lowest average slowdown:\n{leaders(averages, 'average_slowdown')}")


def completion_times(table: pd.DataFrame) -> Figure:
    """Draw Fig 13: average JCT by scheduler and seed, and its change from ASTRAEA's on the same seed as text."""
    fig, axes = charts.panels(columns=2, width=3.5, height=3.0)
    names, parts = charts.order(table["scheduler"]), table.groupby("reading", sort=False)
    paired = pd.concat([relative_to(part, "scheduler", "average_jct", "astraea") for _, part in parts])
    ratios = paired.groupby(["reading", "scheduler"])["relative"].transform("mean")
    near = paired.loc[ratios <= FAR, "average_jct"]
    for k, (ax, reading) in enumerate(zip(axes, READINGS, strict=True)):
        mine = paired[paired["reading"] == reading]
        means = mine.groupby("scheduler")["relative"].mean()
        charts.by_scheduler(mine, "average_jct", ax, end=1.05 * near.max(), names=names)
        ax.set_xlim(left=0)
        name_axis(ax.xaxis, "average_jct")
        for row, name in enumerate(names):
            if name in means and name != "astraea":
                text = f"{100 * (means[name] - 1):+.1f} %" if means[name] <= FAR else f"{means[name]:.3g} ×"
                ax.annotate(text, (1.05, row), xycoords=("axes fraction", "data"), va="center", fontsize=8)
        charts.title(ax, f"({'ab'[k]}) {reading}")
    axes[1].set_yticklabels([])
    footnote(fig, f"Right of each panel: change from ASTRAEA's [%], or times ASTRAEA's (×){same_seed(table)}. {_KNOWN}")
    return charts.legend(fig, headline=f"Lowest average JCT:\n{leaders(table, 'average_jct')}")


def cluster_sizes(table: pd.DataFrame) -> Figure:
    """Draw Fig 14: average JCT and sharing loss on smaller and larger clusters, with ratios as text."""
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=2.3)
    measures = (("average_jct", "completion time"), ("sharing_loss", "sharing loss"))
    for k, (reading, part) in enumerate(table.groupby("reading", sort=False)):
        for row, (column, word) in enumerate(measures):
            ax = axes[2 * row + k]
            charts.lines(part, "nodes_percent", column, by="scheduler", ax=ax)
            most = table[column].max() or 1
            ax.set_ylim(0, 1.3 * most)
            name_axis(ax.yaxis, column)
            ax.set_yticks([tick for tick in ax.get_yticks() if tick <= 1.1 * most])  # numbers are above them
            over = over_tiresias(part, column).groupby("nodes_percent")["relative"].mean()
            for at in sorted(set(part["nodes_percent"])):
                text = f"{over[at]:.2f}" if at in over else "–"
                ax.annotate(text, (at, 0.98), xycoords=("data", "axes fraction"), ha="center", va="top", fontsize=7.5,
                            bbox=BEHIND)  # fmt: skip
            named_line(ax, 100, "the evaluation's size")
            charts.title(ax, f"({'abcd'[2 * row + k]}) {reading}: {word}")
            if row == 0:
                ax.set_xlabel("")
            if k:
                ax.set_ylabel("")
    ends = sorted({int(table["excluded_jobs"].min()), int(table["excluded_jobs"].max())})
    whose = " of each seed" if several_seeds(table) else ""
    aside = f"Without the {' to '.join(map(str, ends))} jobs{whose} whose gangs no quota of the smallest cluster "
    aside = f"{aside}can hold:\nlosses are below those of Fig 10. " if any(ends) else ""
    footnote(fig, f"{aside}Numbers in the panels: ASTRAEA over Tiresias-L{same_seed(table)} (– below a loss of 0.1 %).")
    sizes = times_ahead(with_loss(table), "nodes_percent", "sharing_loss", ["tiresias-l"])
    words = "Sizes with sharing loss at which ASTRAEA has less of it than Tiresias-L"
    return charts.legend(fig, headline=f"{words}:\n{sizes}")


def loads(table: pd.DataFrame, trace: Trace, cluster: Cluster) -> Figure:
    """Draw average JCT, slowdown and sharing loss over the offered load of `first_jobs` of a trace on a cluster.

    A column of panels is a reading. JCT and slowdown of YARN-CS are numbers where all are far above the others. All
    scales are logarithmic, so that small differences are seen beside large ones, sharing loss above 1 %.
    """
    fig, axes = charts.panels(columns=2, rows=3, width=3.5, height=2.1)
    shown = _seven(table).assign(hours=table["average_jct"] / HOUR)
    near = shown[shown["scheduler"] != "yarn-cs"]
    own = offered_load(first_jobs(trace)) / cluster.gpus
    for k, (reading, part) in enumerate(shown.groupby("reading", sort=False)):
        for row, column in enumerate(("hours", "average_slowdown", "sharing_loss")):
            ax, inside = axes[2 * row + k], column == "sharing_loss"
            low, high = near[column].min(), near[column].max()
            top = np.inf if inside else high * (high / low) ** 0.4
            far = shown.loc[shown["scheduler"] == "yarn-cs", column]
            is_beyond = far.min() > top
            charts.lines(part[part["scheduler"] != "yarn-cs"] if is_beyond else part, "load", column, "scheduler", ax)
            if part["load"].min() <= own <= part["load"].max():
                named_line(ax, own, "the trace's own load")
            charts.title(ax, f"({'abcdef'[2 * row + k]}) {reading}")
            ax.set_xlabel("Load, asked for over available" if row == 2 else "")
            if inside:
                ax.set_yscale("symlog", linthresh=0.01)
                ax.set_ylim(-0.0012, 1)
                ax.set_yticks([0, 0.005, 0.01, 0.03, 0.1, 0.3, 1], ["0", "0.5", "1", "3", "10", "30", "100"])
            else:
                ax.set_yscale("log")
                top = top if is_beyond else 1.1 * max(high, far.max())
                ax.set_ylim(low * (low / top) ** 0.06, top)
                log_ticks(ax.yaxis)
                if is_beyond:
                    _beyond(ax, part[part["scheduler"] == "yarn-cs"].groupby("load")[column].mean())
            ax.minorticks_off()
    labels = ("Average JCT [h] (log scale)", "Average slowdown (log scale)", "Jobs with loss [%] (log scale above 1 %)")
    for ax, text in zip(axes[::2], labels, strict=True):
        ax.set_ylabel(text)
    for ax in axes[1::2]:
        ax.set_ylabel("")
    side = ", right of the picture" if own > shown["load"].max() else ""
    side = ", left of the picture" if own < shown["load"].min() else side
    footnote(fig, f"{jobs_shown(trace)} Their own load is {own:.2f}{side}. FIFO is in the table only. {_KNOWN}")
    least = times_ahead(shown, "load", "sharing_loss", set(shown["scheduler"]))
    return charts.legend(fig, headline=f"Loads at which ASTRAEA has the least sharing loss:\n{least}")


def _beyond(ax: Axes, means: pd.Series[float]) -> None:
    """Write the range of YARN-CS at the upper edge, with an arrow."""
    here, ends = look("yarn-cs"), [f"{means.min():,.3g}", f"{means.max():,.3g}"]
    if means.max() > 999:
        ends = [f"{means.min():,.0f}", f"{means.max():,.0f}"]
    ax.plot(0.03, 1, "^", transform=ax.transAxes, color=here.color, clip_on=False, markersize=6)
    ax.annotate(f"{here.label}: {' to '.join(ends)}", (0.06, 0.99), xycoords="axes fraction", va="top", fontsize=8,
                bbox=BEHIND)  # fmt: skip
