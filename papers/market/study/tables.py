"""Tables of [Wang2023] §5: the plans of markets that each reads, what they earned, for whom, how near the optimum.

Every market is drawn from one trace with D_j as requested (`market.workload`), by default 600 jobs of 14 tenants on 100
servers; a trial is a seed, which decides the stretch of the trace and all that is drawn. `paper` has the paper's 5
trials, `full` 20 and more random markets, `small` 2 of some tens of jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.experiments.grid import Grid
from astraea.experiments.run import Call
from papers.market.model import Market, Utility
from papers.market.study.runs import LEMMA, SCHEDULERS, plan_numbers, ratios
from papers.market.workload import sample_market
from papers.scales import at_scale
from papers.ye2022.evaluation import load_workload


class MarketScale(NamedTuple):
    """How much is simulated."""

    trials: int  # how many seeds
    jobs: tuple[int, ...]  # of Fig 4
    servers: tuple[int, ...]
    usual: tuple[int, int]  # number of jobs and of servers where they are not varied
    tenants: tuple[int, ...]  # of Table 2
    percents: tuple[int, ...]  # of Fig 11 [%]
    small_jobs: tuple[int, ...]  # of Figs 5 and 6
    small_servers: tuple[int, ...]
    instances: int  # random markets for each property

    @property
    def axes(self) -> list[tuple[str, int, tuple[int, int]]]:
        """What Fig 4 varies, the value, and how many jobs and servers that makes."""
        jobs, servers = self.usual
        return [("jobs", n, (n, servers)) for n in self.jobs] + [("servers", s, (jobs, s)) for s in self.servers]


_PAPER: Final = MarketScale(5, (200, 400, 600, 800), (60, 100, 140), (600, 100), (5, 8, 11, 14),
                            (60, 80, 100, 120, 140), (5, 10, 15), (5, 25, 45), 1000)  # fmt: skip
MARKET_SCALES: Final = {
    "small": MarketScale(2, (30, 60), (15, 20), (60, 20), (5, 14), (80, 100, 120), (3, 6), (2, 5), 40),
    "paper": _PAPER,
    "full": _PAPER._replace(trials=20, instances=5000),
}

TABLE2: Final = {5: (599.64, 0.7053), 8: (571.55, 0.78126), 11: (611.28, 0.7979), 14: (581.06, 0.7388)}
"""Table 2 as printed: number of tenants -> revenue per job, variance of revenue fairness."""

USUAL: Final = "D as requested, 8 GPUs"
DRAWN: Final = "D drawn, 8 GPUs"
THETA_OF_44: Final = "theta of §4.4"
SETTINGS: Final[Mapping[str, Mapping[str, Any]]] = {
    USUAL: {},
    THETA_OF_44: {},
    "2 or 8 GPUs": {"mixed": True},
    DRAWN: {"chunks": "drawn"},
    "D drawn, 2 or 8 GPUs": {"chunks": "drawn", "mixed": True},
    "b_w 100 Mbit/s": {"bandwidth": 100.0},
}
"""Name -> what of the market is otherwise: parameters of `sample_market`, and b_w if not drawn [Mbit/s]."""


class Point(NamedTuple):
    """One plan: who makes it of which market; `setting` of `SETTINGS`, `percent` is that of `runs.planner`."""

    scheduler: str
    jobs: int
    servers: int
    tenants: int = 14
    utility: Utility = "linear"
    percent: int = 0
    setting: str = USUAL


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
        "Fig 7": [Point(scheduler, *size.usual) for scheduler in SCHEDULERS],
        "Fig 13": [Point(scheduler, *size.usual, setting=s) for s in (USUAL, DRAWN) for scheduler in _who(s)],
        "settings": [
            Point(scheduler, *size.usual, percent=100 * (s == THETA_OF_44), setting=s)
            for s in SETTINGS
            for scheduler in _who(s)
        ],
        "Fig 9": [Point(ours, *at) for at in at_all],
        "Fig 11": [
            Point(ours, n, size.usual[1], percent=p) for n in (size.jobs[0], size.jobs[-1]) for p in size.percents
        ],
        "Fig 12": [Point(scheduler, *size.usual) for scheduler in (ours, LEMMA)],
        "Table 2": [Point(ours, *size.usual, tenants=n) for n in size.tenants],
    }


def _who(setting: str) -> tuple[str, ...]:
    """Drawn chunks are too much for private clusters, for billions of hours."""
    return SCHEDULERS[:3] if SETTINGS[setting].get("chunks") == "drawn" else SCHEDULERS


def plans(trace: str, scale: str, *figures: str) -> Grid:
    """The plans of some figures; columns of `Point`, trial."""
    size = at_scale(MARKET_SCALES, scale)
    calls = []
    for p in (p for figure in figures for p in points(size)[figure]):
        for trial in range(size.trials):
            market = market_of(trace, scale, trial, p.jobs, p.servers, p.tenants, p.utility, p.setting)
            columns = {**p._asdict(), "trial": trial}
            calls.append(Call(plan_numbers, (market, p.scheduler, p.percent), columns, (market,)))
    return Grid.of((call, call.columns) for call in calls)


def optima(trace: str, scale: str) -> Grid:
    """Small markets of two tenants, of which the optimum can be computed; columns jobs, servers, trial."""
    size = at_scale(MARKET_SCALES, scale)
    calls = []
    for jobs, servers, trial in product(size.small_jobs, size.small_servers, range(size.trials)):
        market = market_of(trace, scale, trial, jobs, servers, tenants=2)
        columns = {"jobs": jobs, "servers": servers, "trial": trial}
        calls.append(Call(ratios, (market,), columns, (market,), expected=5.0))
    return Grid.of((call, call.columns) for call in calls)


def market_grid(trace: str = "philly", scale: str = "paper") -> Grid:
    """Every plan and optimum of the evaluation; of the synthetic Philly if no trace is named."""
    name = trace or "philly"
    return plans(name, scale, *points(at_scale(MARKET_SCALES, scale))) + optima(name, scale)


@lru_cache(maxsize=256)
def market_of(
    trace: str,
    scale: str,
    trial: int,
    jobs: int,
    servers: int,
    tenants: int = 14,
    utility: Utility = "linear",
    setting: str = USUAL,
) -> Market:
    """A market drawn from a trace, by default with D_j as requested."""
    given: dict[str, Any] = {"jobs": jobs, "servers": servers, "tenants": tenants, "chunks": "requested"}
    given |= SETTINGS[setting]
    bandwidth = given.pop("bandwidth", None)
    market = sample_market(load_workload(trace, scale)[0], **given, utility=utility, seed=trial)
    return replace(market, worker_bandwidth=bandwidth) if bandwidth else market


def revenue_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Fig 4: total revenue over the number of jobs and of servers, with both forms of utility.

    Columns varied (jobs, servers), value, utility, scheduler, trial, and what `runs.plan_numbers` has once.
    """
    found = plans(trace, scale, "Fig 4").table(_once).astype({"shared": np.int64})
    parts = [
        found[(found["jobs"] == at[0]) & (found["servers"] == at[1])].assign(varied=varied, value=n)
        for varied, n, at in at_scale(MARKET_SCALES, scale).axes
    ]
    columns = ["varied", "value", "utility", "scheduler", "trial"]
    columns += ["revenue", "ideal_revenue", "floored_revenue", "revenue_per_job"]
    columns += ["makespan", "shared", "seconds_per_job"]
    return pd.concat(parts, ignore_index=True)[columns]


