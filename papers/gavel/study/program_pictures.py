"""Pictures of the programs: speeds, examples, time to solve, two levels, rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from astraea.plots import LOOKS, look, style
from papers import charts
from papers.charts import PUBLISHED
from papers.charts.axes import BEHIND, name_axis
from papers.gavel.study.gains import room
from papers.gavel.study.pictures import TYPES, one_seed
from papers.gavel.study.policies import WEIGHTS_OF_FOUR

HUES: Final = ("#004488", "#BB5566", "#DDAA33", "#6699CC", "#997700", "#666666")
"""Colours of the entities, in order; their jobs become lighter one after another. No scheduler has them."""

LIGHTER: Final = 0.12
"""Step towards white from one job to the next, for six jobs."""


def speeds(ratios: pd.DataFrame, types: Sequence[str]) -> Figure:
    """Draw the speed of each job type on each accelerator type, and what a dollar buys there (`tables.speeds`)."""
    fig, axes = charts.panels(columns=2, width=4.6, height=5.2)
    row = np.arange(len(ratios))[::-1]
    for ax, suffix, text, said in (
        (axes[0], "", "Speed / a V100's", "(a) speed"),
        (axes[1], " per $", "Steps for a dollar [% of the best type's]", "(b) what a dollar buys"),
    ):
        for name, (color, marker) in zip(types, TYPES, strict=True):
            ax.plot(ratios[name + suffix], row, marker, color=color, markersize=4.5, label=name.upper())
        ax.set_ylim(-0.7, len(ratios) - 0.3)
        ax.set_xlabel(text)
        charts.title(ax, said)
        ax.set_yticks(row, ratios.index if ax is axes[0] else [""] * len(ratios), fontsize=7.5)
    axes[0].set_xscale("log")
    charts.name_values(axes[0], [0.1, 0.2, 0.5, 1, 2])
    axes[1].set_xlim(0, 1.05)
    axes[1].xaxis.set_major_formatter(PercentFormatter(1, symbol=""))
    fastest, cheapest = (ratios[[f"{name}{of}" for name in types]].idxmax(axis=1) for of in ("", " per $"))
    of = f"{(fastest == 'v100').sum()} of {len(ratios)} job types"
    headline = f"A V100 is fastest for {of}, and cheapest for {(cheapest == 'v100 per $').sum()}"
    return charts.legend(fig, headline=headline)


def examples(gains: pd.DataFrame, printed: Sequence[float], table: pd.DataFrame) -> Figure:
    """The worked examples of §4.1 and §4.3.

    `gains` and `table` are as of `policies.three_jobs_table` and `worked_examples`; `printed` are the jobs' effective
    throughputs under the allocation that the paper prints [steps/s].
    """
    fig, axes = charts.panels(columns=2, width=3.5, height=2.6)
    jobs, here = np.arange(len(gains)), LOOKS["las-het"]
    bars = (("steps/s with 1/n", "isolated", "#BBBBBB"), ("steps/s", here.label, here.color))
    for k, (column, label, color) in enumerate(bars):
        axes[0].bar(jobs + 0.38 * k - 0.19, gains[column], 0.36, color=color, label=label)
    axes[0].plot(jobs + 0.19, printed, **PUBLISHED)
    axes[0].set_xticks(jobs, [f"job {m}" for m in jobs])
    axes[0].set_ylabel("Throughput [steps/s]")
    axes[0].set_ylim(0, 1.55 * gains["steps/s"].max())
    water = table[table["quantity"] == "water filling"]
    level = water.pivot_table(index="job", columns="where", values="value")
    first = level["first step"]
    axes[1].bar(level.index, first, 0.6, color="#0072B2", label="after the first step")
    axes[1].bar(level.index, level["in the end"] - first, 0.6, first, color="#56B4E9", label="added afterwards")
    axes[1].plot(water["job"], water["paper"], **PUBLISHED)
    axes[1].set_xticks(level.index, [f"job {m}\nweight {w:g}" for m, w in enumerate(WEIGHTS_OF_FOUR)])
    axes[1].set_ylabel("GPUs")
    axes[1].set_ylim(0, 2)  # the legend is above the marks
    axes[1].set_yticks([0, 0.5, 1])
    charts.titles(axes, "§4.1: three jobs, a V100 and a K80", "§4.3: water filling on four GPUs")
    for ax in axes:
        ax.legend(loc="upper right", fontsize=7.5)
        ax.grid(visible=False, axis="x")
    same = (water["value"].round(2) == water["paper"]).sum()
    more = table.loc[table["quantity"] == "gain over isolated"].iloc[0]
    least = f"each job gets at least {more['value']:.0f} % more with LAS het. (paper\u00a0{more['paper']:g})"
    headline = f"In the example, {least}; in water filling, {same} of {len(water)} values are as printed"
    return charts.legend(fig, headline=headline, axes=[])


def solve_times(table: pd.DataFrame, paper: float) -> Figure:
    """Fig 12: a table of `policies.solve_times`, and the paper's limit [s]."""
    fig, ax = charts.panels(width=5.6, height=3.2)
    for (policy, variables), part in table.groupby(["policy", "variables"], sort=False):
        here, by_class = look(policy), variables == "a class"
        ax.plot(part["jobs"], part["seconds"], here.marker, color=here.color, linestyle=here.line if by_class else ":",
                linewidth=here.width, markersize=5, markerfacecolor=here.color if by_class else "white",
                label=here.label if by_class else None)  # fmt: skip
    mark: dict[str, Any] = {"color": "#666666", "marker": "s", "markersize": 5}
    ax.plot([], [], linestyle="-", label="full: a variable for each class of like jobs", **mark)
    ax.plot([], [], linestyle=":", markerfacecolor="white", label="open: one for each job, as in the paper", **mark)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_ylim(10 ** np.floor(np.log10(table["seconds"].min())), 5 * paper)
    ax.axhline(paper, color="#444444", linewidth=0.8, linestyle=(0, (2, 2)))
    ax.annotate(f"paper: below {paper:g} s for 2,048 jobs (hierarchical) and 512 (SS)", (0.02, paper), (0, -9),
                ("axes fraction", "data"), "offset points", fontsize=7.5)  # fmt: skip
    charts.name_values(ax, sorted(table["jobs"].unique()))
    ax.set(xlabel="Active jobs", ylabel="Time of one solve [s]")
    return charts.legend(fig, columns=2, headline=f"Every solve takes at most {table['seconds'].max():.2g} s")


