"""Pictures that only notebooks draw: an entry of T that changes, a queue near the knee, GPU-time held and effective."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from astraea.core.arrays import FloatArray
from astraea.core.units import DAY, HOUR
from astraea.plots import look, style
from papers import charts
from papers.gavel.generators import continuous
from papers.gavel.policies import get_policy
from papers.gavel.problem import Problem
from papers.gavel.simulate import simulate
from papers.gavel.study.pictures import TYPES
from papers.gavel.study.policies import answer, effective, moment, three_jobs
from papers.gavel.throughputs.table import Throughputs
from papers.step_function import passed

JOB: Final = 2
"""The job of §4.1 whose speed on the V100 is changed; it is 2 in the paper."""

FASTER: Final = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0)
"""Speeds of that job on the V100; on the K80 it is 1."""

COLORS: Final = [color for color, _ in TYPES[::2]]
"""Those of the V100 and the K80."""

QUEUE_RATES: Final = {"below the knee of LAS": 0.3, "beyond it": 0.43}
"""Jobs an hour on 3 GPUs of each type, by what they are to LAS."""


def with_speed(speed: float) -> Problem:
    """Return the example of §4.1 with another speed of `JOB` on the V100."""
    return moment([[4.0, 1.0], [3.0, 1.0], [speed, 1.0]], [1, 1], types=three_jobs().types)


def speed_in_words(speed: float) -> str:
    """Say what LAS het. gives each job of the example."""
    given = answer("las-het", with_speed(speed)).alone
    parts = (f"job {m} has {100 * x[0]:.0f} % of its time on the V100 and {100 * x[1]:.0f} % on the K80"
             for m, x in enumerate(given))  # fmt: skip
    return "; ".join(parts)


def speed_picture(speed: float) -> Figure:
    """Draw T with one entry changed, X under LAS het., and what each job gains over 1/n of every GPU."""
    problem = with_speed(speed)
    given = answer("las-het", problem)
    gain = 100 * (effective(problem, given) / effective(problem, answer("isolated", problem)) - 1)
    fig, (left, middle, right) = charts.panels(columns=3, width=2.3, height=2.0)
    with style():
        left.imshow(problem.throughput, cmap="Blues", vmin=0, vmax=8, aspect="auto")
        for (m, j), value in np.ndenumerate(problem.throughput):
            left.text(j, m, f"{value:g}", ha="center", va="center", fontsize=11,
                      fontweight="bold" if (m, j) == (JOB, 0) else "normal")  # fmt: skip
        left.set_xticks((0, 1), ("V100", "K80"))
        left.set_yticks(range(3), [f"job {m}" for m in range(3)])
        start = np.zeros(3)
        for j, name in enumerate(("V100", "K80")):
            middle.barh(range(3), 100 * given.alone[:, j], left=start, color=COLORS[j], height=0.7, label=name)
            start = start + 100 * given.alone[:, j]
        middle.set(xlim=(0, 102), ylim=(2.5, -0.5), xlabel="Time [%]")
        right.barh(range(3), np.maximum(gain, 0), color="#009E73", height=0.7)
        right.set(xlim=(0, 20), ylim=(2.5, -0.5), xlabel="Gain [%]")
        for ax in (middle, right):
            ax.set_yticks(range(3), [""] * 3)
        left.grid(visible=False)
    charts.titles((left, middle, right), "T: speeds", "X: where it runs", "gain over 1/n")
    return charts.legend(fig)


def queue_table(throughputs: Throughputs, jobs: int = 900, workers: int = 3) -> pd.DataFrame:
    """Simulate LAS and LAS het. on the same jobs at each of `QUEUE_RATES`, one GPU each.

    Columns load, policy, submit_time, end_time [s], of the jobs that arrived; `workers` GPUs of each type.
    """
    parts = []
    for load, rate in QUEUE_RATES.items():
        drawn = continuous(jobs, rate, throughputs, multiple=False, seed=0)
        for policy in ("las", "las-het"):
            done = simulate(drawn, throughputs, (workers,) * 3, get_policy(policy)).jobs
            parts.append(done[["submit_time", "end_time"]].assign(load=load, policy=policy))
    return pd.concat(parts, ignore_index=True)


def queue_picture(table: pd.DataFrame) -> Figure:
    """Draw the jobs in the cluster over time, and the ratio of average JCTs of the jobs that have come so far."""
    loads = list(dict.fromkeys(table["load"]))
    fig, axes = charts.panels(columns=len(loads), rows=2, width=3.5, height=1.9)
    for k, load in enumerate(loads):
        rows = table[table["load"] == load]
        last = rows["submit_time"].max()
        at = np.linspace(0, last, 400)
        jct = {}
        for policy, part in rows.groupby("policy"):
            here = look(policy)
            part = part.sort_values("submit_time")
            there = passed(part["submit_time"], at) - passed(part["end_time"], at)
            axes[k].plot(at / DAY, there, color=here.color, linewidth=1.6, label=here.label)
            jct[policy] = (part["end_time"] - part["submit_time"]).expanding().mean().to_numpy() / HOUR
        came = np.sort(rows.loc[rows["policy"] == "las", "submit_time"].to_numpy()) / DAY
        axes[k + len(loads)].plot(came, jct["las"] / jct["las-het"], color="#222222", linewidth=1.6)
        charts.title(axes[k], load[0].upper() + load[1:])
    for pair, text in ((axes[: len(loads)], "Jobs in the cluster"), (axes[len(loads) :], "JCT, LAS / LAS het.")):
        top = max(ax.get_ylim()[1] for ax in pair)
        for ax in pair:
            ax.set(ylim=(0, top), xlim=(0, None))
        pair[0].set_ylabel(text)
    for ax in axes[len(loads) :]:
        ax.set_xlabel("Time [d]")
    return charts.legend(fig)


def two_jobs() -> Problem:
    """Two jobs, one V100 and one K80: the first is four times as fast on the V100, the second twice."""
    return moment([[4.0, 1.0], [2.0, 1.0]], [1, 1], types=("v100", "k80"))


def held_and_effective() -> pd.DataFrame:
    """GPU-time of the two jobs of `two_jobs` in an hour [GPU-h], as held and effective, under three allocations.

    Effective GPU-time is work over the job's mean speed on the GPUs of the cluster.
    """
    problem = two_jobs()
    mean = problem.throughput @ (problem.workers / problem.workers.sum())
    ways: dict[str, FloatArray] = {
        "job 0 keeps the V100": np.eye(2),
        "both take turns": answer("isolated", problem).alone,
        "job 0 on the V100 alone": np.array([[0.625, 0.0], [0.375, 0.625]]),
    }
    rows = []
    for way, given in ways.items():
        work = (given * problem.throughput).sum(axis=1)
        rows += [(way, f"job {m}", given[m, 0], given[m, 1], given[m].sum(), work[m] / mean[m]) for m in range(2)]
    return pd.DataFrame(rows, columns=["allocation", "job", "V100", "K80", "held", "effective"])


def held_picture(table: pd.DataFrame) -> Figure:
    """Draw `held_and_effective`: held GPU-time as the types that it was on, effective GPU-time beside it."""
    fig, (left, right) = charts.panels(columns=2, width=3.5, height=2.3)
    y = np.arange(len(table)) + np.array([k // 2 for k in range(len(table))]) * 0.6
    with style():
        left.barh(y, table["V100"], color=COLORS[0], height=0.8, label="on the V100")
        left.barh(y, table["K80"], left=table["V100"], color=COLORS[1], height=0.8, label="on the K80")
        right.barh(y, table["effective"], color="#009E73", height=0.8)
        for ax in (left, right):
            ax.axvline(1.0, color="#444444", linewidth=0.8, linestyle=(0, (2, 2)))
            ax.set(xlim=(0, 1.7), ylim=(y[-1] + 0.7, -0.7), xlabel="GPU-hours in an hour")
        texts = [f"{row.allocation}: {row.job}" for row in table.itertuples()]
        left.set_yticks(y, texts, fontsize=8)
        right.set_yticks(y, [""] * len(y))
    charts.titles((left, right), "GPU-time as held", "Effective GPU-time")
    return charts.legend(fig)
