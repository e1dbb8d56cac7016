"""Tables of [Mahajan2020] §6 and of further questions: for each the runs, as a `Grid`, and the figures read of them.

Of the evaluation in [Mahajan2020] only notes are at hand, so workloads are this project's own (`themis.workload`). The
usual point has contention 1, leases of 15 minutes, f = 0.8 and no errors of estimates; everything else varies one of
these. A trial is a seed, of the apps and of the errors. Measured are figures of `themis.metrics.rho_summary`, and one
row stands for one run unless something else is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from math import inf
from operator import add
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.core.metrics import SHARING_LOSS
from astraea.core.result import Result
from astraea.experiments.grid import Grid, points
from astraea.experiments.run import Call
from papers.scales import at_scale, searches
from papers.step_function import Stepped
from papers.themis.apps import App, AppTrace
from papers.themis.loss_curves import estimated_length
from papers.themis.metrics import LATE, rho_summary
from papers.themis.policies import POLICIES
from papers.themis.study.auctions import PROPERTIES, failures
from papers.themis.study.cells import VARIANTS, ThemisRun, simulated
from papers.themis.workload import MACHINES

CASES: Final = ("neither", "late only", "lacks GPU-time only", "both")
PLACED: Final = {0.75: "below 0.75", 0.9: "0.75 to 0.9", 1.0: "0.9 to 1", np.inf: "1"}
"""Upper end of a placement score, not included -> what the group is called."""

SEEN: Final = (4, 8, 16, 32)
"""Epochs after which the end of a job is foreseen: where rungs end by default."""

APP_COLUMNS: Final = (
    "job_id", "model", "exploration", "gang", "contention", "jct", "finish_time_fairness", "rho_job", "placement",
    "queueing_delay",
)  # fmt: skip
"""Columns that tables show of an app (`themis.record.app_table`)."""

POINTS: Final[dict[str, dict[str, Any]]] = {
    "themis-one-bidder": {"scheduler": "themis", "f": 1.0},
    "as it is": {"scheduler": "themis"},
}
"""Names in tables of what is Themis at some point."""


class ThemisScale(NamedTuple):
    """Size of the simulated evaluation."""

    apps: int  # of a workload
    machines: tuple[int, ...]  # GPUs of each
    trials: int  # how many seeds
    contentions: tuple[float, ...]  # demand over capacity
    contention_trials: int  # how many seeds where the contention varies
    fs: tuple[float, ...]  # the fairness knob
    leases: tuple[float, ...]  # lease terms [s]
    errors: tuple[float, ...]  # of estimates, as parts
    lying_apps: int  # apps of the workload in which one of them lies
    liars: int  # how many of these lie, one at a time
    few_fs: tuple[float, ...]  # the fairness knob where they do
    factors: tuple[float, ...]  # by which they multiply their rho
    instances: int  # random auctions for each property
    few_trials: int  # how many seeds where lease terms or errors vary


THEMIS_SCALES: Final[dict[str, ThemisScale]] = {
    "small": ThemisScale(
        10, (4,) * 8 + (2,) * 6, 2, (1.0, 2.0), 1, (0.0, 0.5, 0.8, 1.0), (900.0, 3600.0), (0.0, 0.5),
        10, 2, (0.0, 0.8), (3.0,), 40, 2,
    ),
    "paper": ThemisScale(
        100, MACHINES, 5, (0.5, 1.0, 2.0, 4.0), 2, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
        (120.0, 300.0, 900.0, 2700.0, 7200.0, inf), (0.0, 0.1, 0.2, 0.5, 0.9),
        60, 8, (0.0, 0.4, 0.8, 1.0), (1.5, 3.0), 2000, 3,
    ),
}  # fmt: skip


def cell_of(size: ThemisScale, **point: Any) -> ThemisRun:
    """ThemisRun at the usual point, but for what is given; a scheduler, or `variant`, may be one of `POINTS`."""
    name = point.pop("variant", point.get("scheduler", "themis"))
    return ThemisRun(size.apps, size.machines, **(point | POINTS.get(name, {"scheduler": name})))


def run_of(cell: ThemisRun) -> Call:
    """Run of a cell, under one key whichever tables read it; of the one at the usual point the leases are kept too."""
    keep: dict[str, tuple[str, ...]] = {"jobs": (*APP_COLUMNS, "attained_service", "work", "end_time")}
    if cell == ThemisRun(cell.apps, cell.machines):
        keep["grants"] = ("job_id", "demand", "start", "end", "is_local")
    columns = {name: value for name, value in cell._asdict().items() if name != "machines"}
    return Call(simulated, (cell,), columns, expected=0.03 * cell.apps, keep=keep)


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
        "scheduler": ("themis", "strawman", "tiresias"), "lease_term": size.leases, "trial": range(size.few_trials),
    }),
    # effect of contention: the same apps, arriving faster or slower
    "contention": Sweep(lambda size: {
        "scheduler": (*POLICIES, "themis-one-bidder"), "contention": size.contentions,
        "trial": range(size.contention_trials),
    }),
    # sensitivity: wrong estimates, under those who use rho
    "error": Sweep(lambda size: {
        "scheduler": ("themis", "strawman"), "error": size.errors, "trial": range(size.few_trials),
    }, ("max_rho", "average_jct")),
    # the fairness knob under each of `VARIANTS`, at contention 1 and at the highest one
    "variants": Sweep(lambda size: {
        "variant": ("as it is", *VARIANTS), "contention": (1.0, size.contentions[-1]), "f": size.few_fs,
        "trial": range(size.contention_trials),
    }, ("max_rho", "relative_gpu_time", "average_jct")),
}  # fmt: skip


def sweep_grid(name: str, scale: str = "paper") -> Grid:
    """Runs of one of `SWEEPS`; a column for each axis."""
    size = at_scale(THEMIS_SCALES, scale)
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
    return table.reindex(columns=list(CASES), fill_value=0.0).rename_axis(columns=None)


def by_placement(apps: pd.DataFrame) -> pd.DataFrame:
    """Return means and the share of late apps, by the placement of their gangs; a row of `app_table` is an app.

    Columns scheduler, placement (text), apps, finish_time_fairness, rho_job, late. Groups without apps are left out.
    """
    group = pd.cut(apps["placement"].round(9), [-np.inf, *PLACED], right=False, labels=list(PLACED.values()))
    frame = apps.assign(late=(apps["finish_time_fairness"] > LATE).astype(float))
    averages = {name: (name, "mean") for name in ("finish_time_fairness", "rho_job", "late")}
    means = frame.groupby(["scheduler", group], observed=True).agg(apps=("late", "size"), **averages)
    return means.reset_index().astype({"placement": str})


def lies_grid(scale: str = "paper") -> Grid:
    """One app after the other multiplies every rho that it reports, under the strawman and under Themis.

    The liars are spread evenly over the order of arrival in one workload of the usual point. The first run of each
    mechanism, with a factor of 1, is the one without a lie.
    """
    size = at_scale(THEMIS_SCALES, scale)
    liars = [int(i) for i in (np.arange(size.liars) + 0.5) * size.lying_apps / size.liars]
    mechanisms: list[dict[str, Any]] = [{"scheduler": "strawman"}, *({"f": f} for f in size.few_fs)]
    lies = [{"factor": 1.0, "liar": 0}, *({"factor": k, "liar": i} for k in size.factors for i in liars)]
    cases = [{"scheduler": "themis", **mechanism, **lie} for mechanism in mechanisms for lie in lies]
    smaller = size._replace(apps=size.lying_apps)
    return Grid.of((run_of(cell_of(smaller, **case)), case) for case in cases)


def lies_table(scale: str = "paper") -> pd.DataFrame:
    """Return an app's gain from reporting a larger rho than it has, and the others' loss (§3, §3.3).

    Columns mechanism, f (NaN for the strawman), factor, app, jct, others. The last two are the liar's completion time
    and the average one of all others, relative to the run in which all tell the truth; below 1 is a gain.
    """
    times = lies_grid(scale).table(lambda result: {"jct": result.jobs["jct"].to_numpy()})
    rows: list[tuple[Any, ...]] = []
    point: Any
    for point in times.itertuples():
        lied = point.jct
        if point.factor == 1:
            truth = lied
            continue
        others = np.arange(len(truth)) != point.liar
        mine, theirs = lied[point.liar] / truth[point.liar], lied[others].mean() / truth[others].mean()
        rows.append((point.scheduler, point.f, point.factor, f"app-{point.liar}", mine, theirs))
    return pd.DataFrame(rows, columns=["mechanism", "f", "factor", "app", "jct", "others"])


def properties_grid(scale: str = "paper") -> Grid:
    """Random auctions in which the promises are looked for (`auctions`)."""
    return searches(failures, at_scale(THEMIS_SCALES, scale).instances)


def properties_table(scale: str = "paper") -> pd.DataFrame:
    """Auctions tried, and those in which a promise fails; columns property, instances, violations."""
    failed = properties_grid(scale).table(lambda table: table)[list(PROPERTIES)]
    return pd.DataFrame({"property": PROPERTIES, "instances": len(failed), "violations": failed.sum().to_numpy()})


def themis_grid(_trace: str, scale: str = "paper") -> Grid:
    """Every simulation and search that notebook 09 reads."""
    return reduce(add, [*(sweep_grid(name, scale) for name in SWEEPS), lies_grid(scale), properties_grid(scale)])


def loss_table(app: App) -> pd.DataFrame:
    """Every epoch that a job trains: columns job, epoch, loss, rung, the job's last one, counted from 1."""
    parts = {}
    for rung, (jobs, epochs) in enumerate(app.stages, 1):
        for job in jobs:
            loss = app.loss[job][: epochs[job]]
            parts[job] = pd.DataFrame({"job": job, "epoch": np.arange(1, len(loss) + 1), "loss": loss, "rung": rung})
    return pd.concat([parts[job] for job in sorted(parts)], ignore_index=True)


