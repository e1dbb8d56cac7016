"""Pictures of 120 jobs on a real cluster of 32 V100s, in its authors' simulator, and here.

The tables are `data/verification_hardware*.csv`, of `verification.gavel_hardware`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from astraea.core.units import HOUR
from astraea.core.wording import listed
from astraea.plots import look
from papers import charts
from papers.charts.axes import REFERENCE, log_ticks

MARKS: Final[dict[str, dict[str, Any]]] = {
    "cluster": {"marker": "x", "linestyle": "", "color": "#000000", "markersize": 7, "markeredgewidth": 2.2},
    "their simulator": {"marker": "|", "linestyle": "", "color": "#222222", "markersize": 8, "markeredgewidth": 1.8},
    "here": {"marker": "o", "linestyle": "", "color": "#888888", "markersize": 5},
    "as their simulator": {
        "marker": "s", "linestyle": "", "color": "#222222", "markersize": 4.5, "markerfacecolor": "white",
    },
}  # fmt: skip
"""Marks of the sources."""

PANELS: Final = (
    ("makespan", "Makespan [h]", HOUR), ("average_jct", "Average JCT [h]", HOUR),
    ("worst_ftf", "Worst finish-time fairness", 1), ("above_1", "Finish-time fairness above 1 [% of jobs]", 0.01),
)  # fmt: skip


def sources(summary: pd.DataFrame) -> Figure:
    """Draw four measures of each policy, a mark for each source; columns as of `verify_hardware`'s first table."""
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=2.3)
    names = charts.order(summary["policy"])
    labels = [{"shockwave": "Shockwave"}.get(name, look(name).label) for name in names]
    for k, (ax, (column, text, unit)) in enumerate(zip(axes, PANELS, strict=True)):
        for place, (source, mark) in enumerate(MARKS.items()):
            part = summary[summary["source"] == source]
            rows = np.array([names.index(policy) for policy in part["policy"]])
            ax.plot(part[column] / unit, rows + 0.18 * (place - 1.5), **{"label": source} | mark)
        ax.set_yticks(range(len(names)), labels if k % 2 == 0 else [""] * len(names))
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.set_xlim(0, 1.06 * float(summary[column].max()) / unit)
        ax.set_xlabel(text)
        wide = summary.pivot_table(index="policy", columns="source", values=column)[list(MARKS)].dropna()
        off = (wide["as their simulator"] / wide["cluster"] - 1).abs().median()
        charts.title(ax, f"({'abcd'[k]}) as their simulator: {100 * off:.0f} % off")
    ran = set(summary.loc[summary["source"] == "here", "policy"])
    absent = [label for name, label in zip(names, labels, strict=True) if name not in ran]
    charts.footnote(fig, "Errors in titles: median over the policies that ran in all four." +
                    (f" Not run here: {listed(absent)}." if absent else ""))  # fmt: skip
    jct = summary.pivot_table(index="policy", columns="source", values="average_jct")[list(MARKS)].dropna()
    away = 100 * jct.div(jct["cluster"], axis=0).sub(1).abs().median()
    said = ", ".join(f"{name} {away[name]:.0f} %".replace(" ", "\u00a0") for name in MARKS if name != "cluster")
    return charts.legend(fig, columns=4, headline=f"Median error of the average JCT: {said}")


def steps(table: pd.DataFrame, summary: pd.DataFrame) -> Figure:
    """Draw average JCT over the cluster's, from here to their simulator, one change after the other."""
    fig, ax = charts.panels(width=5.6, height=2.9)
    jct = summary.set_index(["policy", "source"])["average_jct"].to_dict()
    way = table.dropna(subset="average_jct")
    rows = [*dict.fromkeys(way["step"]), "their simulator"]
    for policy, part in way.groupby("policy", sort=False):
        here, cluster, simulator = look(policy), jct[policy, "cluster"], jct[policy, "their simulator"]
        ax.plot(100 * part["average_jct"] / cluster, range(len(part)), here.marker, linestyle=here.line,
                color=here.color, markersize=4, label=here.label)  # fmt: skip
        last = 100 * part["average_jct"].iloc[-1] / cluster, 100 * simulator / cluster
        ax.plot(last, [len(part) - 1, len(part)], color=here.color, linestyle=here.line, linewidth=0.8)
        ax.plot(last[1], len(part), here.marker, color=here.color, markersize=7, markerfacecolor="white",
                markeredgewidth=1.6)  # fmt: skip
    charts.named_line(ax, 100, "the cluster")
    ax.set_yticks(range(len(rows)), rows)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlabel("Average JCT [% of the cluster's]")
    ends = [way.groupby("policy")["average_jct"].agg(end) for end in ("first", "last")]
    theirs = pd.Series({policy: jct[policy, "their simulator"] for policy in ends[0].index})
    off = [100 * (end / theirs - 1).abs().median() for end in ends]
    headline = f"Median error against their simulator: {off[0]:.0f} % before the steps, {off[1]:.0f} % after them"
    return charts.legend(fig, headline=headline)


def job_by_job(jobs: pd.DataFrame) -> Figure:
    """Draw the JCT of each job on the cluster against two simulations, a panel for each policy."""
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=2.9)
    found: list[float] = []
    for k, (ax, (policy, part)) in enumerate(zip(axes, jobs.groupby("policy", sort=False), strict=True)):
        hours, below = part.drop(columns=["policy", "job"]) / HOUR, {}
        for source in ("here", "as their simulator"):
            x = hours[source.replace(" ", "_")]
            ax.plot(x, hours["cluster"], **MARKS[source] | {"markersize": 3, "alpha": 0.6, "label": source})
            below[source] = float(np.corrcoef(x, hours["cluster"])[0, 1])
        ends = float(hours.to_numpy().min()) * 0.9, float(hours.to_numpy().max()) * 1.1
        ax.plot(ends, ends, **REFERENCE | {"label": "the same JCT"})
        ax.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
        ax.set(xlabel="JCT in simulation [h]" if k > 1 else "", ylabel="" if k % 2 else "JCT on the cluster [h]")
        log_ticks(ax.xaxis)
        log_ticks(ax.yaxis)
        said = ", ".join(f"{r:.2f} {source}" for source, r in below.items())
        charts.title(ax, f"({'abcd'[k]}) {look(policy).label}", f"correlation {said}")
        found += below.values()
    headline = f"Single jobs: correlation with the cluster of {min(found):.2f} to {max(found):.2f}"
    return charts.legend(fig, headline=headline)


def against(summary: pd.DataFrame, column: str = "average_jct") -> pd.DataFrame:
    """Return a measure of the policies that ran in all four, on the cluster, and the others' distance from it [%]."""
    wide = summary.pivot_table(index="policy", columns="source", values=column, sort=False)[list(MARKS)].dropna()
    off = 100 * (wide.div(wide["cluster"], axis=0) - 1)
    return off.assign(cluster=wide["cluster"]).rename(index=lambda policy: look(policy).label)
