"""Grids of Gavel's simulations: cases times workloads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from astraea.experiments.grid import Grid
from astraea.experiments.run import Call
from papers.gavel.policies import get_policy
from papers.gavel.study.cells import READ, GavelRun, simulated
from papers.gavel.throughputs.table import Throughputs
from papers.gavel.workload import Workload


def grid_of(
    drawn: Iterable[tuple[Mapping[str, Any], Workload]], throughputs: Throughputs, workers: tuple[int, ...],
    cases: Mapping[Any, tuple[Any, ...]], column: str = "policy", **same: Any,
) -> Grid:  # fmt: skip
    """Every case on every workload, the case changing fastest.

    `drawn` has what distinguishes each workload, as a row of the index, and its jobs. A case is the further fields of a
    `GavelRun` (policy, options, is_ideal, believed), under the name that it has in the `column` of the index. Columns
    that are the `same` in all rows stand first.
    """
    made = []
    for row, jobs in drawn:
        for name, case in cases.items():
            cell = GavelRun(jobs, throughputs, workers, *case)
            columns = {"workload": jobs.name, "workers": " + ".join(map(str, workers)), "policy": cell.policy}
            seconds = get_policy(cell.policy).expected * (cell.options.until or len(jobs))
            call = Call(simulated, cell, columns, (jobs, throughputs), seconds, READ)
            made.append((call, {**same, column: name, **row}))
    return Grid.of(made)
