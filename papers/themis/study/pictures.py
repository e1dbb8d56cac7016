"""Pictures of Themis' evaluation, from the tables beside this module; Themis' line is the bold one.

A paper's value is an argument: `bound` is the largest ratio that [Mahajan2020] reports, `good_f` the knob that it uses.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from astraea.core.metrics import SHARING_LOSS
from astraea.core.wording import listed
from astraea.plots import LOOKS, look, style
from papers import charts
from papers.schedules import Pair, pairs
from papers.themis.apps import MODELS, App
from papers.themis.metrics import LATE
from papers.themis.study import falsifier

SUBJECT: Final = "themis"

RUNGS: Final = (("#D0D0D0", "-"), ("#B39DDB", "-"), ("#8E6BBF", "-"), ("#5E3C99", "-"), ("#A6611A", "--"),
                ("#6B3E0F", ":"), ("#222222", "-."))  # fmt: skip
"""Colours and lines of jobs by the rung in which they end."""

KINDS: Final = dict(zip(MODELS, (("#3B1A75", "o"), ("#A6611A", "s"), ("#76C5B7", "^")), strict=True))
"""Colour and marker of each kind of model, from dark to light."""

MEASURES: Final = {
    "max_rho": "the worst app", "jain": "how equal", "average_jct": "how soon", "relative_gpu_time": "at what cost",
    "placement": "how close together gangs are",
}  # fmt: skip
"""Panels of Fig 9 beside the distribution."""

COMPARED: Final = ("themis", "astraea", "tiresias")
"""Schedulers whose apps are judged by both ideas of fairness."""


def one_app(app: App, losses: pd.DataFrame, held: pd.DataFrame) -> Figure:
    """Draw the loss curves of an app's jobs, and the GPUs that it holds; `tables.loss_table` and `held_table`."""
    fig, axes = charts.panels(columns=2, width=4.2, height=2.8)
    with style():
        for rung, (color, line) in enumerate(RUNGS[: losses["rung"].max()], 1):
            for k, (_, part) in enumerate(losses[losses["rung"] == rung].groupby("job")):
                label = "" if k else f"ends in rung {rung}"
                axes[0].plot(part["epoch"], part["loss"], line, color=color, linewidth=1.1, label=label)
        axes[0].set_xscale("log", base=2)
        charts.name_values(axes[0], [2**k for k in range(int(np.log2(losses["epoch"].max())) + 1)])
        axes[0].set(xlabel="Epoch", ylabel="Loss", ylim=(0, 1.05 * losses["loss"].max()))
        charts.timeseries(held, "held", by="kind", ax=axes[1])
        axes[1].set_ylabel("GPUs that it holds")
        for ax in axes:
            ax.legend(frameon=False, fontsize=7.5)
    jobs = f"{len(app.loss)} jobs of {app.name}, gangs of {app.gang}, {app.model}"
    charts.titles(axes, f"(a) {jobs}", "(b) under Themis")
    return charts.legend(fig, headline="Poor jobs of an app end early and leave their GPUs", axes=[])


def estimates(foresight: pd.DataFrame, errors: pd.DataFrame, bound: float) -> Figure:
    """Draw the errors of estimated lengths, and their effect; `tables.foresight`, sweep ``error``."""
    fig, axes = charts.panels(columns=2, width=4.0, height=2.7)
    with style():
        for column, text, line in (("median", "median", "o-"), ("worst_tenth", "exceeded by a tenth", "s--")):
            axes[0].plot(foresight["epochs"], 100 * np.expm1(foresight[column]), line, color="#5E3C99", label=text)
        axes[0].set_xscale("log", base=2)
        charts.name_values(axes[0], foresight["epochs"].tolist())
        axes[0].set(xlabel="Epochs seen", ylabel="Error [%]")
        axes[0].set_ylim(bottom=0)
        charts.lines(errors, "error", "max_rho", by="scheduler", ax=axes[1], each=True, bold=SUBJECT)
        axes[1].set_ylim(top=1.1 * errors["max_rho"].max())
        charts.mark_line(axes[1], bound, f"paper\n{bound:g}", vertical=False)
        for ax in axes:
            ax.legend(frameon=False, fontsize=8)
    last = 100 * float(np.expm1(foresight["median"].iloc[-1]))
    known = f"after {foresight['epochs'].iloc[-1]:g} epochs known to {last:.0f} %"
    charts.title(axes[0], "(a) estimated length of a job", known)
    charts.title(axes[1], "(b) the worst app, if estimates are wrong")
    ends = errors[errors["scheduler"] == SUBJECT].groupby("error")["max_rho"].mean()
    change = f"{ends.iloc[0]:.2f} to {ends.iloc[-1]:.2f} with errors of {100 * ends.index[-1]:.0f} %"
    return charts.legend(fig, headline=f"Themis' worst app goes from ρ = {change}", axes=[])


