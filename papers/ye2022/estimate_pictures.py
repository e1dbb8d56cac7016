"""Pictures of estimated running times: the rest of a job, errors, honesty, and the cost of errors."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import Formatter, MaxNLocator

from astraea.core.intervals import mean_interval
from astraea.core.units import DAY, HOUR, MINUTE
from astraea.plots import look, style
from papers import charts
from papers.charts.axes import REFERENCE, name_axis
from papers.charts.dots import seed_dots
from papers.ye2022.estimates import ESTIMATING, costs, places
from papers.ye2022.messages import several_seeds

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
        left.set(xlabel="Running time (log scale)", ylim=(0, 1.02))
        name_axis(left.yaxis, "share")
        left.set_ylabel("Jobs that need more [%]")
        right.set(xlabel="Service so far (log scale)", ylabel="Median of what is left (log scale)")
    charts.named_line(left, 0.5, "half of the jobs", vertical=False)
    charts.title(left, "(a) Survival")
    charts.title(right, "(b) What is left of a job that still runs")
    first, later = np.interp([x[0], HOUR], x, table["observed_remaining"]) / MINUTE
    left_then = f"{first:.3g} min at its start, {later:.3g} min after an hour of service"
    return charts.legend(fig, columns=2, headline=f"Median of what is left of a job: {left_then}")


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
    near = density[(density["estimate"] / density["truth"]).between(0.5, 2.0)].groupby("estimator")["share"].sum()
    said = ", ".join(f"{100 * near.get(name, 0.0):.0f} % ({name})" for name in names)
    return charts.legend(fig, headline=f"Estimates within a factor of two: {said}")


def honesty(curve: pd.DataFrame, age: pd.DataFrame, span: float) -> Figure:
    """Draw how far quantiles are from honest: `accuracy.calibration`, and `error_by_age` in a trace of `span` seconds.

    Both panels show percentage points above what the quantile, or the 80 % band, promises.
    """
    fig, axes = charts.panels(columns=2, width=3.5, height=2.9)
    parts = ((curve.assign(promised=curve["probability"]), "probability", "share"),
             (age.assign(promised=0.8), "day", "coverage"))  # fmt: skip
    with style():
        for ax, (frame, x, y) in zip(axes, parts, strict=True):
            off = frame.assign(off=100 * (frame[y] - frame["promised"]))
            for k, name in enumerate(dict.fromkeys(curve["estimator"])):
                here, part = charts.look(name, k), off[off["estimator"] == name]
                ax.plot(part[x], part["off"], label=name, color=here.color, linestyle=here.line, marker=here.marker,
                        markersize=3.5, linewidth=1.5)  # fmt: skip
            worst = off.iloc[int(np.nanargmax(off["off"].abs()))]
            charts.title(ax, "(a) all quantiles" if x == "probability" else "(b) the 80 % band, by day",
                         f"farthest: {worst['estimator']}, {worst['off']:+.0f} points")  # fmt: skip
            ax.axhline(0, **REFERENCE)
            reach = max(10.0, 1.1 * off["off"].abs().max())
            ax.set_ylim(-reach, reach)
        axes[0].xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}")
        axes[0].set(xlim=(0, 1), xlabel="Quantile of the estimate [%]")
        axes[0].set_ylabel("Jobs that needed no more,\nover promised [points]")
        axes[1].xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes[1].set(xlim=(0, span / DAY), xlabel="Day on which the job is submitted")
        axes[1].set_ylabel("Jobs inside the band,\nover 80 % [points]")
    most, of_band = (100 * off.abs().max() for off in (curve["share"] - curve["probability"], age["coverage"] - 0.8))
    headline = f"Quantiles miss by up to {most:.0f} points, the 80 % band by up to {of_band:.0f}"
    return charts.legend(fig, headline=headline)


SPREAD: Final = {"low": "10 % quantile", "median": "median", "high": "90 % quantile", "last": "last job",
                 "previous": "last job but one"}  # fmt: skip
"""Words for the first part of a feature's name."""


def feature(name: str) -> str:
    """Write the name of a feature, "low of user and demand", for a reader: "10 % quantile, same user and demand"."""
    first, of, rest = name.partition(" of ")
    return f"{SPREAD[first]}, same {rest}" if of and first in SPREAD else name


