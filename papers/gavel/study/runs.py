"""Gavel's evaluation ([Narayanan2020] §7): which workloads, loads and policies are simulated.

The scale ``paper`` is the paper's: its cluster, jobs 4,000 to 5,000 measured, three seeds, at five rates of arrival.
Fig 13, servers and placement have one seed, the latter two also fewer rates, and Fig 14 fewer jobs. ``small`` has a
quarter of the cluster (`GAVEL_SCALES`).

Placement sensitivity is what gangs lose on several servers, and what policies gain that take it into account.
[Narayanan2020] §3.1 has two settings, "consolidated" (as many GPUs on the same server as possible) and
"unconsolidated" (each GPU on a server of its own), and makes them two worker types. Two clusters show what that does:

servers
    All GPUs are in servers of equal size, and the mechanism places large gangs first, on few servers (§5). A server
    that serves gangs of 1, 2, 4 and 8 in that order is never cut badly at the start of a round, so only what happens
    inside rounds can spread a gang. The difference to servers of one GPU, where placement is not modelled and every
    gang has its consolidated speed, is more than any policy could gain.
mixed
    Half of the GPUs of each type are in large servers, half are alone. Here the worker types have GPUs of their own
    (`Throughputs.by_placement`), and a policy decides who gets which. LAS het. is told the truth ("aware"), that
    placement does not matter ("blind"), or that gangs cannot be unconsolidated ("strict", the rule of thumb of
    schedulers that wait for a consolidated place). Leftover GPUs go to the fastest of those that wait in all three.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from astraea.experiments.grid import Grid
from astraea.experiments.run import Call
from papers.gavel.generators import SIZES, continuous, cost, static
from papers.gavel.policies import get_policy
from papers.gavel.simulate import Options
from papers.gavel.study.cells import READ, GavelRun, simulated
from papers.gavel.throughputs.estimator import Estimator
from papers.gavel.throughputs.table import Throughputs
from papers.gavel.workload import Workload
from papers.scales import at_scale


class Load(NamedTuple):
    """The continuous traces of one kind."""

    rates: tuple[float, ...]  # of arrival [1/h]
    before: tuple[int, ...]  # jobs that come before those that are measured, at each rate
    measured: int  # so many jobs

    def fewer(self) -> Load:
        """Every other rate."""
        return self._replace(rates=self.rates[1::2], before=self.before[1::2])


class Scale(NamedTuple):
    """Size of the simulated evaluation."""

    workers: int  # GPUs of each type [GPU]
    single: Load  # jobs on one GPU
    multiple: Load  # and gangs
    static: tuple[int, ...]  # numbers of jobs of a static trace
    seeds: int  # how many
    cost: int  # jobs with a deadline
    estimated: int  # jobs that must end in Fig 14; the second half of them is measured
    few: int  # seeds of costs and of Fig 14

    def load(self, trace: str) -> Load:
        """The loads of ``continuous-single`` or ``continuous-multiple``."""
        return self.multiple if trace == "continuous-multiple" else self.single

    def fewer(self) -> Scale:
        """Every other rate and one seed, for what the paper has no figure of, or shows at few loads."""
        return self._replace(single=self.single.fewer(), multiple=self.multiple.fewer(), seeds=1)


GAVEL_SCALES: Final[dict[str, Scale]] = {
    "small": Scale(9, Load((1.0, 2.0), (20, 20), 40), Load((0.5, 1.0), (20, 20), 40), (15, 30), 1, 40, 60, 1),
    "paper": Scale(36, Load((1.2, 2.8, 4.4, 5.2, 6.0), (4000,) * 5, 1000),
                   Load((0.8, 1.6, 2.0, 2.4, 2.8), (4000,) * 5, 1000), (100, 300, 500, 700), 3, 500, 200, 5),
}  # fmt: skip
"""At scale ``paper`` the last two rates are more than LAS can serve without knowing types."""

FIGURES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "gavel08": ("continuous-single", ("las", "las-het", "las-het-ss", "gandiva", "allox")),
    "gavel09": ("continuous-multiple", ("las", "las-het", "las-het-ss", "gandiva", "ltgf", "ltgf-het")),
    "gavel10": ("continuous-multiple", ("ftf", "ftf-het")),
    "gavel16": ("continuous-single", ("fifo", "fifo-het", "fifo-het-ss")),
    "gavel17": ("continuous-single", ("ftf", "ftf-het")),
    "gavel18": ("continuous-multiple", ("fifo", "fifo-het", "fifo-het-ss")),
    "gavel20": ("continuous-multiple", ("las", "las-het")),
}
"""Figures of average JCT over load: the trace, and the policies. In Fig 20 a fifth of the jobs has priority."""

BESIDE_LTGF: Final = ("las", "las-het", "ltgf", "ltgf-het")
"""Policies of Fig 9 that are compared in the metrics of both papers."""

ROUND_LENGTHS: Final = (360.0, 720.0, 1440.0, 2880.0)
"""Lengths of a round in Fig 13a [s]."""

FRACTION: Final = 0.3
"""Part of the co-location measurements that is made of a new job in Fig 14."""

SERVERS: Final = (1, 4, 8)
"""GPUs of a server; with one, placement is not modelled."""

TOLD: Final = ("blind", "strict", "aware")
"""Versions of what LAS het. is told of placement on the mixed cluster."""


def throughputs_of(path: str | Path = "") -> Throughputs:
    """Measured throughputs from a file, or the compact table if no file is named."""
    return Throughputs.read(path) if path else Throughputs.compact()


Drawn = tuple[dict[str, Any], Workload, int | None]
"""A workload: its row of a grid's index, its jobs, and the number of jobs that must end, None for all."""


