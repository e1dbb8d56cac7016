"""Pictures of [Ye2022] §6, Figs 10 to 14, and of single tenants: memory, over-claiming, a paid share, a burst.

Every function takes the table that is written beside the picture, and draws both readings where it has both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatterMathtext, LogLocator

from astraea.plots import charts
from astraea.plots.style import WIDTH, footnote, look, name_axis, named_line, style
from papers.ye2022.readings import PROGRAM, READINGS
from papers.ye2022.tables import TENANT_LEVELS, relative_to

RHO_RANGE: Final = (0.5, 1.5)  # of the boxes of Fig 11; a triangle stands where a whisker goes on beyond
HIGHEST_RATIO: Final = 2.0  # of Fig 14; what is not below stands at the edge, with its number
FAR: Final = 2.0  # the same of Fig 13: an average JCT over ASTRAEA's

_EDGE: Final[dict[str, Any]] = {"color": "#444444", "markersize": 3.5, "linestyle": "none", "clip_on": False}
_LEVELS: Final = dict(zip(TENANT_LEVELS, ("o", "o", "|"), strict=True))  # figure of a tenant -> its mark
_SIDES: Final = (("v", "low", RHO_RANGE[0], -1), ("^", "high", RHO_RANGE[1], 1))  # where a whisker leaves the panel


def job_fairness(points: pd.DataFrame, losses: pd.DataFrame, published: Mapping[str, float]) -> Figure:
    """Fig 10: distribution of rho_job (`ecdf`) under each scheduler, and `sharing_loss` by seed and as published."""
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=2.6)
    for k, (reading, part) in enumerate(points.groupby("reading", sort=False)):
        above, below = axes[k], axes[k + 2]
        charts.cdf(part, "rho_job", by="scheduler", ax=above, reference=(0.95, ""))
        above.set(xlim=(0, 2), xticks=[0, 0.5, 0.95, 1.5, 2])
        charts.ranked(losses[losses["reading"] == reading], "sharing_loss", below, published=published)
        below.set_xlim(left=0)
        for ax, letter, text in ((above, "ab"[k], "all jobs"), (below, "cd"[k], r"jobs with $\rho < 0.95$")):
            charts.title(ax, f"({letter}) {reading}: {text}")
    charts.legend(fig)
    return fig


def tenant_fairness(boxes: pd.DataFrame, shares: pd.DataFrame, published: Mapping[str, float]) -> Figure:
    """Fig 11: rho_tenant of each tenant's cases (`box_stats`), a panel per scheduler, and shares below each level.

    `shares` are `TENANT_LEVELS` by reading, scheduler and seed; `published` are the paper's shares below 1.
    """
    means = shares.groupby(["reading", "scheduler"], sort=False)[list(TENANT_LEVELS)].mean()
    shown = [(r, s) for r in READINGS for s in charts.ordered(means.loc[r].index)]
    rows = -(-len(shown) // 4)
    with style():
        fig = plt.figure(figsize=(WIDTH, 1.45 * rows + 2.6))
        upper, lower = np.asarray(fig.subfigures(2, 1, height_ratios=[1.45 * rows, 2.6]))
        axes = np.asarray(upper.subplots(rows, 4, sharey=True)).ravel()
        for ax in axes[len(shown) :]:
            ax.remove()
        for ax, (reading, name) in zip(axes, shown, strict=False):
            mine = boxes[(boxes["reading"] == reading) & (boxes["scheduler"] == name)]
            charts.boxes(mine, "rho_tenant", by="tenant", ax=ax, scheduler=name)
            charts.mark_line(ax, 1, "", vertical=False)
            ax.set(ylim=RHO_RANGE, xticks=[])
            for mark, column, edge, sign in _SIDES:
                beyond = np.flatnonzero(sign * (mine[column].to_numpy() - edge) > 0)
                if len(beyond):  # the layout fails at an empty line
                    ax.plot(beyond, np.full(len(beyond), edge), marker=mark, **_EDGE)
            label, is_named = look(name, reading=reading).label, look(name).label
            known = f" (paper {100 * published[name]:.3g} %)" if name in published else ""
            below = f"{100 * means.loc[(reading, name), 'tenant_sharing_loss']:.2g} % < 1{known}"
            charts.title(ax, label + (", program" if reading == PROGRAM and label == is_named else ""), below)
            ax.label_outer()
        for ax, reading in zip(np.asarray(lower.subplots(1, 2)), READINGS, strict=True):
            _below_levels(means.loc[[reading]].droplevel(0), published, reading, ax)
        handles = [
            *(Line2D([], [], color="#444444", marker=mark, linestyle="none", markerfacecolor=face,
                     label=f"cases below {TENANT_LEVELS[level]:g}")
              for (level, mark), face in zip(_LEVELS.items(), ("#444444", "white", "none"), strict=True)),
            Line2D([], [], **charts.PUBLISHED | {"label": "below 1, published value"}),
            *(Line2D([], [], **_EDGE, marker=mark, label=f"a whisker ends {where} its panel")
              for mark, where in (("^", "above"), ("v", "below"))),
        ]  # fmt: skip
        lower.legend(handles=handles, loc="outside lower center", ncols=3)
    return fig


def _below_levels(means: pd.DataFrame, published: Mapping[str, float], reading: str, ax: Axes) -> None:
    """Shares of the cases below each level, one row per scheduler, the smallest share below 1 above."""
    names = list(means["tenant_sharing_loss"].sort_values(kind="stable").index)
    for k, name in enumerate(names):
        color = look(name).color
        ax.hlines(k, 100 * means.loc[name].min(), 100 * means.loc[name].max(), color=color, linewidth=0.8)
        for (level, mark), face in zip(_LEVELS.items(), (color, "white", "none"), strict=True):
            ax.plot(100 * means.loc[name, level], k, mark, color=color, markerfacecolor=face, markersize=5)
        if name in published:
            ax.plot(100 * published[name], k, **charts.PUBLISHED)
    ax.set_yticks(range(len(names)), [look(name, reading=reading).label for name in names], fontsize=8)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.set_xlim(left=0)
    ax.set_xlabel("Tenant cases below 1, 0.99, 0.95 [%]")
    charts.title(ax, reading)


def accounting(table: pd.DataFrame) -> Figure:
    """Jobs with sharing loss by scheduler, submitted to the second and in rounds: column `accounting`."""
    fig, axes = charts.panels(columns=2, width=3.5, height=2.7)
    for ax, (counted, part) in zip(axes, table.groupby("accounting", sort=False), strict=True):
        charts.ranked(part, "sharing_loss", ax, names=charts.ordered(table["scheduler"]))
        charts.title(ax, f"submissions {counted}")
        ax.set_xlim(0, 1)
        ax.label_outer(remove_inner_ticks=False)
    return fig


def longest_waits(waits: pd.DataFrame) -> Figure:
    """Longest wait until a first start, and of all waits of a job together, by scheduler and seed [h]."""
    fig, axes = charts.panels(columns=2, width=3.5, height=2.9)
    panels = (("first_wait", "Until the first start"), ("total_wait", "All waits of a job together"))
    for ax, (column, text) in zip(axes, panels, strict=True):
        charts.ranked(waits.assign(longest=waits[column].clip(lower=10) / 3600), "longest", ax, log=True)
        ax.set_xlabel("Longest wait [h]")
        charts.title(ax, text)
    return fig


def slowdown(points: pd.DataFrame, averages: pd.DataFrame) -> Figure:
    """Fig 12: jobs with more than each slowdown (`ecdf`), and the average by scheduler and seed."""
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=2.5)
    for k, (reading, part) in enumerate(points.groupby("reading", sort=False)):
        left, right = axes[2 * k : 2 * k + 2]
        charts.cdf(part, "slowdown", by="scheduler", ax=left, log=True, tail=True)
        left.xaxis.set_major_formatter(LogFormatterMathtext())
        left.set_ylabel("Jobs with more than this [%]")
        charts.ranked(averages[averages["reading"] == reading], "average_slowdown", right, log=True)
        charts.title(left, f"({'ac'[k]}) {reading}")
        charts.title(right, f"({'bd'[k]}) {reading}: average")
    charts.legend(fig)
    return fig


def completion_times(table: pd.DataFrame) -> Figure:
    """Fig 13: average JCT by scheduler and seed, and over ASTRAEA's on the same seed."""
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=2.5)
    for k, (reading, mine) in enumerate(table.groupby("reading", sort=False)):
        left, right = axes[2 * k : 2 * k + 2]
        paired = relative_to(mine, "scheduler", "average_jct", "astraea")
        means = paired.groupby("scheduler")["relative"].mean()
        near = paired[paired["scheduler"].isin(means.index[means <= FAR])]
        names = charts.ranked(mine, "average_jct", left, end=1.05 * near["average_jct"].max())
        charts.ranked(paired, "relative", right, end=1.02 * near["relative"].max(), names=names)
        named_line(right, 1, "as long as ASTRAEA")
        right.set(yticklabels=[], xlabel="Average JCT / ASTRAEA's, same seed")
        charts.title(left, f"({'ac'[k]}) {reading}")
        charts.title(right, f"({'bd'[k]}) {reading}: seed by seed")
    charts.legend(fig)
    return fig


