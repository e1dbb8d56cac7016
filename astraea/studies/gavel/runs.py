"""Gavel's evaluation ([Narayanan2020] §7): which workloads, loads and policies are simulated, and what is measured.

Scales
------
small
    A quarter of the cluster, 60 jobs, one seed, one load per figure or two.
paper
    36 GPUs of each type as in the paper, but 2,000 jobs of which the last 800 are measured, one seed, three loads, the
    highest above what an agnostic policy can serve.
full
    The paper's: 5,000 jobs of which the last thousand is measured, three seeds, eight loads.

Where an installed table of measured throughputs is named, that is used; the project's compact table otherwise.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.core.result import Result
from astraea.experiments.grid import Grid
from astraea.gavel.generators import HIGH_PRIORITY, continuous, cost, static
from astraea.gavel.run import GavelRun
from astraea.gavel.simulate import Options
from astraea.gavel.throughputs.estimator import Estimator
from astraea.gavel.throughputs.table import Throughputs
from astraea.studies.scales import at_scale


class Scale(NamedTuple):
    """How much of the evaluation is simulated.

    Attributes
    ----------
    workers : GPUs of each type [GPU]
    jobs, first : jobs of a continuous trace, and the first one that is measured
    single, multiple : rates of arrival [1/h]
    static : numbers of jobs of a static trace
    seeds : how many
    """

    workers: int
    jobs: int
    first: int
    single: tuple[float, ...]
    multiple: tuple[float, ...]
    static: tuple[int, ...]
    seeds: int


GAVEL_SCALES: Final[dict[str, Scale]] = {
    "small": Scale(9, 60, 20, (1.0, 2.0), (0.5, 1.0), (30,), 1),
    "paper": Scale(36, 2000, 1200, (2.0, 4.4, 5.8), (1.0, 2.0, 2.8), (100, 300), 1),
    "full": Scale(36, 5000, 4000, (0.4, 1.2, 2.0, 2.8, 3.6, 4.4, 5.2, 6.0), (0.4, 0.8, 1.2, 1.6, 2.0, 2.4, 2.8, 3.2),
                  (100, 300, 500, 700), 3),
}  # fmt: skip

FIGURES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "gavel08": ("continuous-single", ("las", "las-het", "las-het-ss", "gandiva", "allox")),
    "gavel09": ("continuous-multiple", ("las", "las-het", "las-het-ss", "gandiva", "ltgf", "ltgf-het")),
    "gavel10": ("continuous-multiple", ("ftf", "ftf-het")),
    "gavel16": ("continuous-single", ("fifo", "fifo-het", "fifo-het-ss")),
    "gavel17": ("continuous-single", ("ftf", "ftf-het")),
    "gavel18": ("continuous-multiple", ("fifo", "fifo-het")),
    "gavel20": ("continuous-multiple", ("las", "las-het")),
}
"""Figures of average JCT over load: the trace, and the policies. In Fig 20 a fifth of the jobs has priority."""

ROUNDS: Final = (360.0, 720.0, 1440.0, 2880.0)
"""Lengths of a round in Fig 13a [s]."""

FRACTION: Final = 0.3
"""Part of the co-location measurements that is made of a new job in Fig 14."""


def scale_of(scale: str) -> Scale:
    """How much is simulated; `InputError` for a scale that does not exist."""
    return at_scale(GAVEL_SCALES, scale)


def throughputs_of(path: str | Path = "") -> Throughputs:
    """Measured throughputs from a file, or the compact table if no file is named."""
    return Throughputs.read(path) if path else Throughputs.compact()


def load_grid(figure: str, scale: str = "paper", table: str = "") -> Grid:
    """Runs of a figure of average JCT over load; columns figure, policy, jobs_per_hour, seed.

    Arrivals go on after the last measured job, so that it meets the load of the others.
    """
    size, throughputs = scale_of(scale), throughputs_of(table)
    trace, policies = FIGURES[figure]
    multiple = trace == "continuous-multiple"
    runs, rows = [], []
    for rate in size.multiple if multiple else size.single:
        for seed in range(size.seeds):
            jobs = continuous(
                size.jobs + size.jobs // 2, rate, throughputs, multiple=multiple, seed=seed,
                priorities=figure == "gavel20",
            )  # fmt: skip
            for policy in policies:
                runs.append(GavelRun(jobs, throughputs, (size.workers,) * 3, policy, Options(until=size.jobs)))
                rows.append({"figure": figure, "policy": policy, "jobs_per_hour": rate, "seed": seed})
    return Grid(runs, pd.DataFrame(rows))


def makespan_grid(scale: str = "paper", table: str = "") -> Grid:
    """Fig 19: all jobs are there at time 0; columns policy, jobs, seed."""
    size, throughputs = scale_of(scale), throughputs_of(table)
    runs, rows = [], []
    for n in size.static:
        for seed in range(size.seeds):
            jobs = static(n, throughputs, multiple=True, seed=seed)
            for policy in ("fifo", "gandiva", "makespan", "makespan-het", "makespan-het-ss"):
                runs.append(GavelRun(jobs, throughputs, (size.workers,) * 3, policy))
                rows.append({"policy": policy, "jobs": n, "seed": seed})
    return Grid(runs, pd.DataFrame(rows))


def cost_grid(scale: str = "paper", table: str = "") -> Grid:
    """§7.3: 500 jobs with deadlines under the cost policies; columns policy, seed."""
    size, throughputs = scale_of(scale), throughputs_of(table)
    n = 40 if scale == "small" else 500
    runs, rows = [], []
    for seed in range(size.seeds):
        # a cloud: so many GPUs that no job waits for one
        jobs = cost(2.0, throughputs, seed=seed, jobs=n)
        for policy in ("max-throughput", "min-cost", "min-cost-slo"):
            runs.append(GavelRun(jobs, throughputs, (n,) * 3, policy))
            rows.append({"policy": policy, "seed": seed})
    return Grid(runs, pd.DataFrame(rows))


def rounds_grid(scale: str = "paper", table: str = "") -> Grid:
    """Fig 13a: LAS het. with longer rounds, without overhead; columns round_length [s], seed."""
    size, throughputs = scale_of(scale), throughputs_of(table)
    rate = size.single[len(size.single) // 2]
    runs, rows = [], []
    for seed in range(size.seeds):
        jobs = continuous(size.jobs + size.jobs // 2, rate, throughputs, multiple=False, seed=seed)
        for length in ROUNDS:
            options = Options(round_length=length, preemption_overhead=0.0, until=size.jobs)
            runs.append(GavelRun(jobs, throughputs, (size.workers,) * 3, "las-het", options))
            rows.append({"policy": "las-het", "round_length": length, "seed": seed})
    return Grid(runs, pd.DataFrame(rows))


def ideal_grid(scale: str = "paper", table: str = "") -> Grid:
    """Fig 13b: LAS het. in rounds, and as a fluid that follows the allocation exactly; columns policy, load, seed."""
    size, throughputs = scale_of(scale), throughputs_of(table)
    runs, rows = [], []
    for rate in size.single:
        for seed in range(size.seeds):
            jobs = continuous(size.jobs + size.jobs // 2, rate, throughputs, multiple=False, seed=seed)
            for name in ("rounds", "ideal"):
                is_ideal = name == "ideal"
                options = Options(
                    preemption_overhead=0.0, solve_interval=0.0 if is_ideal else 1920.0, until=size.jobs
                )
                runs.append(GavelRun(jobs, throughputs, (size.workers,) * 3, "las-het", options, is_ideal))
                rows.append({"policy": name, "jobs_per_hour": rate, "seed": seed})
    return Grid(runs, pd.DataFrame(rows))


def estimates_grid(scale: str = "paper", table: str = "") -> Grid:
    """Fig 14: LAS het. on 12 GPUs with measured, with estimated throughputs of pairs, and without space sharing.

    Every other job type is a reference (`estimated`), so that half of the jobs are of types never seen; or all are
    (`estimated-known`).
    """
    size, throughputs = scale_of(scale), throughputs_of(table)
    jobs_measured = 60 if scale == "small" else 200
    factor = 12 / (3 * size.workers)
    runs, rows = [], []
    for rate in size.single:
        for seed in range(size.seeds):
            kinds = [kind for kind, gang in throughputs.configurations if gang == 1]
            known, new = (Estimator(throughputs, k, fraction=FRACTION, seed=seed) for k in (kinds, kinds[::2]))
            jobs = continuous(
                jobs_measured + jobs_measured // 2, rate * factor, throughputs, multiple=False, seed=seed
            )
            for name, policy, believed in (
                ("oracle", "las-het-ss", None), ("estimated", "las-het-ss", new.throughputs()),
                ("estimated-known", "las-het-ss", known.throughputs()), ("none", "las-het", None),
            ):  # fmt: skip
                run = GavelRun(jobs, throughputs, (4, 4, 4), policy, Options(until=jobs_measured))
                runs.append(run if believed is None else replace(run, believed=believed))
                rows.append({"policy": name, "jobs_per_hour": rate * factor, "seed": seed})
    return Grid(runs, pd.DataFrame(rows))


def gavel_grid(_: str, scale: str = "paper") -> Grid:
    """Every simulation that notebook 10 reads."""
    grids = [load_grid(figure, scale) for figure in FIGURES]
    grids += [make(scale) for make in (makespan_grid, cost_grid, rounds_grid, ideal_grid, estimates_grid)]
    return Grid([run for grid in grids for run in grid.runs], pd.concat([g.index for g in grids], ignore_index=True))


def steady(first: int) -> Any:
    """What is measured of the jobs from `first` on: JCT [s], finish-time fairness, sharing loss; JCT by priority."""

    def measure(result: Result) -> dict[str, Any]:
        jobs = result.jobs.iloc[first:]
        high = jobs["weight"] == HIGH_PRIORITY
        return {
            "average_jct": float(jobs["jct"].mean()),
            "average_ftf": float(jobs["finish_time_fairness"].mean()),
            "sharing_loss": float((jobs["rho_job"] < 0.95).mean()),
            "high_jct": float(jobs.loc[high, "jct"].mean()) if high.any() else np.nan,
            "low_jct": float(jobs.loc[~high, "jct"].mean()) if (~high).any() else np.nan,
        }

    return measure


def jcts(result: Result) -> dict[str, Any]:
    """Completion times of a run, for their distribution."""
    return {name: result.jobs[name].to_numpy() for name in ("jct", "finish_time_fairness")}


def batch(result: Result) -> dict[str, Any]:
    """Makespan [s] of a static trace."""
    return {"makespan": result.makespan}


def bill(result: Result) -> dict[str, Any]:
    """Cost of all jobs [$], and share of those that missed their deadline."""
    met = result.jobs["slo_met"].astype(bool)
    return {"cost": float(result.jobs["cost"].sum()), "missed": float((~met).mean())}
