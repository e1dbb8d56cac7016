"""Bands over time: what each job has, stacked, in one hue per entity."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from astraea.plots.axes import name_axis
from astraea.plots.style import style

HUES: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
"""Of the entities, in order; their jobs become lighter one after another."""

LIGHTER: Final = 0.12
"""How much further towards white each job is than the one before, for six jobs."""


def stacked_area(frame: pd.DataFrame, ax: Axes) -> Axes:
    """Stack the shares of jobs over time, jobs in order, each value holding until the next time step.

    The columns of `frame` are job, entity, timestep, share; a job that is not there has no row.
    """
    wide = frame.pivot_table(index="timestep", columns="job", values="share").fillna(0.0)
    entity = frame.groupby("job")["entity"].first()
    at = wide.index.to_numpy(dtype=float)
    step = at[-1] - at[-2] if len(at) > 1 else 1.0
    edges = np.append(at, at[-1] + step)
    values = np.vstack([wide.to_numpy(), wide.to_numpy()[-1]]).T
    turn = entity.groupby(entity).cumcount()
    with style():
        ax.stackplot(
            edges, values, step="post", edgecolor="white", linewidth=0.3,
            colors=[shade(int(entity[m]), int(turn[m])) for m in wide.columns],
        )  # fmt: skip
        for e in sorted(entity.unique()):  # for the legend
            ax.plot([], [], "s", color=shade(e, 0), label=f"entity {e}")
        ax.set_xlim(edges[0], edges[-1])
        ax.set_ylim(0, float(values.sum(axis=0).max()))
        ax.grid(visible=False)
        name_axis(ax.xaxis, "timestep")
        name_axis(ax.yaxis, "share")
    return ax


def shade(entity: int, turn: int) -> tuple[float, float, float]:
    """Colour of an entity's job."""
    red, green, blue = to_rgb(HUES[entity % len(HUES)])
    part = LIGHTER * (turn % 6)
    return (red + part * (1 - red), green + part * (1 - green), blue + part * (1 - blue))
