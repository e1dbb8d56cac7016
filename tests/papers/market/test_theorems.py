"""Theorems 4 and 5 and batch sharing incentive: the smallest market in which each fails, and what mends it.

Two tenants, each with one server of two workers and a parameter server and one job of two slots. Prices steer a job
away from slots that another tenant's job has made dear, although it pays nothing within its own share.
"""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np
from market_small import spans, with_jobs

from papers.market.metrics import gains
from papers.market.policies.astraea.batches import astraea_market
from papers.market.policies.batch_sche import batch_sche
from papers.market.study.example import THETA, small_market

TWO = small_market("two", [2, 2], [1, 1], [(2, 1)] * 2, chunks=[2, 2], tenant=[0, 1], arrival=3, epochs=2)
SETTINGS = {"theta": THETA, "rounds": 1}
plan_of = partial(astraea_market, **SETTINGS)
PLAN = plan_of(TWO)


def test_the_second_tenant_waits_and_gains_less_than_alone() -> None:
    assert spans(PLAN) == {0: (4, 6), 1: (6, 8)}
    assert gains(PLAN).tolist() == [94, 90]
    assert spans(batch_sche(TWO, **SETTINGS)) == {0: (4, 6), 1: (4, 6)}


def test_theorem_4_a_steeper_utility_pays() -> None:
    lie = plan_of(with_jobs(TWO, slope=np.array([-2.0, -20.0])))
    assert spans(lie) == {0: (4, 6), 1: (4, 6)}
    assert gains(dataclasses.replace(lie, market=TWO)).tolist() == [94, 94]


def test_theorem_5_a_better_plan_for_one_at_no_cost_to_the_other() -> None:
    first, second = PLAN.schedules
    earlier = dataclasses.replace(second, start=4, end=6, server=1 - first.server)
    better = dataclasses.replace(PLAN, schedules=(first, earlier))
    assert spans(better) == {0: (4, 6), 1: (4, 6)}
    assert gains(better).tolist() == [94, 94]


def test_without_prices_in_the_own_share_nobody_waits_for_others() -> None:
    plan = plan_of(TWO, is_own_priced=False)
    assert spans(plan) == {0: (4, 6), 1: (4, 6)} and plan.income.sum() == 0
