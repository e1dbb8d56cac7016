"""Pictures that only notebooks draw: one job's running time, the ladder at a glance, a wait, two queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from astraea.core.units import DAY, HOUR, MINUTE
from astraea.core.wording import duration_text
from astraea.estimation.estimates import HIGH, LOW, Estimates
from astraea.plots import OTHERS, look, style
from astraea.traces.trace import Trace
from astraea_ops.audit.recorded import waits
from papers import charts
from papers.areas import gpu_rows
from papers.charts.axes import REFERENCE, name_axis
from papers.live.tables import Repetition
from papers.step_function import passed
from papers.ye2022.accuracy import survival

SERVICES: Final = {duration_text(had) if had else "0 s": had
                   for had in (0.0, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY)}  # fmt: skip
"""Service so far [s] of the job whose rest is drawn, by name."""

STATIONS: Final = {
    "as printed": "from the papers", "early leases": "+ the program's\nfour rules",
    "rest of the program": "ASTRAEA as\nin the program", "rivals inside": "rivals inside\nits choice",
    "counted in whole rounds": "the authors'\nprogram",
}  # fmt: skip
"""Rungs of the ladder that a slope passes, and what a picture calls them."""


def what_is_left(one: Estimates, had: float) -> tuple[float, float, float]:
    """Return the 10 %, 50 % and 90 % quantile of what a job still needs [s] after `had` seconds of service.

    `one` is the estimate of one job. The job needs more than x with probability S(x) / S(had).
    """
    more = float(survival(one, had)[0])
    low, median, high = (float(one.quantile(1 - (1 - p) * more)[0]) - had for p in (LOW, 0.5, HIGH))
    return max(low, 0.0), max(median, 0.0), high


def left_in_words(one: Estimates, had: float) -> str:
    """Say what `what_is_left` returns."""
    low, median, high = (duration_text(_rounded(value)) for value in what_is_left(one, had))
    return f"median {median} more; eight jobs in ten need {low} to {high} more"


def _rounded(seconds: float) -> float:
    """Round a time to one digit of the unit that a reader would use [s]."""
    unit = next((unit for unit in (DAY, HOUR, MINUTE) if seconds >= 2 * unit), 1.0)
    return unit * round(seconds / unit)


def left_picture(one: Estimates, had: float) -> Figure:
    """Draw the chance that a job which has had so much service [s] needs more than x in all, with its 80 % band."""
    x = np.geomspace(1.0, 60 * DAY, 400)
    with np.errstate(invalid="ignore"):
        chance = np.where(x >= had, survival(one, x) / survival(one, had), 1.0)
    low, _, high = (had + value for value in what_is_left(one, had))
    fig, ax = charts.panels(width=6.4, height=2.6)
    with style():
        ax.plot(x, survival(one, x), color="#8C8C8C", linewidth=1.2, linestyle="--", label="a job that comes now")
        ax.plot(x, chance, color="#0072B2", linewidth=2.2, label="this job")
        inside = (x >= low) & (x <= high)
        ax.fill_between(x[inside], 0, chance[inside], color="#56B4E9", alpha=0.4, linewidth=0, label="80 % band")
        if had:
            ax.axvspan(1.0, had, color="#EEEEEE", zorder=0, label="service so far")
        ax.set(xscale="log", xlim=(1.0, 60 * DAY), ylim=(0, 1.02))
        name_axis(ax.xaxis, "time", log=True)
        name_axis(ax.yaxis, "share")
        ax.set(xlabel="Service in all", ylabel="Chance to need more [%]")
    charts.title(ax, f"After {duration_text(had) if had else '0 s'}: {left_in_words(one, had)}")
    return charts.legend(fig)


def slopes(ladder: pd.DataFrame, rival: str = "tiresias-l") -> Figure:
    """Draw the sharing loss of ASTRAEA and one rival on the rungs `STATIONS`; rows as of `ladder.ladder_grid`."""
    means = 100 * ladder.pivot_table(index="rung", columns="scheduler", values="sharing_loss").loc[list(STATIONS)]
    fig, ax = charts.panels(width=6.4, height=2.7)
    with style():
        above = (means["astraea"] >= means[rival]).to_numpy()
        for name, is_up in (("astraea", above), (rival, ~above)):
            here, value = look(name), means[name].to_numpy()
            ax.plot(range(len(value)), value, color=here.color, marker=here.marker, linewidth=2.2, label=here.label)
            for k, (y, up) in enumerate(zip(value, is_up, strict=True)):
                ax.annotate(f"{y:.1f}", (k, y), (0, 7 if up else -7), textcoords="offset points", ha="center",
                            va="bottom" if up else "top", fontsize=8, color=here.color)  # fmt: skip
        ax.set_xticks(range(len(STATIONS)), list(STATIONS.values()), fontsize=8)
        ax.set(xlim=(-0.3, len(STATIONS) - 0.7), ylim=(0, 1.2 * means[["astraea", rival]].to_numpy().max()))
        ax.set_ylabel("Jobs with sharing loss [%]")
    change = means.iloc[-1] - means.iloc[0]
    charts.title(ax, f"From the papers to the program: ASTRAEA {change['astraea']:+.1f} points, "
                     f"{look(rival).label} {change[rival]:+.1f}")  # fmt: skip
    return charts.legend(fig)


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
