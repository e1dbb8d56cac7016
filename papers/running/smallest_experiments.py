"""The smallest experiment that decides each of `data/major_claims.toml`: the tables on which its statements are judged.

Each public function is an experiment, or a part of `given`. It gives its tables by the names that `papers.claims` reads
them under, without ``.csv``. Simulations are those of the notebooks, fewer of them, so both find the same results in
the cache.
"""

from __future__ import annotations

from typing import Any, Final

import pandas as pd

from astraea.cluster.simulate import simulate
from astraea.experiments.grid import Grid
from astraea.traces.describe import RUNNING_TIMES, running_time_table
from astraea.traces.synthetic import SYNTHETIC, synthesize
from papers.gavel.study.policies import hierarchy, worked_examples
from papers.gavel.study.runs import GAVEL_SCALES, Load, load_grid, throughputs_of
from papers.gavel.study.tables import load_figures
from papers.market.study.example import example_table
from papers.market.study.tables import ratio_table
from papers.market.workload import HERE
from papers.themis.study.tables import properties_table, sweep_table
from papers.ye2022.characterize import shares_by_state
from papers.ye2022.evaluation import lease_grid, runs_of, workloads
from papers.ye2022.examples import NO_OVERHEADS, SIX_GPUS, mechanisms, six_gpu_trace
from papers.ye2022.readings import PAPERS, PROGRAM, compared

Tables = dict[str, pd.DataFrame]
"""By name of the file."""

HIGH_LOAD: Final = Load(rates=(2.4,), before=(4000,), measured=1000)
"""More gangs than LAS can serve without knowing types, so long that its queue has grown; jobs as in the paper."""


def given() -> Tables:
    """Worked examples of the papers, and statistics that the synthetic traces are made to have."""
    return six_gpus() | printed_examples() | trace_statistics()


def six_gpus() -> Tables:
    """Finish-time fairness and Algorithm 1 on three jobs and six GPUs ([Ye2022] Fig 6)."""
    leases = []
    for name in ("finish-time-fairness", "astraea"):
        result = simulate(six_gpu_trace(), SIX_GPUS, mechanisms()[name], settings=NO_OVERHEADS, keep_log=True)
        leases.append(result.log.assign(mechanism=name))
    return {"fig06_example": pd.concat(leases, ignore_index=True)}


def trace_statistics() -> Tables:
    """Running times and demands of the synthetic traces, one seed ([Ye2022] Table 1, Figs 1 and 2)."""
    tables = {}
    for name in SYNTHETIC:
        trace = synthesize(name)
        shares = running_time_table(trace) / 100
        tables[f"table1_{name}"] = pd.DataFrame({"limit": RUNNING_TIMES.values(), "seed": 0, "share": [*shares]})
        tables[f"fig01_{name}"] = shares_by_state(trace, service=False)
        tables[f"fig02_{name}"] = shares_by_state(trace, service=True)
    return tables


def printed_examples() -> Tables:
    """The worked examples of [Narayanan2020] §4 and [Wang2023] §4."""
    return {"gavel-examples_example": worked_examples(), "wang-example_example": example_table()}


def venus_as_measured() -> Tables:
    """The four schedulers of the authors' program on every seed of Venus ([Ye2022] Figs 10 and 13)."""
    table = Grid.of(
        row for work in workloads("venus", "paper", reading=PROGRAM)
        for row in runs_of(compared(PROGRAM, work[1]), PROGRAM, *work)
    ).table()  # fmt: skip
    columns = ["reading", "scheduler", "seed"]
    return {"table10_venus": table[[*columns, "sharing_loss"]], "fig13_venus": table[[*columns, "average_jct"]]}


def lease_terms() -> Tables:
    """ASTRAEA from its paper with lease terms from a minute to an hour, one seed of Venus ([Ye2022] Fig 9)."""
    return {"fig09_venus": _only(lease_grid("venus"), reading=[PAPERS], seed=[0]).table()}


def types_at_high_load() -> Tables:
    """LAS that knows the types of GPUs, and LAS that does not, at high load, one seed ([Narayanan2020] Fig 9)."""
    size = GAVEL_SCALES["paper"]._replace(multiple=HIGH_LOAD, seeds=1)
    grid = _only(load_grid("gavel09", size, throughputs_of()), policy=["las", "las-het"])
    return {"gavel09_continuous-multiple": load_figures(grid, HIGH_LOAD.measured)[0]}


def growing_hierarchy() -> Tables:
    """18 jobs of three entities, one after another, by the static partition and by types ([Narayanan2020] Fig 11)."""
    chosen = ("hierarchical", "hierarchical-het")
    return {"gavel11_hierarchy": pd.concat([hierarchy(throughputs_of(), chosen, seed=seed) for seed in range(3)])}


def lies_in_auctions() -> Tables:
    """Random auctions in which a bid that is not true is looked for that pays ([Mahajan2020] §3.3)."""
    return {"themis-properties_random": properties_table()}


def bidding_apps() -> Tables:
    """Every scheduler of apps at the usual point, and Themis with six values of f ([Mahajan2020] Figs 9 and 19)."""
    return {"themis09_apps": sweep_table("comparison"), "themis19_apps": sweep_table("knob")}


def small_markets() -> Tables:
    """Revenue over that of the optimum as here, where that can be computed ([Wang2023] Fig 5)."""
    table = ratio_table()
    return {"wang05_small": table[table["reading"] == HERE]}


def _only(grid: Grid, **values: list[Any]) -> Grid:
    """The runs of a grid that have one of some values in columns of its index."""
    chosen = grid.index.isin(values)[list(values)].all(axis=1)
    return Grid([grid.runs[i] for i in grid.index.index[chosen]], grid.index[chosen].reset_index(drop=True))
