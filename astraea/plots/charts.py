"""Tidy table -> Axes, one function per kind of figure, and `save` for the picture with the table behind it.

Two steps keep picture and CSV the same thing: `ecdf`, `mean_interval` and `box_stats` reduce many jobs to the few
numbers that are drawn; `cdf`, `lines`, `bars` and `boxes` draw such a table. Nothing here simulates.

>>> points = ecdf(jobs, "rho_job", by="scheduler", at=[0.95])                                   # doctest: +SKIP
>>> fig, ax = panels()                                                                          # doctest: +SKIP
>>> cdf(points, "rho_job", by="scheduler", ax=ax, reference=(0.95, "0.95"))                     # doctest: +SKIP
>>> legend(fig); save(fig, "fig10", "venus", OUT, points)                                       # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from astraea.core.statistics import box_stats, ecdf, mean_interval
from astraea.plots.areas import gantt, heatmap, stacked_area, strips
from astraea.plots.dodged import dodged
from astraea.plots.files import save, save_table
from astraea.plots.lean import corners
from astraea.plots.style import (
    LOOKS,
    OTHERS,
    REFERENCE,
    Look,
    legend,
    look,
    mark_line,
    name_axis,
    name_ticks,
    named,
    ordered,
    panels,
    style,
    title,
)

__all__ = [
    "bars", "box_stats", "boxes", "cdf", "corners", "dodged", "dot_plot", "dots", "ecdf", "gantt", "heatmap", "legend",
    "lines", "look", "mark_line", "mean_interval", "ordered", "panels", "save", "save_table", "stacked", "stacked_area",
    "strips", "style", "timeseries", "title",
]  # fmt: skip


LINE_LEVEL: Final = 2.0
"""Of a line without width; a wider one is drawn below a thinner one, so that it hides none that it coincides with."""

ENOUGH: Final = 5
"""Rows (seeds) for an interval: Student's t of fewer is so wide that the rows themselves say more, as dots."""

HIGHEST: Final = {"jain": 1.0, "share": 1.0}
"""What no mean of a quantity can pass, by its column or unit; no interval of it does either."""


def cdf(
    points: pd.DataFrame,
    value: str,
    by: str,
    ax: Axes,
    *,
    log: bool = False,
    tail: bool = False,
    reference: tuple[float, str] | None = None,
) -> Axes:
    """Distribution functions from a table of `ecdf`; `reference` is a value to mark and its text.

    With `tail`, the share that lies *above* each value, on a logarithmic axis that ends where one value is left.
    """
    with style():
        if log:
            ax.set_xscale("log")
        for k, (name, part) in enumerate(_classes(points, by)):
            here = look(name, k, _reading(points))
            x, share = part[value].to_numpy(), part["share"].to_numpy()
            if tail:
                x, share = x[share < 1], 1 - share[share < 1]
            ax.step(x, share, where="post", **_line(here))
        if tail:
            ax.set_yscale("log")
            ax.set_ylim(0.8 * float((1 - points["share"]).where(points["share"] < 1).min()), 1)
        else:
            ax.set_ylim(0, 1)
        if reference is not None:
            mark_line(ax, *reference)
        name_axis(ax.xaxis, value, log=log)
        name_axis(ax.yaxis, "share")
    return ax


def lines(frame: pd.DataFrame, x: str, y: str, by: str, ax: Axes, *, even: bool = False, each: bool = False) -> Axes:
    """Mean of `y` over the rows (seeds) at each `x`, one line per class, with a band for the 95 % interval.

    Rows are dots instead where there are fewer than `ENOUGH`, or everywhere with `each`. With `even`, the values of `x`
    stand at equal distances.
    """
    table = _means(frame, [by, x], y).sort_values(x, kind="stable")
    values = sorted(frame[x].unique())
    with style():
        for k, (name, part) in enumerate(_classes(table, by)):
            here = look(name, k, _reading(frame))
            at = [values.index(v) for v in part[x]] if even else part[x]
            ax.plot(at, part["mean"], marker=here.marker, markersize=4, **_line(here))
            if each or (part["n"] < ENOUGH).all():
                rows = frame[(frame[by] == name) & frame[x].isin(part.loc[part["n"] > 1, x])]
                ax.plot([values.index(v) for v in rows[x]] if even else rows[x], rows[y], "o", color=here.color,
                        markersize=2.5, alpha=0.5, linewidth=0, zorder=1.5)  # fmt: skip
            else:
                ax.fill_between(at, part["low"], part["high"], color=here.color, alpha=0.18, linewidth=0)
        ax.set_ylim(bottom=0)
        name_axis(ax.yaxis, y)
        name_axis(ax.xaxis, x)
        if even:
            name_ticks(ax, x, values)
        elif len(values) <= 8:
            ax.set_xticks(values)
    return ax