def ratio_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Figs 5 and 6: `runs.ratios` on small markets; columns jobs, servers, scheduler, trial, ratio, is_exact."""
    found = optima(trace, scale).table(lambda table: table)
    return found[["jobs", "servers", "scheduler", "trial", "ratio", "is_exact"]]


def fairness_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Figs 7 and 8: `metrics.revenue_fairness` of every tenant; columns scheduler, trial, tenant, alpha."""
    return _each(trace, scale, "Fig 7", "tenant", "alpha").astype({"tenant": np.int64})


def time_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Figs 9 and 10: time to plan one job, on this machine; columns jobs, servers, trial, seconds_per_job [s]."""
    return plans(trace, scale, "Fig 9").table(_once)[["jobs", "servers", "trial", "seconds_per_job"]]


def theta_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Fig 11: revenue with maximal prices that are wrong; columns load, percent [%], trial, revenue.

    The actual value is that of §4.4 (`feasible_theta`) with lambda 1, and the percentage is that of the price
    theta - 1. Moderate and high load are the fewest and the most jobs of Fig 4.
    """
    jobs = at_scale(MARKET_SCALES, scale).jobs
    found = plans(trace, scale, "Fig 11").table(_once)
    found["load"] = found["jobs"].map({jobs[0]: "moderate", jobs[-1]: "high"})
    return found[["load", "percent", "trial", "revenue"]]


def admission_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Fig 12: ideal revenue and cost of every admitted job, of Astraea as written too, where prices are felt."""
    return _each(trace, scale, "Fig 12", "job_id", "ideal", "cost")


def utilization_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Fig 13: part of all workers that jobs hold, in every hour until the schedulers that share are done.

    Columns setting (`USUAL`, `DRAWN`), scheduler, trial, hour, utilization, 0 after a scheduler's makespan. What is
    left after the last of those that share has ended with D_j as requested is left out: most of what BatchSche has,
    and, with D_j drawn, of what the others have.
    """
    found = plans(trace, scale, "Fig 13").table(lambda numbers: numbers[["hour", "utilization"]].dropna())
    sharing = (found["scheduler"] != "batch-sche") & (found["setting"] == USUAL)
    last = int(found.loc[sharing, "hour"].max())
    keys = ["setting", "scheduler", "trial"]
    every = found[keys].drop_duplicates().merge(pd.DataFrame({"hour": range(1, last + 1)}), how="cross")
    return every.merge(found[[*keys, "hour", "utilization"]], how="left").fillna({"utilization": 0.0})


def tenants_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Table 2: Astraea with more and fewer tenants; columns tenants, trial, revenue_per_job, variance.

    Variance of revenue fairness over tenants, NaN where there is none (`fairness_table`).
    """
    found = plans(trace, scale, "Table 2").table(
        lambda numbers: _once(numbers) | {"variance": numbers.loc[numbers["tenant"].notna(), "alpha"].var(ddof=0)}
    )
    return found[["tenants", "trial", "revenue_per_job", "variance"]]


def _each(trace: str, scale: str, figure: str, item: str, *quantities: str) -> pd.DataFrame:
    """Columns scheduler, trial, `item`, and quantities that the plans have of every item."""
    found = plans(trace, scale, figure).table(lambda numbers: numbers[[item, *quantities]].dropna(subset=item))
    return found[["scheduler", "trial", item, *quantities]]


def _once(numbers: pd.DataFrame) -> dict[Any, Any]:
    return numbers.iloc[0].dropna().to_dict()
