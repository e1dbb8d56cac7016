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
    """The arguments of `gavel.simulate`, with the policy by name."""

    workload: Workload
    throughputs: Throughputs
    workers: tuple[int, ...]
    policy: str
    options: Options = Options()
    is_ideal: bool = False  # whether the mechanism is `IDEAL`, without rounds
    believed: Throughputs | None = None  # what the policy is told of speeds, if not the truth


def simulated(*arguments: Any) -> Result:
    """Simulate a `Cell`."""
    cell = Cell(*arguments)
    policy, mechanism = get_policy(cell.policy), IDEAL if cell.is_ideal else ROUNDS
    result = simulate(*cell[:3], policy, cell.options, mechanism=mechanism, believed=cell.believed)
    result.provenance["source_sha256"] = digest("core", "gavel")
    return result


def grid_of(
    drawn: Iterable[tuple[Mapping[str, Any], Workload]], throughputs: Throughputs, workers: tuple[int, ...],
    cases: Mapping[Any, tuple[Any, ...]], column: str = "policy", **same: Any,
) -> Grid:  # fmt: skip
    """Every case on every workload, the case changing fastest.

    `drawn` has what distinguishes each workload, as a row of the index, and its jobs. A case is the further fields of a
    `Cell` (policy, options, is_ideal, believed), under the name that it has in the `column` of the index. Columns that
    are the `same` in all rows stand first.
    """
    made = []
    for row, jobs in drawn:
        for name, case in cases.items():
            cell = Cell(jobs, throughputs, workers, *case)
            columns = {"workload": jobs.name, "workers": " + ".join(map(str, workers)), "policy": cell.policy}
            seconds = get_policy(cell.policy).expected * (cell.options.until or len(jobs))
            call = Call(simulated, cell, columns, ("gavel",), (jobs, throughputs), seconds, READ)
            made.append((call, {**same, column: name, **row}))
    return Grid.of(made)