def bars(frame: pd.DataFrame, x: str, y: str, ax: Axes) -> Axes:
    """Mean of `y` over the rows (seeds) for each `x`, with error bars for the 95 % interval, or few rows as dots."""
    names, table = _positions(frame, x, y)
    known = names[0] in LOOKS
    with style():
        for k, (name, mean, low, high) in enumerate(
            zip(names, table["mean"], table["low"], table["high"], strict=True)
        ):
            here = look(name if known else "astraea")
            ax.bar(k, mean, 0.72, color=here.color, hatch=here.hatch, edgecolor="white", linewidth=0)
            if np.isfinite(high):
                for color, width in (("white", 3.0), ("#222222", 0.9)):  # also on a dark bar
                    ax.errorbar(k, mean, [[mean - low], [high - mean]], color=color, capsize=2.5, elinewidth=width)
            elif len(rows := frame.loc[frame[x] == name, y].dropna()) > 1:
                ax.plot([k] * len(rows), rows, "o", markersize=3, color="#222222", markeredgecolor="white", linewidth=0)
        _name_positions(ax, x, y, names, _reading(frame))
    return ax


def dots(frame: pd.DataFrame, x: str, y: str, ax: Axes) -> Axes:
    """Every row (seed) as a small dot, their mean as a mark, with error bars for the 95 % interval; for each `x`."""
    names, table = _positions(frame, x, y)
    with style():
        for k, (name, mean, low, high) in enumerate(
            zip(names, table["mean"], table["low"], table["high"], strict=True)
        ):
            here, rows = look(name, k), frame.loc[frame[x] == name, y]
            ax.plot([k - 0.22] * len(rows), rows, "o", color=here.color, markersize=3, alpha=0.6, linewidth=0)
            reach = [[mean - low], [high - mean]] if np.isfinite(high) else None
            ax.errorbar(k, mean, reach, fmt=here.marker, color=here.color, markersize=6, capsize=3, elinewidth=1.2)
        ax.set_xlim(-0.6, len(names) - 0.4)
        _name_positions(ax, x, y, names, _reading(frame))
    return ax


def boxes(table: pd.DataFrame, value: str, by: str, ax: Axes, *, scheduler: str | None = None) -> Axes:
    """Boxes from a table of `box_stats`, one per class; whiskers reach from the 5 % to the 95 % quantile."""
    rows = [part.iloc[0] for _, part in _classes(table, by)]
    names = {"whislo": "low", "q1": "q1", "med": "median", "q3": "q3", "whishi": "high"}
    figures = [{k: float(row[c]) for k, c in names.items()} for row in rows]
    with style():
        drawn = ax.bxp(figures, positions=range(len(rows)), widths=0.62, showfliers=False, patch_artist=True,
                       medianprops={"color": "#111111", "linewidth": 1.4}, manage_ticks=False)  # fmt: skip
        for k, (box, row) in enumerate(zip(drawn["boxes"], rows, strict=True)):
            here = look(scheduler if scheduler is not None else row[by], k)
            box.set(facecolor=here.color, alpha=0.75, linewidth=0.6)
        for line in (*drawn["whiskers"], *drawn["caps"]):
            line.set(linewidth=0.8, color="#444444")
        _name_positions(ax, by, value, [row[by] for row in rows])
        ax.set_xlabel("")
        long = sum(len(str(row[by])) for row in rows) > 30
        ax.tick_params(axis="x", labelrotation=90 if long else 0)
    return ax


def timeseries(frame: pd.DataFrame, y: str, by: str, ax: Axes) -> Axes:
    """One stepped line per class over time [s]."""
    with style():
        for k, (name, part) in enumerate(_classes(frame, by)):
            ax.step(part["time"], part[y], where="post", **_line(look(name, k), 0.7))
        finite = frame.loc[np.isfinite(frame["time"]), "time"]
        if len(finite):
            ax.set_xlim(finite.min(), finite.max())
        ax.set_ylim(bottom=0)
        name_axis(ax.xaxis, "time")
        name_axis(ax.yaxis, y)
    return ax


def stacked(frame: pd.DataFrame, x: str, y: str, by: str, ax: Axes) -> Axes:
    """Bars of shares that add up: `y` for each `x`, split by a class; `x` in the order of the table."""
    table = frame.pivot_table(index=x, columns=by, values=y, aggfunc="sum", sort=False).fillna(0.0)
    bottom = np.zeros(len(table))
    with style():
        for k, name in enumerate(ordered(table.columns)):
            here = look(name, k)
            ax.bar(range(len(table)), table[name], 0.75, bottom, label=here.label, color=here.color, hatch=here.hatch,
                   edgecolor="white", linewidth=0.5)  # fmt: skip
            bottom += table[name].to_numpy()
        _name_positions(ax, x, y, list(table.index))
    return ax


