"""Fig 9 with overheads that were measured on training scripts, beside those that the simulations assume."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Final

import pandas as pd
from matplotlib.figure import Figure

from astraea.cluster.settings import Settings
from astraea.experiments.grid import Grid
from astraea.experiments.lease_term import FIGURES
from astraea.experiments.run import Run
from astraea.plots import charts
from astraea.plots.style import name_axis
from papers.ye2022.evaluation import LEASE_TERMS, few_seeds, workloads
from papers.ye2022.readings import ASTRAEA

TRACE: Final = "venus"
PARTS: Final = ("cold_start", "restore", "save", "lost")
"""Measures of a lease, each with median, least and most [s]."""


def measurements(folder: Path) -> pd.DataFrame:
    """Medians [s] of what `docs/live/measure_overheads.py` wrote into a folder, a row for each file.

    Columns: what is measured (`PARTS`), the two overheads of `Settings`, state [MiB], device.
    """
    rows = {}
    for path in sorted(folder.glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        paid = {name: found[name] for name in ("checkpoint_overhead", "restart_overhead")}
        about = {"state": found["state_bytes"] / 2**20, "device": found["device"]}
        rows[path.stem] = {part: found[part]["median"] for part in PARTS} | paid | about
    return pd.DataFrame.from_dict(rows, orient="index")


def overheads_grid(measured: pd.DataFrame, scale: str = "paper") -> Grid:
    """ASTRAEA from the papers under the lease terms of Fig 9, with assumed overheads and each of `measurements`.

    The assumed ones come first. Columns of the index: overheads, seed, lease_term [s].
    """
    usual = Settings()
    cases = {f"assumed, {usual.checkpoint_overhead:g} and {usual.restart_overhead:g} s": usual}
    for name, one in measured.iterrows():
        save, restart = float(one["checkpoint_overhead"]), float(one["restart_overhead"])
        own = replace(usual, checkpoint_overhead=save, restart_overhead=restart)
        cases[f"{name}, {save:.2g} and {restart:.2g} s"] = own
    return Grid.of(
        (
            Run(jobs, cluster, ASTRAEA.made(lease_term=term), settings=settings, keep="summary"),
            {"overheads": name, "seed": seed, "lease_term": term},
        )
        for name, settings in cases.items()
        for seed, jobs, cluster in workloads(TRACE, scale, few_seeds(TRACE, scale, usual=2, large=1))
        for term in LEASE_TERMS
    )


def overheads_picture(table: pd.DataFrame) -> Figure:
    """`FIGURES` over the lease term from the table of `overheads_grid`: a panel for each, a line for each case."""
    fig, axes = charts.panels(columns=3, width=2.33, height=2.9)
    for ax, column, text in zip(axes, FIGURES, ("(a) efficiency", "(b) cost", "(c) fairness of jobs"), strict=True):
        charts.lines(table, "lease_term", column, by="overheads", ax=ax, log=True)
        charts.title(ax, text)
        ax.set_xticks([term for term in LEASE_TERMS if term not in (900, 1200)])
    axes[1].set_yscale("log")
    axes[1].set_ylim(0.8 * table["overhead_share"].min(), 1.4 * table["overhead_share"].max())
    name_axis(axes[1].yaxis, "overhead_share", log=True)
    axes[1].set_ylabel("Overhead [% of JCT]\n(log scale)")
    charts.legend(fig, columns=3, headline="Do measured overheads change the best lease term?")
    return fig
