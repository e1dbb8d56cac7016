"""One simulation of Gavel's evaluation, in its own module, so that edits of the grids recompute nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, NamedTuple

from astraea.core import source
from astraea.core.result import Result
from astraea.experiments.archive import Keep
from papers.gavel.policies import get_policy
from papers.gavel.rounds.ideal import IDEAL
from papers.gavel.rounds.mechanism import IN_ROUNDS
from papers.gavel.simulate import Options, simulate
from papers.gavel.throughputs.table import Throughputs
from papers.gavel.workload import Workload

READ: Final[Keep] = {
    "jobs": (
        "demand", "end_time", "jct", "queueing_delay", "slowdown", "attained_service", "rho_job", "effective_service",
        "rho_effective", "weight", "leases", "preemptions", "overhead", "finish_time_fairness", "cost", "slo_met",
    ),
    "excluded_jobs": ("demand", "duration"),
    "timeline": ("time", "tenant", "attained_service", "effective_service", "fair_service"),
}  # fmt: skip
"""Parts of a run that notebook 10 reads: `metrics.summary`, `metrics.tenant_windows` and its own measures."""


class GavelRun(NamedTuple):
    """The arguments of `gavel.simulate`, with the policy by name."""

    workload: Workload
    throughputs: Throughputs
    workers: tuple[int, ...]
    policy: str
    options: Options = Options()
    is_ideal: bool = False  # whether the mechanism is `IDEAL`, without rounds
    believed: Throughputs | None = None  # what the policy is told of speeds, if not the truth


def simulated(*arguments: Any) -> Result:
    """Simulate a `GavelRun`."""
    cell = GavelRun(*arguments)
    policy, mechanism = get_policy(cell.policy), IDEAL if cell.is_ideal else IN_ROUNDS
    result = simulate(*cell[:3], policy, cell.options, mechanism=mechanism, believed=cell.believed)
    known = {**result.provenance, "source_sha256": source.digest(__name__)}
    return replace(result, provenance=known)