def dot_plot(
    frame: pd.DataFrame,
    columns: Mapping[str, tuple[str, float]],
    by: str,
    axes: Sequence[Axes],
    *,
    groups: Mapping[str, str],
    reference: str | None = None,
    log: Sequence[str] = (),
) -> None:
    """Draw each class of `by` as a row, in the order of the table, and each of `columns` in a panel of its own.

    Small dots are the rows of the table (seeds), the large one is their mean.

    Parameters
    ----------
    columns : mapping of str to (str, float)
        Column -> its heading, and the factor to its unit.
    groups : mapping of str to str
        Class -> what the legend calls those of its colour; nothing if all are alike.
    reference : str, optional
        Class whose mean is drawn as a line through the whole panel, named in the legend; without it the line is at 0.
    log : sequence of str
        Columns with a logarithmic axis, unless a value is 0.
    """
    names = list(dict.fromkeys(frame[by]))
    kinds = list(dict.fromkeys(groups[name] for name in names))
    line = REFERENCE if reference is None else {**REFERENCE, "label": f"mean of {reference}"}
    with style():
        for k, ((column, (heading, factor)), ax) in enumerate(zip(columns.items(), axes, strict=True)):
            shown = factor * frame[column]
            means = shown.groupby(frame[by]).mean()
            ax.axvline(0.0 if reference is None else means[reference], **line)
            for row, name in enumerate(names):
                values = shown[frame[by] == name]
                mark: dict[str, Any] = {"color": OTHERS[kinds.index(groups[name])], "linestyle": "none"}
                ax.plot(values, np.full(len(values), row), marker=".", markersize=4, alpha=0.6, zorder=3, **mark)
                ax.plot(means[name], row, marker="o", markersize=7, markeredgecolor="white", zorder=2,
                        label=groups[name], **mark)  # fmt: skip
            ax.set_ylim(len(names) - 0.5, -0.5)
            ax.set_yticks(range(len(names)), names if k == 0 else [""] * len(names))
            ax.tick_params(axis="y", length=0)
            ax.margins(x=0.12)
            ax.set_xlabel(heading)
            if column in log and shown.min() > 0:
                ax.set_xscale("log")
                few = shown.max() < 100 * shown.min()
                ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
                ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
                ax.xaxis.set_minor_formatter(NullFormatter())


def _reading(frame: pd.DataFrame) -> str:
    """The one reading of an evaluation that a table has, or nothing: who knows more in it is named apart (`look`)."""
    readings = set(frame["reading"]) if "reading" in frame else set()
    return str(readings.pop()) if len(readings) == 1 else ""


def _classes(frame: pd.DataFrame, by: str) -> list[tuple[Any, pd.DataFrame]]:
    return [(name, frame[frame[by] == name]) for name in ordered(frame[by])]


def _line(here: Look, thin: float = 1.0) -> dict[str, Any]:
    """How a curve of this look is drawn."""
    width = thin * here.width
    return {"label": here.label, "color": here.color, "linestyle": here.line, "linewidth": width,
            "zorder": LINE_LEVEL - width / 100}  # fmt: skip


def _positions(frame: pd.DataFrame, x: str, y: str) -> tuple[list[Any], pd.DataFrame]:
    """Distinct values of `x` in the order in which they stand beside each other, and the means of `y` in this order."""
    table = _means(frame, [x], y)
    names = ordered(table[x]) if any(name in LOOKS for name in table[x]) else sorted(table[x])
    return names, table.set_index(x).loc[names]


def _name_positions(ax: Axes, x: str, y: str, names: list[Any], reading: str = "") -> None:
    """Name the classes that stand beside each other, and what is shown of them."""
    name_ticks(ax, x, names, reading)
    ax.tick_params(axis="x", length=0)
    ax.grid(visible=False, axis="x")
    name_axis(ax.yaxis, y)


def _means(frame: pd.DataFrame, by: list[str], value: str) -> pd.DataFrame:
    """Means, and intervals where there are rows enough, of what can be: no mean of shares is above 1."""
    table = mean_interval(frame, by, value)
    lowest = 0.0 if frame[value].min() >= 0 else -np.inf
    highest = HIGHEST.get(value, HIGHEST.get(named(value)[1], np.inf))
    return table.assign(**{c: table[c].where(table["n"] >= ENOUGH).clip(lowest, highest) for c in ("low", "high")})
