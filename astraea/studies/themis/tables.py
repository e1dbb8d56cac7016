"""Tables of [Mahajan2020] §6, and of what else is asked of Themis: for each what is run, as a `Grid`, and what is read.

Each function takes a scale, ``small``, ``paper`` or ``full`` (`scales`), and raises `InputError` for another one.
Measured are figures of `themis.metrics.rho_summary`, and one row stands for one run unless something else is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.core.metrics import SHARING_LOSS
from astraea.core.result import Result
from astraea.experiments.cache import measured
from astraea.experiments.grid import Grid, points, run_grid
from astraea.experiments.run import Call
from astraea.studies.themis.app import foresight
from astraea.studies.themis.auctions import PROPERTIES, failures
from astraea.studies.themis.runs import APP_COLUMNS, cell_of, run_of, workload_of
from astraea.studies.themis.scales import ThemisScale, themis_scale
from astraea.studies.themis.variants import VARIANTS
from astraea.themis.metrics import LATE, rho_summary
from astraea.themis.policies import POLICIES

CHUNK: Final = 100
"""Random auctions of one call."""

CASES: Final = ("neither", "late only", "lacks GPU-time only", "both")
PLACED: Final = {0.75: "below 0.75", 0.9: "0.75 to 0.9", 1.0: "0.9 to 1", np.inf: "1"}
"""Upper end of a placement score, not included -> what the group is called."""


class Sweep(NamedTuple):
    """Runs at every combination of values of some axes, the last changing fastest, and the figures read of each.

    What is not varied is at the usual point. Figures are those of `rho_summary`, all of them if none is named.
    """

    axes: Callable[[ThemisScale], dict[str, Iterable[Any]]]
    figures: tuple[str, ...] = ("max_rho", "jain", "gpu_time", "relative_gpu_time", "placement", "average_jct")


SWEEPS: Final = {
    # Fig 9: every scheduler at the usual point
    "comparison": Sweep(lambda size: {"scheduler": POLICIES, "trial": range(size.trials)}, ()),
    # Fig 19: more and fewer apps in the auctions
    "knob": Sweep(lambda size: {"f": size.fs, "trial": range(size.trials)}),
    # Fig 19: lease terms [s]; inf is one-shot
    "lease": Sweep(lambda size: {
        "scheduler": ("themis", "strawman", "tiresias"), "lease_term": size.leases, "trial": range(size.trials),
    }),
    # effect of contention: the same apps, arriving faster or slower
    "contention": Sweep(lambda size: {
        "scheduler": (*POLICIES, "themis-one-bidder"), "contention": size.contentions,
        "trial": range(size.contention_trials),
    }),
    # sensitivity: wrong estimates, under those who use rho
    "error": Sweep(lambda size: {
        "scheduler": ("themis", "strawman"), "error": size.errors, "trial": range(size.trials),
    }, ("max_rho", "average_jct")),
    # the fairness knob under each of `VARIANTS`, at contention 1 and at the highest one
    "variants": Sweep(lambda size: {
        "variant": ("as it is", *VARIANTS), "contention": (1.0, size.contentions[-1]), "f": size.few_fs,
        "trial": range(size.contention_trials),
    }, ("max_rho", "relative_gpu_time", "average_jct")),
}  # fmt: skip


def sweep_grid(name: str, scale: str = "paper") -> Grid:
    """Runs of one of `SWEEPS`; a column for each axis."""
    size = themis_scale(scale)
    return Grid.of((run_of(cell_of(size, **point)), point) for point in points(SWEEPS[name].axes(size)))


def sweep_table(name: str, scale: str = "paper") -> pd.DataFrame:
    """One row per run: the axes of one of `SWEEPS`, then its figures."""

    def measure(result: Result) -> dict[str, float]:
        found = rho_summary(result)
        return {figure: found[figure] for figure in SWEEPS[name].figures or found}

    return sweep_grid(name, scale).table(measure)


def app_table(scale: str = "paper") -> pd.DataFrame:
    """The runs of the comparison app by app: columns scheduler, trial, and `APP_COLUMNS`."""
    return sweep_grid("comparison", scale).table(lambda result: result.jobs[list(APP_COLUMNS)])


def quadrants(apps: pd.DataFrame) -> pd.DataFrame:
    """Share of the apps (a row of `app_table` each) of each scheduler in each of `CASES`; rows add up to 1.

    An app is late if it finishes later than its share of the cluster would have let it, by more than what [Ye2022] §6.3
    allows in GPU-time: rho = T_shared / T_isolated above 1 / 0.95. It lacks GPU-time if its rho_job is below 0.95.
    """
    case = (apps["finish_time_fairness"] > LATE) + 2 * (apps["rho_job"] < SHARING_LOSS)
    named = case.astype(int).map(dict(enumerate(CASES)))
    table = pd.crosstab(apps["scheduler"], named, normalize="index")
    return table.reindex(columns=list(CASES), fill_value=0.0)


def by_placement(apps: pd.DataFrame) -> pd.DataFrame:
    """What becomes of apps (a row of `app_table` each) by how well their gangs were placed.

    Returns
    -------
    DataFrame, columns scheduler, placement (text), apps, finish_time_fairness, rho_job, late
        Means; `late` is the share of late apps. Groups without apps are left out.
    """
    group = pd.cut(apps["placement"].round(9), [-np.inf, *PLACED], right=False, labels=list(PLACED.values()))
    frame = apps.assign(late=(apps["finish_time_fairness"] > LATE).astype(float))
    averages = {name: (name, "mean") for name in ("finish_time_fairness", "rho_job", "late")}
    means = frame.groupby(["scheduler", group], observed=True).agg(apps=("late", "size"), **averages)
    return means.reset_index().astype({"placement": str})


def lies_grid(scale: str = "paper") -> Grid:
    """One app after the other multiplies every rho that it reports, under the strawman and under Themis.

    The liars are spread evenly over the order of arrival in one workload of the usual point; all others tell the truth.
    The first run of each mechanism, with a factor of 1, is the one without a lie.
    """
    size = themis_scale(scale)
    liars = [int(i) for i in (np.arange(size.liars) + 0.5) * size.lying_apps / size.liars]
    mechanisms: list[dict[str, Any]] = [{"scheduler": "strawman"}, *({"f": f} for f in size.few_fs)]
    lies = [{"factor": 1.0, "liar": 0}, *({"factor": k, "liar": i} for k in size.factors for i in liars)]
    cases = [{"scheduler": "themis", **mechanism, **lie} for mechanism in mechanisms for lie in lies]
    smaller = size._replace(apps=size.lying_apps)
    return Grid.of((run_of(cell_of(smaller, **case)), case) for case in cases)


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


def properties_runs(scale: str = "paper") -> list[Call]:
    """Random auctions, `CHUNK` of them a call."""
    instances = themis_scale(scale).instances
    chunks = [(first, min(first + CHUNK, instances)) for first in range(0, instances, CHUNK)]
    return [Call(failures, chunk, {"auctions": chunk}, ("themis",), expected=2.0) for chunk in chunks]


def properties_table(scale: str = "paper") -> pd.DataFrame:
    """Whether the promises of the auction hold (`auctions`).

    Returns
    -------
    DataFrame, columns property, instances, violations
        Auctions tried, and those in which the property fails.
    """
    failed = pd.concat(run_grid(properties_runs(scale), progress=False))
    return pd.DataFrame({"property": PROPERTIES, "instances": len(failed), "violations": failed.sum().to_numpy()})


def foresight_run(scale: str = "paper") -> Call:
    """Estimated lengths of the jobs in the workload of the usual point."""
    workload = workload_of(cell_of(themis_scale(scale)))
    return Call(foresight, (workload,), {"workload": workload.name}, ("themis",))


def foresight_table(scale: str = "paper") -> pd.DataFrame:
    """How far off these are: the table of `app.foresight`."""
    [table] = run_grid([foresight_run(scale)], progress=False)
    return pd.DataFrame(table)


def themis_grid(_trace: str, scale: str = "paper") -> Grid:
    """Everything that notebook 09 reads."""
    grids = [*(sweep_grid(name, scale) for name in SWEEPS), lies_grid(scale)]
    runs = [*(run for grid in grids for run in grid.runs), *properties_runs(scale), foresight_run(scale)]
    return Grid(runs, pd.DataFrame({"run": [run.label for run in runs]}))
