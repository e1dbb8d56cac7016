"""Who uses how much of the cluster, and until when ([Wang2023] Fig 13), and who runs when in small markets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from astraea.plots import charts
from astraea.plots.charts import PUBLISHED
from astraea.plots.style import REFERENCE, look, ordered, style
from papers.market.model import SLOT, Plan
from papers.market.readings import HERE, READINGS
from papers.market.study import falsifier
from papers.market.study.pictures import OURS
from papers.market.study.runs import planner
from papers.schedules import Pair, pairs


def makespans(used: pd.DataFrame, ax: Axes, paper: Mapping[str, float]) -> None:
    """Ticks below the curves at the last hour with any use: thin ones of trials, a thick one with the mean's value.

    `paper` is scheduler -> Astraea's makespan over its, as published: diamonds in Astraea's row, in its colour.
    """
    last = used[used["utilization"] > 0].groupby(["scheduler", "trial"])["hour"].max()
    with style():
        edge = ax.get_xlim()[1]
        for k, name in enumerate(ordered(last.index.get_level_values("scheduler"))):
            here, hours, y = look(name), last[name], -8 - 9 * k
            there = hours[hours <= edge]
            ax.plot(there, [y] * len(there), "|", color=here.color, markersize=5, markeredgewidth=0.8)
            if is_there := hours.mean() <= edge:
                ax.plot(hours.mean(), y, "|", color=here.color, markersize=9, markeredgewidth=2.2)
            right = hours.max() < 0.7 * edge  # where there is room for the text
            at = hours.max() if right else hours.min() if is_there else edge
            ax.annotate(f"{hours.mean():,.0f} h{'' if is_there else ' →'}", (at, y), (5 if right else -5, 0),
                        textcoords="offset points", fontsize=7, ha="left" if right else "right", va="center",
                        color=here.color)  # fmt: skip
            for other, ratio in paper.items() if name == OURS else ():
                mark = {"markeredgecolor": look(other).color, "markersize": 5, "label": None}
                ax.plot(ratio * float(last[other].mean()), y, **PUBLISHED | mark)
        if paper:
            ax.plot([], [], **PUBLISHED | {"label": "paper: Astraea's end, from theirs"})


def utilization(used: pd.DataFrame, paper: Mapping[str, float]) -> Figure:
    """Fig 13: workers in use in every hour, and makespans below the curves (`makespans`)."""
    fig, axes = charts.panels(columns=2, width=3.5, height=3.2)
    last = int(used.loc[(used["reading"] == HERE) & (used["scheduler"] != "batch-sche"), "hour"].max())
    for ax, reading in zip(axes, READINGS, strict=True):
        part = used[used["reading"] == reading]
        for scheduler in ordered(part["scheduler"]):
            here = look(scheduler)
            mine = part[(part["scheduler"] == scheduler) & (part["hour"] <= last)]
            wide = 100 * mine.pivot_table(index="hour", columns="trial", values="utilization")
            ax.step(wide.index, wide, where="post", color=here.color, linewidth=0.4, alpha=0.45)
            ax.step(wide.index, wide.mean(axis=1), where="post", color=here.color, linestyle=here.line,
                    label=here.label)  # fmt: skip
        ax.set_xlim(0, last)
        ax.set(xlabel="Hour", ylabel="Workers in use [%]", ylim=(-34, 103), yticks=range(0, 101, 20))
        charts.title(ax, reading)
        makespans(part[part["scheduler"] != "batch-sche"], ax, paper if reading == HERE else {})
        ax.axhline(100, **REFERENCE)
    axes[1].annotate("paper: Astraea and Gandiva reach 100 %", (0.98, 100), (0, -9), ("axes fraction", "data"),
                     "offset points", ha="right", fontsize=7.5)  # fmt: skip
    charts.legend(fig, columns=3)
    return fig


def reversals(found: pd.DataFrame) -> Figure:
    """Draw the smallest market of each ordering of `falsifier.falsifier_grid` that is reversed, coloured by tenant."""
    some = []
    row: Any
    for row in found.dropna(subset="instance").itertuples():
        m, is_optimum = falsifier.instance_of(row), row.rival == falsifier.OPTIMUM
        rival = falsifier.best_plan(m) if is_optimum else planner(m.market, row.rival)(m.market)
        assert rival is not None  # `missed` is NaN without an optimum
        plans = [planner(m.market, OURS)(m.market), rival]
        names = (look(OURS).label, "the optimum" if is_optimum else look(row.rival).label)
        revenues = [f"revenue {plan.revenues.sum():g}" for plan in plans]
        values = revenues if is_optimum else [f"variance {x:.3g}" for x in (row.ours, row.other)]
        titles = [f"{name}: {value}" for name, value in zip(names, values, strict=True)]
        text = f"{m.text}. The ordering is reversed in {row.behind} of {row.instances} random markets."
        some.append(Pair(titles, [_leases(plan) for plan in plans], int(m.market.workers.sum()), text))
    return pairs(some, by="tenant", step=SLOT, unit=SLOT, name="slot")


def _leases(plan: Plan) -> pd.DataFrame:
    """A row for each job that runs, as those of the grants of a `Result`."""
    jobs = plan.market.jobs
    rows = [(jobs.job_id[s.job], jobs.tenant[s.job], s.workers.sum(), SLOT * s.start, SLOT * s.end)
            for s in plan.schedules]  # fmt: skip
    return pd.DataFrame(rows, columns=["job_id", "tenant", "demand", "start", "end"]).assign(kind="start")
