"""Schedules as pictures: who holds which GPUs when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from astraea.core.arrays import IntArray
from astraea.plots.axes import name_axis
from astraea.plots.style import OTHERS, style


def gantt(
    grants: pd.DataFrame, ax: Axes, *, gpus: int, rows: str = "gpu", labels: Mapping[str, str] | None = None
) -> Axes:
    """Who holds which GPUs when: one box per lease, one colour per job, its name inside.

    Parameters
    ----------
    grants : DataFrame, columns job_id, demand, start, end, kind
        As `Result.grants`; on which GPUs, `gpu_rows` makes up.
    gpus : int
        GPUs of the cluster [GPU].
    rows : {"gpu", "job"}
        What the vertical axis lists.
    labels : mapping, optional
        Another name for each job.
    """
    table = gpu_rows(grants, gpus)
    jobs = list(dict.fromkeys(sorted(grants["job_id"])))
    low, high = float(table["start"].min()), float(table["end"].max())
    with style():
        box: Any
        for box in table.itertuples():
            k = jobs.index(box.job_id)
            bottom, tall = (box.first_gpu, box.gpus) if rows == "gpu" else (k + 0.1, 0.8)
            ax.add_patch(Rectangle((box.start, bottom), box.end - box.start, tall, facecolor=OTHERS[k % len(OTHERS)],
                                   alpha=0.55, edgecolor="white", linewidth=1.2))  # fmt: skip
            if box.end - box.start > 0.03 * (high - low):
                text = (labels or {}).get(box.job_id, str(box.job_id)) if rows == "gpu" else f"{box.demand}"
                ax.text((box.start + box.end) / 2, bottom + tall / 2, text, ha="center", va="center", fontsize=8)
        count = gpus if rows == "gpu" else len(jobs)
        ax.set(xlim=(low, high), ylim=(0, count))
        ax.set_yticks(np.arange(count) + 0.5, [str(i + 1) for i in range(gpus)] if rows == "gpu" else
                      [(labels or {}).get(j, str(j)) for j in jobs])  # fmt: skip
        ax.tick_params(axis="y", length=0)
        ax.grid(visible=False)
        name_axis(ax.xaxis, "time")
        ax.set_ylabel("GPU" if rows == "gpu" else "Job")
    return ax


def gpu_rows(grants: pd.DataFrame, gpus: int) -> pd.DataFrame:
    """Blocks of neighbouring GPUs that each lease may have held; which they were is not part of a result.

    Renewed jobs keep their GPUs; the others get the lowest free ones, in one block if there is one.

    Returns
    -------
    DataFrame, columns job_id, demand, start, end [s], first_gpu, gpus
        One row per block, in order of time.
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
