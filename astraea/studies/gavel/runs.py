"""Gavel's evaluation ([Narayanan2020] §7): which workloads, loads and policies are simulated.

The scale ``full`` is the paper's, ``paper`` has its cluster and fewer jobs and loads, the highest of them above what an
agnostic policy can serve, and ``small`` has a quarter of the cluster (`GAVEL_SCALES`). Where an installed table of
measured throughputs is named, that is used; the project's compact table otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, Final, NamedTuple

from astraea.experiments.grid import Grid
from astraea.gavel.generators import continuous, cost, static
from astraea.gavel.simulate import Options
from astraea.gavel.throughputs.estimator import Estimator
from astraea.gavel.throughputs.table import Throughputs
from astraea.gavel.workload import Workload
from astraea.studies.gavel.cells import Cell, grid_of
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

    @property
    def cluster(self) -> tuple[int, int, int]:
        """GPUs of each type [GPU]."""
        return self.workers, self.workers, self.workers


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

ESTIMATED_JOBS: Final = {"small": 60, "paper": 200, "full": 200}
"""Jobs that must end in Fig 14; the second half of them is measured."""

FRACTION: Final = 0.3
"""Part of the co-location measurements that is made of a new job in Fig 14."""


def scale_of(scale: str) -> Scale:
    """How much is simulated; `InputError` for a scale that does not exist."""
    return at_scale(GAVEL_SCALES, scale)


def throughputs_of(path: str | Path = "") -> Throughputs:
    """Measured throughputs from a file, or the compact table if no file is named."""
    return Throughputs.read(path) if path else Throughputs.compact()


def workloads(
    size: Scale, throughputs: Throughputs, rates: Sequence[float], *, jobs: int = 0, **options: bool
) -> Iterator[tuple[dict[str, Any], Workload]]:
    """Draw continuous traces: `jobs_per_hour` and `seed` of each, and its jobs.

    Arrivals go on after the last measured job, so that it meets the load of the others.

    Parameters
    ----------
    rates : sequence of float
        Of arrival [1/h].
    jobs : int
        That must end; those of the scale if not given.
    **options
        `multiple` and `priorities`, as in `continuous`.
    """
    n = jobs or size.jobs
    for rate in rates:
        for seed in range(size.seeds):
            drawn = continuous(n + n // 2, rate, throughputs, **{"multiple": False, **options}, seed=seed)
            yield {"jobs_per_hour": rate, "seed": seed}, drawn


def load_grid(figure: str, scale: str = "paper", table: str = "") -> Grid:
    """Runs of a figure of average JCT over load; columns figure, policy, jobs_per_hour, seed."""
    size, throughputs = scale_of(scale), throughputs_of(table)
    trace, policies = FIGURES[figure]
    multiple = trace == "continuous-multiple"
    drawn = workloads(
        size, throughputs, size.multiple if multiple else size.single,
        multiple=multiple, priorities=figure == "gavel20",
    )  # fmt: skip
    return grid_of(
        (Cell(jobs, throughputs, size.cluster, p, Options(until=size.jobs)), {"figure": figure, "policy": p, **row})
        for row, jobs in drawn
        for p in policies
    )


def makespan_grid(scale: str = "paper", table: str = "") -> Grid:
    """Fig 19: all jobs are there at time 0; columns policy, jobs, seed."""
    size, throughputs = scale_of(scale), throughputs_of(table)
    return grid_of(
        (Cell(jobs, throughputs, size.cluster, policy), {"policy": policy, "jobs": n, "seed": seed})
        for n in size.static
        for seed in range(size.seeds)
        for jobs in [static(n, throughputs, multiple=True, seed=seed)]
        for policy in ("fifo", "gandiva", "makespan", "makespan-het", "makespan-het-ss")
    )


def cost_grid(scale: str = "paper", table: str = "") -> Grid:
    """§7.3: 500 jobs with deadlines under the cost policies, on so many GPUs that none waits; columns policy, seed."""
    size, throughputs = scale_of(scale), throughputs_of(table)
    n = 40 if scale == "small" else 500
    return grid_of(
        (Cell(jobs, throughputs, (n,) * 3, policy), {"policy": policy, "seed": seed})
        for seed in range(size.seeds)
        for jobs in [cost(2.0, throughputs, seed=seed, jobs=n)]
        for policy in ("max-throughput", "min-cost", "min-cost-slo")
    )


def rounds_grid(scale: str = "paper", table: str = "") -> Grid:
    """Fig 13a: LAS het. with longer rounds, without overhead; columns policy, round_length [s], seed."""
    size, throughputs = scale_of(scale), throughputs_of(table)
    rows = []
    for row, jobs in workloads(size, throughputs, [size.single[len(size.single) // 2]]):
        for length in ROUNDS:
            options = Options(round_length=length, preemption_overhead=0.0, until=size.jobs)
            cell = Cell(jobs, throughputs, size.cluster, "las-het", options)
            rows.append((cell, {"policy": "las-het", "round_length": length, "seed": row["seed"]}))
    return grid_of(rows)


def ideal_grid(scale: str = "paper", table: str = "") -> Grid:
    """Fig 13b: LAS het. in rounds, and as a fluid that follows the allocation exactly; columns policy, load, seed."""
    size, throughputs = scale_of(scale), throughputs_of(table)
    rounds = Options(preemption_overhead=0.0, until=size.jobs)
    cases = {"rounds": (rounds, False), "ideal": (replace(rounds, solve_interval=0.0), True)}
    return grid_of(
        (Cell(jobs, throughputs, size.cluster, "las-het", *case), {"policy": name, **row})
        for row, jobs in workloads(size, throughputs, size.single)
        for name, case in cases.items()
    )


def estimates_grid(scale: str = "paper", table: str = "") -> Grid:
    """Fig 14: LAS het. on 12 GPUs with measured, with estimated throughputs of pairs, and without space sharing.

    Every other job type is a reference (`estimated`), so that half of the jobs are of types never seen; or all are
    (`estimated-known`).
    """
    size, throughputs = scale_of(scale), throughputs_of(table)
    n, factor = ESTIMATED_JOBS[scale], 12 / (3 * size.workers)
    kinds = [kind for kind, gang in throughputs.configurations if gang == 1]
    rows = []
    for row, jobs in workloads(size, throughputs, [rate * factor for rate in size.single], jobs=n):
        known, new = (
            Estimator(throughputs, k, fraction=FRACTION, seed=row["seed"]).throughputs() for k in (kinds, kinds[::2])
        )
        for name, policy, believed in (
            ("oracle", "las-het-ss", None), ("estimated", "las-het-ss", new),
            ("estimated-known", "las-het-ss", known), ("none", "las-het", None),
        ):  # fmt: skip
            cell = Cell(jobs, throughputs, (4, 4, 4), policy, Options(until=n), believed=believed)
            rows.append((cell, {"policy": name, **row}))
    return grid_of(rows)


def gavel_grid(_: str, scale: str = "paper") -> Grid:
    """Every simulation of this module."""
    made = (make(scale) for make in (makespan_grid, cost_grid, rounds_grid, ideal_grid, estimates_grid))
    return reduce(add, made, reduce(add, (load_grid(figure, scale) for figure in FIGURES)))