def held_table(workload: AppTrace, result: Result, app: str) -> pd.DataFrame:
    """Return the GPUs that an app holds, in all and on one machine (kind), a row for every change (time [s], held)."""
    mine = result.log[result.log["job_id"] == app]
    arrival = next(a.arrival for a in workload.apps if a.name == app)
    parts = []
    for kind, leases in (("in all", mine), ("on one machine", mine[mine["is_local"]])):
        time = np.concatenate([leases["start"], leases["end"]])
        curve = Stepped.of_changes(time, np.concatenate([leases["demand"], -leases["demand"]]).astype(np.float64))
        at = np.unique(np.concatenate([[arrival], time]))
        parts.append(pd.DataFrame({"time": at - arrival, "held": curve.at(at), "kind": kind}))
    return pd.concat(parts, ignore_index=True)


def foresight(workload: AppTrace) -> pd.DataFrame:
    """Return the errors of estimated lengths after so many epochs, for the jobs that train longer.

    Columns epochs, jobs, median, worst_tenth: |log(estimate / truth)|, its median and 90 % quantile.
    """
    rows = []
    for epochs in SEEN:
        off = [
            abs(np.log(estimated_length(loss[:epochs], app.tuner) / len(loss)))
            for app in workload.apps
            for loss in app.loss
            if len(loss) > epochs
        ]
        rows.append((epochs, len(off), *np.quantile(off, (0.5, 0.9))))
    return pd.DataFrame(rows, columns=["epochs", "jobs", "median", "worst_tenth"])
