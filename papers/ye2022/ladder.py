"""From ASTRAEA as printed to the authors' program, rung by rung: the ablation that [Ye2022] does not have.

A rung of the main line differs in one thing from the rung above it, and only ``rest of the program`` in several. The
first is the reading `PAPERS`, the last is `PROGRAM`. Side rungs leave the line at its end: early leases are on there
for ASTRAEA and Themis, and off for Tiresias-L and FIFO. Everything is compared within a seed, so that what seeds
differ in cancels.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.cluster.settings import Settings
from astraea.core.intervals import mean_interval
from astraea.core.result import Result
from astraea.experiments.archive import Keep
from astraea.experiments.grid import Grid
from astraea.experiments.run import Run
from papers.scales import seeds
from papers.ye2022.evaluation import INTERVAL, READ, Row, load_workload
from papers.ye2022.readings import (
    COMPARED,
    FLAWED,
    NO_COST,
    PAPERS,
    PROGRAM,
    RELEASED,
    WITH_RULES,
    Scheduler,
    able,
)
from papers.ye2022.released import EARLY_LEASE, RULES
from papers.ye2022.tables import fairness_figures
from papers.ye2022.whole_rounds import CountedRun

SEEDS: Final = {name: {"small": 2, "paper": 10} for name in ("venus", "philly")}
MEASURES: Final = ("sharing_loss", "tenant_below_99", "average_jct", "average_slowdown")
BEFORE: Final = "the rung before"
DRAWS: Final = 2000
FEWEST_WEEKS: Final = 3
"""Least length of a log whose weeks are drawn."""
_READ: Final[Keep] = {
    "jobs": ("jct", "slowdown", "rho_job"),
    "timeline": ("time", "tenant", "attained_service", "fair_service"),
}
# a log's weeks are drawn, and a job belongs to the week of its submission
_OF_A_LOG: Final[Keep] = {**_READ, "jobs": ("submit_time", "jct", "slowdown", "rho_job")}  # type: ignore[dict-item]


class Rung(NamedTuple):
    """One more difference than the rung before; a side rung differs from the rung `beside` instead."""

    name: str
    schedulers: tuple[Scheduler, ...]
    settings: Settings = Settings()
    learned: bool = True  # running times, where a scheduler needs them
    in_rounds: bool = True  # submissions are brought to rounds first; the program counts its rounds itself
    beside: str = ""


_OUTSIDE = COMPARED[PAPERS][1:]


def _printed(*rules: str) -> tuple[Scheduler, ...]:
    """ASTRAEA as printed with some rules of the program, beside rivals that ask for no tenant."""
    values = {**RULES, "early_lease": EARLY_LEASE}
    return WITH_RULES._replace(parameters={name: values[name] for name in rules}), *_OUTSIDE


def _with_early_leases(threshold: float) -> tuple[Scheduler, ...]:
    """All of the program with one threshold of early leases [s]; 0 is off."""
    return tuple(
        s._replace(parameters={**s.parameters, "delay_threshold": threshold}) if s.policy == RELEASED.policy else s
        for s in COMPARED[PROGRAM]
    )


_RULES, _ENTIRE = (*RULES, "early_lease"), COMPARED[PROGRAM]
_LAST: Final = "counted in whole rounds"

RUNGS: Final = (
    Rung("as printed", COMPARED[PAPERS]),
    Rung("window of 24 h", _printed(*_RULES[:1])),
    Rung("idle guard", _printed(*_RULES[:2])),
    Rung("queue after 6 h", _printed(*_RULES[:3])),
    Rung("early leases", _printed(*_RULES)),
    Rung("rest of the program", (RELEASED, *_OUTSIDE)),
    Rung("rivals inside", _ENTIRE),
    Rung("true running times", _ENTIRE, learned=False),
    Rung("free preemption", _ENTIRE, NO_COST, learned=False),
    Rung("list flaw", _ENTIRE, FLAWED, learned=False),
    Rung(_LAST, _ENTIRE, FLAWED, learned=False, in_rounds=False),
    Rung("early leases for all", _with_early_leases(EARLY_LEASE), FLAWED, False, False, beside=_LAST),
    Rung("early leases for none", _with_early_leases(0), FLAWED, False, False, beside=_LAST),
)
"""In the order of tables and pictures: the main line, then the side rungs."""
_BEFORE: Final = {here.name: here.beside or before.name for before, here in itertools.pairwise(RUNGS)}


def ladder_grid(trace: str, scale: str = "paper") -> Grid:
    """Every rung on every seed of `SEEDS`, a real trace once; columns rung, scheduler, seed.

    Runs that do not change from one rung to the next have the same key and are computed once. AlloX, which takes longer
    than all others together, has the seeds of the evaluation only, and its runs are those of `evaluation.main_grid`.
    """
    rows: list[tuple[Run, Row]] = []
    for seed in seeds(trace, scale, SEEDS.get(trace)):
        recorded, cluster = load_workload(trace, scale, seed)
        rounded = recorded.in_rounds(INTERVAL)
        for rung in RUNGS:
            jobs = rounded if rung.in_rounds else recorded
            for s in able(rung.schedulers, jobs) if rung.learned else rung.schedulers:
                if s.name == "allox" and seed not in seeds(trace, scale):
                    continue
                estimator = "gradient-boosting" if rung.learned and s.made.needs_estimates else "oracle"
                settings = replace(rung.settings, estimator=estimator)
                keep = READ if s.name == "allox" else _READ if trace in SEEDS else _OF_A_LOG
                kind = Run if rung.in_rounds else CountedRun
                run = kind(jobs, cluster, s.made, settings=settings, keep=keep)
                rows.append((run, {"rung": rung.name, "scheduler": s.name, "seed": seed}))
    return Grid.of(rows)


def rung_figures(result: Result) -> dict[str, Any]:
    """`MEASURES` of one run; shares in [0, 1], the JCT in s."""
    means = {f"average_{name}": float(result.jobs[name].mean()) for name in ("jct", "slowdown")}
    found = fairness_figures(result) | means
    return {name: found[name] for name in MEASURES}


def differences(table: pd.DataFrame) -> pd.DataFrame:
    """Return the change of each rung for ASTRAEA, and ASTRAEA minus each rival there, paired within a seed.

    `table` is ``ladder_grid(...).table(rung_figures)``. Columns rung, minus (`BEFORE`, or the rival), measure, mean,
    low, high, n: the mean difference over `n` seeds, with its 95 % interval (Student's t; NaN for one seed).
    """
    wide = table.melt(["rung", "scheduler", "seed"], MEASURES, "measure").pivot_table(
        index=["rung", "measure", "seed"], columns="scheduler", values="value", sort=False
    )
    mine, parts = wide["astraea"], []
    for rung in (rung.name for rung in RUNGS):
        here = wide.loc[rung].rsub(mine[rung], axis=0).drop(columns="astraea")
        if rung in _BEFORE:
            here.insert(0, BEFORE, mine[rung] - mine[_BEFORE[rung]])
        long = here.reset_index().melt(["measure", "seed"], var_name="minus", value_name="difference").dropna()
        parts.append(mean_interval(long, ["minus", "measure"], "difference").assign(rung=rung))
    columns = ["rung", "minus", "measure", "mean", "low", "high", "n"]
    return pd.concat(parts, ignore_index=True)[columns]


def drawn_weeks(paired: pd.DataFrame, weeks: pd.DataFrame) -> pd.DataFrame:
    """Give the `differences` of a log, which has one run, the 95 % intervals of a bootstrap over its weeks.

    `weeks` is ``ladder_grid(...).table(tables.weekly_figures)``. Weeks of submission are drawn with replacement, the
    same for both sides of a difference. `n` becomes the number of weeks; a log below `FEWEST_WEEKS` stays as it is.
    """
    sums = weeks.assign(total=(weeks["mean"] * weeks["n"]).fillna(0.0)).pivot_table(
        index=["rung", "scheduler", "figure"], columns="week", values=["total", "n"], aggfunc="sum", fill_value=0
    )
    many = weeks["week"].nunique()
    if many < FEWEST_WEEKS:
        return paired
    counts = np.random.default_rng(0).multinomial(many, np.full(many, 1 / many), DRAWS).T
    means = pd.DataFrame((sums["total"].to_numpy() @ counts) / (sums["n"].to_numpy() @ counts), sums.index)
    rows = paired[["rung", "minus", "measure"]].to_numpy().tolist()
    mine = means.loc[[(rung, "astraea", measure) for rung, _, measure in rows]]
    other = means.loc[[
        (_BEFORE[rung], "astraea", measure) if minus == BEFORE else (rung, minus, measure)
        for rung, minus, measure in rows
    ]]  # fmt: skip
    low, high = np.quantile(mine.to_numpy() - other.to_numpy(), [0.025, 0.975], axis=1)
    return paired.assign(low=low, high=high, n=many)
