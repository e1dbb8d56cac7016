"""Theorems of [Wang2023], tried on markets small enough to follow by hand, and on random ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from astraea.experiments.grid import Grid
from papers.market.metrics import gains
from papers.market.model import Market, MarketPlan, Schedule
from papers.market.study.example import J11, J12, J21, small_market, worked_example
from papers.market.study.properties import PROPERTIES, counter_examples, interval_gains, planned, reported
from papers.market.study.tables import MARKET_SCALES
from papers.scales import at_scale, searches


def paper_plan(market: Market, start: int = 10) -> MarketPlan:
    """The plan of the worked example as §4.2 to §4.4 print it; j21 starts on s2 at 10, or when it is told to.

    j12 pays 16, of which §4.3 gives tenant 2 half. j22 runs in a later interval and is left out.
    """
    s = np.arange(4)
    one, two, income = np.array([1]), np.array([2]), np.zeros((2, 2))
    schedules = (
        Schedule(J11, 8, 10, s[[0]], two, one),
        Schedule(J21, start, start + 2, s[[1]], two, one),
        Schedule(J12, 8, 12, s[2:], np.array([2, 1]), np.array([1, 0]), cost=16.0, is_shared=True),
    )
    income[:, 0] = 8.0
    return MarketPlan(market, schedules, income)


def two_jobs() -> Market:
    """Two tenants with a server of two workers and a parameter server each, and a job each, both from 3 on."""
    return small_market(
        "two jobs", [2, 2], [1, 1], [(2, 1), (2, 1)],
        tenant=[1, 0], arrival=3, epochs=[2, 1], chunks=[2, 2], slope=[-4.0, -1.0], height=[20.0, 100.0],
    )  # fmt: skip


def one_owner() -> Market:
    """The same two servers; tenant 1 has both jobs, D = 3 and E = 2, D = 2 and E = 3, each worth 60 - t."""
    return small_market(
        "one owner", [2, 2], [1, 1], [(2, 1), (2, 1)],
        tenant=[0, 0], arrival=3, epochs=[2, 3], chunks=[3, 2], slope=-1.0, height=60.0,
    )  # fmt: skip


def finished_early(plan: MarketPlan, market: Market) -> MarketPlan:
    """Jobs that were reported too long end when their true work is done."""
    out = []
    for s in plan.schedules:
        needs = market.duration(s.job, int(s.workers.sum()))[int(len(s.server) == 1)]
        out.append(replace(s, end=min(s.end, s.start + int(needs))))
    return replace(plan, market=market, schedules=tuple(out))


def exhibits_table() -> pd.DataFrame:
    """Return the claims beside what happens, as a tenant's gain each time.

    Columns theorem, what, gain (by the algorithm, or alone for sharing incentive), other (what is otherwise),
    gain_other. For Pareto efficiency ideal revenue, as the paper's numbers are.
    """
    example = worked_example()
    printed, better = paper_plan(example), paper_plan(example, start=8)
    # the round begins at 8 and the jobs arrived at 3, so real revenue is 5 slots' worth less
    ideal = replace(example.jobs, arrival=np.full(len(example.jobs), 8))
    was, is_ = (gains(replace(plan, market=replace(example, jobs=ideal))).to_numpy() for plan in (printed, better))
    pareto = [("Pareto efficiency", f"tenant {u + 1}, j21 on s2 in (10, 12]", was[u], "j21 in (8, 10]", is_[u])
              for u in (1, 0)]  # fmt: skip
    two, one = two_jobs(), one_owner()
    longer = finished_early(planned(reported(two, 1, epochs=4)), two)
    narrow = replace(planned(reported(one, 0, chunks=1, batches=3)), market=one)
    (together, alone), (repaired, _) = interval_gains(two), interval_gains(two, is_own_priced=False)
    what, proof = "tenant 1 of two jobs", "strategy-proofness"
    rows = [
        *pareto,
        (proof, what, gains(planned(two)).iloc[0], "it reports E = 4 for 1", gains(longer).iloc[0]),
        (proof, "tenant 1 with both jobs", gains(planned(one)).iloc[0], "it reports D = 1, M = 3 for D = 3, M = 1",
         gains(narrow).iloc[0]),
        ("sharing incentive", f"{what}, alone", alone[0], "together", together[0]),
        ("sharing incentive", f"{what}, alone", alone[0], "together, without prices in its own share", repaired[0]),
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["theorem", "what", "gain", "other", "gain_other"])


def property_searches(scale: str) -> Grid:
    """The search for counter-examples among random markets; columns first, last."""
    return searches(counter_examples, at_scale(MARKET_SCALES, scale).instances)


def properties_table(scale: str = "paper") -> pd.DataFrame:
    """Try every property of §4.5 on the same random markets.

    Columns property, instances, violations, repaired (fails without prices in tenants' shares), counter_example: the
    first with fewest jobs and tenants, in words.
    """
    instances = at_scale(MARKET_SCALES, scale).instances
    found = property_searches(scale).table(lambda table: table).sort_values(["jobs", "tenants", "seed"])
    rows = []
    for name in PROPERTIES:
        mine = found[found["property"] == name]
        words = [*mine.loc[mine["is_own_priced"], "counter_example"]]
        rows.append((name, instances, len(words), len(mine) - len(words), words[0] if words else ""))
    return pd.DataFrame(rows, columns=["property", "instances", "violations", "repaired", "counter_example"])
