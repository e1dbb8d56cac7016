"""The two numbers that [Wang2023] leaves open, theta and lambda, and what they make of a market.

§4.4 wants theta so high that nobody can pay when everything is in use, Lemma 1 has a lambda for which the guarantee is
proven; the paper's own example has neither. One market of `JOBS` jobs is enough to see their effect.
"""

from __future__ import annotations

from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from astraea.core.arrays import FloatArray
from astraea.plots import look
from papers import charts
from papers.charts import PUBLISHED
from papers.charts.axes import REFERENCE, mark_line
from papers.market.metrics import revenue_fairness, total_revenue, utilization
from papers.market.model import Market, MarketPlan
from papers.market.policies.astraea.batches import astraea_market
from papers.market.study.pictures import OURS, SHADES, factor_text
from papers.market.study.runs import LEMMA, planner
from papers.market.study.tables import market_of

JOBS: Final = 150
SERVERS: Final = 25
TRIALS: Final = 3

PRICES: Final = (0.02, 1.0, 3.0, 15.0, 63.0, 255.0)
"""theta - 1, the maximal price."""

TRIED_ROUNDS: Final = (1, 2, 4, 8)
"""Values of lambda that are tried."""

AS_WRITTEN: Final = 0
"""Stands for the lambda of Lemma 1, with the theta of §4.4."""

EXAMPLE: Final = (16.0, 2)
HERE: Final = (2.0, 1)
"""theta and lambda of the paper's worked example, and of the figures (`runs.THETA`, `runs.LAMBDA`)."""


class Choice(NamedTuple):
    """Results of one theta and one lambda."""

    revenue: float
    alpha: FloatArray  # revenue fairness of each tenant; NaN if the total revenue is not above 0
    admitted: int  # jobs
    used: FloatArray  # part of all workers, in each hour


def market(trace: str = "philly", scale: str = "paper", trial: int = 0) -> Market:
    """A market that is planned in a fiftieth of a second: `JOBS` jobs of 14 tenants on `SERVERS` servers."""
    return market_of(trace, scale, trial, JOBS, SERVERS)


def choose(of: Market, theta: float, rounds: int, hours: int = 1000) -> Choice:
    """Plan a market with one theta for workers and parameter servers, and one lambda; use is noted for `hours`."""
    plan = astraea_market(of, theta=(theta, theta), rounds=rounds)
    return Choice(total_revenue(plan), revenue_fairness(plan), len(plan.schedules), utilization(plan, hours))


def table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Every theta with every lambda, the algorithm as written, and Gandiva_fair, which has neither.

    Columns scheduler, theta, rounds, trial, revenue, variance: of revenue fairness over tenants, NaN where total
    revenue is not above 0.
    """
    rows = []
    for trial in range(TRIALS):
        mine = market(trace, scale, trial)
        plans: list[tuple[str, float, float, MarketPlan]] = [
            (OURS, 1 + price, rounds, astraea_market(mine, theta=(1 + price, 1 + price), rounds=rounds))
            for price, rounds in product(PRICES, TRIED_ROUNDS)
        ]
        plans.append((LEMMA, np.nan, AS_WRITTEN, planner(mine, LEMMA)(mine)))
        plans.append(("gandiva-fair", np.nan, np.nan, planner(mine, "gandiva-fair")(mine)))
        for *point, plan in plans:
            rows.append((*point, trial, total_revenue(plan), float(np.var(revenue_fairness(plan)))))
    return pd.DataFrame(rows, columns=["scheduler", "theta", "rounds", "trial", "revenue", "variance"])


LAMBDAS: Final = tuple(zip(SHADES[::-1], "os^v", strict=True))
"""Colour and marker of each lambda, the smallest first."""


def picture(found: pd.DataFrame) -> Figure:
    """Revenue and its fairness by theta and lambda, with the places of three choices; a table of `table`."""
    fig, axes = charts.panels(columns=2, width=3.5, height=3.0)
    others = found[found["scheduler"] == "gandiva-fair"]
    ours = found[found["scheduler"] == OURS].assign(price=lambda rows: rows["theta"] - 1)
    for ax, column, text in (
        (axes[0], "revenue", "(a) revenue"), (axes[1], "variance", "(b) its fairness; low is fair"),
    ):
        factor = 1e-3 if column == "revenue" else 1.0
        for (rounds, part), (color, marker) in zip(ours.groupby("rounds"), LAMBDAS, strict=True):
            means = factor * part.groupby("price")[column].mean()
            ax.plot(means.index, means, marker=marker, markersize=4, color=color, label=f"λ = {rounds:g}")
        ax.axhline(factor * others[column].mean(), **REFERENCE | {"color": look("gandiva-fair").color},
                   label=look("gandiva-fair").label)  # fmt: skip
        for (theta, rounds), name, marker in ((EXAMPLE, "paper's example", "s"), (HERE, "chosen here", "o")):
            mine = ours[(ours["theta"] == theta) & (ours["rounds"] == rounds)]
            mark: dict[str, Any] = PUBLISHED | {"marker": marker, "markersize": 11, "clip_on": False}
            ax.plot(theta - 1, factor * mine[column].mean(), **mark | {"label": name})
        ax.set_xscale("log")
        charts.name_values(ax, PRICES)
        ax.set_xlabel("Maximal price, θ − 1")
        ax.set_ylabel("Revenue [thousands]" if column == "revenue" else "Variance of α")
        charts.title(ax, text)
    written = found[found["rounds"] == AS_WRITTEN]
    charts.footnote(fig, f"With the λ of Lemma 1 and the θ of §4.4: revenue {factor_text(written['revenue'].mean())} "
                    "thousand.\nFairness is not defined where revenue is not above 0, as with λ = 8.")  # fmt: skip
    axes[1].set_yscale("log")
    low, high = axes[1].get_ylim()
    marks = [m for m in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000) if low <= m <= high]
    axes[1].set_yticks(marks, [f"{m:g}" for m in marks])
    axes[1].minorticks_off()
    best = ours.groupby(["price", "rounds"])["revenue"].mean().reset_index().sort_values("revenue").iloc[-1]
    said = f"a maximal price of {best['price']:g} and λ = {best['rounds']:g}"
    return charts.legend(fig, headline=f"Highest revenue: {factor_text(best['revenue'])} thousand with {said}")


def one_choice(made: Choice) -> Figure:
    """Draw when workers are in use, and each tenant's revenue fairness."""
    fig, axes = charts.panels(columns=2, width=3.5, height=2.2)
    color, tenants = look(OURS).color, range(len(made.alpha))
    axes[0].step(range(1, len(made.used) + 1), 100 * made.used, where="post", color=color, linewidth=1.2)
    axes[0].set(xlabel="Hour", ylabel="Workers in use [%]", ylim=(0, 60))
    charts.title(axes[0], f"revenue {factor_text(made.revenue)} thousand, {made.admitted} jobs")
    axes[1].bar(tenants, made.alpha, color=color)
    mark_line(axes[1], 1, "", vertical=False)
    axes[1].set(xlabel="Tenant", ylabel="Revenue fairness α")
    axes[1].set_xticks(tenants[::2])
    charts.title(axes[1], f"variance {np.var(made.alpha):.3g}" if np.isfinite(made.alpha).all() else "no revenue")
    return fig
