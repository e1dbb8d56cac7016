"""Pictures of an audit."""

from __future__ import annotations

from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

from astraea.core.wording import SECONDS, unit_for
from astraea.plots import look, style

WIDTH: Final = 5.4
"""Width of a picture [inch]: text is legible on a telephone and not too large on a screen."""

GREY: Final = "#444444"
"""Colour of a line that marks a value."""

LONGEST: Final = 20
"""Most letters of a name that are shown."""


def load(table: pd.DataFrame, gpus: int, origin: pd.Timestamp | None = None) -> Figure:
    """Plot GPUs held and waited for over time; `table` is from `scenarios.over_time`, `origin` the date of second 0."""
    with style():
        fig, axes = plt.subplots(2, figsize=(WIDTH, 3.0))
    unit = unit_for(float(table["time"].max()))
    at: Any = table["time"].to_numpy() / SECONDS[unit]
    if origin is not None:
        at = (origin + pd.to_timedelta(table["time"], unit="s")).to_numpy()
    axes[0].fill_between(at, table["held"], step="post", color="#0072B2", linewidth=0)
    axes[0].set(ylim=(0, 1.05 * gpus), ylabel="GPUs in use")
    axes[0].axhline(gpus, color=GREY, linewidth=0.8, linestyle=(0, (2, 2)), zorder=1)
    axes[0].annotate(f"{gpus:,}", (1, gpus), (3, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
                     fontsize=7.5, color=GREY, va="center", annotation_clip=False)  # fmt: skip
    axes[0].tick_params(labelbottom=False)
    axes[1].fill_between(at, table["wanted"], step="post", color="#D55E00", linewidth=0)
    axes[1].set(ylim=(0, None), ylabel="GPUs waited for")
    for ax in axes:
        ax.set_xlim(at[0], at[-1])
        if origin is not None:
            ax.xaxis.set_major_locator(AutoDateLocator(minticks=3, maxticks=8))  # type: ignore[no-untyped-call]
    if origin is None:
        axes[1].set_xlabel(f"Time since the first submission [{unit}]")
    else:
        dates = ConciseDateFormatter(axes[1].xaxis.get_major_locator())  # type: ignore[no-untyped-call]
        axes[1].xaxis.set_major_formatter(dates)
    return fig


def fairness(table: pd.DataFrame, period: str) -> Figure:
    """Plot each tenant's GPU-time over what it was owed, by period; `table` is that of `scenarios.owed`."""
    parts = table[table["period"] > 0]
    tenants = sorted(parts["tenant"].unique())
    wide = parts.set_index(["period", "tenant"])["rho"].unstack(0).reindex(tenants)  # noqa: PD010
    with style():
        fig, ax = plt.subplots(figsize=(WIDTH, max(1.8, 0.2 * len(tenants) + 1.2)))
    shown = ax.imshow(np.log2(wide.clip(0.25, 4.0)), cmap="RdBu", vmin=-2, vmax=2, aspect="auto")
    ax.set_facecolor("#cccccc")
    with style():
        bar = fig.colorbar(shown, ax=ax, ticks=[-2, -1, 0, 1, 2], pad=0.01, location="top", aspect=40)
        bar.ax.set_xticklabels(["≤ 1/4", "1/2", "1", "2", "≥ 4"])
        bar.set_label("Got / owed")
    ax.set_yticks(range(len(tenants)), [_short(name) for name in tenants])
    every = -(-len(wide.columns) // 12)
    ax.set_xticks(range(0, len(wide.columns), every), [str(k) for k in wide.columns[::every]])
    ax.set_xlabel(period.capitalize())
    ax.grid(False)
    return fig


def waits(table: pd.DataFrame, by: str, replay: str) -> Figure:
    """Plot the average wait per class and scheduler (`scenarios.waits_by`); `replay` is the cluster's own."""
    classes, names = list(dict.fromkeys(table[by])), list(dict.fromkeys(table["scheduler"]))
    unit = unit_for(float(table["mean"].max()))
    length = SECONDS[unit]
    with style():
        fig, ax = plt.subplots(figsize=(WIDTH, max(1.6, 0.13 * len(classes) * len(names) + 1.0)))
    for k, name in enumerate(names):
        part = table[table["scheduler"] == name].set_index(by).reindex(classes)
        y = np.arange(len(classes)) + (k - (len(names) - 1) / 2) * 0.8 / len(names)
        here = look(name, k)
        color = "#222222" if k == 0 else here.color  # the first is the log itself
        label = f"{here.label}, replayed" if name == replay else here.label
        ax.hlines(y, part["low"] / length, part["high"] / length, color=color, linewidth=1)
        ax.plot(part["mean"] / length, y, here.marker, color=color, markersize=4, label=label)
    for line in range(1, len(classes)):
        ax.axhline(line - 0.5, color="#dddddd", linewidth=0.6)
    ax.set_yticks(range(len(classes)), [_short(name) for name in classes])
    ax.set(ylim=(len(classes) - 0.5, -0.5), xlim=(0, None), xlabel=f"Average wait [{unit}]")
    ax.set_ylabel("Tenant" if by == "tenant" else "GPUs of the gang")
    with style():
        fig.legend(loc="outside upper center", ncols=3)
    return fig


def _short(name: str) -> str:
    """Return a name that leaves room for the picture, without mathematics in it."""
    short = name if len(name) <= LONGEST else f"{name[: LONGEST - 9]}…{name[-8:]}"  # the end tells names apart
    return short.replace("$", r"\$")
