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
from astraea.experiments.run import Run
from papers import charts
from papers.charts.axes import name_axis
from papers.ye2022.evaluation import LEASE_TERMS, few_seeds, workloads
from papers.ye2022.lease_term import over_terms, term_range
from papers.ye2022.readings import ASTRAEA

TRACE: Final = "venus"
PARTS: Final = ("cold_start", "restore", "save", "lost")
"""Measures of a lease, each with median, least and most [s]."""


def measurements(folder: Path) -> pd.DataFrame:
    """Medians [s] of what `ops/docs/live/measure_overheads.py` wrote into a folder, a row for each file.

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
            Run(jobs, cluster, ASTRAEA.made.with_parameters(lease_term=term), settings=settings, keep="summary"),
            {"overheads": name, "seed": seed, "lease_term": term},
        )
        for name, settings in cases.items()
        for seed, jobs, cluster in workloads(TRACE, scale, few_seeds(TRACE, scale))
        for term in LEASE_TERMS
    )


def overheads_picture(table: pd.DataFrame) -> Figure:
    """`lease_term.over_terms` of the table of `overheads_grid`: a panel for each, a line for each case."""
    fig, axes = charts.panels(columns=3, width=2.33, height=2.9)
    over_terms(table, "overheads", axes)
    name_axis(axes[1].yaxis, "overhead_share", log=True)
    axes[1].set_ylabel("Overhead [% of JCT]\n(log scale)")
    best = table.pivot_table("average_jct", "overheads", "lease_term").idxmin(axis=1) / 60
    return charts.legend(fig, columns=3, headline=f"JCT is lowest with leases of {term_range(best)}")
