"""One round of Themis step by step, for notebooks: bidders, bids, winners, payments, leftovers."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.random import number_of_bidders
from astraea.plots import style
from papers import charts
from papers.layout import quick
from papers.themis.apps import DEFAULT_TUNER, App
from papers.themis.arbiter import worst_first
from papers.themis.auction import auction
from papers.themis.policies.themis import bid, themis
from papers.themis.study.auctions import offer

MACHINES: Final = (4, 4, 2, 2)
"""GPUs of the machines that are on offer."""

APPS: Final = (("A", "vgg16", 0.0), ("B", "resnet50", 120.0), ("C", "inception-v3", 240.0),
               ("D", "vgg16", 480.0), ("E", "resnet50", 540.0))  # fmt: skip
"""Name, model and arrival [s] of apps of two jobs each, gangs of 4; it is 600 s now."""

F: Final = 0.4
"""The fairness knob of the example: three of five apps may bid."""

STEPS: Final = ("1 reports", "2 the filter", "3 bids", "4 winners", "5 hidden payments", "6 leftovers")


class Round(NamedTuple):
    """All that happens in one round; apps are in order of arrival."""

    rho: FloatArray  # that each app reports before the round, shape (apps,)
    may_bid: list[int]  # apps
    rows: IntArray  # gangs on one machine each and spread ones, of the rows of a bid, shape (rows, 2)
    value: FloatArray  # 1 / rho of each bidder with each row, shape (bidders, rows)
    won: list[int]  # row of each bidder
    kept: FloatArray  # part of its prize that each bidder keeps
    gangs: IntArray  # gangs that each app holds after the round, shape (apps,)


def one_round() -> Round:
    """Run one round of Themis on `APPS` and keep what is decided at each step."""
    loss = (np.ones(1), np.ones(1))  # never read: no job has run
    tuner = DEFAULT_TUNER._replace(longest=8)
    apps = [App(name, arrival, model, 4, 120.0, loss, tuner) for name, model, arrival in APPS]
    arbiter, agents = offer(apps, np.array(MACHINES), 600.0)
    rho = arbiter.rhos(agents)
    chosen = sorted(agent.index for agent in worst_first(arbiter)[: number_of_bidders(len(agents), F)])
    made = [bid(arbiter, agents[k]) for k in chosen]
    out = auction([b for b, _ in made], arbiter.room())
    value = np.array([b.value for b, _ in made])
    themis(arbiter, F)
    gangs = np.array([len(agent.lots) for agent in agents])
    return Round(rho, chosen, made[0][1], value, out.row.tolist(), out.kept, gangs)


def say(step: int) -> str:
    """Say what a step decides, `step` from 0."""
    r = one_round()
    names = [name for name, _, _ in APPS]
    bidders = [names[k] for k in r.may_bid]
    prizes = [f"{name} wins {_gangs(r.rows[row])}" for name, row in zip(bidders, r.won, strict=True)]
    kept = [f"{name} keeps {100 * c:.0f} %" for name, c in zip(bidders, r.kept, strict=True)]
    holds = [f"{name} {n}" for name, n in zip(names, r.gangs, strict=True)]
    return (
        "Reported finish-time fairness: " + ", ".join(f"{n} {v:.2f}" for n, v in zip(names, r.rho, strict=True)) + ".",
        f"f = {F:g}: the worst {1 - F:.0%} may bid, {', '.join(bidders)}.",
        "Each bids 1/ρ for every row of gangs that it could use.",
        "The rows that fit and whose product is largest: " + ", ".join(prizes) + ".",
        "Each keeps the part that makes up for what the others lose by its presence: " + ", ".join(kept) + ".",
        "What is not kept goes to apps that did not bid. Gangs in the end: " + ", ".join(holds) + ".",
    )[step]


def _gangs(row: IntArray) -> str:
    near, far = row.tolist()
    parts = [f"{near} on one machine"] * (near > 0) + [f"{far} spread"] * (far > 0)
    return " and ".join(parts) or "nothing"


def picture(step: int) -> Figure:
    """Draw the round up to a step: the apps' rho on the left, bids on the right, `step` from 0."""
    r = one_round()
    fig, (left, right) = charts.panels(columns=2, width=3.5, height=2.6)
    names = [f"{name}, {model}" for name, model, _ in APPS]
    bids = [k in r.may_bid for k in range(len(APPS))]
    with style():
        colors = ["#555555" if step and is_in else "#CCCCCC" for is_in in bids]
        left.barh(range(len(APPS)), r.rho, color=colors, height=0.7)
        left.set_yticks(range(len(APPS)), names)
        left.set(ylim=(len(APPS) - 0.5, -0.5), xlim=(0, 1.35 * r.rho.max()), xlabel="ρ that it reports")
        if step == 5:
            for k, n in enumerate(r.gangs):
                left.text(r.rho[k], k, f"  holds {n}", va="center", fontsize=8)
        right.axis("off")
        if step >= 2:
            _bids(right, r, step)
    quick(fig, left=0.17, right=0.99, wspace=0.08)
    charts.title(left, "Dark: may bid" if step else "Five apps, 12 GPUs on offer")
    charts.title(right, "Bids: 1/ρ with so many gangs" if step >= 2 else "")
    return fig


def _bids(ax: Axes, r: Round, step: int) -> None:
    """Write the bids as a table, with the winning rows framed, and what is kept below."""
    ax.set(xlim=(-3.4, len(r.may_bid) - 0.4), ylim=(len(r.rows) + 0.6, -1.3))
    for column, app in enumerate(r.may_bid):
        ax.text(column, -0.8, APPS[app][0], ha="center", va="center", fontweight="bold")
        for k, value in enumerate(r.value[column]):
            is_won = step >= 3 and r.won[column] == k
            box = {"facecolor": "#FFFFFF", "edgecolor": "#222222"} if is_won else {"facecolor": "none", "linewidth": 0}
            ax.text(column, k, f"{value:.2f}", ha="center", va="center", fontsize=8, bbox=box)
        if step >= 4:
            ax.text(column, len(r.rows) + 0.1, f"{100 * r.kept[column]:.0f} %", ha="center", va="center", fontsize=8)
    if step >= 4:
        ax.text(-0.55, len(r.rows) + 0.1, "part that is kept", ha="right", va="center", fontsize=8)
    for k, row in enumerate(r.rows):
        ax.text(-0.55, k, _gangs(row), ha="right", va="center", fontsize=8)
