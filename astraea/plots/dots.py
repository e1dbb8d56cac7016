"""Charts of dots: every seed is a small one, their mean a large one, and a published value an open diamond."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from astraea.plots.statistics import mean_interval
from astraea.plots.style import OTHERS, REFERENCE, log_ticks, look, name_axis, named, ordered, possible, style

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
    low, high = possible(value)
    low = low if frame[value].min() >= 0 else -math.inf  # a change can be either way
    return table.assign(**{c: table[c].clip(low, high).where(table["n"] >= ENOUGH) for c in ("low", "high")})


def error(row: Any) -> list[list[float]] | None:
    """Lengths of the two halves of an error bar from a row of `seed_means`, or None if there is none."""
    if not math.isfinite(row["high"]):
        return None
    return [[row["mean"] - row["low"]], [row["high"] - row["mean"]]]


def reading_of(frame: pd.DataFrame) -> str:
    """The one reading of an evaluation that a table has, or nothing: who knows more in it is named apart (`look`)."""
    readings = set(frame["reading"]) if "reading" in frame else set()
    return str(readings.pop()) if len(readings) == 1 else ""


def ranked(
    frame: pd.DataFrame,
    value: str,
    ax: Axes,
    *,
    published: Mapping[str, float] | None = None,
    names: Sequence[str] | None = None,
    log: bool = False,
    end: float = math.inf,
) -> list[str]:
    """One row per scheduler: its seeds as small dots, their mean as its mark, with the 95 % interval of enough seeds.

    Parameters
    ----------
    published : mapping of str to float, optional
        A paper's value of each scheduler that it gives one for, an open diamond.
    names : sequence of str, optional
        Order of the rows, from above; otherwise by the mean, the smallest above.
    end : float
        Where the axis ends: a mean beyond is written at the edge, with an arrow.

    Returns
    -------
    list of str
        The rows, from above.
    """
    means = seed_means(frame, ["scheduler"], value).set_index("scheduler").loc[ordered(frame["scheduler"])]
    rows = list(names) if names is not None else list(means["mean"].sort_values(kind="stable").index)
    beyond = means.index[means["mean"] > end]
    reading = reading_of(frame)
    row: Any
    with style():
        for k, name in enumerate(rows):
            here, row = look(name, k, reading), means.loc[name]
            if name in beyond:
                ax.annotate(_brief(value, row["mean"]), (1, k), (-7, 0), xycoords=("axes fraction", "data"),
                            textcoords="offset points", ha="right", va="center", fontsize=8, color=here.color)
                ax.plot(1, k, ">", transform=ax.get_yaxis_transform(), color=here.color, clip_on=False, markersize=7)
            else:
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
    return rows


def _brief(column: str, value: float) -> str:
    """A value as it stands at an axis, with three digits."""
    unit = named(column)[1]
    factor = {"s": 1 / 3600, "share": 100}.get(unit, 1)
    return f"{factor * value:,.3g}" if factor * value < 1000 else f"{factor * value:,.0f}"


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

    Small dots are the rows of the table (seeds), the large one is their mean. `columns` gives each column its heading
    and the factor to its unit; `groups` gives each class its group, which has a colour and stands in the legend, unless
    it is empty. The mean of the class `reference` is a line through the whole panel; without it the line is at 0. The
    columns in `log` have a logarithmic axis, unless a value is 0.
    """
    names = list(dict.fromkeys(frame[by]))
    kinds = list(dict.fromkeys(groups.values()))
    with style():
        for k, ((column, (heading, factor)), ax) in enumerate(zip(columns.items(), axes, strict=True)):
            shown = factor * frame[column]
            means = shown.groupby(frame[by]).mean()
            ax.axvline(0.0 if reference is None else means[reference], **REFERENCE, label=reference)
            for row, name in enumerate(names):
                values = shown[frame[by] == name]
                mark: dict[str, Any] = {"color": OTHERS[kinds.index(groups[name])], "linestyle": "none"}
                ax.plot(values, np.full(len(values), row), marker=".", markersize=4, alpha=0.6, zorder=3, **mark)
                ax.plot(means[name], row, marker="o", markersize=7, markeredgecolor="white", zorder=2,
                        label=groups[name] or None, **mark)  # fmt: skip
            ax.set_ylim(len(names) - 0.5, -0.5)
            ax.set_yticks(range(len(names)), names if k == 0 else [""] * len(names))
            ax.tick_params(axis="y", length=0)
            ax.margins(x=0.12)
            ax.set_xlabel(heading)
            if column in log and shown.min() > 0:
                ax.set_xscale("log")
                log_ticks(ax.xaxis)
