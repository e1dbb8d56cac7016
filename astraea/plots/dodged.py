"""Classes beside each other at every place of an axis: a dot for each row, a mark for the mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from astraea.plots.style import look, name_axis, name_ticks, ordered, style


def dodged(frame: pd.DataFrame, x: str, y: str, by: str, ax: Axes, *, each: bool = True) -> Axes:
    """Draw `y` at each `x`, the classes of `by` side by side; without `each`, means alone.

    Places are in the order of the table. So nothing is hidden where classes agree.
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
    return ax
