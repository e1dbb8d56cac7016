"""Pictures made of areas: who holds which GPUs when, and coloured cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.patches import Rectangle

from astraea.core.arrays import IntArray
from astraea.core.units import HOUR
from astraea.plots.style import OTHERS, look, name_axis, named, ordered, style, with_unit


def gantt(grants: pd.DataFrame, ax: Axes, *, gpus: int, rows: str = "gpu", by: str = "job_id") -> None:
    """Who holds which GPUs when: one box per lease, one colour per job, its name inside.

    `grants` are those of a `Result`; on which of the cluster's GPUs they lie, `gpu_rows` makes up. With `rows` "job",
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
    """Blocks of neighbouring GPUs that each lease may have held; which they were is not part of a result.

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


def heatmap(frame: pd.DataFrame, x: str, y: str, value: str, ax: Axes, *, is_part: bool = False) -> None:
    """One coloured cell for each `x` and `y`; the colour is neutral at 1, or, of a part of 1, dark at 0."""
    import seaborn as sns  # takes a second to import, and only this figure needs it

    table = frame.pivot_table(index=y, columns=x, values=value, sort=False)
    with style():
        colors = {"cmap": "YlGnBu_r", "vmax": 1.0} if is_part else {"cmap": "RdBu", "center": 1.0, "vmax": 2.0}
        sns.heatmap(table, ax=ax, vmin=0.0, linewidths=0.4, cbar_kws={"label": named(value)[0]}, **colors)
        ax.set_xlabel(named(x)[0])
        ax.set_ylabel(named(y)[0])
        ax.tick_params(length=0, labelrotation=0)


def strips(frame: pd.DataFrame, value: str, by: str, ax: Axes, *, log: bool = False, ticks: Sequence[float]) -> None:
    """One row of colours per class over time [s], light for small values; NaN and, with `log`, 0 are white.

    `ticks` are the values at the colour bar; its ends are their smallest and largest.
    """
    names = ordered(frame[by])
    table = frame.pivot_table(index=by, columns="time", values=value).loc[names]
    times = table.columns.to_numpy(dtype=float)
    edges = np.append(times, times[-1] + (times[-1] - times[-2] if len(times) > 1 else HOUR))
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
