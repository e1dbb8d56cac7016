"""Simulations that each notebook reads: `make figures` runs them beforehand, in parallel."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Final

from astraea.experiments.grid import Grid
from papers import ROOT
from papers.gavel.study.physical import table3_grid
from papers.gavel.study.runs import beyond_grid, evaluation_grid, rounds_grids
from papers.gavel.study.tenants import tenants_grid
from papers.market.study import falsifier as market_falsifier
from papers.market.study.exhibits import properties_grid
from papers.market.study.tables import market_grid
from papers.themis.study import falsifier as themis_falsifier
from papers.themis.study.tables import themis_grid
from papers.ye2022 import falsifier
from papers.ye2022.burst import burst_grid, memory_grid
from papers.ye2022.estimates import estimate_grid
from papers.ye2022.evaluation import accounting_grid, baselines_grid, lease_grid, load_grid, main_grid, size_grid
from papers.ye2022.generator import characterization_grid
from papers.ye2022.ladder import ladder_grid
from papers.ye2022.leaderboard import leaderboard_grid
from papers.ye2022.lease_term import sensitivity_grid
from papers.ye2022.one_tenant import over_claiming_grid, paid_share_grid
from papers.ye2022.overheads import measurements, overheads_grid
from papers.ye2022.released import released_grid

NotebookGrid = Callable[[str, str], Grid]
"""Grid for a trace and a scale."""


def _together(*grids: NotebookGrid) -> NotebookGrid:
    return lambda trace, scale: reduce(add, (grid(trace, scale) for grid in grids))


one_tenant_grid = _together(memory_grid, over_claiming_grid, paid_share_grid, burst_grid)

GRIDS: Final[dict[str, NotebookGrid]] = {
    "01_trace_characterization": characterization_grid,
    "03_lease_term": _together(lease_grid, sensitivity_grid),
    "04a_fairness": _together(main_grid, accounting_grid),
    "04b_fairness_experiments": one_tenant_grid,
    "05_efficiency": main_grid,
    "06_cluster_size": _together(size_grid, load_grid),
    "07_estimates": estimate_grid,
    "08_paper_vs_release": _together(released_grid, baselines_grid, ladder_grid),
    "09_themis": themis_grid,
    "10a_gavel_programs": lambda _, scale: rounds_grids(scale),
    "10b_gavel_evaluation": lambda _, scale: evaluation_grid(scale) + table3_grid(scale),
    "10c_gavel_extensions": lambda _, scale: beyond_grid(scale) + tenants_grid(scale),
    "11a_market": properties_grid,
    "11b_market_evaluation": market_grid,
    "13_live": lambda _, scale: overheads_grid(measurements(ROOT / "data" / "live" / "overheads"), scale),
    "14_leaderboard": leaderboard_grid,
    "15_falsifier": lambda _, scale: reduce(
        add, (of.falsifier_grid(scale) for of in (falsifier, themis_falsifier, market_falsifier))
    ),
}
"""Notebook -> the grid that it reads."""
