"""The picture of the tables beside this module."""

from __future__ import annotations

from typing import Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from astraea.plots import charts
from astraea.plots.style import LOOKS, REFERENCE, style

SYSTEMS: Final = {"astraea": (LOOKS["astraea"].label, "#D55E00"), "slurm": ("Slurm, fair share", "#0072B2")}
"""Name and colour."""


def beside(grants: pd.DataFrame, table: pd.DataFrame) -> Figure:
    """When jobs got GPUs in reality and in the simulation, and what came of it.

    Parameters
    ----------
    grants : DataFrame
        Of `tables.grants`, of all repetitions under the coordinator.
    table : DataFrame
        Of `compared.comparison`.
    """
    fig, axes = charts.panels(columns=3, width=2.6, height=2.6)
    both = grants.dropna()
    with style():
        color = SYSTEMS["astraea"][1]
        longest = float(both[["measured", "simulated"]].to_numpy().max())
        axes[0].plot([0, longest], [0, longest], **REFERENCE)
        axes[0].plot(both["measured"], both["simulated"], ".", color=color, markersize=3, alpha=0.6)
        axes[0].set(xlabel="Granted on Slurm [s]", ylabel="in the simulation [s]")
    charts.title(axes[0], "(a) grants")
    _pairs(axes[1], table, "jct", 1.0, "Average JCT [s]")
    charts.title(axes[1], "(b) completion times")
    _pairs(axes[2], table, "loss", 100.0, "Sharing loss [% of jobs]")
    charts.title(axes[2], "(c) sharing loss")
    charts.legend(fig, columns=2)
    return fig


def _pairs(ax: Axes, table: pd.DataFrame, column: str, factor: float, label: str) -> None:
    """Measured and simulated values of every repetition, joined by a line."""
    with style():
        for k, (system, (name, color)) in enumerate(SYSTEMS.items()):
            part = table[table["system"] == system]
            at = part["repetition"] + 0.3 * k - 0.15
            was, would = factor * part[column], factor * part[f"simulated_{column}"]
            ax.vlines(at, was, would, color=color, linewidth=0.8)
            ax.plot(at, was, "o", color=color, markersize=4.5, label=f"{name}, measured")
            ax.plot(at, would, "D", color=color, markerfacecolor="white", markersize=4, label=f"{name}, simulated")
        repetitions = sorted(table["repetition"].unique())
        ax.set_xticks(repetitions)
        ax.set_xlim(min(repetitions) - 0.5, max(repetitions) + 0.5)
        ax.set_ylim(0, 1.1 * factor * table[[column, f"simulated_{column}"]].to_numpy().max())
        ax.set(xlabel="Repetition", ylabel=label)
