"""Pictures of single tenants under ASTRAEA and its rivals: their days, memory, over-claiming, a paid share, a burst."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from astraea.plots import look, style
from papers import charts
from papers.areas import heatmap
from papers.charts.axes import announce_cut, footnote, named_line
from papers.layout import few_ticks
from papers.ye2022.beside_astraea import against_astraea
from papers.ye2022.messages import several_seeds
from papers.ye2022.readings import MEMORIES

FAR: Final = 2.2  # of over-claiming: a JCT over the honest one above which it is written at the edge


def tenant_days(days: pd.DataFrame) -> Figure:
    """Draw what each tenant got of what it was owed (`rho_tenant`) day by day, schedulers side by side."""
    names = charts.order(days["scheduler"])
    fig, axes = charts.panels(columns=len(names), width=3.5, height=3.4)
    for ax, name in zip(axes, names, strict=True):
        heatmap(days[days["scheduler"] == name], "day", "tenant", "rho_tenant", ax)
        charts.title(ax, look(name).label)
    for ax in axes[1:]:
        ax.set(yticklabels=[], ylabel="")
    for ax in axes[:-1]:
        ax.collections[0].colorbar.remove()
    marks = "Red: less than it was owed, hatched from 1 % on; blue: more; grey, dotted: owed nothing."
    footnote(fig, f"{marks} One run, from the papers.")
    owed = days.dropna(subset="rho_tenant")
    short = (owed["rho_tenant"] < 0.99).groupby(owed["scheduler"]).mean()
    said = ", ".join(f"{look(name).label} {100 * short[name]:.0f} %" for name in names)
    return charts.legend(fig, headline=f"A tenant's days below 0.99 of what it is owed: {said}", axes=[])


def memories(table: pd.DataFrame) -> Figure:
    """Draw fairness and efficiency by how far back a scheduler remembers what tenants have used, beside ASTRAEA."""
    return against_astraea(table, "other memories of a tenant's past")


def over_claiming(gained: pd.DataFrame) -> Figure:
    """Draw average JCTs of a tenant that asks for more than it needs, and of all others: `one_tenant.changes`."""
    fig, (own, others) = charts.panels(columns=2, width=3.5, height=2.7)
    means = gained.groupby("scheduler")["own_jct"].mean()
    near = gained.loc[(gained["own_jct"] <= FAR) & (gained["scheduler"].map(means) <= FAR), "own_jct"]
    names = charts.by_scheduler(gained, "own_jct", own, end=max(1.1, 1.07 * near.max()))
    charts.by_scheduler(gained, "others_jct", others, names=names)
    named_line(own, gained["own_running"].mean(), "if nobody waited")
    own.xaxis.set_major_locator(MultipleLocator(0.5))
    own.set_xlim(left=min(0.55, 0.95 * gained["own_jct"].min()))
    low, high = others.get_xlim()
    others.set(xlim=(min(low, 0.95), max(high, 1.05)), yticklabels=[])
    for ax, text in ((own, "(a) the tenant that over-claims"), (others, "(b) all others")):
        named_line(ax, 1, "no change", (6, 1))
        ax.set_xlabel("JCT when over-claiming / when honest")
        announce_cut(ax.xaxis)
        charts.title(ax, text)
    footnote(fig, "Left of 1: jobs end sooner than if the tenant were honest. From the papers.")
    change = 100 * means["astraea"] - 100
    headline = f"Asking for twice the GPUs changes a tenant's JCT by {change:+.0f} % under ASTRAEA"
    return charts.legend(fig, headline=headline)


def paid_share(weighed: pd.DataFrame) -> Figure:
    """Draw what a tenant gets for twice the weight: `one_tenant.changes` with `one_tenant.attained_when_busy`.

    Its GPU-time is drawn only if it has busy hours under every scheduler.
    """
    missing = weighed.loc[weighed["gained"].isna(), "scheduler"].nunique()
    panels = {"own_jct": "its average JCT", "others_jct": "average JCT of all others"}
    if not missing:
        panels["gained"] = "its GPU-time when it\nasks for its whole quota"
    fig, axes = charts.panels(columns=len(panels), width=7.0 / len(panels), height=2.7)
    names = charts.order(weighed["scheduler"])
    for k, (ax, (column, text)) in enumerate(zip(axes, panels.items(), strict=True)):
        charts.by_scheduler(weighed, column, ax, names=names)
        named_line(ax, 1, "no change", (6, 1))
        if column == "gained":
            named_line(ax, weighed["paid"].mean(), "new quota / old quota")
        ax.set_xlabel("After / before")
        charts.title(ax, f"({'abc'[k]}) {text}")
        low, high = ax.get_xlim()
        ax.set_xlim(max(min(low, 0.95), 0), max(1.03 * high, 1.05))
        if np.ptp(ax.get_xlim()) > 1:
            ax.xaxis.set_major_locator(MultipleLocator(0.5))
        else:
            few_ticks(ax.xaxis, 4)
        announce_cut(ax.xaxis)
        ax.label_outer(remove_inner_ticks=False)
    paid = f"The quota becomes {weighed['paid'].mean():.2f} times as large."
    whose = "a seed has" if several_seeds(weighed) else "there is"
    absent = f" Under {missing} of {len(names)} schedulers {whose} no hour of full demand: GPU-time is not drawn."
    footnote(fig, paid + absent * bool(missing))
    change = 100 * weighed.groupby("scheduler")["own_jct"].mean()["astraea"] - 100
    return charts.legend(fig, headline=f"Twice the weight changes a tenant's JCT by {change:+.0f} % under ASTRAEA")


def burst(curves: pd.DataFrame) -> Figure:
    """Draw what a burst gets and what the others lack, over the time since it came: means of `burst.burst_curves`.

    Memories of ASTRAEA are above, other schedulers below.
    """
    memories = [s.name for s in MEMORIES]
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=2.2)
    rows = (memories, ["astraea", *(n for n in charts.order(curves["scheduler"]) if n not in memories)])
    columns = {"done": "Burst completed\n[% of its GPU-time]", "lacking": "Others' shortfall\n[% of the burst]"}
    for row, names in enumerate(rows):
        for k, (column, label) in enumerate(columns.items()):
            ax, part = axes[2 * row + k], curves[curves["scheduler"].isin(names)]
            charts.timeseries(part.assign(**{column: 100 * part[column]}), column, "scheduler", ax=ax)
            ax.set(ylabel=label, xlabel="Time since the burst came [d]" if row else "")
            low, high = 100 * curves[column].min(), 100 * curves[column].max()
            ax.set_ylim(min(low, 0) - 0.04 * max(high, 10), 1.05 * max(high, 10))
            charts.title(ax, f"({'abcd'[2 * row + k]}) {('memories of ASTRAEA', 'other schedulers')[row]}")
        _named(axes[2 * row + 1], names)
    lacking = curves.groupby(["scheduler", "time"])["lacking"].mean().groupby("scheduler").max().sort_values() * 100
    least, most = (look(str(lacking.index[k])).label for k in (0, -1))
    few = f"{lacking.iloc[0]:.0f} %" if lacking.iloc[0] >= 0.5 else "nothing"
    said = f"from {few} ({least}) to {lacking.iloc[-1]:.0f} % of the burst ({most})"
    return charts.legend(fig, headline=f"The others' shortfall at its peak:\n{said}", axes=[])


def _named(ax: Axes, names: list[str]) -> None:
    """Name the lines of a row right of it, ASTRAEA's as the others'."""
    lines = {line.get_label(): line for line in ax.get_lines()}
    labels = [look(name).label for name in names if look(name).label in lines]
    with style():
        ax.legend([lines[label] for label in labels], labels, loc="center left", bbox_to_anchor=(1.0, 0.5))
