"""Which simulations each notebook reads: `make figures` makes them beforehand, in parallel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pandas as pd

from astraea.burst import burst_grid
from astraea.estimate_study import estimate_grid
from astraea.evaluation import Grid, lease_grid, main_grid, size_grid
from astraea.over_claiming import over_claiming_grid
from astraea.paid_share import paid_share_grid
from astraea.released_study import released_grid


def fairness_grid(trace: str, scale: str = "paper") -> Grid:
    """`main_grid`, and the runs in which one tenant over-claims, weighs twice as much, or comes with a burst."""
    grids = [grid(trace, scale) for grid in (main_grid, over_claiming_grid, paid_share_grid, burst_grid)]
    index = pd.concat([grid.index for grid in grids], ignore_index=True)
    return Grid([run for grid in grids for run in grid.runs], index)


GRIDS: Final[dict[str, Callable[[str, str], Grid]]] = {
    "03_lease_term": lease_grid, "04_fairness": fairness_grid, "05_efficiency": main_grid, "06_cluster_size": size_grid,
    "07_estimates": estimate_grid, "08_paper_vs_release": released_grid,
}  # fmt: skip
"""Notebook -> the grid that it reads."""