def workloads(
    size: Scale, throughputs: Throughputs, *, multiple: bool = False, priorities: bool = False
) -> Iterator[Drawn]:
    """Draw continuous traces, as `continuous` does, one for each rate and seed.

    Arrivals go on after the last measured job, so that it meets the load of the others.
    """
    load = size.multiple if multiple else size.single
    for rate, before in zip(load.rates, load.before, strict=True):
        for seed in range(size.seeds):
            until = before + load.measured
            jobs = continuous(
                until + until // 2, rate, throughputs, multiple=multiple, priorities=priorities, seed=seed
            )  # fmt: skip
            yield {"jobs_per_hour": rate, "seed": seed}, jobs, until


def grid_of(
    drawn: Iterable[Drawn], throughputs: Throughputs, workers: tuple[int, ...], cases: Mapping[Any, tuple[Any, ...]],
    column: str = "policy", **same: Any,
) -> Grid:  # fmt: skip
    """Combine every case with every workload, the case changing fastest.

    A case is the further fields of a `GavelRun` (policy, options, is_ideal, believed), under the name that it has in
    the `column` of the index. Columns that are the `same` in all rows come first.
    """
    made = []
    for row, jobs, until in drawn:
        for name, case in cases.items():
            cell = GavelRun(jobs, throughputs, workers, *case)
            cell = cell._replace(options=replace(cell.options, until=until))
            columns = {"workload": jobs.name, "workers": " + ".join(map(str, workers)), "policy": cell.policy}
            seconds = get_policy(cell.policy).expected * (until or len(jobs))
            call = Call(simulated, cell, columns, seconds, READ)
            made.append((call, {**same, column: name, **row}))
    return Grid.of(made)


def load_grid(figure: str, size: Scale, throughputs: Throughputs) -> Grid:
    """Runs of a figure of average JCT over load; columns figure, policy, jobs_per_hour, seed."""
    trace, policies = FIGURES[figure]
    drawn = workloads(size, throughputs, multiple=trace == "continuous-multiple", priorities=figure == "gavel20")
    return grid_of(drawn, throughputs, (size.workers,) * 3, {p: (p,) for p in policies}, figure=figure)


def makespan_grid(size: Scale, throughputs: Throughputs) -> Grid:
    """Fig 19: all jobs are there at time 0; columns policy, jobs, seed."""
    drawn = (
        ({"jobs": n, "seed": seed}, static(n, throughputs, multiple=True, seed=seed), None)
        for n in size.static
        for seed in range(size.seeds)
    )
    policies = ("fifo", "gandiva", "makespan", "makespan-het", "makespan-het-ss")
    return grid_of(drawn, throughputs, (size.workers,) * 3, {p: (p,) for p in policies})


def cost_grid(size: Scale, throughputs: Throughputs) -> Grid:
    """§7.3: 500 jobs with deadlines under the cost policies, on so many GPUs that none waits; columns policy, seed."""
    drawn = (({"seed": seed}, cost(2.0, throughputs, seed=seed, jobs=size.cost), None) for seed in range(size.few))
    cases = {p: (p,) for p in ("max-throughput", "min-cost", "min-cost-slo")}
    return grid_of(drawn, throughputs, (size.cost,) * 3, cases)


def rounds_grid(size: Scale, throughputs: Throughputs) -> Grid:
    """Fig 13a: LAS het. with longer rounds, no overhead, one seed; columns policy, round_length [s], load, seed."""
    cases = {t: ("las-het", Options(preemption_overhead=0.0, round_length=t)) for t in ROUND_LENGTHS}
    drawn = workloads(size._replace(seeds=1), throughputs)
    return grid_of(drawn, throughputs, (size.workers,) * 3, cases, "round_length", policy="las-het")