def cluster_sizes(table: pd.DataFrame) -> Figure:
    """Fig 14: average JCT and sharing loss on smaller and larger clusters, and both over Tiresias-L's."""
    fig, axes = charts.panels(columns=2, rows=4, width=3.5, height=1.75)
    panels = axes.reshape(4, 2)
    for k, (reading, part) in enumerate(table.groupby("reading", sort=False)):
        for row, (column, word) in enumerate((("average_jct", "JCT"), ("sharing_loss", "Loss"))):
            value, ratio = panels[row, k], panels[row + 2, k]
            charts.lines(part, "nodes_percent", column, by="scheduler", ax=value)
            value.set_ylim(0, 1.1 * table[column].max())
            name_axis(value.yaxis, column)
            over = over_tiresias(part, column)
            if len(over):
                charts.lines(over, "nodes_percent", "relative", by="scheduler", ax=ratio)
            _end_at(ratio, over, HIGHEST_RATIO)
            ratio.set(xlim=value.get_xlim(), xticks=value.get_xticks(), ylabel=f"{word} / Tiresias-L's")
            named_line(ratio, 1, "equal", (6, 1), vertical=False)
        for row, ax in enumerate(panels[:, k]):
            named_line(ax, 100, "the evaluation's size")
            charts.title(ax, f"({'abcdefgh'[2 * row + k]}) {reading}")
            ax.set_xlabel("" if row < 3 else ax.get_xlabel() or "Nodes, relative to the evaluation [%]")
    panels[1, 0].set_ylabel("Jobs with\nsharing loss [%]")
    for ax in panels[:, 1]:
        ax.set_ylabel("")
    ends = sorted({int(table["set_aside_jobs"].min()), int(table["set_aside_jobs"].max())})
    aside = f"Without {' to '.join(map(str, ends))} jobs of each seed, at every size: quotas of the smallest cluster "
    aside = aside + "cannot hold their gangs.\n" if any(ends) else ""
    footnote(
        fig, f"{aside}A ratio needs a loss under Tiresias-L; means from {HIGHEST_RATIO:g} on are written at the edge."
    )
    charts.legend(fig)
    return fig