def auction(example: pd.DataFrame) -> Figure:
    """Draw the bids of the apps of `auctions.example_table` side by side at each choice, and their prizes."""
    rows = example[["local", "spread"]].drop_duplicates()
    texts = [" + ".join(["on one machine"] * near + ["spread"] * far) or "nothing" for near, far in rows.to_numpy()]
    fig, ax = charts.panels(width=6.4, height=2.6)
    with style():
        for k, (model, part) in enumerate(example.groupby("app", sort=False)):
            color, mark = KINDS[str(model)]
            at, value = np.arange(len(part)) + 0.2 * (k - 1), 1 / part["rho"].to_numpy()
            ax.plot(at, value, mark, color=color, markersize=5, label=model)
            won = int(np.argmax(part["won"]))
            ax.plot(at[won], value[won], "o", markersize=13, markerfacecolor="none", markeredgecolor="#222222",
                    label="what it wins" if k == len(KINDS) - 1 else "")  # fmt: skip
        ax.set_xticks(range(len(texts)), [text.replace(" + ", "\n+ ") for text in texts], fontsize=7.5)
        ax.grid(visible=False, axis="x")
        for edge in range(1, len(texts)):
            ax.axvline(edge - 0.5, color="#DDDDDD", linewidth=0.6, zorder=0)
        ax.set_ylabel("Value $V = 1/\\rho$")
    prizes = example[example["won"].astype(bool)].set_index("app")
    spread = listed(prizes.index[prizes["spread"] > 0])
    alone = example[example["local"] + example["spread"] == 1].groupby("app")["rho"]
    is_least = alone.agg(np.ptp).idxmin() == spread
    why = ", which loses least by it" if is_least else ""
    return charts.legend(fig, headline=f"The spread gang goes to {spread}{why}")


def comparison(apps: pd.DataFrame, summary: pd.DataFrame, bound: float) -> Figure:
    """Fig 9: the distribution of rho over apps (`tables.app_table`), and figures of the sweep ``comparison``."""
    fig, axes = charts.panels(columns=2, rows=3, width=3.5, height=2.4)
    points = charts.ecdf(apps, "finish_time_fairness", by="scheduler")
    charts.cdf(points, "finish_time_fairness", by="scheduler", ax=axes[0], log=True, bold=SUBJECT)
    charts.named_line(axes[0], 1.0, "1/N of the cluster")
    low, high = apps["finish_time_fairness"].min(), apps["finish_time_fairness"].max()
    charts.name_values(axes[0], [m for m in (0.3, 0.5, 1, 2, 5, 10) if low < m < high])
    axes[0].set_ylabel("Apps [%]")
    charts.title(axes[0], "(a) all apps")
    names = charts.order(summary["scheduler"])
    for ax, (measure, text), letter in zip(axes[1:], MEASURES.items(), "bcdef", strict=True):
        paper = {SUBJECT: bound} if measure == "max_rho" else None
        charts.by_scheduler(summary, measure, ax, names=names, published=paper, log=measure == "max_rho")
        charts.title(ax, f"({letter}) {text}")
    axes[1].set_xlim(left=1)
    for ax in axes[3::2]:
        ax.set_yticklabels([])
    means = summary.groupby("scheduler")[["max_rho", "relative_gpu_time"]].mean()
    best = means.sort_values("max_rho").iloc[0]
    cost = f"at {100 * best['relative_gpu_time'] - 100:.0f} % more GPU-time than the work needs"
    best_off = f"{look(str(best.name)).label} (ρ\u00a0=\u00a0{best['max_rho']:.2f})"
    headline = f"The worst app is best off under {best_off}, {cost}"
    return charts.legend(fig, headline=headline)


