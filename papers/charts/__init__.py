"""One function per kind of chart, from a tidy table to Axes, and `save` for the picture with its table.

`ecdf` reduces many jobs to the few numbers that are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from astraea.plots import Look, look, order, style
from papers.charts.axes import (
    announce_log,
    footnote,
    legend,
    mark_line,
    name_axis,
    name_ticks,
    name_values,
    named_line,
    panels,
    title,
    titles,
)
from papers.charts.dots import ENOUGH, PUBLISHED, by_scheduler, dodged, name_rows, seed_dots, seed_means, write_in_row
from papers.charts.files import save, save_table
from papers.charts.statistics import ecdf

__all__ = [
    "PUBLISHED", "by_scheduler", "cdf", "dodged", "ecdf", "footnote", "legend", "lines", "look", "mark_line",
    "name_rows", "name_values", "named_line", "order", "panels", "save", "save_table", "style", "timeseries", "title",
    "titles", "write_in_row",
]  # fmt: skip


LINE_LEVEL: Final = 2.0
"""Level of a line without width; a wider line is drawn below a thinner one, so that neither hides the other."""


def cdf(
    points: pd.DataFrame, value: str, by: str, ax: Axes, *, log: bool = False, tail: bool = False,
    reference: tuple[float, str] | None = None, bold: str = "",
) -> None:  # fmt: skip
    """Draw distribution functions from a table of `ecdf`; `reference` is a value to mark and its text.

    With `tail`, draw the share *above* each value, on a logarithmic axis that ends where one value is left. `bold` is
    as in `look`.
    """
    with style():
        if log:
            ax.set_xscale("log")
        for k, (name, part) in enumerate(_classes(points, by)):
            here = look(name, k, bold)
            x, share = part[value].to_numpy(), part["share"].to_numpy()
            if tail:
                x, share = x[share < 1], 1 - share[share < 1]
            ax.step(x, share, where="post", **_line(here))
        if tail:
            ax.set_yscale("log")
            ax.set_ylim(0.6 * float((1 - points["share"]).where(points["share"] < 1).min()), 1)
        else:
            ax.set_ylim(0, 1)
        if reference is not None:
            mark_line(ax, *reference)
        name_axis(ax.xaxis, value, log=log)
        name_axis(ax.yaxis, "share")


def lines(
    frame: pd.DataFrame, x: str, y: str, by: str, ax: Axes, *, even: bool = False, log: bool = False,
    each: bool = False, bold: str = "", among: Sequence[Any] = (),
) -> None:  # fmt: skip
    """Draw the mean of `y` over the rows (seeds) at each `x`, one line per class, with a band for the 95 % interval.

    Of fewer than `ENOUGH` seeds, or with `each`, every one is a small dot instead. With `even`, the values of `x` are
    at equal distances, with `log` on a logarithmic axis; `bold` is as in `look`. A class has the look of its place
    `among` all classes of a picture of several panels.
    """
    table = seed_means(frame, [by, x], y).sort_values(x, kind="stable")
    values = sorted(frame[x].unique())
    with style():
        if log:
            ax.set_xscale("log")
            ax.xaxis.set_minor_locator(NullLocator())
        for k, (name, part) in enumerate(_classes(table, by)):
            here = look(name, among.index(name) if among else k, bold)
            at = [values.index(v) for v in part[x]] if even else part[x]
            face = here.face or here.color
            ax.plot(at, part["mean"], marker=here.marker, markersize=4, markerfacecolor=face, **_line(here))
            if part["n"].min() >= ENOUGH and not each:
                ax.fill_between(at, part["low"], part["high"], color=here.color, alpha=0.18, linewidth=0)
            elif part["n"].max() > 1:
                rows = frame[frame[by] == name]
                at = [values.index(v) for v in rows[x]] if even else rows[x]
                seed_dots(ax, at, rows[y], here.color)
        ax.set_ylim(bottom=0)
        name_axis(ax.yaxis, y)
        name_axis(ax.xaxis, x)
        if log:
            announce_log(ax.xaxis)
        if even:
            name_ticks(ax, x, values)
        elif len(values) <= 8:
            ax.set_xticks(values)


def timeseries(frame: pd.DataFrame, y: str, by: str, ax: Axes) -> None:
    """Draw one stepped line per class over time [s]."""
    with style():
        for k, (name, part) in enumerate(_classes(frame, by)):
            ax.step(part["time"], part[y], where="post", **_line(look(name, k), 0.7))
        ax.set_xlim(frame["time"].min(), frame["time"].max())
        ax.set_ylim(bottom=0)
        name_axis(ax.xaxis, "time")
        name_axis(ax.yaxis, y)


def _classes(frame: pd.DataFrame, by: str) -> list[tuple[Any, pd.DataFrame]]:
    return [(name, frame[frame[by] == name]) for name in order(frame[by])]


def _line(here: Look, thin: float = 1.0) -> dict[str, Any]:
    width = thin * here.width
    return {"label": here.label, "color": here.color, "linestyle": here.line, "linewidth": width,
            "zorder": LINE_LEVEL - width / 100}  # fmt: skip
