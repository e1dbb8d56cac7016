"""Pictures that only notebooks draw: one number of the market at a time, and jobs that fall into rounds."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from astraea.plots import look, style
from papers import charts
from papers.market.model import MarketPlan
from papers.market.study.choices import PRICES, TRIED_ROUNDS, Choice
from papers.market.study.pictures import OURS, factor_text

SETTINGS: Final = {f"θ − 1 = {price:g}, λ = 1": (1 + price, 1) for price in PRICES} | {
    f"θ − 1 = 1, λ = {rounds}": (2.0, rounds) for rounds in TRIED_ROUNDS[1:]
}
"""theta and lambda of the frames, by name."""


def in_words(made: Choice) -> str:
    """Say what came of one theta and one lambda."""
    fair = f"{np.var(made.alpha):.3g}" if np.isfinite(made.alpha).all() else "not defined"
    return f"revenue {factor_text(made.revenue)} thousand, {made.admitted} jobs, variance of revenue fairness {fair}"


def waits(plan: MarketPlan) -> pd.DataFrame:
    """List when each job arrived, started and ended [slot], in order of start: columns job, arrival, start, end."""
    arrival = plan.market.jobs.arrival
    rows = [(s.job, int(arrival[s.job]), s.start, s.end) for s in plan.schedules]
    return pd.DataFrame(rows, columns=["job", "arrival", "start", "end"]).sort_values(["start", "end", "job"])


def rounds_picture(plan: MarketPlan) -> Figure:
    """Draw the wait and the run of each job over rounds of 2, 4, 8, ... slots, on an axis where each is as wide.

    With lambda 1: the interval of tau has one round, the slots (tau, 2 tau].
    """
    table = waits(plan)
    last = int(np.ceil(np.log2(table["end"].max())))
    fig, ax = charts.panels(width=7.0, height=3.4)
    color, y = look(OURS).color, np.arange(len(table))
    with style():
        for k in range(1, last, 2):
            ax.axvspan(2.0**k, 2.0 ** (k + 1), color="#EEEEEE", zorder=0)
        begin = np.maximum(table["arrival"], 1)
        ax.hlines(y, begin, table["start"], color="#8C8C8C", linewidth=0.9, label="waits")
        ax.hlines(y, table["start"], table["end"], color=color, linewidth=3.5, label="runs")
        ax.plot(begin, y, "o", color="#222222", markersize=2.5, label="arrives")
        ax.set(xscale="log", xlim=(1, 2.0**last), ylim=(len(table) - 0.2, -0.8), ylabel="Job, by start")
        ax.set_xticks([2.0**k for k in range(last + 1)], [f"{2**k:,}" for k in range(last + 1)])
        ax.minorticks_off()
        ax.set_xlabel("Slot [h]; each band is one round")
        ax.grid(visible=False)
    late = (table["start"] - table["arrival"]).mean()
    charts.title(ax, f"A job waits for a round that is long enough: {late:.0f} h on average")
    return charts.legend(fig)
