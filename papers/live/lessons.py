"""Pictures of notebooks 20 and 21: a job's wait, and the queues of two systems."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from astraea.plots import OTHERS, style
from astraea.traces.trace import Trace
from astraea_ops.audit.recorded import waits
from papers import charts
from papers.areas import gpu_rows
from papers.charts.axes import REFERENCE, name_axis
from papers.live.tables import Repetition
from papers.step_function import passed


def longest_wait(trace: Trace, runs: pd.DataFrame, gpus: int) -> Figure:
    """Draw who held the GPUs while the job waited that waited longest; runs as of `observed.recorded_runs`.

    Which of the GPUs a job held is made up; how many is not.
    """
    demand, tenants = (dict(zip(trace.job_id, trace.frame[name], strict=True)) for name in ("demand", "tenant"))
    every = waits(trace, runs)
    k = int((every["until"] - every["since"]).to_numpy().argmax())
    mine_id = every["job_id"].to_numpy()[k]
    begin, end = every[["since", "until"]].to_numpy(np.float64)[k].tolist()
    seen = runs[(runs["end"] > begin - 20) & (runs["start"] < end + 20)]
    rows = gpu_rows(seen.assign(kind="first", demand=seen["job_id"].map(demand)), gpus)
    names = sorted({tenants[job] for job in rows["job_id"]})
    fig, ax = charts.panels(width=7.0, height=2.9)
    with style():
        for k, name in enumerate(names):
            part = rows[rows["job_id"].map(tenants) == name]
            ax.bar(part["start"], part["gpus"], part["end"] - part["start"], part["first_gpu"], align="edge",
                   color=OTHERS[k], alpha=0.6, edgecolor="white", linewidth=0.8, label=name)  # fmt: skip
        mine = rows[rows["job_id"] == mine_id]
        ax.bar(mine["start"], mine["gpus"], mine["end"] - mine["start"], mine["first_gpu"], align="edge",
               color="none", edgecolor="black", linewidth=1.8, label=f"job {mine_id}")  # fmt: skip
        for at in (begin, end):
            ax.axvline(at, **REFERENCE)
        ax.set(xlim=(begin - 10, end + 15), ylim=(0, gpus))
        name_axis(ax.xaxis, "time")
        ax.set_ylabel("GPUs in use")
    started = int(((runs["start"] > begin) & (runs["start"] < end)).sum())
    charts.title(ax, f"Job {mine_id} of {tenants[mine_id]} waits between the lines; {started} other jobs start")
    return charts.legend(fig)


def queues(repetitions: Sequence[Repetition]) -> Figure:
    """Draw how many jobs ran and waited over time, a panel for each system of one repetition.

    The area over time, divided by the number of jobs, is the average JCT.
    """
    runs = {one.system: one.runs.dropna(subset=["start", "stop"]) for one in repetitions}
    end = max(float(table["stop"].max()) for table in runs.values())
    at, most = np.linspace(0, end, 600), 0.0
    fig, axes = charts.panels(columns=len(runs), width=3.5, height=2.5)
    for ax, (system, table) in zip(axes, runs.items(), strict=True):
        jobs = table.groupby("job").agg(submit=("submit", "first"), end=("stop", "max"))
        there = passed(jobs["submit"], at) - passed(jobs["end"], at)
        running = passed(table["start"], at) - passed(table["stop"], at)
        most = max(most, float(there.max()))
        with style():
            ax.fill_between(at, 0, running, step="post", color="#56B4E9", linewidth=0, label="running")
            ax.fill_between(at, running, there, step="post", color="#444444", linewidth=0, label="waiting")
        jct = (jobs["end"] - jobs["submit"]).mean()
        name = {"slurm": "Plain Slurm", "astraea": "ASTRAEA on Slurm"}[system]
        charts.title(ax, f"{name}: average JCT {jct:.0f} s")
    for ax in axes:
        ax.set(ylim=(0, 1.05 * most), xlim=(0, end), xlabel="Time [s]")
    axes[0].set_ylabel("Jobs that are not done")
    return charts.legend(fig)