def ideal_grid(size: Scale, throughputs: Throughputs) -> Grid:
    """Fig 13b: LAS het. in rounds, and as a fluid that follows the allocation exactly, one seed; columns as in 13a."""
    rounds = Options(preemption_overhead=0.0)
    cases = {"rounds": ("las-het", rounds), "ideal": ("las-het", replace(rounds, solve_interval=0.0), True)}
    return grid_of(workloads(size._replace(seeds=1), throughputs), throughputs, (size.workers,) * 3, cases)


def estimates_grid(size: Scale, throughputs: Throughputs) -> Grid:
    """Fig 14: LAS het. on 12 GPUs with measured, with estimated throughputs of pairs, and without space sharing.

    Every other job type is a reference (`estimated`), so that half of the jobs are of types never seen; or all are
    (`estimated-known`).
    """
    n, rates = size.estimated, tuple(rate * 12 / (3 * size.workers) for rate in size.single.rates)
    smaller = size._replace(single=Load(rates, (n // 2,) * len(rates), n - n // 2), seeds=size.few)
    kinds = [kind for kind, gang in throughputs.configurations if gang == 1]
    grids = []
    for row, jobs, until in workloads(smaller, throughputs):
        known, new = (
            Estimator(throughputs, k, fraction=FRACTION, seed=row["seed"]).throughputs() for k in (kinds, kinds[::2])
        )
        pairs = ("las-het-ss", Options(), False)
        cases = {
            "oracle": pairs, "estimated": (*pairs, new), "estimated-known": (*pairs, known), "none": ("las-het",),
        }  # fmt: skip
        grids.append(grid_of([(row, jobs, until)], throughputs, (4, 4, 4), cases))
    return reduce(add, grids)


def servers_grid(size: Scale, throughputs: Throughputs) -> Grid:
    """LAS het. on servers of several sizes; columns policy, server_gpus, jobs_per_hour, seed."""
    cases = {gpus: ("las-het", Options(server_gpus=gpus)) for gpus in SERVERS}
    drawn = workloads(size.fewer(), throughputs, multiple=True)
    return grid_of(drawn, throughputs, (size.workers,) * 3, cases, "server_gpus", policy="las-het")


def mixed_grid(size: Scale, throughputs: Throughputs) -> Grid:
    """LAS het. on the mixed cluster; columns policy, told, jobs_per_hour, seed."""
    workers = (max(size.workers // 2, max(SIZES)),) * 6  # the largest gang must be able to run
    told = {name: None if name == "aware" else belief(throughputs, name) for name in TOLD}
    cases = {name: ("las-het", Options(), False, believed) for name, believed in told.items()}
    drawn = workloads(size.fewer(), throughputs, multiple=True)
    return grid_of(drawn, throughputs.by_placement(), workers, cases, "told", policy="las-het")


def belief(throughputs: Throughputs, told: str) -> Throughputs:
    """Return the throughputs that LAS het. is told on the mixed cluster, for one of `TOLD`."""
    together, apart = throughputs.solo
    if told == "blind":
        apart = together
    elif told == "strict":
        gang = np.array([size > 1 for _, size in throughputs.configurations])
        apart = np.where(gang[:, None], 0.0, apart)
    return replace(throughputs, solo=np.stack([together, apart])).by_placement()


def ltgf_grid(size: Scale, throughputs: Throughputs) -> Grid:
    """Return the runs of Fig 9 that compare LAS and LTGF; columns as there."""
    whole = load_grid("gavel09", size, throughputs)
    chosen = whole.index["policy"].isin(BESIDE_LTGF)
    runs = [run for run, is_chosen in zip(whole.runs, chosen, strict=True) if is_chosen]
    return Grid(runs, whole.index[chosen].reset_index(drop=True))


def rounds_grids(scale: str = "paper") -> Grid:
    """Both parts of Fig 13."""
    evaluation = at_scale(GAVEL_SCALES, scale), throughputs_of()
    return rounds_grid(*evaluation) + ideal_grid(*evaluation)


def evaluation_grid(scale: str = "paper") -> Grid:
    """Average JCT over load in every figure of it, makespan, and cost."""
    evaluation = at_scale(GAVEL_SCALES, scale), throughputs_of()
    over_rates = [load_grid(figure, *evaluation) for figure in FIGURES]
    return reduce(add, [*over_rates, makespan_grid(*evaluation), cost_grid(*evaluation)])


def beyond_grid(scale: str = "paper") -> Grid:
    """Estimated throughputs, placement, and LTGF beside LAS."""
    evaluation = at_scale(GAVEL_SCALES, scale), throughputs_of()
    return reduce(add, [make(*evaluation) for make in (estimates_grid, servers_grid, mixed_grid, ltgf_grid)])
