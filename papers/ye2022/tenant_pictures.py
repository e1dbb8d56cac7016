"""Pictures of single tenants: memory, over-claiming, a paid share, a burst."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from astraea.plots import charts
from astraea.plots.style import named_line


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
        ax.set_ylabel(label)
        ax.set_xlabel(f"{ax.get_xlabel().replace('Time', 'Time since it came')}")
        charts.title(ax, text)
    axes[1].set_ylim(min(0, 110 * curves["lacking"].min()), max(10, 110 * curves["lacking"].max()))
    charts.legend(fig)
    return fig
