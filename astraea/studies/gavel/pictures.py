"""Pictures of Gavel's evaluation that several figures share: over load, with the paper's factors beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from astraea.plots import charts
from astraea.plots.style import REFERENCE, look, style


class Factor(NamedTuple):
    """How many times smaller than under the baseline something is under a better policy, as published."""

    baseline: str
    better: str
    value: float


def over_load(
    table: pd.DataFrame, shares: pd.DataFrame, trace: str, column: str, value: str, factors: Sequence[Factor]
) -> Figure:
    """Means of `column` over the rate of arrival, and the distribution of `value` over jobs at the highest rate.

    Parameters
    ----------
    table, shares : DataFrame
        As of `tables.load_figures`, one row per run, and the points of `ecdf` of its jobs.
    """
    fig, axes = charts.panels(columns=2, width=3.5, height=2.6)
    charts.lines(table, "jobs_per_hour", column, by="policy", ax=axes[0])
    room(axes[0])
    mark_factors(table, column, factors, axes[0])
    is_fairness = value == "finish_time_fairness"
    charts.cdf(shares, value, by="policy", ax=axes[1], log=True)
    if is_fairness:
        axes[1].axvline(1, **REFERENCE)
        axes[1].text(1.04, 0.04, "1/n of the cluster", fontsize=7)
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
