"""Pairs of schedules as Gantt charts: how a small workload reverses an ordering."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from astraea.core.units import MINUTE
from astraea.plots import look, style
from papers.areas import gantt
from papers.charts.axes import WIDTH, legend

ROW: Final = 1.5
"""Height of a pair in a picture [inch]."""


class Pair(NamedTuple):
    """Two schedules of one workload, each with its title, and what is to be said of them."""

    titles: Sequence[str]
    grants: Sequence[pd.DataFrame]  # as those of a `Result`
    gpus: int
    text: str | Callable[[Axes], None]  # or what draws it


def wrapped(text: str, width: int) -> str:
    """Wrap a text, but not at a hyphen, and write the names of schedulers in it as pictures do."""
    lines = "\n".join(textwrap.wrap(text, width, break_on_hyphens=False))
    return lines.replace("Gandiva_fair", look("gandiva-fair").label)


def pairs(
    some: Sequence[Pair], headline: str, *, by: str, step: float, unit: float = MINUTE, name: str = "min",
    width: float = 1.0,
) -> Figure:  # fmt: skip
    """Draw pairs as Gantt charts one below the other, with their texts.

    `by` is what a colour stands for, `width` that of the texts over that of a chart. Ticks of time are at multiples of
    `step` [s], in units of `unit` [s], by its `name`.
    """
    with style():
        fig, axes = plt.subplots(len(some), 3, figsize=(WIDTH, ROW * len(some) + 0.5), squeeze=False,
                                 width_ratios=(1, 1, width))  # fmt: skip
        for k, pair in enumerate(some):
            end = max(float(grants["end"].max()) for grants in pair.grants)
            for ax, title, grants in zip(axes[k], pair.titles, pair.grants, strict=False):
                gantt(grants, ax, gpus=pair.gpus, by=by)
                ticks = np.arange(0, end + 1, max(1, round(end / step / 5)) * step)
                ax.set_xlim(0, end)
                ax.set_xticks(ticks, [f"{t / unit:g}" for t in ticks])
                ax.tick_params(labelsize=7, pad=1.5)
                ax.set_title(title, fontsize=8)
                ax.set_xlabel(f"Time [{name}]" if k == len(some) - 1 else "", fontsize=8)
            axes[k, 0].set_ylabel("GPU", fontsize=8)
            axes[k, 1].set_ylabel("")
            axes[k, 2].axis("off")
            if isinstance(pair.text, str):
                axes[k, 2].text(0, 1, wrapped(pair.text, 38), fontsize=7.5, va="top")
            else:
                pair.text(axes[k, 2])
    return legend(fig, headline=headline, axes=[])
