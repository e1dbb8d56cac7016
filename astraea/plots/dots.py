"""Charts of dots: every seed is a small one, their mean is a mark, and a published value an open diamond."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from astraea.plots.statistics import mean_interval
from astraea.plots.style import look, name_axis, name_ticks, named, ordered, style

ENOUGH: Final = 5
"""Seeds from which on an interval of their mean is drawn; fewer are drawn themselves."""

SEED: Final[dict[str, Any]] = {"marker": "o", "markersize": 2.5, "linestyle": "none", "alpha": 0.6, "zorder": 3}
"""How a seed is drawn."""

PUBLISHED: Final[dict[str, Any]] = {
    "marker": "D", "markersize": 6, "linestyle": "none", "markerfacecolor": "none", "markeredgecolor": "#111111",
    "markeredgewidth": 1.2, "zorder": 5, "label": "published value",
}  # fmt: skip
"""How a value of a paper is drawn."""


def seed_means(frame: pd.DataFrame, by: list[str], value: str) -> pd.DataFrame:
    """Means over seeds, with the intervals that are worth drawing (`ENOUGH`), inside what can be; others are NaN."""
    table = mean_interval(frame, by, value)
    low = 0.0 if frame[value].min() >= 0 else -math.inf  # a change can be either way
    high = 1.0 if named(value)[1] == "share" or value == "jain" else math.inf
    return table.assign(**{c: table[c].clip(low, high).where(table["n"] >= ENOUGH) for c in ("low", "high")})


def error(row: Any) -> list[list[float]] | None:
    """Lengths of the two halves of an error bar from a row of `seed_means`, or None if there is none."""
    return [[row["mean"] - row["low"]], [row["high"] - row["mean"]]] if math.isfinite(row["high"]) else None


def reading_of(frame: pd.DataFrame) -> str:
    """The one reading of an evaluation that a table has, or nothing: who knows more in it is named apart (`look`)."""
    readings = set(frame["reading"]) if "reading" in frame else set()
    return str(readings.pop()) if len(readings) == 1 else ""


def ranked(
    frame: pd.DataFrame, value: str, ax: Axes, *, published: Mapping[str, float] | None = None,
    names: Sequence[str] | None = None, log: bool = False, end: float = math.inf,
) -> list[str]:  # fmt: skip
    """One row per scheduler: its seeds as small dots, their mean as its mark, with the 95 % interval of enough seeds.

    `published` gives a paper's values, open diamonds; `names` is the order of the rows from above, otherwise that of
    their means, the smallest first. A mean beyond the `end` of the axis is written there, with an arrow. Returns the
    rows, from above.
    """
    means = seed_means(frame, ["scheduler"], value).set_index("scheduler").loc[ordered(frame["scheduler"])]
    rows = list(names) if names is not None else list(means["mean"].sort_values(kind="stable").index)
    beyond = means.index[means["mean"] > end]
    reading = reading_of(frame)
    row: Any
    with style():
        for k, name in enumerate(rows):
            here, row = look(name, k, reading), means.loc[name]
            if name not in beyond:
                seeds = frame.loc[frame["scheduler"] == name, value]
                ax.plot(seeds, np.full(len(seeds), k + 0.24), color=here.color, **SEED)
                ax.errorbar(row["mean"], k, xerr=error(row), fmt=here.marker, color=here.color, markersize=6,
                            capsize=2.5, elinewidth=1.2)
        known = {name: x for name, x in (published or {}).items() if name in rows}
        if known:
            ax.plot(list(known.values()), [rows.index(name) for name in known], **PUBLISHED)
        if math.isfinite(end):
            ax.set_xlim(right=end)
        ax.set_yticks(range(len(rows)), [look(name, reading=reading).label for name in rows])
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        if log:
            ax.set_xscale("log")
        name_axis(ax.xaxis, value, log=log)
        for name in beyond:
            _write_at_edge(ax, rows.index(name), means.loc[name, "mean"], look(name).color)
    return rows


def _write_at_edge(ax: Axes, at: int, value: float, color: str) -> None:
    """Write a value that is beyond the end of the axis at that end, in the axis' own unit, with an arrow."""
    shown = float(ax.xaxis.get_major_formatter().format_ticks([value])[0])
    unit = re.search(r"\[(.+)\]", ax.get_xlabel())
    text = (f"{shown:,.3g}" if shown < 1000 else f"{shown:,.0f}") + (f" {unit[1]}" if unit else "")
    ax.annotate(text, (1, at), (-7, 0), xycoords=("axes fraction", "data"), textcoords="offset points", ha="right",
                va="center", fontsize=8, color=color)  # fmt: skip
    ax.plot(1, at, ">", transform=ax.get_yaxis_transform(), color=color, clip_on=False, markersize=7)


def dodged(frame: pd.DataFrame, x: str, y: str, by: str, ax: Axes, *, each: bool = True) -> None:
    """Draw `y` at each `x`, places in the order of the table, the classes of `by` side by side so that none is hidden.

    A small dot is a row of the table, the mark their mean; without `each`, means alone.
    """
    places, classes = list(dict.fromkeys(frame[x])), ordered(frame[by])
    step = 0.64 / max(1, len(classes))
    with style():
        for k, name in enumerate(classes):
            here, rows = look(name, k), frame[frame[by] == name]
            mark: dict[str, Any] = {"color": here.color, "linestyle": "none"}
            shift = step * (k - (len(classes) - 1) / 2)
            if each:
                at = np.array([places.index(value) for value in rows[x]]) + shift
                ax.plot(at, rows[y], marker="o", markersize=2.5, alpha=0.5, **mark)
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