def over_tiresias(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """All but Tiresias-L, and `relative`: `column` over that of Tiresias-L on the same seed and size, where finite."""
    sizes = table.groupby("nodes_percent", sort=False)
    paired = pd.concat([relative_to(part, "scheduler", column, "tiresias-l") for _, part in sizes])
    found: pd.DataFrame = paired[(paired["scheduler"] != "tiresias-l") & np.isfinite(paired["relative"])]
    return found


def _end_at(ax: Axes, over: pd.DataFrame, end: float) -> None:
    """End the axis there, and write each mean from there on at the edge, with an arrow."""
    ax.set_ylim(0, end)
    means = over.pivot_table(index="nodes_percent", columns="scheduler", values="relative")
    for at, row in zip(means.index.to_numpy(dtype=float), means.to_dict("records"), strict=True):
        for k, name in enumerate(name for name in charts.ordered(row) if row[name] >= end):
            color = look(name).color
            ax.plot(at, end, "^", color=color, clip_on=False, markersize=6)
            text, below = f"{row[name]:.2g}", (5, -9 - 10 * k)
            ax.annotate(text, (at, end), below, textcoords="offset points", fontsize=8, color=color)


def loads(table: pd.DataFrame, note: str) -> Figure:
    """Average JCT, slowdown and sharing loss over the offered load, a column for each reading; `note` stands below."""
    fig, axes = charts.panels(columns=2, rows=3, width=3.5, height=2.1)
    panels = axes.reshape(3, 2)
    shown = table.assign(hours=table["average_jct"] / 3600)
    for k, (reading, part) in enumerate(shown.groupby("reading", sort=False)):
        for row, column in enumerate(("hours", "average_slowdown", "sharing_loss")):
            ax = panels[row, k]
            charts.lines(part, "load", column, by="scheduler", ax=ax)
            charts.title(ax, f"({'abcdef'[2 * row + k]}) {reading}")
            if column == "sharing_loss":
                ax.set_ylim(0, 1)
                continue
            ax.set_yscale("log")
            ax.set_ylim(0.9 * shown[column].min(), 1.2 * shown[column].max())
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if shown[column].max() < 200 else (1,)))
            ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            ax.yaxis.set_minor_formatter(lambda *_: "")
            ax.set_xlabel("")
    panels[0, 0].set_ylabel("Average JCT [h]")
    for ax in panels[:, 1]:
        ax.set_ylabel("")
    footnote(fig, note)
    charts.legend(fig)
    return fig


