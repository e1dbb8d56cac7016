"""Pictures of estimated running times: what is left of a job, errors, honesty, and what errors cost schedulers."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from astraea.core.units import DAY
from astraea.plots import charts
from astraea.plots.dots import SEED
from astraea.plots.statistics import mean_interval
from astraea.plots.style import name_axis, style
from papers.ye2022.estimates import ESTIMATING, costs, places

CURVES: Final = {
    "log_logistic": ("log-logistic through three quantiles", "#D55E00", "--", 1.8),
    "exponential": ("exponential with the same median", "#8C8C8C", "-.", 1.5),
}
"""Label, colour, line and width of the distributions of `estimates.remaining_table`."""


def remaining(table: pd.DataFrame, whose: str) -> Figure:
    """Survival, and what is left of a job that still runs; `estimates.remaining_table`."""
    fig, (left, right) = charts.panels(columns=2, width=3.9, height=3.1)
    x, median = table["time"].to_numpy(), float(table["exponential_remaining"].iloc[0])
    with style():
        curves = {"observed": (f"observed, {whose}", "#0072B2", "-", 2.6), **CURVES}
        for column, (label, color, line, width) in curves.items():
            left.plot(x, table[column], color=color, linestyle=line, linewidth=width, label=label)
            right.plot(x, table[f"{column}_remaining"], color=color, linestyle=line, linewidth=width)
        left.plot(x, table["after_1_h"], color="#009E73", linestyle=":", linewidth=2.0,
                  label="log-logistic, after 1 h of service")  # fmt: skip
        certain = x[x < median]
        right.plot(certain, median - certain, color="#222222", linestyle=(0, (1, 1)), linewidth=1.5,
                   label="one number, the median")  # fmt: skip
        left.set_xscale("log")
        right.set(xscale="log", yscale="log")
        right.set_ylim(max(1.0, median / 30), 3 * max(median, table["log_logistic_remaining"].iloc[-1]))
        name_axis(left.xaxis, "time", log=True)
        name_axis(right.xaxis, "time", log=True)
        name_axis(right.yaxis, "time", log=True)
        left.set(xlabel="Running time", ylim=(0, 1.02))
        name_axis(left.yaxis, "share")
        left.set_ylabel("Jobs that need more [%]")
        right.set(xlabel="Service so far", ylabel="Median of what is left")
    charts.named_line(left, 0.5, "half of the jobs", vertical=False)
    charts.title(left, "(a) Survival")
    charts.title(right, "(b) What is left of a job that still runs")
    charts.legend(fig, columns=2)
    return fig


def errors(density: pd.DataFrame, jobs: int) -> Figure:
    """Estimates over true running times, a panel for each estimator: `accuracy.joint_density` of so many jobs."""
    names = list(dict.fromkeys(density["estimator"]))
    low, high = (np.log10(f(density[["truth", "estimate"]].to_numpy())) for f in (np.min, np.max))
    edges = 10 ** np.arange(low, high + 0.2, 1 / 6)  # the cells that were counted: six to a factor of ten
    inside = 10 ** (1 / 12)  # from the lower edge to the middle of a cell
    fig, axes = charts.panels(columns=2, rows=-(-len(names) // 2), width=3.6, height=2.7)
    axes = np.atleast_1d(axes)
    for ax in axes[len(names) :]:
        ax.remove()
    with style():
        for ax, name in zip(axes, names, strict=False):
            part = density[density["estimator"] == name]
            cells, _, _ = np.histogram2d(
                inside * part["truth"], inside * part["estimate"], edges, weights=100 * part["share"]
            )
            drawn = ax.pcolormesh(edges, edges, np.where(cells > 0, cells, np.nan).T, cmap="YlGnBu",
                                  norm=LogNorm(min(100 / jobs, 5), 10), rasterized=True)  # fmt: skip
            ax.plot(edges[[0, -1]], edges[[0, -1]], color="#D55E00", linewidth=1.2, linestyle="--", label="no error")
            ax.set(xscale="log", yscale="log", xlim=edges[[0, -1]], ylim=edges[[0, -1]])
            name_axis(ax.xaxis, "duration", log=True)
            name_axis(ax.yaxis, "duration", log=True)
            ax.set_ylabel("Estimate")
            charts.title(ax, name)
        fig.colorbar(drawn, ax=fig.axes, label="Jobs per cell [%]", extend="max", shrink=0.8, format="%g")
    charts.legend(fig)
    return fig


def honesty(curve: pd.DataFrame, age: pd.DataFrame, span: float) -> Figure:
    """Whether quantiles promise too much: `accuracy.calibration`, and `error_by_age` in a trace of `span` seconds."""
    fig, (left, right) = charts.panels(columns=2, width=3.8, height=2.9)
    with style():
        for k, name in enumerate(dict.fromkeys(curve["estimator"])):
            here = charts.look(name, k)
            for ax, frame, x, y in ((left, curve, "probability", "share"), (right, age, "day", "coverage")):
                part = frame[frame["estimator"] == name]
                ax.plot(part[x], part[y], label=name, color=here.color, linestyle=here.line, marker=here.marker,
                        markersize=3.5, linewidth=1.5)  # fmt: skip
        left.plot([0, 1], [0, 1], color="#444444", linewidth=1.1, linestyle=(0, (2, 2)), label="honest")
        for ax in (left, right):
            ax.set_ylim(0, 1)
            name_axis(ax.yaxis, "share")
        left.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}")
        left.set(xlim=(0, 1), xlabel="Quantile of the estimate [%]", ylabel="Jobs that needed no more [%]")
        right.set(xlim=(0, span / DAY), xlabel="Day on which the job comes", ylabel="Jobs inside the 80 % band [%]")
    charts.named_line(right, 0.8, "honest", vertical=False)
    charts.title(left, "(a) All quantiles")
    charts.title(right, "(b) The band, by age of the estimate")
    charts.legend(fig)
    return fig


def importance(table: pd.DataFrame, log_mae: float, most: int = 12) -> Figure:
    """What a model looks at most, as of `GradientBoosting.importance`; `log_mae` is its error."""
    top = table.head(most).iloc[::-1]
    fig, ax = charts.panels(width=5.6, height=3.2)
    with style():
        ax.barh(top["feature"], top["importance"], xerr=top["spread"], color="#0072B2", height=0.7,
                error_kw={"elinewidth": 0.9, "capsize": 2, "ecolor": "#222222"})  # fmt: skip
        ax.axvline(0, color="#444444", linewidth=0.8)
        ax.set_xlabel(f"Increase of log-MAE when shuffled (of {log_mae:.2f})")
        ax.tick_params(axis="y", length=0)
        ax.grid(visible=False, axis="y")
    return fig


def impact(table: pd.DataFrame) -> Figure:
    """What errors cost AlloX and Themis, seeds as dots, beside ASTRAEA; ``estimate_grid(...).table()``."""
    at = places(table)
    both = pd.concat([costs(table), table[table["scheduler"] == "astraea"]], ignore_index=True)
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=2.3)
    panels = (
        ("average_jct", "(a) Average JCT"), ("sharing_loss", "(b) Sharing loss"),
        ("jct_ratio", "(c) JCT over that with true times"), ("loss_change", "(d) Change of sharing loss"),
    )  # fmt: skip
    noisy = sum(source.endswith("%") for source in at)
    for ax, (column, text) in zip(axes, panels, strict=True):
        for k, name in enumerate(("astraea", *ESTIMATING)):
            rows = both[both["scheduler"] == name].dropna(subset=[column])
            _one_scheduler(rows, name, column, at, ax, 0.15 * (k - 1.5))
        if len(at) > noisy:
            ax.axvline(noisy - 0.25, color="#BBBBBB", linewidth=0.8)
        charts.title(ax, text)
    with style():
        name_axis(axes[0].yaxis, "average_jct")
        name_axis(axes[1].yaxis, "sharing_loss")
        axes[2].set_ylabel("JCT, estimated / true")
        axes[3].yaxis.set_major_formatter(lambda value, _: f"{100 * value:+.3g}" if value else "0")
        axes[3].set_ylabel("Sharing loss [points]")
    texts = [source.replace(" %", "") for source in at]
    for ax in axes:
        ax.set_xticks(list(at.values()), texts if ax in axes[2:] else [""] * len(at), rotation=35, ha="right")
    for ax, same in zip(axes[2:], (1, 0), strict=True):
        charts.named_line(ax, same, "as with true times", vertical=False)
        ax.set_xlabel("Error of noisy ones [%]; learned ones")
    charts.legend(fig)
    return fig


def _one_scheduler(
    rows: pd.DataFrame, name: str, column: str, at: dict[str, float], ax: Axes, shift: float
) -> None:  # fmt: skip
    """Means as marks, noisy ones on a line, and seeds as dots; of ASTRAEA lines through the whole panel."""
    here = charts.look(name)
    if rows.empty:
        return
    with style():
        if name == "astraea":
            ax.axhline(rows[column].mean(), color=here.color, label=here.label, linewidth=here.width, zorder=1.9)
            for seed in rows[column]:
                ax.axhline(seed, color=here.color, linewidth=0.6, alpha=0.6, zorder=1.8)
            return
        means = mean_interval(rows, "source", column).assign(x=lambda d: d["source"].map(at))
        means = means.sort_values("x", kind="stable")
        is_noisy = means["source"].str.endswith("%")
        for part, line, label in ((means[is_noisy], here.line, here.label), (means[~is_noisy], "none", None)):
            ax.plot(part["x"] + shift, part["mean"], color=here.color, label=label, linestyle=line, linewidth=1.5,
                    marker=here.marker, markersize=5.5)  # fmt: skip
        ax.plot(rows["source"].map(at) + shift, rows[column], color=here.color, **SEED)
