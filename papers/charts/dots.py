"""Charts of dots: every seed is a small one, their mean is a mark, and a published value an open diamond."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from astraea.core.intervals import mean_interval
from astraea.core.wording import SECONDS, duration_text
from astraea.plots import look, order, style
from papers.charts.axes import BEHIND, announce_cut, name_axis, name_ticks, named

ENOUGH: Final = 5
"""Least number of seeds for an interval of their mean; fewer are drawn themselves."""

SEED: Final[dict[str, Any]] = {"marker": "o", "markersize": 2.5, "linestyle": "none", "alpha": 0.6, "zorder": 3}
"""Style of a seed."""

BELOW: Final = 0.24
"""Distance of the seeds of a row below its mean [rows]."""

SINGLE: Final = "single runs"
"""Name of seeds in a legend."""

BEYOND: Final[dict[str, Any]] = {
    "marker": r"$\rightarrow$", "markersize": 9, "linestyle": "none", "label": "beyond the axis",
}  # fmt: skip
"""Style of the arrow beside a value that is beyond the end of its axis."""

PUBLISHED: Final[dict[str, Any]] = {
    "marker": "D", "markersize": 6, "linestyle": "none", "markerfacecolor": "none", "markeredgecolor": "#111111",
    "markeredgewidth": 1.2, "zorder": 5, "label": "published value",
}  # fmt: skip
"""Style of a value that a paper prints, and of nothing else."""


def seed_dots(ax: Axes, x: Any, y: Any, color: str, **style: Any) -> None:
    """Draw seeds, or other runs of one kind, as small dots that the legend names once."""
    ax.plot(x, y, color=color, **SEED | style)
    if SINGLE not in ax.get_legend_handles_labels()[1]:
        ax.plot([], [], color="#555555", label=SINGLE, **SEED)


def seed_means(frame: pd.DataFrame, by: list[str], value: str) -> pd.DataFrame:
    """Return means over seeds with their intervals, clipped to possible values; NaN below `ENOUGH` seeds."""
    table = mean_interval(frame, by, value)
    low = 0.0 if frame[value].min() >= 0 else -math.inf  # a change can be either way
    high = 1.0 if named(value)[1] == "share" or value == "jain" else math.inf
    return table.assign(**{c: table[c].clip(low, high).where(table["n"] >= ENOUGH) for c in ("low", "high")})


def by_scheduler(
    frame: pd.DataFrame, value: str, ax: Axes, *, published: Mapping[str, float] | None = None,
    names: Sequence[str] | None = None, log: bool = False, end: float = math.inf,
) -> list[str]:  # fmt: skip
    """Draw one row per scheduler: the mean of its seeds as its mark and, of several, each seed as a small dot below.

    `published` gives a paper's values, open diamonds; `names` is the order of the rows from above, otherwise that of
    all figures. A mean beyond the `end` of the axis, or else a seed, is written there, with an arrow. Returns the rows,
    from above.
    """
    rows = list(names) if names is not None else order(frame["scheduler"])
    values = {name: frame.loc[frame["scheduler"] == name, value].dropna() for name in rows}
    beyond = [name for name in rows if values[name].mean() > end]
    with style():
        for k, name in enumerate(rows):
            here, seeds = look(name, k), values[name]
            if not len(seeds):
                why = "not defined" if name in set(frame["scheduler"]) else "not run"
                write_in_row(ax, k, why, (published or {}).get(name))
            if name in beyond or not len(seeds):
                continue
            if len(seeds) > 1:
                near = seeds[seeds <= end]
                seed_dots(ax, near, np.full(len(near), k + BELOW), here.color)
            ax.plot(seeds.mean(), k, here.marker, color=here.color, markersize=6, clip_on=False)
        known = {name: x for name, x in (published or {}).items() if name in rows}
        if known:
            ax.plot(list(known.values()), [rows.index(name) for name in known], **PUBLISHED)
        low, high = ax.get_xlim()
        if not log and 0 < low < 0.6 * high:
            ax.set_xlim(left=0)
        if math.isfinite(end):
            ax.set_xlim(right=end)
        name_rows(ax, [look(name).label for name in rows])
        if log:
            ax.set_xscale("log")
        name_axis(ax.xaxis, value, log=log)
        if not log:
            announce_cut(ax.xaxis)
        for k, name in enumerate(rows):
            if name in beyond:
                _write_at_edge(ax, k, values[name].mean(), value, look(name, k).color)
                continue
            for seed in values[name][values[name] > end]:
                _write_at_edge(ax, k + BELOW, seed, value, look(name, k).color, of_mean=False)
    return rows


def write_in_row(ax: Axes, at: float, text: str, published: float | None = None) -> None:
    """Write why a row of a chart has no mark, so that it cannot be taken for a value; behind a `published` one."""
    x, gap, of = (0.03, 0, "axes fraction") if published is None else (published, 7, "data")
    ax.annotate(text, (x, at), (gap, 0), xycoords=(of, "data"), textcoords="offset points", va="center", fontsize=7,
                style="italic", color="#666666")  # fmt: skip


def name_rows(ax: Axes, labels: Sequence[str]) -> None:
    """Label the rows 0, 1, 2, ... of a chart from above."""
    ax.set_yticks(range(len(labels)), list(labels))
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)


def _write_at_edge(ax: Axes, at: float, value: float, column: str, color: str, *, of_mean: bool = True) -> None:
    """Write a value of this column that is beyond the end of the axis at that end, with an arrow.

    That of a seed is smaller than that of a mean.
    """
    text, size = _with_unit(value, column, ax), 8 if of_mean else 6.5
    ax.annotate(text, (1, at), (-9, 0), xycoords=("axes fraction", "data"), textcoords="offset points", ha="right",
                va="center", fontsize=size, bbox=BEHIND)  # fmt: skip
    ax.plot(1, at, transform=ax.get_yaxis_transform(), color=color, clip_on=False, **BEYOND | {"label": None})
    if BEYOND["label"] not in ax.get_legend_handles_labels()[1]:
        ax.plot([], [], color="#555555", **BEYOND)


def _with_unit(value: float, column: str, ax: Axes) -> str:
    """Return a value of a column as text, in the unit of the horizontal axis."""
    kind, found = named(column)[1], re.search(r"\[([^ \]]+)\]", ax.get_xlabel())
    if kind == "s" and found is None:  # on a logarithmic axis, where each tick has its own
        return duration_text(value)
    unit = found[1] if found else ""
    shown = value / SECONDS[unit] if kind in ("s", "h") else 100 * value if kind == "share" else value
    digits = f"{shown:.2f}" if shown < 10 else f"{shown:.3g}" if shown < 1000 else f"{shown:,.0f}"
    return f"{digits} {unit}".rstrip()


def dodged(frame: pd.DataFrame, x: str, y: str, by: str, ax: Axes, *, each: bool = True) -> None:
    """Draw `y` at each `x`, places in the order of the table, the classes of `by` side by side so that none is hidden.

    A small dot is a row of the table, the mark their mean; without `each`, means alone. One row has no dot of its own.
    """
    places, classes = list(dict.fromkeys(frame[x])), order(frame[by])
    step = 0.64 / max(1, len(classes))
    with style():
        for k, name in enumerate(classes):
            here, rows = look(name, k), frame[frame[by] == name]
            mark: dict[str, Any] = {"color": here.color, "linestyle": "none"}
            shift = step * (k - (len(classes) - 1) / 2)
            if each and rows.groupby(x)[y].size().max() > 1:
                at = np.array([places.index(value) for value in rows[x]]) + shift
                seed_dots(ax, at, rows[y], here.color, zorder=1.9)  # behind their mean
            means = rows.groupby(x, sort=False)[y].mean()
            at = np.array([places.index(value) for value in means.index]) + shift
            ax.plot(at, means, marker=here.marker, markersize=5.5, label=here.label, markeredgecolor="white",
                    markeredgewidth=0.5, **mark)  # fmt: skip
        for edge in range(1, len(places)):
            ax.axvline(edge - 0.5, color="#DDDDDD", linewidth=0.6, zorder=0)
        ax.set_xlim(-0.5, len(places) - 0.5)
        ax.grid(visible=False, axis="x")
        ax.tick_params(axis="x", length=0)
        name_ticks(ax, x, places)
        name_axis(ax.yaxis, y)