def memories(table: pd.DataFrame) -> Figure:
    """Fairness and efficiency by how far back a scheduler remembers what tenants have used."""
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=1.9)
    measures = ("sharing_loss", "tenant_below_99", "average_slowdown", "average_jct")
    for ax, column in zip(axes, measures, strict=True):
        charts.ranked(table, column, ax, names=charts.ordered(table["scheduler"]))
    for ax in axes[1::2]:
        ax.set_yticklabels([])
    return fig


def over_claiming(gained: pd.DataFrame) -> Figure:
    """Average JCTs of a tenant that asks for more than it needs, and of all others: `one_tenant.changes`."""
    fig, (own, others) = charts.panels(columns=2, width=3.5, height=2.9)
    charts.ranked(gained, "own_jct", own)
    charts.ranked(gained, "others_jct", others)
    named_line(own, gained["own_running"].mean(), "its running times alone")
    for ax, text in ((own, "The tenant that over-claims"), (others, "All others")):
        named_line(ax, 1, "no change", (6, 1))
        ax.set_xlabel("Average JCT / if honest")
        charts.title(ax, text)
    own.set_xlim(left=0)
    low, high = others.get_xlim()
    others.set_xlim(min(low, 0.95), max(high, 1.05))
    charts.legend(fig)
    return fig


def paid_share(weighed: pd.DataFrame) -> Figure:
    """What a tenant gets for twice the weight: `one_tenant.changes` with `one_tenant.attained_when_busy`."""
    fig, axes = charts.panels(columns=3, width=2.33, height=2.8)
    panels = {"gained": "GPU-time when it\nasks for its quota", "own_jct": "Its average JCT",
              "others_jct": "Average JCT\nof all others"}  # fmt: skip
    names = charts.ordered(weighed["scheduler"])
    named_line(axes[0], weighed["paid"].mean(), "new quota / old quota")
    for ax, (column, text) in zip(axes, panels.items(), strict=True):
        charts.ranked(weighed, column, ax, names=names)
        named_line(ax, 1, "no change", (6, 1))
        ax.set_xlabel("After / before")
        charts.title(ax, text)
        low, high = ax.get_xlim()
        ax.set_xlim(max(min(low, 0.95), 0), max(high, 1.05))
        ax.label_outer(remove_inner_ticks=False)
    charts.legend(fig)
    return fig


def burst(curves: pd.DataFrame) -> Figure:
    """What a burst gets and what the others lack, over the time since it came: means of `burst.burst_curves`."""
    fig, axes = charts.panels(columns=2, width=4.2, height=3.2)
    panels = (("done", "The burst", "Of its GPU-time, done [%]"), ("lacking", "All others", "Lacking [% of the burst]"))
    for ax, (column, text, label) in zip(axes, panels, strict=True):
        charts.timeseries(curves.assign(**{column: 100 * curves[column]}), column, "scheduler", ax=ax)
        ax.set(ylabel=label, xlabel=ax.get_xlabel().replace("Time", "Time since it came"))
        charts.title(ax, text)
    axes[1].set_ylim(min(0, 110 * curves["lacking"].min()), max(10, 110 * curves["lacking"].max()))
    charts.legend(fig)
    return fig
