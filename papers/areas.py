"""Pictures made of areas: the holders of GPUs over time, and coloured cells."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, SymLogNorm
from matplotlib.patches import Rectangle

from astraea.core.arrays import IntArray
from astraea.plots import OTHERS, style
from papers.charts.axes import name_axis, named


def gantt(grants: pd.DataFrame, ax: Axes, *, gpus: int, rows: str = "gpu", by: str = "job_id") -> None:
    """Draw the holders of GPUs over time: one box per lease, one colour per job, its name inside.

    `grants` are those of a `Result`; `gpu_rows` chooses the GPUs that they may have lain on. With `rows` "job",
    the vertical axis lists jobs; with `by` "tenant", jobs of a tenant have one colour.
    """
    table = gpu_rows(grants, gpus)
    jobs = list(dict.fromkeys(sorted(grants["job_id"])))
    classes, class_of = sorted(set(grants[by])), dict(zip(grants["job_id"], grants[by], strict=True))
    low, high = float(table["start"].min()), float(table["end"].max())
    with style():
        box: Any
        for box in table.itertuples():
            k = classes.index(class_of[box.job_id])
            bottom, tall = (box.first_gpu, box.gpus) if rows == "gpu" else (jobs.index(box.job_id) + 0.1, 0.8)
            ax.add_patch(Rectangle((box.start, bottom), box.end - box.start, tall, facecolor=OTHERS[k % len(OTHERS)],
                                   alpha=0.55, edgecolor="white", linewidth=1.2))  # fmt: skip
            if box.end - box.start > 0.03 * (high - low):
                text = str(box.job_id) if rows == "gpu" else f"{box.demand}"
                ax.text((box.start + box.end) / 2, bottom + tall / 2, text, ha="center", va="center", fontsize=8)
        count = gpus if rows == "gpu" else len(jobs)
        ax.set(xlim=(low, high), ylim=(0, count))
        ax.set_yticks(np.arange(count) + 0.5, [str(i + 1) for i in range(gpus)] if rows == "gpu" else jobs)
        ax.tick_params(axis="y", length=0)
        ax.grid(visible=False)
        name_axis(ax.xaxis, "time")
        ax.set_ylabel("GPU" if rows == "gpu" else "Job")


def gpu_rows(grants: pd.DataFrame, gpus: int) -> pd.DataFrame:
    """Return blocks of neighbouring GPUs that each lease may have held; a result does not say which they were.

    Renewed jobs keep their GPUs; the others get the lowest free ones, in one block if there is one. The table has one
    row per block, in order of time: job_id, demand, start, end [s], first_gpu, gpus.
    """
    free_at = np.zeros(gpus)
    held: dict[str, Any] = {}
    rows = []
    table = grants.assign(new=grants["kind"] != "renewal").sort_values(["start", "new"], kind="stable")
    lease: Any
    for lease in table.itertuples():
        if lease.new or lease.job_id not in held:
            free = np.flatnonzero(free_at <= lease.start + 1e-9)
            blocks = [b for b in _blocks(free) if len(b) >= lease.demand]
            held[lease.job_id] = (blocks[0] if blocks else free)[: lease.demand]
        free_at[held[lease.job_id]] = lease.end
        for block in _blocks(held[lease.job_id]):
            rows.append((lease.job_id, lease.demand, lease.start, lease.end, block[0], len(block)))
    return pd.DataFrame(rows, columns=["job_id", "demand", "start", "end", "first_gpu", "gpus"])


def _blocks(gpus: IntArray) -> list[IntArray]:
    """Runs of neighbours among GPUs in ascending order."""
    return np.split(gpus, np.flatnonzero(np.diff(gpus) > 1) + 1)


NEAR: Final = 0.01
"""Distance from 1 up to which the colours of `heatmap` are linear, and from which on it hatches what is below."""


def heatmap(frame: pd.DataFrame, x: str, y: str, value: str, ax: Axes, *, is_part: bool = False) -> None:
    """Draw one coloured cell for each `x` and `y`, grey where there is no value.

    Colours show the distance from 1 in percent, logarithmic beyond `NEAR`, red below and blue above. What is farther
    below is hatched, and red is darker than blue, so that both can be told apart in grey. Of a part of 1, the colour is
    dark at 0. Whole numbers along `x` have a column each, also those that do not occur, and at most ten labels.
    """
    import seaborn as sns  # takes a second to import, and only this figure needs it

    table = frame.pivot_table(index=y, columns=x, values=value, sort=False)
    every = 1
    if pd.api.types.is_integer_dtype(table.columns):
        table = table.reindex(columns=range(int(table.columns[0]), int(table.columns[-1]) + 1))
        every = next(n for n in (1, 2, 5, 10, 20, 50, 100) if len(table.columns) <= 10 * n or n == 100)
    with style():
        lines = 0.4 if len(table.columns) <= 40 else 0.0
        if is_part:
            sns.heatmap(table, ax=ax, linewidths=lines, cbar_kws={"label": named(value)[0]}, cmap="YlGnBu_r", vmin=0,
                        vmax=1)  # fmt: skip
        else:
            marks = (-100, -10, -1, 0, 1, 10, 100)
            bar = {"label": f"{named(value)[0]} minus 1 [%] (log scale)", "ticks": marks, "format": _with_sign}
            norm = SymLogNorm(100 * NEAR, vmin=-100, vmax=100)
            sns.heatmap(100 * (table - 1), ax=ax, linewidths=lines, cbar_kws=bar, cmap=_red_and_blue(), norm=norm)
            for row, column in np.argwhere(table.to_numpy(float) < 1 - NEAR):
                ax.add_patch(Rectangle((column, row), 1, 1, fill=False, hatch="////", linewidth=0, edgecolor="#888888"))
        labels = list(table.columns)[::every]
        ax.set_xticks([every * k + 0.5 for k in range(len(labels))], [f"{label}" for label in labels])
        ax.patch.set(facecolor="#D9D9D9", hatch="...", edgecolor="white", linewidth=0)
        ax.set_xlabel(named(x)[0])
        ax.set_ylabel(named(y)[0])
        ax.grid(visible=False)
        ax.tick_params(length=0, labelrotation=0)


def _red_and_blue() -> ListedColormap:
    """Colours from dark red over white to a blue of medium lightness."""
    return ListedColormap(colormaps["RdBu"](np.r_[np.linspace(0.0, 0.5, 128), np.linspace(0.5, 0.8, 128)]))


def _with_sign(percent: float, _: int | None = None) -> str:
    return f"{percent:+g}".replace("-", "\N{MINUS SIGN}") if percent else "0"