def knob_and_lease(knob: pd.DataFrame, lease: pd.DataFrame, bound: float, good_f: float) -> Figure:
    """Fig 19: fairness and GPU time over the knob f, and over the lease; sweeps ``knob`` and ``lease``."""
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=2.4)
    of_themis, finite = knob.assign(scheduler=SUBJECT), lease[np.isfinite(lease["lease_term"])]
    for k, (table, x, y, text) in enumerate(
        (
            (of_themis, "f", "max_rho", "(a) what f buys"),
            (of_themis, "f", "relative_gpu_time", "(b) what f costs"),
            (finite, "lease_term", "max_rho", "(c) short leases"),
            (finite, "lease_term", "relative_gpu_time", "(d) and their cost"),
        )
    ):
        charts.lines(table, x, y, by="scheduler", ax=axes[k], even=x == "lease_term", each=True, bold=SUBJECT)
        axes[k].set_ylim(bottom=1)
        charts.title(axes[k], text)
    for ax in axes[2:]:
        ax.set_xlabel(f"{ax.get_xlabel()} (not to scale)")
    for ax in axes[:2]:
        charts.named_line(ax, good_f, f"paper: f = {good_f:g}", (4, 2))
    for ax in axes[::2]:
        charts.named_line(ax, bound, f"paper: {bound:g}", vertical=False)
    of_f = knob.groupby("f")[["max_rho", "relative_gpu_time"]].mean().iloc[[0, -1]]
    costs = [f"{100 * time - 100:.0f} %" for time in of_f["relative_gpu_time"]]
    rhos = " to ".join(f"{rho:.2f}" for rho in of_f["max_rho"])
    return charts.legend(fig, headline=f"From f = 0 to 1: worst ρ {rhos}, additional GPU-time {' to '.join(costs)}")


LARGE: Final = ("optimus", "gandiva-packing", "slaq")
"""Schedulers whose worst app is far beyond the others'."""


def contention(table: pd.DataFrame, bound: float) -> Figure:
    """Draw fairness and GPU time over the contention; sweep ``contention``."""
    fig, axes = charts.panels(columns=2, rows=2, width=3.5, height=2.5)
    far = table["scheduler"].isin(LARGE)
    one, few = table["scheduler"] == "themis-one-bidder", table[table["scheduler"] != "themis-one-bidder"]
    shown = (
        (table[~far], "max_rho", "(a) the worst app"),
        (table[far | (table["scheduler"] == SUBJECT)], "max_rho", "(b) the others, and Themis"),
        (few, "jain", "(c) how equal"), (few, "relative_gpu_time", "(d) at what cost"),
    )  # fmt: skip
    for ax, (part, y, text) in zip(axes, shown, strict=True):
        charts.lines(part, "contention", y, by="scheduler", ax=ax, bold=SUBJECT)
        charts.title(ax, text)
        ax.set_xscale("log", base=2)
        charts.name_values(ax, sorted(table["contention"].unique()))
    for ax in axes[:2]:
        ax.set_ylim(bottom=1)
        charts.named_line(ax, bound, f"paper: {bound:g}", vertical=False)
    axes[2].set_ylim(0, 1.02)
    axes[3].set_ylim(bottom=1)
    if one.any():
        charts.footnote(fig, "Themis with f = 1 is in (a) alone.")
    scarce = table[table["contention"] == table["contention"].max()].groupby("scheduler")["max_rho"].mean()
    ends = [f"{scarce[name]:.3g} ({look(str(name)).label})" for name in (scarce.idxmin(), scarce.idxmax())]
    top = f"Worst ρ at a contention of {table['contention'].max():g}"
    return charts.legend(fig, columns=4, headline=f"{top}: {' to '.join(ends)}")


VARIANTS: Final = {"nothing is worth little": "losing is rated as a long wait"}
"""Words of the legend for a variant whose name in the table does not say enough."""


def variants(table: pd.DataFrame, bound: float) -> Figure:
    """Draw the worst app over the knob f under other rules, a panel for each contention; sweep ``variants``."""
    loads = sorted(table["contention"].unique())
    fig, axes = charts.panels(columns=len(loads), width=3.5, height=2.7)
    for ax, load in zip(np.atleast_1d(axes), loads, strict=True):
        part = table[table["contention"] == load].replace({"variant": VARIANTS})
        charts.lines(part, "f", "max_rho", by="variant", ax=ax)
        ax.set_ylim(bottom=1)
        charts.named_line(ax, bound, f"paper: {bound:g}", vertical=False)
        charts.title(ax, f"contention {load:g}")
    plain = table[table["variant"] == "as it is"].groupby(["contention", "f"])["max_rho"].mean()
    best = [f"f = {plain[load].idxmin():g} at contention {load:g}" for load in loads]
    return charts.legend(fig, headline=f"The worst app is best off with {' and '.join(best)}")


