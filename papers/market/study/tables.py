"""Tables of [Wang2023] §5: the plans that each reads, their revenues, for whom, and their distance from the optimum.

Every market is drawn from one trace, by default 600 jobs of 14 tenants on 100 servers; a trial is a seed, which decides
the stretch of the trace and all that is drawn. `paper` has the paper's 5 trials, `small` 2 of some tens of jobs; how
many jobs the paper has is not printed. Every table has both readings (`market.workload`) in its first column,
`reading`. The reading "as §5.1 says" lacks BatchSche (`_who`), and Fig 11, because with the theta of §4.4 some jobs
never fit into an interval. It also lacks convex revenue, of which a plan takes up to a minute. In Figs 5 and 6 it lacks
the most jobs and the fewest servers, with which the program of the optimum takes minutes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from papers.market.workload import HERE, SECTION, sample_market
from papers.scales import at_scale
from papers.ye2022.workloads import load_workload


class MarketScale(NamedTuple):
    """Size of the simulated evaluation."""

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
        """Points of Fig 4: what varies, its value, and the numbers of jobs and servers."""
        jobs, servers = self.usual
        return [("jobs", n, (n, servers)) for n in self.jobs] + [("servers", s, (jobs, s)) for s in self.servers]


MARKET_SCALES: Final = {
    "small": MarketScale(2, (30, 60), (15, 20), (60, 20), (5, 14), (80, 100, 120), (3, 6), (2, 5), 40),
    "paper": MarketScale(5, (200, 400, 600, 800), (60, 100, 140), (600, 100), (5, 8, 11, 14),
                         (60, 80, 100, 120, 140), (5, 10, 15), (5, 25, 45), 1000),
}  # fmt: skip

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
"""Name -> changes of the market: parameters of `sample_market`, and b_w if not drawn [Mbit/s]."""
READ: Final = {DRAWN: SECTION, USUAL: HERE}
"""The settings that are readings."""


class Point(NamedTuple):
    """One plan: its scheduler and its market; `setting` of `SETTINGS`, `percent` is that of `runs.planner`."""

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
    revenues: list[tuple[str, Utility]] = [(DRAWN, "linear"), (USUAL, "linear"), (USUAL, "convex")]
    return {
        "Fig 4": [
            Point(scheduler, *at, utility=utility, setting=s)
            for s, utility in revenues
            for at in at_all
            for scheduler in (*_who(s), *((LEMMA,) if at == size.usual else ()))
        ],
        "Fig 7": [Point(scheduler, *size.usual, setting=s) for s in READ for scheduler in _who(s)],
        "settings": [
            Point(scheduler, *size.usual, percent=100 * (s == THETA_OF_44), setting=s)
            for s in SETTINGS
            for scheduler in _who(s)
        ],
        "Fig 9": [Point(ours, *at, setting=s) for s in READ for at in at_all],
        "Fig 11": [
            Point(ours, n, size.usual[1], percent=p) for n in (size.jobs[0], size.jobs[-1]) for p in size.percents
        ],
        "Fig 12": [Point(scheduler, *size.usual, setting=s) for s in READ for scheduler in (ours, LEMMA)],
        "Table 2": [Point(ours, *size.usual, tenants=n, setting=s) for s in READ for n in size.tenants],
    }


def _who(setting: str) -> tuple[str, ...]:
    """Drawn chunks are too much for some private clusters, whose jobs never fit into an interval."""
    return SCHEDULERS[:3] if SETTINGS[setting].get("chunks") == "drawn" else SCHEDULERS


def plans(trace: str, scale: str, *figures: str) -> Grid:
    """The plans of some figures; columns of `Point`, trial, and the reading, if the setting is one."""
    size = at_scale(MARKET_SCALES, scale)
    calls = []
    for p in (p for figure in figures for p in points(size)[figure]):
        for trial in range(size.trials):
            market = market_of(trace, scale, trial, p.jobs, p.servers, p.tenants, p.utility, p.setting)
            columns = {"reading": READ.get(p.setting, ""), **p._asdict(), "trial": trial}
            calls.append(Call(plan_numbers, (market, p.scheduler, p.percent), columns))
    return Grid.of((call, call.columns) for call in calls)


def optima(trace: str, scale: str) -> Grid:
    """Small markets of two tenants, of which the optimum can be computed; columns reading, jobs, servers, trial."""
    size = at_scale(MARKET_SCALES, scale)
    calls = []
    for setting, jobs, servers in product(READ, size.small_jobs, size.small_servers):
        is_hard = setting == DRAWN and (jobs == size.small_jobs[-1] or servers == size.small_servers[0])
        for trial in range(0 if is_hard else size.trials):
            market = market_of(trace, scale, trial, jobs, servers, tenants=2, setting=setting)
            columns = {"reading": READ[setting], "jobs": jobs, "servers": servers, "trial": trial}
            calls.append(Call(ratios, (market,), columns, expected=5.0))
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

    Columns reading, varied (jobs, servers), value, utility, scheduler, trial, and what `runs.plan_numbers` has once.
    """
    found = plans(trace, scale, "Fig 4").table(_once).astype({"shared": np.int64})
    parts = [
        found[(found["jobs"] == at[0]) & (found["servers"] == at[1])].assign(varied=varied, value=n)
        for varied, n, at in at_scale(MARKET_SCALES, scale).axes
    ]
    columns = ["reading", "varied", "value", "utility", "scheduler", "trial"]
    columns += ["revenue", "ideal_revenue", "floored_revenue", "revenue_per_job"]
    columns += ["makespan", "shared", "seconds_per_job"]
    return pd.concat(parts, ignore_index=True)[columns]


