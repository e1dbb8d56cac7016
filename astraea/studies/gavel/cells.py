"""One simulation of Gavel's evaluation, as the cache takes it; apart, so that edits of tables compute nothing again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from astraea.core.compilation import digest
from astraea.core.result import Result
from astraea.experiments.archive import Kept
from astraea.experiments.grid import Grid
from astraea.experiments.run import Call
from astraea.gavel.policies import get_policy
from astraea.gavel.rounds.ideal import IDEAL
from astraea.gavel.rounds.mechanism import ROUNDS
from astraea.gavel.simulate import Options, simulate
from astraea.gavel.throughputs.table import Throughputs
from astraea.gavel.workload import Workload

READ: Final[Kept] = {
    "jobs": (
        "demand", "end_time", "jct", "queueing_delay", "slowdown", "attained_service", "rho_job", "effective_service",
        "rho_effective", "weight", "leases", "preemptions", "overhead", "finish_time_fairness", "cost", "slo_met",
    ),
    "excluded_jobs": ("demand", "duration"),
    "timeline": ("time", "tenant", "attained_service", "effective_service", "fair_service"),
}  # fmt: skip
"""What notebook 10 reads of a run: `metrics.summary`, `metrics.tenant_windows` and its own measures."""


class Cell(NamedTuple):
    """The arguments of `gavel.simulate`, with the policy by name.

    Attributes
    ----------
    workload, throughputs, workers, policy, options : as there
    is_ideal : bool
        Whether the mechanism is `IDEAL`, without rounds.
    believed : Throughputs or None
        What the policy is told of speeds, if not the truth.
    """

    workload: Workload
    throughputs: Throughputs
    workers: tuple[int, ...]
    policy: str
    options: Options = Options()
    is_ideal: bool = False
    believed: Throughputs | None = None


def simulated(*arguments: Any) -> Result:
    """Simulate a `Cell`."""
    cell = Cell(*arguments)
    policy, mechanism = get_policy(cell.policy), IDEAL if cell.is_ideal else ROUNDS
    result = simulate(*cell[:3], policy, cell.options, mechanism=mechanism, believed=cell.believed)
    result.provenance["source_sha256"] = digest("core", "gavel")
    return result


def run_of(cell: Cell) -> Call:
    """Make the run of a cell."""
    return Call(
        simulated,
        cell,
        {"workload": cell.workload.name, "workers": " + ".join(map(str, cell.workers)), "policy": cell.policy},
        code=("gavel",),
        large=(cell.workload, cell.throughputs),
        expected=get_policy(cell.policy).expected * (cell.options.until or len(cell.workload)),
        kept=READ,
    )


def grid_of(cells: Iterable[tuple[Cell, Mapping[str, Any]]]) -> Grid:
    """Make the grid of some cells and their rows of the index."""
    return Grid.of((run_of(cell), row) for cell, row in cells)
