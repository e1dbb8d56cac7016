"""Pictures of the notebooks on the market of [Wang2023], from their tables, with the paper's values beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from astraea.plots import charts
from astraea.plots.charts import PUBLISHED
from astraea.plots.style import REFERENCE, look, mark_line, ordered, style
from papers.market.readings import HERE, READINGS, SECTION

OURS: Final = "astraea-market"


def factor_text(revenue: float) -> str:
    """Thousands, with a minus sign."""
    return f"{revenue / 1000:,.0f}".replace("-", "−")


def idle_and_full(hourly: pd.DataFrame, tenants: Sequence[str]) -> Figure:
    """Fig 1: utilization of two tenants over time [s]; columns tenant, time, utilization."""
    called = {name: f"Tenant {letter} ({str(name)[:8]})" for name, letter in zip(tenants, "AB", strict=True)}
    fig, ax = charts.panels(width=7.0, height=2.3)
    lines = hourly.assign(tenant=hourly["tenant"].map(called)).sort_values(["tenant", "time"])
    charts.timeseries(lines, "utilization", by="tenant", ax=ax)
    ax.set_ylim(0, 1.02)
    charts.legend(fig)
    return fig


def prices(steps: pd.DataFrame) -> Figure:
    """Eq. 8, and what it asks of jobs that come one after another: a table of `example.price_steps`."""
    fig, axes = charts.panels(columns=2, width=4.2, height=2.8)
    used = np.linspace(0, 1, 101)
    for theta, color in ((2.0, "#56B4E9"), (6.0, "#0072B2"), (16.0, "#00395A")):
        axes[0].plot(100 * used, theta**used - 1, color=color, label=f"maximal price {theta - 1:g}")
    axes[0].set(xlabel="Workers in use [%]", ylabel="Price of a worker for a slot")
    charts.title(axes[0], "(a) Eq. 8")
    at = range(len(steps))
    axes[1].step(at, steps["worker_price"], where="post", color="#D55E00", label="a worker")
    axes[1].step(at, steps["ps_price"], where="post", color="#0072B2", linestyle="--", label="a PS")
    axes[1].set(xlabel="Jobs asked so far", ylabel="Price")
    charts.title(axes[1], "(b) a queue of jobs is asked one by one")
    for ax in axes:
        ax.legend(frameon=False, fontsize=8)
    return fig


def over_ours(frame: pd.DataFrame, column: str, keys: Sequence[str]) -> pd.DataFrame:
    """Others' values over Astraea's in the same market; columns `keys`, scheduler, relative."""
    wide = frame.pivot_table(index=list(keys), columns="scheduler", values=column)
    ratios = wide.drop(columns=OURS).div(wide[OURS], axis=0)
    return ratios.melt(ignore_index=False, value_name="relative").dropna().reset_index()


def relative_revenue(frame: pd.DataFrame, ax: Axes, paper: Mapping[str, float]) -> None:
    """Fig 4: revenue of the others over Astraea's, trial by trial, and that of all markets together.

    `frame` has columns value, trial, scheduler, revenue, of one form of utility, with jobs or servers varied; `paper`
    is scheduler -> Astraea's total revenue over its, as published, drawn beside the total.
    """
    total = frame.groupby(["scheduler", "trial"], as_index=False)["revenue"].sum().assign(value="all")
    shown = over_ours(pd.concat([frame, total]).astype({"value": str}), "revenue", ["value", "trial"])
    places = [*map(str, sorted(frame["value"].unique())), "all"]
    shown = shown.sort_values("value", key=lambda names: names.map(places.index), kind="stable")
    charts.dodged(shown, "value", "relative", "scheduler", ax)
    mark_line(ax, 1, "", vertical=False)
    names, low = ordered(shown["scheduler"]), shown.groupby(["value", "scheduler"])["relative"].mean()
    with style():
        if paper:
            ax.plot([], [], **PUBLISHED | {"label": "paper, all"})
        for k, name in enumerate(names):
            if name in paper:
                at = places.index("all") + 0.64 / len(names) * (k - (len(names) - 1) / 2)
                ax.plot(at, 1 / paper[name], **PUBLISHED | {"markeredgecolor": look(name).color, "label": None})
        for loss in low[low < 0].reset_index().itertuples():
            text, foot = f"{loss.relative:.1f} ↓".replace("-", "−"), (places.index(str(loss.value)), 0)
            ax.annotate(text, foot, (0, 3), fontsize=7, ha="center", textcoords="offset points",
                        color=look(loss.scheduler).color)  # fmt: skip
    ax.set_ylim(0, 1.08 * max(1.0, shown["relative"].max(), *(1 / x for x in paper.values())))


def revenues(table: pd.DataFrame, published: Mapping[str, Mapping[str, float]]) -> Figure:
    """Fig 4: a table of `tables.revenue_table`; `published` is what is varied -> scheduler -> Astraea's over its.

    As §5.1 says Astraea's total is below 0, so nothing has a ratio to it, and the revenue itself is drawn.
    """
    fig, axes = charts.panels(columns=2, rows=3, width=3.5, height=2.3)
    shown = table[table["scheduler"] != "astraea-market-lemma"]
    kinds = [(HERE, "linear"), (HERE, "convex"), (SECTION, "linear")]
    for ax, ((reading, utility), varied) in zip(axes, product(kinds, ("jobs", "servers")), strict=True):
        part = shown[(shown["reading"] == reading) & (shown["utility"] == utility) & (shown["varied"] == varied)]
        if reading == HERE:
            relative_revenue(part, ax, published[varied] if utility == "linear" else {})
            ax.set_ylabel("Revenue over Astraea's")
        else:
            charts.dodged(part.sort_values("value", kind="stable"), "value", "revenue", "scheduler", ax)
            ax.set_yscale("symlog", linthresh=1e5)
            marks = [1e5, 0.0, *(-(10.0**k) for k in range(5, int(np.log10(max(1e5, -part["revenue"].min()))) + 2))]
            ax.set_yticks(marks, [f"{mark / 1e6:,.6g}".replace("-", "−") for mark in marks])
            ax.set_ylim(top=2e5)
            ax.yaxis.set_minor_locator(NullLocator())
            ax.axhline(0, color="#222222", linewidth=0.8)
            ax.set_ylabel("Revenue [millions]")
        ax.set_xlabel(varied.capitalize())
        charts.title(ax, f"{reading}: {utility}, {varied} varied")
    charts.legend(fig)
    return fig


def near_optimum(table: pd.DataFrame, by: str, bound: float) -> Figure:
    """Figs 5 and 6: performance ratio by the number of jobs, and the bound that the paper's Astraea is above.

    `by` is "servers", of Astraea alone, or "scheduler", of all numbers of servers.
    """
    fig, axes = charts.panels(columns=2, width=3.5, height=2.8)
    shown = table if by == "scheduler" else table[table["scheduler"] == OURS]
    if by == "servers":
        shown = shown.assign(servers=shown["servers"].map("{} servers".format))
    for ax, reading in zip(axes, READINGS, strict=True):
        part = shown.assign(ratio=shown["ratio"].where(shown["reading"] == reading))  # the same classes in both
        charts.dodged(part, "jobs", "ratio", by=by, ax=ax)
        ax.set_ylim(min(0.5, part["ratio"].min() - 0.02), 1.02)
        ax.axhline(bound, **REFERENCE)
        ax.annotate(f"paper: Astraea above {bound:g}", (0.98, bound), (0, 3), ("axes fraction", "data"),
                    "offset points", ha="right", fontsize=7.5)  # fmt: skip
        charts.title(ax, reading)
    charts.legend(fig)
    return fig


def fairness(table: pd.DataFrame) -> Figure:
    """Figs 7 and 8 as here: a table of `tables.fairness_table`, and how often the other reading has no alpha."""
    fig, axes = charts.panels(rows=3, width=7.0, height=1.9)
    none = table[table["reading"] == SECTION].groupby(["scheduler", "trial"])["alpha"].count() == 0
    table = table[table["reading"] == HERE]
    alone = table["scheduler"] == "batch-sche"
    texts = ("those that share; 1 is absolutely fair", "BatchSche; paper: 1 for every tenant")
    for ax, part, text in zip(axes[:2], (table[~alone], table[alone]), texts, strict=True):
        charts.dodged(part.sort_values("tenant", kind="stable"), "tenant", "alpha", by="scheduler", ax=ax)
        ax.axhline(1, color="#222222", linewidth=0.8)
        charts.title(ax, f"Fig 7: {text}")
    axes[1].set_yscale("symlog", linthresh=2)
    low, high = table["alpha"].min(), table["alpha"].max()
    marks = [m for m in (-1000, -100, -10, 0, 1, 10, 100) if 2 * low <= m <= 2 * max(high, 2)]
    axes[1].set_yticks(marks, [f"{m:g}".replace("-", "−") for m in marks])
    axes[1].set_ylim(2.5 * min(low, -1), 2.5 * max(high, 2))
    axes[1].set_ylabel("Revenue fairness $\\alpha$\n(log beyond ±2)")
    _variances(table, axes[2])
    axes[2].set_xlabel(f"Trial\n{SECTION}, total revenue is not above 0 in {none.sum()} of {len(none)} plans")
    charts.legend(fig)
    return fig


def variances(table: pd.DataFrame) -> pd.DataFrame:
    """Fig 8: variance of alpha over tenants; columns scheduler, trial, variance."""
    return table.groupby(["scheduler", "trial"])["alpha"].var(ddof=0).rename("variance").reset_index()


def _variances(table: pd.DataFrame, ax: Axes) -> None:
    """Others' variance over Astraea's, in each trial; what is beyond 8 or is not defined is written."""
    variance = variances(table)
    relative = over_ours(variance, "variance", ["trial"])
    charts.dodged(relative, "trial", "relative", by="scheduler", ax=ax, each=False)
    for far in relative[relative["relative"] > 8].itertuples():
        ax.annotate(f"{look(far.scheduler).label}:\n{far.relative:,.0f} ↑", (far.trial, 8), (0, -18), fontsize=7.5,
                    ha="center", textcoords="offset points", color=look(far.scheduler).color)  # fmt: skip
    places = list(dict.fromkeys(relative["trial"]))
    for none in variance[variance["variance"].isna()].itertuples():
        if none.trial in places:
            here, at = look(none.scheduler), (places.index(none.trial), 8)
            ax.annotate(f"{here.label}:\nno revenue", at, (0, -18), fontsize=7.5, ha="center", color=here.color,
                        textcoords="offset points")  # fmt: skip
    ax.set_yscale("log", base=2)
    ax.set_ylim(min(0.5, 0.9 * relative["relative"].min()), 8)
    ax.set_yticks([0.5, 1, 2, 4, 8], ["0.5", "1", "2", "4", "8"])
    ax.axhline(1, color="#222222", linewidth=0.8)
    ax.set(xlabel="Trial", ylabel="Variance of $\\alpha$\nover Astraea's")
    charts.title(ax, "Fig 8")


TIMES: Final = {1e-5: "0.01 ms", 1e-4: "0.1 ms", 1e-3: "1 ms", 1e-2: "10 ms", 0.1: "0.1 s", 1: "1 s", 10: "10 s"}


def running_time(table: pd.DataFrame, varied: str, bound: float) -> Figure:
    """Figs 9 and 10: time to plan all jobs, and one, over the number of jobs or servers, which alone is `varied`.

    `bound` is what the paper takes for one job at most [s].
    """
    fig, axes = charts.panels(columns=2, width=3.5, height=2.5)
    times = table.assign(seconds=table["seconds_per_job"] * table["jobs"])
    other = "servers" if varied == "jobs" else "jobs"
    for ax, column, text in ((axes[0], "seconds", "(a) all jobs"), (axes[1], "seconds_per_job", "(b) one job")):
        charts.lines(times, varied, column, by="reading", ax=ax, each=True)
        ax.set_ylabel("Time to plan")
        charts.title(ax, f"{text}; {table[other].iloc[0]} {other}")
    top = float(times["seconds"].max())
    decade = 10 ** np.floor(np.log10(top))
    step = decade if top > 3 * decade else decade / 2
    marks = [k * step for k in range(int(top / step) + 2)]
    axes[0].set_yticks(marks, [f"{1000 * mark:.3g} ms" for mark in marks])
    axes[1].set_yscale("log")
    axes[1].set_ylim(1e-5, 10)
    axes[1].set_yticks(list(TIMES), list(TIMES.values()))
    axes[1].axhline(bound, **REFERENCE)
    axes[1].annotate(f"paper: about {bound:g} s, on a laptop", (0.03, bound), (0, -9), ("axes fraction", "data"),
                     "offset points", fontsize=7.5)  # fmt: skip
    charts.legend(fig)
    return fig


def wrong_prices(table: pd.DataFrame) -> Figure:
    """Fig 11: change of revenue against the estimate, each market a thin line; a table of `tables.theta_table`."""
    base = table[table["percent"] == 100].set_index(["load", "trial"])["revenue"].rename("base")
    change = table.join(base, on=["load", "trial"])
    change["change"] = (change["revenue"] - change["base"]) / 1000
    fig, axes = charts.panels(columns=table["load"].nunique(), width=3.5, height=2.5)
    color = look(OURS).color
    for ax, (load, part) in zip(np.atleast_1d(axes), change.groupby("load", sort=False), strict=True):
        for _, trial in part.groupby("trial"):
            ax.plot(trial["percent"], trial["change"], ".-", color=color, linewidth=0.7, markersize=4, alpha=0.5)
        means = part.groupby("percent")["change"].mean()
        ax.plot(means.index, means, "o-", color=color, linewidth=2.4)
        ax.axhline(0, color="#222222", linewidth=0.8)
        ax.set_xticks(means.index)
        ax.set(xlabel="Maximal price, % of the estimate", ylabel="Revenue, change in thousands")
        at_all = float(part.loc[part["percent"] == 100, "revenue"].mean())
        charts.title(ax, f"{load} load: {factor_text(at_all)} thousand at 100 %")
    return fig


def admission(table: pd.DataFrame) -> Figure:
    """Fig 12: ideal revenue and cost of every admitted job; a table of `tables.admission_table`."""
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=2.7)
    for (left, right), reading in zip(np.reshape(axes, (2, 2)), READINGS, strict=True):
        mine = table[table["reading"] == reading]
        pays = mine["cost"] > 0
        paid, top = mine[pays], float(mine["ideal"].max())
        left.plot(paid["ideal"], paid["cost"], ".", color="#D55E00", markersize=2.5, alpha=0.6, rasterized=True)
        left.plot([0, top], [0, top], color="#222222", linewidth=0.8)
        left.annotate("cost = ideal revenue", (0.56 * top, 0.6 * top), rotation=38, fontsize=7.5, ha="right")
        left.set(xlabel="Ideal revenue", ylabel="Resource cost")
        charts.title(left, f"{reading}: {pays.sum():,} jobs on idle resources")
        right.hist(mine.loc[~pays, "ideal"], bins=np.linspace(0, top, 26), color="#888888")
        right.set(xlabel="Ideal revenue", ylabel="Jobs")
        charts.title(right, f"{reading}: {(~pays).sum():,} in the own share, cost 0")
    return fig
