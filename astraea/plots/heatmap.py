"""Coloured cells: one value for each column and row, where so many lines would hide each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize

from astraea.plots.axes import SECONDS, name_axis, named, with_unit
from astraea.plots.style import look, ordered, style


def heatmap(frame: pd.DataFrame, x: str, y: str, value: str, ax: Axes) -> Axes:
    """One coloured cell for each `x` and `y`; the colour is neutral at 1."""
    import seaborn as sns  # takes a second to import, and only this figure needs it

    table = frame.pivot_table(index=y, columns=x, values=value, sort=False)
    with style():
        sns.heatmap(table, ax=ax, cmap="RdBu", center=1.0, vmin=0.0, vmax=2.0, linewidths=0.4,
                    cbar_kws={"label": named(value)[0]})  # fmt: skip
        ax.set_xlabel(named(x)[0])
        ax.set_ylabel(named(y)[0])
        ax.tick_params(length=0, labelrotation=0)
    return ax


def strips(frame: pd.DataFrame, value: str, by: str, ax: Axes, *, log: bool = False, ticks: Sequence[float]) -> Axes:
    """One row of colours per class over time [s], light for small values; NaN and, with `log`, 0 are white.

    `ticks` are the values at the colour bar; its ends are their smallest and largest.
    """
    names = ordered(frame[by])
    table = frame.pivot_table(index=by, columns="time", values=value).loc[names]
    times = table.columns.to_numpy(dtype=float)
    edges = np.append(times, times[-1] + (times[-1] - times[-2] if len(times) > 1 else SECONDS["h"]))
    cells = np.ma.masked_invalid(table.where(table > 0).to_numpy() if log else table.to_numpy())
    scale = LogNorm if log else Normalize
    with style():
        ax.grid(visible=False)
        mesh = ax.pcolormesh(edges, np.arange(len(names) + 1), cells, cmap="YlOrRd" if log else "YlGnBu",
                             norm=scale(min(ticks), max(ticks)), rasterized=True)  # fmt: skip
        ax.hlines(range(1, len(names)), edges[0], edges[-1], color="white", linewidth=1.5)
        ax.set_yticks(np.arange(len(names)) + 0.5, [look(name).label for name in names])
        ax.invert_yaxis()
        ax.tick_params(axis="y", length=0)
        name_axis(ax.xaxis, "time")
        word, unit = named(value)
        texts = [f"{100 * t:g}" if unit == "share" else f"{t:g}" for t in ticks]
        bar = ax.figure.colorbar(mesh, ax=ax, location="top", aspect=40, pad=0.02)
        bar.set_ticks(list(ticks), labels=texts)
        bar.ax.minorticks_off()
        bar.set_label(with_unit(word, "%" if unit == "share" else unit))
    return ax
