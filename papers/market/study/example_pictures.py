"""Pictures of examples: prices, one choice, choices of a tenant, idle and full hours."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from astraea.plots import charts
from astraea.plots.charts import PUBLISHED
from astraea.plots.style import REFERENCE, look, mark_line
from papers.market.study.choices import AS_WRITTEN, EXAMPLE, HERE, PRICES, Choice

OURS: Final = "astraea-market"

LAMBDAS: Final = (("#332288", "o"), ("#0072B2", "s"), ("#56B4E9", "^"), ("#E69F00", "v"))
"""How the values of lambda are drawn, the smallest first."""


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
    axes[0].set_xlabel("Workers in use [%]")
    axes[0].set_ylabel("Price of a worker for a slot")
    axes[0].legend(frameon=False, fontsize=8)
    charts.title(axes[0], "(a) Eq. 8")
    at = range(len(steps))
    axes[1].step(at, steps["worker_price"], where="post", color="#D55E00", label="a worker")
    axes[1].step(at, steps["ps_price"], where="post", color="#0072B2", linestyle="--", label="a PS")
    axes[1].set_xlabel("Jobs asked so far")
    axes[1].set_ylabel("Price")
    axes[1].legend(frameon=False, fontsize=8)
    charts.title(axes[1], "(b) a queue of jobs is asked one by one")
    return fig


def choices(table: pd.DataFrame) -> Figure:
    """Revenue and its fairness by theta and lambda, with the places of three choices; a table of `choices.table`."""
    fig, axes = charts.panels(columns=2, width=3.5, height=3.0)
    others = table[table["scheduler"] == "gandiva-fair"]
    ours = table[table["scheduler"] == OURS].assign(price=lambda rows: rows["theta"] - 1)
    for ax, column, text in (
        (axes[0], "revenue", "Revenue [thousands]"),
        (axes[1], "variance", "Variance of revenue fairness"),
    ):
        factor = 1e-3 if column == "revenue" else 1.0
        for (rounds, part), (color, marker) in zip(ours.groupby("rounds"), LAMBDAS, strict=True):
            means = factor * part.groupby("price")[column].mean()
            ax.plot(means.index, means, marker=marker, markersize=4, color=color, label=f"λ = {rounds:g}")
        ax.axhline(factor * others[column].mean(), **REFERENCE | {"color": look("gandiva-fair").color},
                   label=look("gandiva-fair").label)  # fmt: skip
        for choice, name, marker in ((EXAMPLE, "paper's example", "D"), (HERE, "chosen here", "*")):
            mine = ours[(ours["theta"] == choice.theta) & (ours["rounds"] == choice.rounds)]
            mark: dict[str, Any] = PUBLISHED | {"marker": marker, "markersize": 9 if marker == "D" else 13}
            ax.plot(choice.theta - 1, factor * mine[column].mean(), **mark | {"label": name})
        ax.set_xscale("log")
        ax.set_xticks(PRICES, [f"{price:g}" for price in PRICES])
        ax.minorticks_off()
        ax.set_xlabel("Maximal price, θ − 1")
        charts.title(ax, text)
    written = table[table["rounds"] == AS_WRITTEN]
    charts.footnote(fig, f"As written, with the λ of Lemma 1 and the θ of §4.4: revenue "
                    f"{factor_text(written['revenue'].mean())} thousand, of which no fairness is defined.")  # fmt: skip
    axes[1].set_yscale("log")
    low, high = axes[1].get_ylim()
    marks = [m for m in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000) if low <= m <= high]
    axes[1].set_yticks(marks, [f"{m:g}" for m in marks])
    axes[1].minorticks_off()
    charts.legend(fig)
    return fig


def factor_text(revenue: float) -> str:
    """Thousands, with a minus sign."""
    return f"{revenue / 1000:,.0f}".replace("-", "−")


def one_choice(made: Choice) -> Figure:
    """What one theta and one lambda make of a market: when workers are in use, and each tenant's fairness."""
    fig, axes = charts.panels(columns=2, width=3.5, height=2.2)
    fig.set_layout_engine(None)  # a fixed layout is drawn twice as fast, and a slider waits for it
    fig.subplots_adjust(left=0.08, right=0.99, bottom=0.22, top=0.88, wspace=0.22)
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


def one_choice_png(made: Choice) -> bytes:
    """`one_choice` as a PNG, for a slider that shows it again with each move; the figure is closed."""
    fig, file = one_choice(made), BytesIO()
    fig.savefig(file, format="png", dpi=90)
    plt.close(fig)
    return file.getvalue()