def stacked_area(frame: pd.DataFrame, ax: Axes) -> None:
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
            colors=[_shade(int(entity[m]), int(turn[m])) for m in wide.columns],
        )  # fmt: skip
        tops = np.cumsum(values[:, -1])
        for e in sorted(entity.unique()):
            ax.plot([], [], "s", color=_shade(e, 0), label=f"entity {e}")
            mine = tops[(entity[wide.columns] == e).to_numpy()]  # its number, for grey print
            below = max((top for top in tops if top < mine.min()), default=0.0)
            ax.text(edges[-1] - 0.03 * np.ptp(edges), (below + mine.max()) / 2, f"{e}", ha="right", va="center",
                    bbox=BEHIND, fontsize=8)  # fmt: skip
            edge = np.cumsum(values, axis=0)[np.flatnonzero(entity[wide.columns] == e)[-1]]
            ax.step(edges, edge, where="post", color="#111111", linewidth=1.6)
        ax.set_xlim(edges[0], edges[-1])
        ax.set_ylim(0, float(values.sum(axis=0).max()))
        ax.grid(visible=False)
        name_axis(ax.xaxis, "timestep")
        name_axis(ax.yaxis, "share")


def _shade(entity: int, turn: int) -> tuple[float, float, float]:
    """Colour of an entity's job."""
    red, green, blue = to_rgb(HUES[entity % len(HUES)])
    part = LIGHTER * (turn % 6)
    return (red + part * (1 - red), green + part * (1 - green), blue + part * (1 - blue))


def hierarchies(frame: pd.DataFrame, policies: Sequence[str], lost: float | None = None) -> Figure:
    """Figs 11 and 21: parts of the total throughput as jobs are added, and the total.

    `frame` is as of `policies.hierarchy`, of which seed 0 is drawn; `policies` are the static partition, and the policy
    that knows the types. The partition does `lost` less than the other, as published [%].
    """
    first = frame[frame["seed"] == 0]
    fig, axes = charts.panels(columns=3, width=3.6, height=5.0)
    for ax, policy, letter in zip(axes, policies, "ab", strict=False):
        stacked_area(first[first["policy"] == policy], ax)
        ax.set_ylabel("Part of the total [%]" if letter == "a" else "")
        charts.title(ax, f"({letter}) {look(policy).label}".replace(", ", ",\n"))
    totals = first.drop_duplicates(["policy", "timestep"])
    for policy in policies:
        here, mine = look(policy), totals[totals["policy"] == policy]
        axes[2].step(mine["timestep"], mine["total"], where="post", color=here.color, linestyle=here.line,
                     linewidth=here.width, label=here.label)  # fmt: skip
    if lost is not None:
        best = totals[totals["policy"] == policies[1]]
        paper = (1 - lost / 100) * float(best["total"].iloc[-1])
        axes[2].plot(best["timestep"].iloc[-1], paper, **PUBLISHED | {"label": f"paper's ratio: {lost:g} % lower"})
    axes[2].set_ylim(0, 1.05 * totals["total"].max())
    axes[2].set_xlabel("Timestep")
    axes[2].set_ylabel("Effective throughput")
    charts.title(axes[2], "(c) sum over jobs")
    ends = frame[frame["timestep"] == frame["timestep"].max()].drop_duplicates(["policy", "seed"])
    static, whole = (float(ends.loc[ends["policy"] == policy, "total"].mean()) for policy in policies)
    less = f"A static partition ({look(policies[0]).label}) does {100 * (1 - static / whole):.0f} % less work"
    note = ""
    if (many := len(set(frame["seed"]))) > 1:
        note = f" The first of {many} seeds; the title has the mean."
    charts.footnote(fig, f"Each shade is a job; thick lines part entities.{note}")
    return charts.legend(fig, columns=3, headline=less + (f" (paper {lost:g} %)" if lost is not None else ""))


def rounds(named: pd.DataFrame) -> Figure:
    """Fig 13a: a table of `tables.against_short_rounds`."""
    fig, axes = charts.panels(columns=2, width=3.5, height=2.6)
    named = named.assign(more=named["change"])
    for ax, column in zip(axes, ("average_jct", "more"), strict=True):
        charts.lines(named, "jobs_per_hour", column, by="round", ax=ax)
    room(axes[0])
    charts.titles(axes, "(a) over load", "(b) against rounds of 6 min")
    low, high = named["change"].min(), named["change"].max()
    reach = 1.2 * max(1.0, named["change"].abs().max())
    axes[1].set_ylim(-reach, reach)
    axes[1].set_ylabel("Change [%]")
    one_seed(fig, named)
    change = f"{low:+.0f} to {high:+.0f} %".replace("-", "\N{MINUS SIGN}")
    return charts.legend(fig, headline=f"Longer rounds change average JCT by {change}")
