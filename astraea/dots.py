"""Dot plots: one row per class, one panel per quantity, a dot per seed and a larger one for their mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from astraea.looks import OTHERS, name_axis, style


def dots(
    frame: pd.DataFrame,
    columns: Sequence[str],
    by: str,
    axes: Sequence[Axes],
    *,
    groups: Mapping[str, int],
    reference: str,
    log: Sequence[str] = (),
) -> None:
    """Draw each class of `by` as a row, in the order of the table, and each of `columns` in a panel of its own.

    Small dots are the rows of the table (seeds), the large one is their mean.

    Parameters
    ----------
    groups : mapping of str to int
        Class -> number of its colour.
    reference : str
        Class whose mean is drawn as a line through the whole panel.
    log : sequence of str
        Columns with a logarithmic axis.
    """
    names = list(dict.fromkeys(frame[by]))
    with style():
        for k, (column, ax) in enumerate(zip(columns, axes, strict=True)):
            if column in log:
                ax.set_xscale("log")
            means = frame.groupby(by)[column].mean()
            ax.axvline(means[reference], color="#444444", linewidth=0.8, linestyle=(0, (2, 2)), zorder=1)
            for row, name in enumerate(names):
                values = frame.loc[frame[by] == name, column]
                look: dict[str, Any] = {"color": OTHERS[groups[name]], "linestyle": "none"}
                ax.plot(values, np.full(len(values), row), marker=".", markersize=4, alpha=0.6, zorder=3, **look)
                ax.plot(means[name], row, marker="o", markersize=7, markeredgecolor="white", zorder=2, **look)
            ax.set_ylim(len(names) - 0.5, -0.5)
            ax.set_yticks(range(len(names)), names if k == 0 else [""] * len(names))
            ax.tick_params(axis="y", length=0)
            ax.margins(x=0.12)
            name_axis(ax.xaxis, column, log=column in log)
