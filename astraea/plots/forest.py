"""Every published value with ours beside it, on one axis."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from astraea.plots.style import OTHERS, REFERENCE, style

MARKS: Final = "Dos"
NEAR: Final = 1.1
"""Up to this factor a value counts as the published one."""

_TICKS: Final = (0.01, 0.03, 0.1, 0.3, 0.5, 1, 2, 3, 10, 30, 100, 1000)


def forest(frame: pd.DataFrame, ratio: str, by: str, mark: str, ax: Axes) -> Axes:
    """Draw ours over the published value, a `ratio` above 0: a row for each value of `by`, in the order of the table.

    Each value of the column `mark` has a mark and a colour; an empty one is black and not named.
    """
    rows = list(dict.fromkeys(frame[by]))
    kinds = sorted(set(frame[mark]) - {""})
    with style():
        ax.axvspan(1 / NEAR, NEAR, color="#DDDDDD", zorder=0)
        ax.axvline(1, **REFERENCE)
        for kind in ["", *kinds]:
            part = frame[frame[mark] == kind]
            k = kinds.index(kind) if kind else -1
            drawing: dict[str, Any] = {"marker": MARKS[k], "color": OTHERS[k] if kind else "#222222"}
            ax.plot(part[ratio], [rows.index(name) for name in part[by]], linestyle="none", markersize=4.5,
                    label=kind or None, **drawing)  # fmt: skip
        ax.set_xscale("log")
        low, high = float(frame[ratio].min()) / 1.2, float(frame[ratio].max()) * 1.2
        ax.set_xlim(low, high)
        ax.xaxis.set_major_locator(FixedLocator([tick for tick in _TICKS if low <= tick <= high]))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_yticks(np.arange(len(rows)), rows, fontsize=6.5)
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.set_xlabel("Ours over the published value")
        if kinds:
            ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(kinds))
    return ax