def ratio_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Figs 5, 6: `runs.ratios` of small markets; columns reading, jobs, servers, scheduler, trial, ratio, is_exact."""
    found = optima(trace, scale).table(lambda table: table)
    return found[["reading", "jobs", "servers", "scheduler", "trial", "ratio", "is_exact"]]


def fairness_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Figs 7 and 8: `metrics.revenue_fairness` of every tenant; columns reading, scheduler, trial, tenant, alpha."""
    return _each(trace, scale, "Fig 7", "tenant", "alpha").astype({"tenant": np.int64})


def time_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Figs 9 and 10: time to plan one job, on this machine; columns reading, jobs, servers, trial, seconds_per_job."""
    return plans(trace, scale, "Fig 9").table(_once)[["reading", "jobs", "servers", "trial", "seconds_per_job"]]


def theta_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Fig 11: revenue with maximal prices that are wrong; columns reading, load, percent [%], trial, revenue.

    The actual value is that of §4.4 (`feasible_theta`) with lambda 1, and the percentage is that of the price
    theta - 1. Moderate and high load are the fewest and the most jobs of Fig 4.
    """
    jobs = at_scale(MARKET_SCALES, scale).jobs
    found = plans(trace, scale, "Fig 11").table(_once)
    found["load"] = found["jobs"].map({jobs[0]: "moderate", jobs[-1]: "high"})
    return found[["reading", "load", "percent", "trial", "revenue"]]


def admission_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Fig 12: ideal revenue and cost of every admitted job, of Astraea as written too, where prices are felt."""
    return _each(trace, scale, "Fig 12", "job_id", "ideal", "cost")


def utilization_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Fig 13: part of all workers that jobs hold, in every hour until the last job as here of a scheduler that shares.

    Columns reading, scheduler, trial, hour, utilization, 0 after a scheduler's makespan. Of those that need longer only
    the hour in which their last job ends follows.
    """
    found = plans(trace, scale, "Fig 7").table(lambda numbers: numbers[["hour", "utilization"]].dropna())
    sharing = (found["scheduler"] != "batch-sche") & (found["reading"] == HERE)
    last = int(found.loc[sharing, "hour"].max())
    keys = ["reading", "scheduler", "trial"]
    ends = found.groupby(keys, as_index=False, sort=False).last()
    every = found[keys].drop_duplicates().merge(pd.DataFrame({"hour": range(1, last + 1)}), how="cross")
    every = every.merge(found[[*keys, "hour", "utilization"]], how="left").fillna({"utilization": 0.0})
    table = pd.concat([every, ends.loc[ends["hour"] > last, [*every]]])
    ascending = [False, True, True, True]  # as §5.1 says first
    return table.astype({"hour": np.int64}).sort_values([*keys, "hour"], ascending=ascending, ignore_index=True)


def corners(frame: pd.DataFrame, value: str, by: Sequence[str]) -> pd.DataFrame:
    """Return the rows at both ends of every stretch on which a stepped curve is constant; those between are redundant.

    The rows of each class of `by` must be in order.
    """
    curves = frame.groupby(list(by), sort=False)[value]
    between = (frame[value] == curves.shift(1)) & (frame[value] == curves.shift(-1))
    return frame[~between]


def tenants_table(trace: str = "philly", scale: str = "paper") -> pd.DataFrame:
    """Table 2: Astraea with more and fewer tenants; columns reading, tenants, trial, revenue_per_job, variance.

    Variance of revenue fairness over tenants, NaN where there is none (`fairness_table`).
    """
    found = plans(trace, scale, "Table 2").table(
        lambda numbers: _once(numbers) | {"variance": numbers.loc[numbers["tenant"].notna(), "alpha"].var(ddof=0)}
    )
    return found[["reading", "tenants", "trial", "revenue_per_job", "variance"]]


def _each(trace: str, scale: str, figure: str, item: str, *quantities: str) -> pd.DataFrame:
    """Columns reading, scheduler, trial, `item`, and quantities that the plans have of every item."""
    found = plans(trace, scale, figure).table(lambda numbers: numbers[[item, *quantities]].dropna(subset=item))
    return found[["reading", "scheduler", "trial", item, *quantities]]


def _once(numbers: pd.DataFrame) -> dict[Any, Any]:
    return numbers.iloc[0].dropna().to_dict()
