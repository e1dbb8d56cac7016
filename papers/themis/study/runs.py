"""Runs of the evaluation of Themis, under one key whichever tables read them."""

from __future__ import annotations

from typing import Final

from astraea.experiments.run import Call
from papers.themis.study.cells import ThemisRun, simulated

APP_COLUMNS: Final = (
    "job_id", "model", "exploration", "gang", "contention", "jct", "finish_time_fairness", "rho_job", "placement",
    "queueing_delay",
)  # fmt: skip
"""What tables show of an app (`themis.record.app_table`): exploration is the number of its jobs, gang the GPUs of each,
contention the average number of active apps in its life; jct and queueing_delay in s."""

JOBS: Final[tuple[str, ...]] = (*APP_COLUMNS, "attained_service", "work", "end_time")
"""What is kept of a run's apps: `APP_COLUMNS`, and what `rho_summary` reads besides."""


def run_of(cell: ThemisRun) -> Call:
    """Run of a cell; of the one at the usual point the leases are kept too."""
    kept = {"jobs": JOBS}
    if cell == ThemisRun(cell.apps, cell.machines):
        kept["grants"] = ("job_id", "demand", "start", "end", "is_local")
    columns = {name: value for name, value in cell._asdict().items() if name != "machines"}
    return Call(simulated, (cell,), columns, expected=0.03 * cell.apps, kept=kept)