def lies(table: pd.DataFrame) -> Figure:
    """Draw completion times of liars and of everybody else, over those with the truth; `tables.lies_table`."""
    said = table.assign(
        liar=table["jct"],  # not in seconds
        who=np.where(table["f"].isna(), "the\nstrawman", "Themis\nf = " + table["f"].map("{:g}".format)),
        report=table["factor"].map("reports {:g} times its ρ".format),
    )
    fig, axes = charts.panels(columns=2, width=3.5, height=2.8)
    for ax, column, text in ((axes[0], "liar", "Liar's"), (axes[1], "others", "Others'")):
        charts.dodged(said, "who", column, by="report", ax=ax)
        charts.named_line(ax, 1, "as with the truth", vertical=False)
        ax.set(xlabel="", ylabel=f"{text} JCT / if honest")
    axes[0].set_ylim(0, 1.1 * max(1.0, table["jct"].max()))
    charts.title(axes[0], "(a) liars")
    charts.title(axes[1], "(b) everybody else, on average")
    means = 100 - 100 * said.groupby(["who", "report"])["jct"].mean()
    best = [means[means.index.get_level_values("who").str.startswith(name)].max() for name in ("Themis", "the")]
    saved = f"up to {best[0]:.0f} % under Themis, {best[1]:.0f} % under the strawman"
    return charts.legend(fig, headline=f"Liars shorten their JCT, on average, by {saved}")


def two_ideas(apps: pd.DataFrame) -> Figure:
    """Draw every app by its GPU-time and its finish time, with the bounds of `tables.quadrants`; `tables.app_table`."""
    fig, axes = charts.panels(columns=3, width=2.35, height=2.7)
    with style():
        for ax, scheduler in zip(axes, COMPARED, strict=True):
            part = apps[apps["scheduler"] == scheduler]
            for model, (color, mark) in KINDS.items():
                of = part[part["model"] == model]
                ax.plot(of["rho_job"], of["finish_time_fairness"], mark, color=color, markersize=3, alpha=0.55,
                        label=model)  # fmt: skip
            charts.named_line(ax, LATE, f"{LATE:.3g}: late above it", vertical=False)
            charts.named_line(ax, SHARING_LOSS, f"{SHARING_LOSS:g}: lacks GPU-time left of it", (4, 2))
            ax.set_xscale("log", base=2)
            ax.set_yscale("log", base=2)
            ax.set(xlim=(0.5, 6), ylim=(0.22, 2.3), xlabel="GPU-time had / owed (LTGF)")
            charts.name_values(ax, [0.5, 1, 2, 4])
            charts.name_values(ax, [0.25, 0.5, 1, 2], vertical=True)
            charts.title(ax, LOOKS[scheduler].label)
    axes[0].set_ylabel("$T_{shared}$ / $T_{isolated}$")
    rows = apps[apps["scheduler"] == SUBJECT]
    late, short = (100 * float(x.mean()) for x in (rows["finish_time_fairness"] > LATE, rows["rho_job"] < SHARING_LOSS))
    headline = f"Under Themis {late:.0f} % of apps are late, {short:.0f} % lack GPU-time"
    return charts.legend(fig, columns=3, headline=headline)


def reversals(found: pd.DataFrame) -> Figure:
    """Draw the smallest workload of each ordering of `falsifier.falsifier_grid` that is reversed, coloured by app."""
    some = []
    row: Any
    for row in found.dropna(subset="instance").itertuples():
        w, is_knob = falsifier.instance_of(row), row.rival == falsifier.KNOB
        runs = (("themis", 0.0), ("themis", 1.0)) if is_knob else (("themis", None), (row.rival, None))
        names = ("Themis, f = 0", "Themis, f = 1") if is_knob else ("Themis", look(row.rival).label)
        values = [f"{x:.4g} GPU-h" if is_knob else f"worst ratio {x:.3g}" for x in (row.ours, row.other)]
        titles = [f"{name}: {value}" for name, value in zip(names, values, strict=True)]
        grants = [falsifier.run(w, *run).log.assign(kind="start") for run in runs]
        text = f"{w.text}. The ordering is reversed in {row.behind} of {row.instances} random workloads."
        some.append(Pair(titles, grants, sum(w.machines), text))
    fig = pairs(some, "Small workloads that reverse what Themis is said to do", by="job_id", step=falsifier.LEASE)
    epoch = f"An epoch takes {falsifier.LEASE / 60:g} min on the GPUs of one job"
    late = "Checkpoints and restarts take time, so that some apps end with a narrow bar"
    apps = "A, B and C are apps of one or two jobs"
    charts.footnote(fig, f"{apps}. {epoch}. {late}. Ratios are of finish-time fairness.")
    return fig
