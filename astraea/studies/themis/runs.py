"""One simulation of the evaluation of Themis, under one key whichever tables read it."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from astraea.core.result import Result
from astraea.experiments.run import Call
from astraea.studies.themis.scales import ThemisScale
from astraea.studies.themis.variants import VARIANTS
from astraea.themis.apps import Workload
from astraea.themis.arbiter import Policy
from astraea.themis.policies import get_policy
from astraea.themis.simulate import simulate
from astraea.themis.workload import sample_workload

APP_COLUMNS: Final = (
    "job_id", "model", "exploration", "gang", "contention", "jct", "finish_time_fairness", "rho_job", "placement",
    "queueing_delay",
)  # fmt: skip
"""What tables show of an app (`themis.record.app_table`): exploration is the number of its jobs, gang the GPUs of each,
contention the average number of active apps in its life; jct and queueing_delay in s."""

JOBS: Final[tuple[str, ...]] = (*APP_COLUMNS, "attained_service", "work", "end_time")
"""What is kept of a run's apps: `APP_COLUMNS`, and what `rho_summary` reads besides."""

POINTS: Final[dict[str, dict[str, Any]]] = {
    "themis-one-bidder": {"scheduler": "themis", "f": 1.0},
    "as it is": {"scheduler": "themis"},
}
"""Names in tables of what is Themis at some point."""


class Cell(NamedTuple):
    """One simulation; apps, machines, trials and contention as in `ThemisScale`."""

    apps: int
    machines: tuple[int, ...]
    scheduler: str = "themis"  # name of a policy, or one of `VARIANTS`
    trial: int = 0
    contention: float = 1.0
    f: float = 0.8  # of Themis and its variants
    lease_term: float = 900.0  # [s]
    error: float = 0.0  # of estimates, as a part
    liar: int = 0  # place of the app that lies
    factor: float = 1.0  # by which it multiplies its rho; 1 is the truth


def cell_of(size: ThemisScale, **point: Any) -> Cell:
    """Cell at the usual point, but for what is given; a scheduler, or `variant`, may be one of `POINTS`."""
    name = point.pop("variant", point.get("scheduler", "themis"))
    return Cell(size.apps, size.machines, **(point | POINTS.get(name, {"scheduler": name})))


def workload_of(cell: Cell) -> Workload:
    """Apps and machines of a cell."""
    return sample_workload(cell.apps, cell.contention, cell.trial, np.array(cell.machines))


def simulated(cell: Cell) -> Result:
    """Simulate a cell."""
    if cell.scheduler in VARIANTS:
        policy = Policy(cell.scheduler, partial(VARIANTS[cell.scheduler], f=cell.f), {"f": cell.f})
    else:
        policy = get_policy(cell.scheduler, **({"f": cell.f} if cell.scheduler == "themis" else {}))
    lies = {f"app-{cell.liar}": cell.factor} if cell.factor != 1 else {}
    return simulate(workload_of(cell), policy, lease_term=cell.lease_term, error=cell.error, lies=lies, seed=cell.trial)


def run_of(cell: Cell) -> Call:
    """Run of a cell; of the one at the usual point the leases are kept too."""
    kept = {"jobs": JOBS}
    if cell == Cell(cell.apps, cell.machines):
        kept["grants"] = ("job_id", "demand", "start", "end", "is_local")
    columns = {name: value for name, value in cell._asdict().items() if name != "machines"}
    code = ("themis", "studies/themis/variants.py")
    return Call(simulated, (cell,), columns, code, expected=0.03 * cell.apps, kept=kept)
