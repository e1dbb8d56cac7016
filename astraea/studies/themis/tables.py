"""Tables of [Mahajan2020] §6, and of what else is asked of Themis: for each what is run, as a `Grid`, and what is read.

Each function takes a scale, ``small``, ``paper`` or ``full`` (`scales`), and raises `InputError` for another one.
Measured are figures of `themis.metrics.rho_summary`, and one row stands for one run unless something else is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.core.result import Result
from astraea.experiments.cache import measured
from astraea.experiments.grid import Grid
from astraea.experiments.run import Call
from astraea.studies.themis.app import foresight
from astraea.studies.themis.auctions import PROPERTIES, failures
from astraea.studies.themis.runs import APP_COLUMNS, cell_of, run_of, workload_of
from astraea.studies.themis.scales import ThemisScale, themis_scale
from astraea.studies.themis.variants import VARIANTS
from astraea.themis.metrics import rho_summary
from astraea.themis.policies import POLICIES

FIGURES: Final = ("max_rho", "jain", "gpu_time", "relative_gpu_time", "placement", "average_jct")

CHUNK: Final = 100
"""Random auctions of one call."""


def grid_of(size: ThemisScale, **axes: Iterable[Any]) -> Grid:
    """Every combination of values, the last changing fastest; what is not varied is at the usual point."""
    points = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    return Grid.of((run_of(cell_of(size, **point)), point) for point in points)


def figures(*names: str) -> Callable[[Result], dict[str, float]]:
    """Measure that gives some figures of a run."""

    def measure(result: Result) -> dict[str, float]:
        found = rho_summary(result)
        return {name: found[name] for name in names}

    return measure


def comparison_grid(scale: str = "paper") -> Grid:
    """Fig 9: every scheduler at the usual point."""
    size = themis_scale(scale)
    return grid_of(size, scheduler=POLICIES, trial=range(size.trials))


def comparison_tables(scale: str = "paper") -> tuple[pd.DataFrame, pd.DataFrame]:
    """All apps of a run together, and app by app.

    Returns
    -------
    DataFrame, columns scheduler, trial, and those of `rho_summary`
    DataFrame, columns scheduler, trial, and `APP_COLUMNS`; a row per app
    """
    grid = comparison_grid(scale)
    return grid.table(rho_summary), grid.table(lambda result: result.jobs[list(APP_COLUMNS)])


def knob_grid(scale: str = "paper") -> Grid:
    """Fig 19: Themis with more and fewer apps in its auctions."""
    size = themis_scale(scale)
    return grid_of(size, f=size.fs, trial=range(size.trials))


def knob_table(scale: str = "paper") -> pd.DataFrame:
    """Columns f, trial, max_rho, jain, gpu_time [GPU-h], relative_gpu_time, placement, average_jct [s]."""
    return knob_grid(scale).table(figures(*FIGURES))


def lease_grid(scale: str = "paper") -> Grid:
    """Fig 19: lease terms; one of ``inf`` is one-shot."""
    size = themis_scale(scale)
    schedulers = ("themis", "strawman", "tiresias")
    return grid_of(size, scheduler=schedulers, lease_term=size.leases, trial=range(size.trials))


def lease_table(scale: str = "paper") -> pd.DataFrame:
    """Columns scheduler, lease_term [s], trial, and those of `knob_table`."""
    return lease_grid(scale).table(figures(*FIGURES))


def contention_grid(scale: str = "paper") -> Grid:
    """§6, effect of contention: the same apps, arriving faster or slower; also Themis with f = 1."""
    size = themis_scale(scale)
    schedulers = (*POLICIES, "themis-one-bidder")
    return grid_of(size, scheduler=schedulers, contention=size.contentions, trial=range(size.contention_trials))


def contention_table(scale: str = "paper") -> pd.DataFrame:
    """Columns scheduler, contention, trial, and those of `knob_table`."""
    return contention_grid(scale).table(figures(*FIGURES))


def error_grid(scale: str = "paper") -> Grid:
    """§6, sensitivity: agents whose estimates are wrong, under those who use rho."""
    size = themis_scale(scale)
    return grid_of(size, scheduler=("themis", "strawman"), error=size.errors, trial=range(size.trials))


def error_table(scale: str = "paper") -> pd.DataFrame:
    """Columns scheduler, error, trial, max_rho, average_jct [s]."""
    return error_grid(scale).table(figures("max_rho", "average_jct"))


def variants_grid(scale: str = "paper") -> Grid:
    """The fairness knob under each of `VARIANTS`, at contention 1 and at the highest one."""
    size = themis_scale(scale)
    contentions, trials = (1.0, size.contentions[-1]), range(size.contention_trials)
    grid = grid_of(size, scheduler=("as it is", *VARIANTS), contention=contentions, f=size.few_fs, trial=trials)
    return Grid(grid.runs, grid.index.rename(columns={"scheduler": "variant"}))


def variants_table(scale: str = "paper") -> pd.DataFrame:
    """Columns variant, contention, f, trial, max_rho, relative_gpu_time, average_jct [s]."""
    return variants_grid(scale).table(figures("max_rho", "relative_gpu_time", "average_jct"))


def lies_grid(scale: str = "paper") -> Grid:
    """One app after the other multiplies every rho that it reports, under the strawman and under Themis.

    The liars are spread evenly over the order of arrival in one workload of the usual point; all others tell the truth.
    The first run of each mechanism, with a factor of 1, is the one without a lie.
    """
    size = themis_scale(scale)
    liars = [int(i) for i in (np.arange(size.liars) + 0.5) * size.lying_apps / size.liars]
    mechanisms: list[dict[str, Any]] = [
        {"scheduler": "strawman"},
        *({"scheduler": "themis", "f": f} for f in size.few_fs),
    ]
    lies = [{"factor": 1.0, "liar": 0}, *({"factor": k, "liar": i} for k in size.factors for i in liars)]
    points = [{**mechanism, **lie} for mechanism in mechanisms for lie in lies]
    smaller = size._replace(apps=size.lying_apps)
    return Grid.of((run_of(cell_of(smaller, **point)), point) for point in points)


def lies_table(scale: str = "paper") -> pd.DataFrame:
    """What an app gains by reporting a larger rho than it has, and what the others lose (§3, §3.3).

    Returns
    -------
    DataFrame, columns mechanism, f, factor, app, jct, others
        `f` is NaN for the strawman. `jct` is the liar's completion time, `others` the average one of all other apps,
        both relative to the run in which everybody tells the truth: `jct` below 1 is what the lie gains.
    """
    grid, rows = lies_grid(scale), []
    times = measured(grid.runs, lambda result: result.jobs["jct"].to_numpy(), progress=False)
    point: Any
    for point, lied in zip(grid.index.itertuples(), times, strict=True):
        if point.factor == 1:
            truth = lied
            continue
        others = np.arange(len(truth)) != point.liar
        mine, theirs = lied[point.liar] / truth[point.liar], lied[others].mean() / truth[others].mean()
        rows.append((point.scheduler, point.f, point.factor, f"app-{point.liar}", mine, theirs))
    return pd.DataFrame(rows, columns=["mechanism", "f", "factor", "app", "jct", "others"])


def properties_grid(scale: str = "paper") -> Grid:
    """Random auctions, `CHUNK` of them a call."""
    instances = themis_scale(scale).instances
    calls = [(first, min(first + CHUNK, instances)) for first in range(0, instances, CHUNK)]
    rows = [{"first": first, "last": last} for first, last in calls]
    return Grid.of(
        (Call(failures, call, row, ("themis",), expected=2.0), row) for call, row in zip(calls, rows, strict=True)
    )


def properties_table(scale: str = "paper") -> pd.DataFrame:
    """Whether the promises of the auction hold (`auctions`).

    Returns
    -------
    DataFrame, columns property, instances, violations
        Auctions tried, and those in which the property fails.
    """
    failed = properties_grid(scale).table(lambda table: table)[list(PROPERTIES)]
    return pd.DataFrame({"property": PROPERTIES, "instances": len(failed), "violations": failed.sum().to_numpy()})


def foresight_grid(scale: str = "paper") -> Grid:
    """How far off the estimated lengths of jobs are, in the workload of the usual point."""
    workload = workload_of(cell_of(themis_scale(scale)))
    row = {"workload": workload.name}
    return Grid.of([(Call(foresight, (workload,), row, ("themis",), large=(workload,)), row)])


def foresight_table(scale: str = "paper") -> pd.DataFrame:
    """Columns workload, epochs, jobs, median, worst_tenth: those of `app.foresight`."""
    return foresight_grid(scale).table(lambda table: table)


def themis_grid(_trace: str, scale: str = "paper") -> Grid:
    """Everything that notebook 09 reads."""
    grids = (
        comparison_grid, knob_grid, lease_grid, contention_grid, error_grid, variants_grid, lies_grid, properties_grid,
        foresight_grid,
    )  # fmt: skip
    runs = [run for grid in grids for run in grid(scale).runs]
    return Grid(runs, pd.DataFrame({"run": [run.label for run in runs]}))
