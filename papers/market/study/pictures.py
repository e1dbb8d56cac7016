"""Pictures of the notebooks on the market of [Wang2023], from their tables, with the paper's values beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator

from astraea.plots import look, order, style
from papers import charts
from papers.charts.axes import BEHIND, REFERENCE, log_ticks
from papers.market.workload import HERE, READINGS, SECTION

OURS: Final = "astraea-market"

SHADES: Final = ("#BBBBBB", "#8F8F8F", "#5A5A5A", "#111111")
"""Colours of a quantity that grows; no scheduler has them."""


def factor_text(revenue: float) -> str:
    """Write a revenue in thousands, with a minus sign."""
    return f"{revenue / 1000:,.0f}".replace("-", "−")


def prices(steps: pd.DataFrame) -> Figure:
    """Draw Eq. 8, and its prices for jobs that come one after another: a table of `example.price_steps`."""
    fig, axes = charts.panels(columns=2, width=4.2, height=2.8)
    used = np.linspace(0, 1, 101)
    for theta, color in zip((2.0, 6.0, 16.0), SHADES[1:], strict=True):
        axes[0].plot(100 * used, theta**used - 1, color=color, label=f"maximal price {theta - 1:g}")
    axes[0].set(xlabel="Workers in use [%]", ylabel="Price for a slot")
    for column, color, line, width, label in (
        ("worker_price", SHADES[0], "-", 4.0, "worker"), ("ps_price", SHADES[-1], "--", 1.4, "parameter server"),
    ):  # fmt: skip
        held = [*steps[column], steps[column].iloc[-1]]
        axes[1].step(range(len(held)), held, line, where="post", color=color, linewidth=width, label=label)
    axes[1].set(xlabel="Jobs asked so far", ylabel="Price")
    charts.titles(axes, "(a) Eq. 8", "(b) jobs are asked one after another")
    for ax in axes:
        ax.legend(frameon=False, fontsize=8)
    return charts.legend(fig, headline="The last free workers cost most", axes=[])


def relative_revenue(frame: pd.DataFrame, ax: Axes, paper: Mapping[str, float]) -> None:
    """Fig 4: Astraea's revenue over each of the others', as the paper has it, and that of all markets together.

    `frame` has the columns value, trial, scheduler and revenue, of one form of utility, with jobs or servers varied. A
    dot is a trial, a mark the ratio of sums over trials; where the other's sum is not above 0, that is written instead.
    `paper` is scheduler -> published ratio of totals.
    """
    total = frame.groupby(["scheduler", "trial"], as_index=False)["revenue"].sum().assign(value="all")
    shown = pd.concat([frame, total]).astype({"value": str})
    places = [*map(str, sorted(frame["value"].unique())), "all"]
    wide = shown.pivot_table(index=["value", "trial"], columns="scheduler", values="revenue").reindex(places, level=0)
    sums = wide.groupby("value").sum()
    names = [name for name in order(wide.columns) if name != OURS]
    with style():
        for k, name in enumerate(names):
            here, shift = look(name), 0.64 / len(names) * (k - (len(names) - 1) / 2)
            mark: dict[str, Any] = {"color": here.color, "linestyle": "none"}
            each = (wide[OURS] / wide[name])[(wide[name] > 0) & (wide[OURS] > 0)]
            ratio = (sums[OURS] / sums[name])[(sums[name] > 0) & (sums[OURS] > 0)]
            ax.plot([places.index(v) + shift for v, _ in each.index], each, "o", markersize=2.5, alpha=0.5, **mark)
            ax.plot([places.index(v) + shift for v in ratio.index], ratio, here.marker, markersize=5.5,
                    markeredgecolor="white", markeredgewidth=0.5, label=here.label, **mark)  # fmt: skip
            for value in sums.index[sums[name] <= 0]:
                ax.text(places.index(value) + shift, 0.98, "loses", rotation=90, fontsize=7, va="top",
                        ha="center", color=here.color, transform=ax.get_xaxis_transform())  # fmt: skip
            if name in paper:
                mark = charts.PUBLISHED | {"markeredgecolor": here.color, "label": None}
                ax.plot(places.index("all") + shift, paper[name], **mark)
                ax.plot([], [], **charts.PUBLISHED)
        ax.set_yscale("log")
        ax.set_ylim(0.3, 20)
        ax.axhline(1, **REFERENCE)
        for edge in range(1, len(places)):
            ax.axvline(edge - 0.5, color="#DDDDDD", linewidth=0.6, zorder=0)
        ax.set_xticks(range(len(places)), places)
        ax.set_xlim(-0.5, len(places) - 0.5)
        ax.grid(visible=False, axis="x")
        log_ticks(ax.yaxis)


def revenues(table: pd.DataFrame, published: Mapping[str, Mapping[str, float]]) -> Figure:
    """Fig 4: a table of `tables.revenue_table`; `published` is what is varied -> scheduler -> Astraea's over its.

    As §5.1 says Astraea's total is below 0, so it has no ratio, and the revenue itself is drawn.
    """
    fig, axes = charts.panels(columns=2, rows=3, width=3.5, height=2.4)
    shown = table[table["scheduler"] != "astraea-market-lemma"]
    kinds = [(HERE, "linear"), (HERE, "convex"), (SECTION, "linear")]
    for k, (ax, ((reading, utility), varied)) in enumerate(zip(axes, product(kinds, ("jobs", "servers")), strict=True)):
        part = shown[(shown["reading"] == reading) & (shown["utility"] == utility) & (shown["varied"] == varied)]
        said = ""
        if reading == HERE:
            paper = published[varied] if utility == "linear" else {}
            relative_revenue(part, ax, paper)
            total = part.groupby("scheduler")["revenue"].sum()
            names = [name for name in order(total.index) if name != OURS and total[name] > 0]
            ratios = [f"{look(name).label} {total[OURS] / total[name]:.2f}" for name in names]
            printed = [f"(paper {', '.join(f'{paper[name]:g}' for name in names)})"] if paper else []
            said = "\n".join(["all: " + ", ".join(ratios[:2]), *ratios[2:], *printed])
            ax.set_ylabel("Astraea / theirs")
        else:
            charts.dodged(part.sort_values("value", kind="stable"), "value", "revenue", "scheduler", ax)
            ax.set_yscale("symlog", linthresh=1e5)
            marks = [1e5, 0.0, *(-(10.0**k) for k in range(5, int(np.log10(max(1e5, -part["revenue"].min()))) + 2))]
            ax.set_yticks(marks, [f"{mark / 1e6:,.6g}".replace("-", "−") for mark in marks])
            ax.set_ylim(top=2e5)
            ax.yaxis.set_minor_locator(NullLocator())
            ax.axhline(0, color="#222222", linewidth=0.8)
            ax.set_ylabel("Revenue [millions]\n(log scale beyond ±0.1)")
        ax.set_xlabel(varied.capitalize())
        charts.title(ax, f"({'abcdef'[k]}) {utility} utility, {reading}", said)
    earned = table[table["reading"] == HERE].groupby("scheduler")["revenue"].sum()
    below = [look(name).label for name in order(earned.index) if earned[name] > earned[OURS]]
    said = f"{' and '.join(below)} earn more than Astraea" if below else "Astraea earns more than every rival"
    return charts.legend(fig, headline=f"In total, {said}, in the reading “{HERE}”")


def near_optimum(table: pd.DataFrame, by: str, bound: float) -> Figure:
    """Figs 5 and 6: performance ratio by the number of jobs, and the bound that the paper's Astraea is above.

    `by` is "servers", of Astraea alone, or "scheduler", of all numbers of servers.
    """
    fig, axes = charts.panels(columns=2, width=3.5, height=2.8)
    shown = table
    if by == "servers":
        shown = table[table["scheduler"] == OURS].sort_values(["servers", "jobs"])
        shown = shown.assign(servers=shown["servers"].map("{} servers".format))
    for ax, reading in zip(axes, READINGS, strict=True):
        part = shown.assign(ratio=shown["ratio"].where(shown["reading"] == reading))  # the same classes in both
        charts.dodged(part, "jobs", "ratio", by=by, ax=ax)
        low = min(0.5, part["ratio"].min())
        ax.set_ylim(low - 0.05 * (1 - low), 1 + 0.05 * (1 - low))
        ax.axhline(bound, **REFERENCE)
        ax.annotate(f"paper: above {bound:g}", (0.98, bound), (0, 3), ("axes fraction", "data"), "offset points",
                    ha="right", fontsize=7.5, bbox=BEHIND)  # fmt: skip
        charts.title(ax, reading)
    of = table[table["reading"] == SECTION]
    if absent := [f"{n} {what}" for what in ("jobs", "servers") for n in sorted(set(table[what]) - set(of[what]))]:
        charts.footnote(fig, f"Optima {SECTION} with {' or '.join(absent)} take too long and are not computed.")
    ours = table[table["scheduler"] == OURS].groupby(["reading", "jobs", "servers"])["ratio"].mean().groupby("reading")
    said = ", ".join(f"{ours.min()[name]:.2f} to {ours.max()[name]:.2f} {name}" for name in READINGS)
    if by == "servers":
        return charts.legend(fig, headline=f"Part of the optimum that Astraea earns: {said}")
    means = table.pivot_table("ratio", "scheduler", "reading")
    said = ", ".join(f"{look(means[name].idxmax()).label} {name} ({means[name].max():.2f})" for name in READINGS)
    return charts.legend(fig, headline=f"Nearest to the optimum on average: {said}")


def fairness(table: pd.DataFrame) -> Figure:
    """Figs 7 and 8 as here: a table of `tables.fairness_table`, and how often the other reading has no alpha."""
    fig, axes = charts.panels(rows=2, width=7.0, height=2.3)
    none = table[table["reading"] == SECTION].groupby(["scheduler", "trial"])["alpha"].count() == 0
    table = table[table["reading"] == HERE]
    _variances(table, axes[0])
    shown = table.dropna(subset="alpha").assign(trial=table["trial"].map("trial {}".format))
    names, low, high = order(shown["scheduler"]), -2.0, 6.0
    with style():
        for k, name in enumerate(names):
            here, alphas = look(name), shown.loc[shown["scheduler"] == name, "alpha"]
            inside = alphas[(alphas >= low) & (alphas <= high)]
            axes[1].plot(inside, k + np.linspace(-0.25, 0.25, len(inside)), ".", color=here.color, markersize=4,
                         alpha=0.6)  # fmt: skip
            axes[1].plot([alphas.median()] * 2, [k - 0.35, k + 0.35], color="#222222", linewidth=1.6)
            below, above = (alphas < low).sum(), (alphas > high).sum()
            for count, at, side in ((below, 0.005, "left"), (above, 0.995, "right")):
                if count:
                    arrow = f"← {count} below" if side == "left" else f"{count} above →"
                    axes[1].text(at, k - 0.3, arrow, fontsize=7.5, ha=side, transform=axes[1].get_yaxis_transform())
        axes[1].axvline(1, **REFERENCE)
        axes[1].set_yticks(range(len(names)), [look(name).label for name in names])
        axes[1].set_ylim(len(names) - 0.4, -0.6)
        axes[1].set_xlim(low, high)
        axes[1].set_xlabel("Revenue fairness $\\alpha$ of a tenant; the bar is the median, 1 is absolutely fair")
    charts.title(axes[1], "(b) Fig 7: tenants of all trials; the paper has 1 for every tenant of BatchSche")
    charts.footnote(fig, f"In the reading “{SECTION}” total revenue is not above 0 in {none.sum()} of {len(none)} "
                    "plans, which have no fairness.")  # fmt: skip
    wide = variances(table).pivot_table(index="trial", columns="scheduler", values="variance")
    most = (wide[OURS] <= wide.min(axis=1)).sum()
    said = f"Astraea shares revenue most evenly in {most} of {len(wide)} trials"
    return charts.legend(fig, headline=f"{said}, in the reading “{HERE}”")


def variances(table: pd.DataFrame) -> pd.DataFrame:
    """Fig 8: variance of alpha over tenants; columns scheduler, trial, variance."""
    return table.groupby(["scheduler", "trial"])["alpha"].var(ddof=0).rename("variance").reset_index()


def _variances(table: pd.DataFrame, ax: Axes) -> None:
    """Draw others' variance over Astraea's in each trial, and write values beyond 8 or undefined ones."""
    variance = variances(table)
    wide = variance.pivot_table(index="trial", columns="scheduler", values="variance")
    ratios = wide.drop(columns=OURS).div(wide[OURS], axis=0)
    relative = ratios.melt(ignore_index=False, value_name="relative").dropna().reset_index()
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
    charts.title(ax, "(a) Fig 8: above 1, Astraea shares revenue more evenly")


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
        ends = times[times["reading"] == HERE].groupby(varied)[column].mean()
        times_as = f"{ends.iloc[-1] / ends.iloc[0]:.2g} times as".removeprefix("1 times ")
        change = f"{HERE}: {times_as} long with {ends.index[-1]:,} {varied} as with {ends.index[0]:,}"
        charts.title(ax, f"{text}; {table[other].iloc[0]} {other}", change)
    top = float(times["seconds"].max())
    decade = 10 ** np.floor(np.log10(top))
    step = decade if top > 3 * decade else decade / 2
    marks = [k * step for k in range(int(top / step) + 2)]
    axes[0].set_yticks(marks, [f"{mark:.3g} s" if top >= 1 else f"{1000 * mark:.3g} ms" for mark in marks])
    axes[1].set_yscale("log")
    axes[1].set_ylim(1e-5, 10)
    axes[1].set_yticks(list(TIMES), list(TIMES.values()))
    axes[1].axhline(bound, **REFERENCE)
    axes[1].annotate(f"paper: about {bound:g} s, on a laptop", (0.03, bound), (0, -9), ("axes fraction", "data"),
                     "offset points", fontsize=7.5)  # fmt: skip
    ends = times[times["reading"] == HERE].groupby(varied)["seconds"].mean()
    longer, more = ends.iloc[-1] / ends.iloc[0], ends.index[-1] / ends.index[0]
    text = f"With {more:.2g} times the {varied}, planning takes {longer:.2g} times as long"
    return charts.legend(fig, headline=f"{text}, in the reading “{HERE}”")


def wrong_prices(table: pd.DataFrame) -> Figure:
    """Fig 11: change of revenue against the estimate, a thin line for each market; a table of `tables.theta_table`."""
    base = table[table["percent"] == 100].set_index(["load", "trial"])["revenue"].rename("base")
    change = table.join(base, on=["load", "trial"])
    change["change"] = (change["revenue"] - change["base"]) / 1000
    fig, axes = charts.panels(columns=table["load"].nunique(), width=3.5, height=3.0)
    color, most = look(OURS).color, []
    for ax, (load, part) in zip(np.atleast_1d(axes), change.groupby("load", sort=False), strict=True):
        for _, trial in part.groupby("trial"):
            ax.plot(trial["percent"], trial["change"], ".-", color=color, linewidth=0.7, markersize=4, alpha=0.5,
                    label="single runs")  # fmt: skip
        means = part.groupby("percent")["change"].mean()
        most.append(f"{means.abs().max():.3g} thousand at {load} load")
        ax.plot(means.index, means, "o-", color=color, linewidth=2.4, label="mean")
        ax.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        ax.axhline(0, color="#222222", linewidth=0.8)
        ax.set_xticks(means.index)
        ax.set(xlabel="Maximal price [% of the estimate]", ylabel="Change [thousands]")
        revenue = part.groupby("percent")["revenue"].mean()
        sign = ", all losses" if (revenue < 0).all() else ""
        charts.title(ax, f"{load} load", f"total {factor_text(revenue[100])} thousand at 100 %{sign}")
    headline = f"On average, a wrong maximal price changes revenue by at most {', '.join(most)}"
    return charts.legend(fig, headline=headline)


def admission(table: pd.DataFrame) -> Figure:
    """Fig 12: ideal revenue and cost of every admitted job; a table of `tables.admission_table`."""
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=2.7)
    said = []
    for (left, right), reading in zip(np.reshape(axes, (2, 2)), READINGS, strict=True):
        mine = table[table["reading"] == reading]
        pays = mine["cost"] > 0
        paid, top = mine[pays], float(mine["ideal"].max())
        left.plot(paid["ideal"], paid["cost"], ".", color=look(OURS).color, markersize=2.5, alpha=0.6, rasterized=True)
        left.plot([0, top], [0, top], color="#222222", linewidth=0.8)
        left.annotate("cost = ideal revenue", (0.5 * top, 0.53 * top), rotation=45, transform_rotates_text=True,
                      fontsize=7.5, ha="center", va="bottom", rotation_mode="anchor")  # fmt: skip
        left.set(xlabel="Ideal revenue", ylabel="Resource cost")
        said.append(f"{100 * (paid['ideal'] > paid['cost']).mean():.4g} % {reading}")
        charts.title(left, f"{reading}: {pays.sum():,} jobs on idle resources")
        right.hist(mine.loc[~pays, "ideal"], bins=np.linspace(0, top, 26), color="#888888")
        right.set(xlabel="Ideal revenue", ylabel="Jobs")
        charts.title(right, f"{reading}: {(~pays).sum():,} in tenants' shares")
    return charts.legend(fig, headline=f"Jobs on idle resources that are worth their cost: {', '.join(said)}")