def importance(table: pd.DataFrame, log_mae: float, most: int = 12) -> Figure:
    """Draw the features a model depends on most, as of `GradientBoosting.importance`; `log_mae` is its error."""
    top = table.head(most).iloc[::-1]
    fig, ax = charts.panels(width=6.4, height=3.2)
    with style():
        ax.barh([feature(name) for name in top["feature"]], top["importance"], xerr=top["spread"], color="#0072B2",
                height=0.7, error_kw={"elinewidth": 0.9, "capsize": 2, "ecolor": "#222222"})  # fmt: skip
        ax.axvline(0, color="#444444", linewidth=0.8)
        ax.set_xlabel(f"Loss of accuracy if it is shuffled [log units; {log_mae:.2f} with all]")
        ax.tick_params(axis="y", length=0)
        ax.grid(visible=False, axis="y")
    return charts.legend(fig, headline=f"The {feature(str(top['feature'].iloc[-1]))} matters most to an estimate")


def impact(table: pd.DataFrame) -> Figure:
    """Cost of errors for AlloX and Themis, seeds as dots, beside ASTRAEA; ``estimate_grid(...).table()``."""
    at = places(table)
    both = pd.concat([costs(table), table[table["scheduler"] == "astraea"]], ignore_index=True)
    base = both.loc[both["scheduler"] == "astraea", ["seed", "average_jct"]].set_index("seed")["average_jct"]
    both["relative"] = 100 * (both["average_jct"] / both["seed"].map(base) - 1)
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=2.4)
    panels = (
        ("relative", "(a) average JCT", "Over ASTRAEA's [%]"),
        ("sharing_loss", "(b) sharing loss", "Jobs with loss [%]"),
        ("jct_ratio", "(c) JCT, against true times", "Change [%]"),
        ("loss_change", "(d) loss, against true times", "Change [points]"),
    )
    noisy = [place for source, place in at.items() if source.endswith("%")]
    for ax, (column, text, label) in zip(axes, panels, strict=True):
        for k, name in enumerate(("astraea", *ESTIMATING)):
            rows = both[both["scheduler"] == name].dropna(subset=[column])
            _one_scheduler(rows, name, column, at, ax, 0.15 * (k - 1.5))
        if noisy and len(at) > len(noisy):
            ax.axvline(max(noisy) + 0.75, color="#BBBBBB", linewidth=0.8)
        charts.title(ax, text)
        ax.set_ylabel(label)
        low, high = ax.get_ylim()
        if column == "relative":
            ax.set_ylim(min(low, -5), max(high, 5))
        elif column == "jct_ratio":
            ax.set_ylim(min(low, 0.95), max(high, 1.05))
            ax.yaxis.set_major_formatter(lambda y, _: Formatter.fix_minus(f"{100 * (y - 1):+.3g}") if y != 1 else "0")
        else:
            ax.set_ylim(0 if column == "sharing_loss" else min(low, -0.05), max(high, 0.05))
            ax.yaxis.set_major_formatter(lambda value, _: Formatter.fix_minus(f"{100 * value:.3g}"))
    texts = [source.replace("gradient-boosting", "boosting") for source in at]
    for ax in axes:
        ax.set_xticks(list(at.values()), texts if ax in axes[2:] else [""] * len(at), rotation=35, ha="right")
    for ax, same in zip(axes[2:], (1, 0), strict=True):
        charts.named_line(ax, same, "as with true times", vertical=False)
        ax.set_xlabel("Noise (log scale from 50 % on)" + "; learned" * (len(at) > len(noisy)))
    cost = both.groupby(["scheduler", "source"])["loss_change"].mean() * 100
    name, source = map(str, cost.idxmax())  # type: ignore[call-overload]
    what = f"{look(name).label}, {source} noise" if source.endswith("%") else f"{look(name).label}, {source}"
    headline = f"Errors of estimates cost at most {cost.max():+.1f} points of sharing loss ({what})"
    return charts.legend(fig, headline=headline)


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
            for seed in rows[column] if len(rows) > 1 else ():
                ax.axhline(seed, color=here.color, linewidth=0.6, alpha=0.6, zorder=1.8, label="ASTRAEA, single runs")
            return
        means = mean_interval(rows, "source", column).assign(x=lambda d: d["source"].map(at))
        means = means.sort_values("x", kind="stable")
        is_noisy = means["source"].str.endswith("%")
        for part, line, label in ((means[is_noisy], here.line, here.label), (means[~is_noisy], "none", None)):
            ax.plot(part["x"] + shift, part["mean"], color=here.color, label=label, linestyle=line, linewidth=1.5,
                    marker=here.marker, markersize=5.5)  # fmt: skip
        if several_seeds(rows):
            seed_dots(ax, rows["source"].map(at) + shift, rows[column], here.color)
