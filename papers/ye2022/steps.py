"""From Algorithm 1 beside its baselines to what the authors measured, one difference at a time, on one workload."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from astraea.cluster.settings import Settings
from astraea.experiments.grid import Grid
from astraea.experiments.run import Run
from papers.ye2022.evaluation import INTERVAL, READ, Row, load_workload
from papers.ye2022.readings import COMPARED, COUNTED, FLAWED, NO_COST, Scheduler, able

SHOWN: Final = ("astraea", "tiresias-l", "themis", "yarn-cs")  # the four of the seven that the authors' program has


class Step(NamedTuple):
    """One more difference than the step before."""

    name: str
    schedulers: tuple[Scheduler, ...]
    settings: Settings
    in_rounds: bool = True
    learned: bool = True  # running times, where a scheduler needs them


_MEASURED, _PAPERS = (tuple(s for s in listed if s.name in SHOWN) for listed in COMPARED.values())

STEPS: Final = (
    Step("Algorithm 1, to the second", _PAPERS, Settings(), in_rounds=False),
    Step("in rounds", _PAPERS, Settings()),
    Step("preemption is free", _PAPERS, NO_COST),
    Step("the released program, others are orders in it", _MEASURED, NO_COST),
    Step("true running times", _MEASURED, NO_COST, learned=False),
    Step("with its flaw", _MEASURED, FLAWED, learned=False),
    Step("and counted as there", _MEASURED, COUNTED, in_rounds=False, learned=False),
)
"""The second is the reading `PAPERS`, the last is `PROGRAM`."""


def steps_grid(trace: str, scale: str = "paper") -> Grid:
    """Every step on the first seed; columns step, scheduler, seed, nodes."""
    rows: list[tuple[Run, Row]] = []
    recorded, cluster = load_workload(trace, scale)
    for step in STEPS:
        jobs = recorded.in_rounds(INTERVAL) if step.in_rounds else recorded
        for s in able(step.schedulers, jobs) if step.learned else step.schedulers:
            estimator = "gradient-boosting" if step.learned and s.made.needs_estimates else "oracle"
            run = Run(jobs, cluster, s.made, settings=replace(step.settings, estimator=estimator), kept=READ)
            rows.append((run, {"step": step.name, "scheduler": s.name, "seed": 0, "nodes": cluster.nodes}))
    return Grid.of(rows)
