"""Which simulations each notebook reads: `make figures` makes them beforehand, in parallel."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Final

from astraea.experiments.grid import Grid
from papers.gavel.study.physical import table3_grid
from papers.gavel.study.runs import beyond_grid, evaluation_grid, rounds_grids
from papers.gavel.study.tenants import tenants_grid
from papers.market.study.exhibits import properties_grid
from papers.market.study.tables import market_grid
from papers.themis.study.tables import themis_grid
from papers.ye2022.burst import burst_grid, memory_grid
from papers.ye2022.estimates import estimate_grid
from papers.ye2022.evaluation import (
    INTERVAL,
    accounting_grid,
    baselines_grid,
    lease_grid,
    load_grid,
    load_workload,
    main_grid,
    size_grid,
)
from papers.ye2022.generator import characterization_grid
from papers.ye2022.lease_term import sensitivity_grid
from papers.ye2022.one_tenant import over_claiming_grid, paid_share_grid
from papers.ye2022.released import released_grid
from papers.ye2022.steps import steps_grid


def fairness_grid(trace: str, scale: str = "paper") -> Grid:
    """`main_grid`, and what counting time in rounds changes in it."""
    return main_grid(trace, scale) + accounting_grid(trace, scale)


def one_tenant_grid(trace: str, scale: str = "paper") -> Grid:
    """How long tenants are remembered, and one tenant that over-claims, weighs twice as much, or has a burst."""
    grids = (memory_grid, over_claiming_grid, paid_share_grid, burst_grid)
    return reduce(add, (grid(trace, scale) for grid in grids))


def lease_term_grid(trace: str, scale: str = "paper") -> Grid:
    """`lease_grid`, and how what it recommends hangs on overheads and load."""
    jobs, cluster = load_workload(trace, scale)
    return lease_grid(trace, scale) + sensitivity_grid(jobs.in_rounds(INTERVAL), cluster)


def capacity_grid(trace: str, scale: str = "paper") -> Grid:
    """`size_grid`, and all schedulers at several loads."""
    return size_grid(trace, scale) + load_grid(trace, scale)


def difference_grid(trace: str, scale: str = "paper") -> Grid:
    """`released_grid`, the baselines in two ways, and the steps from one reading to the other."""
    return released_grid(trace, scale) + baselines_grid(trace, scale) + steps_grid(trace, scale)


def programs_grid(_: str, scale: str = "paper") -> Grid:
    """Rounds of several lengths, and the ideal that they come close to."""
    return rounds_grids(scale)


def types_grid(_: str, scale: str = "paper") -> Grid:
    """`evaluation_grid` of Gavel, and the physical cluster."""
    return evaluation_grid(scale) + table3_grid(scale)


def extensions_grid(_: str, scale: str = "paper") -> Grid:
    """`beyond_grid`, and tenants on unequal GPUs."""
    return beyond_grid(scale) + tenants_grid(scale)


GRIDS: Final[dict[str, Callable[[str, str], Grid]]] = {
    "01_trace_characterization": characterization_grid, "03_lease_term": lease_term_grid,
    "04a_fairness": fairness_grid, "04b_fairness_experiments": one_tenant_grid,
    "05_efficiency": main_grid, "06_cluster_size": capacity_grid,
    "07_estimates": estimate_grid, "08_paper_vs_release": difference_grid,
    "09_themis": themis_grid,
    "10a_gavel_programs": programs_grid, "10b_gavel_evaluation": types_grid, "10c_gavel_extensions": extensions_grid,
    "11a_market": properties_grid, "11b_market_evaluation": market_grid,
}  # fmt: skip
"""Notebook -> the grid that it reads."""
