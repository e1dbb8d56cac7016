"""Which plans of which markets the evaluation of [Wang2023] §5 asks for, at each scale.

Every market is drawn from one trace with D_j as requested (`market.workload`), by default 600 jobs of 14 tenants on 100
servers; a trial is a seed, which decides the stretch of the trace and all that is drawn. `paper` has the paper's 5
trials, `full` 20 and more random markets, `small` 2 of some tens of jobs.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Final, NamedTuple

from astraea.experiments.grid import Grid
from astraea.experiments.run import Call
from astraea.market.model import Market, Utility
from astraea.market.workload import sample_market
from astraea.studies.market.properties import counter_examples
from astraea.studies.market.runs import LEMMA, SCHEDULERS, plan_numbers, ratios
from astraea.studies.scales import at_scale
from astraea.studies.ye2022.characterize import production_grid
from astraea.studies.ye2022.evaluation import load_workload


class MarketScale(NamedTuple):
    """How much is simulated.

    Attributes
    ----------
    trials : how many seeds
    jobs, servers : of Fig 4
    usual : number of jobs and of servers where they are not varied
    tenants : of Table 2
    percents : of Fig 11 [%]
    small_jobs, small_servers : of Figs 5 and 6
    instances : random markets for each property
    """

    trials: int
    jobs: tuple[int, ...]
    servers: tuple[int, ...]
    usual: tuple[int, int]
    tenants: tuple[int, ...]
    percents: tuple[int, ...]
    small_jobs: tuple[int, ...]
    small_servers: tuple[int, ...]
    instances: int

    @property
    def axes(self) -> list[tuple[str, int, tuple[int, int]]]:
        """What Fig 4 varies, the value, and how many jobs and servers that makes."""
        jobs, servers = self.usual
        return [("jobs", n, (n, servers)) for n in self.jobs] + [("servers", s, (jobs, s)) for s in self.servers]


_PAPER: Final = MarketScale(5, (200, 400, 600, 800), (60, 100, 140), (600, 100), (5, 8, 11, 14),
                            (60, 80, 100, 120, 140), (5, 10, 15), (5, 25, 45), 1000)  # fmt: skip
MARKET_SCALES: Final = {
    "small": MarketScale(2, (30, 60), (10, 20), (60, 20), (5, 14), (80, 100, 120), (3, 6), (2, 5), 40),
    "paper": _PAPER,
    "full": _PAPER._replace(trials=20, instances=5000),
}

CHUNK: Final = 50
"""Random markets of one call."""


class Point(NamedTuple):
    """One plan: who makes it of which market; `percent` is that of `runs.planner`."""

    scheduler: str
    jobs: int
    servers: int
    tenants: int = 14
    utility: Utility = "linear"
    percent: int = 0


def points(size: MarketScale) -> dict[str, list[Point]]:
    """Figure or table -> the plans that it reads, of every trial."""
    ours, at_all = SCHEDULERS[0], list(dict.fromkeys(at for _, _, at in size.axes))
    return {
        "Fig 4": [
            Point(scheduler, *at, utility=utility)
            for at in at_all
            for utility in ("linear", "convex")
            for scheduler in (*SCHEDULERS, *((LEMMA,) if at == size.usual else ()))
        ],
        "Figs 7 and 13": [Point(scheduler, *size.usual) for scheduler in SCHEDULERS],
        "Fig 9": [Point(ours, *at) for at in at_all],
        "Fig 11": [
            Point(ours, n, size.usual[1], percent=p) for n in (size.jobs[0], size.jobs[-1]) for p in size.percents
        ],
        "Fig 12": [Point(scheduler, *size.usual) for scheduler in (ours, LEMMA)],
        "Table 2": [Point(ours, *size.usual, tenants=n) for n in size.tenants],
    }


def plans(trace: str, scale: str, *figures: str) -> Grid:
    """The plans of some figures; columns of `Point`, trial."""
    size = at_scale(MARKET_SCALES, scale)
    calls = []
    for p in (p for figure in figures for p in points(size)[figure]):
        for trial in range(size.trials):
            market = market_of(trace, scale, trial, p.jobs, p.servers, p.tenants, p.utility)
            columns = {**p._asdict(), "trial": trial}
            calls.append(Call(plan_numbers, (market, p.scheduler, p.percent), columns, ("market",), (market,)))
    return Grid.of((call, call.columns) for call in calls)


def optima(trace: str, scale: str) -> Grid:
    """Small markets of two tenants, of which the optimum can be computed; columns jobs, servers, trial."""
    size = at_scale(MARKET_SCALES, scale)
    calls = []
    for jobs, servers, trial in product(size.small_jobs, size.small_servers, range(size.trials)):
        market = market_of(trace, scale, trial, jobs, servers, tenants=2)
        columns = {"jobs": jobs, "servers": servers, "trial": trial}
        calls.append(Call(ratios, (market,), columns, ("market",), (market,), expected=5.0))
    return Grid.of((call, call.columns) for call in calls)


def searches(scale: str) -> Grid:
    """The search for counter-examples among random markets, some at a time; columns first, last."""
    instances = at_scale(MARKET_SCALES, scale).instances
    rows = [{"first": first, "last": min(first + CHUNK, instances)} for first in range(0, instances, CHUNK)]
    return Grid.of((Call(counter_examples, (*row.values(),), row, ("market",)), row) for row in rows)


def market_grid(trace: str = "philly", scale: str = "paper") -> Grid:
    """Everything that notebook 11 reads; of the synthetic Philly if no trace is named."""
    name = trace or "philly"
    planned = plans(name, scale, *points(at_scale(MARKET_SCALES, scale)))
    return production_grid(name, scale) + planned + optima(name, scale) + searches(scale)


@lru_cache(maxsize=256)
def market_of(
    trace: str, scale: str, trial: int, jobs: int, servers: int, tenants: int = 14, utility: Utility = "linear"
) -> Market:
    """A market drawn from a trace, with D_j as requested."""
    size = {"jobs": jobs, "servers": servers, "tenants": tenants}
    return sample_market(load_workload(trace, scale)[0], **size, utility=utility, seed=trial, chunks="requested")
