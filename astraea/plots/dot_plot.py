"""Dot plots: one row per class, one panel per quantity, a dot per seed and a larger one for their mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from astraea.plots.style import OTHERS, REFERENCE, style


def dot_plot(
    frame: pd.DataFrame,
    columns: Mapping[str, tuple[str, float]],
    by: str,
    axes: Sequence[Axes],
    *,
    groups: Mapping[str, int],
    reference: str | None = None,
    log: Sequence[str] = (),
) -> None:
    """Draw each class of `by` as a row, in the order of the table, and each of `columns` in a panel of its own.

    Small dots are the rows of the table (seeds), the large one is their mean.

    Parameters
    ----------
    columns : mapping of str to (str, float)
        Column -> its heading, and the factor to its unit.
    groups : mapping of str to int
        Class -> number of its colour.
    reference : str, optional
        Class whose mean is drawn as a line through the whole panel; without it the line is at 0.
    log : sequence of str
        Columns with a logarithmic axis, unless a value is 0.
    """
    names = list(dict.fromkeys(frame[by]))
    with style():
        for k, ((column, (heading, factor)), ax) in enumerate(zip(columns.items(), axes, strict=True)):
            shown = factor * frame[column]
            means = shown.groupby(frame[by]).mean()
            ax.axvline(0.0 if reference is None else means[reference], **REFERENCE)
            for row, name in enumerate(names):
                values = shown[frame[by] == name]
                look: dict[str, Any] = {"color": OTHERS[groups[name]], "linestyle": "none"}
                ax.plot(values, np.full(len(values), row), marker=".", markersize=4, alpha=0.6, zorder=3, **look)
                ax.plot(means[name], row, marker="o", markersize=7, markeredgecolor="white", zorder=2, **look)
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
