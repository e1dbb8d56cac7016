"""Theorems 4 and 5 and batch sharing incentive: the smallest market in which each fails, and what does hold.

Two tenants, each with one server of two workers and a parameter server and one job of two slots. Prices steer a job
away from slots that another tenant's job has made dear, although it pays nothing within its own share.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import given, settings
from market_examples import spans
from market_small import market, markets, with_jobs

from papers.market.constraints import violations
from papers.market.model import Market, Plan
from papers.market.policies.astraea.batches import astraea_market
from papers.market.policies.astraea.capacity import Theta, empty_round, occupy
from papers.market.policies.astraea.empty_cluster import demand
from papers.market.policies.astraea.max_revenue import NOWHERE, best_schedule, spread

THETA = Theta(16.0, 16.0)
TWO = market([{"tenant": t, "arrival": 3, "chunks": 2, "epochs": 2} for t in (0, 1)], [2, 2], [1, 1], [(2, 1), (2, 1)])
ROUNDS = 1


def gains(truth: Market, plan: Plan) -> np.ndarray:
    """Revenue by the true utility, minus payments, plus income, of each tenant (§3.2)."""
    g = plan.income.sum(axis=1)
    for s in plan.schedules:
        j = truth.jobs
        g[j.tenant[s.job]] += float(j.value(s.job, s.end - j.arrival[s.job])) - s.cost
    return g


def test_theorem_4_a_steeper_utility_pays() -> None:
    honest = astraea_market(TWO, theta=THETA, rounds=ROUNDS)
    lie = with_jobs(TWO, slope=np.array([-2.0, -20.0]))
    dishonest = astraea_market(lie, theta=THETA, rounds=ROUNDS)
    assert [(s.start, s.end) for s in honest.schedules] == [(4, 6), (6, 8)]
    assert [(s.start, s.end) for s in dishonest.schedules] == [(4, 6), (4, 6)]
    assert gains(TWO, honest).tolist() == [94, 90]
    assert gains(TWO, dishonest).tolist() == [94, 94]


def test_theorem_5_a_better_plan_for_one_at_no_cost_to_the_other() -> None:
    plan = astraea_market(TWO, theta=THETA, rounds=ROUNDS)
    first, second = plan.schedules
    earlier = dataclasses.replace(second, start=4, end=6, server=1 - first.server)
    better = dataclasses.replace(plan, schedules=(first, earlier))
    assert violations(TWO, better) == []
    assert (gains(TWO, better) - gains(TWO, plan)).tolist() == [0, 4]


def test_batch_sharing_incentive_fails() -> None:
    """The same job ends earlier on its tenant's own server without the other tenant."""
    alone = market([{"arrival": 3, "chunks": 2, "epochs": 2}], [2], [1], [(2, 1)])
    assert spans(astraea_market(alone, theta=THETA, rounds=ROUNDS)) == {0: (4, 6)}
    assert spans(astraea_market(TWO, theta=THETA, rounds=ROUNDS)) == {0: (4, 6), 1: (6, 8)}


def test_without_prices_in_the_own_share_nobody_waits_for_others() -> None:
    plan = astraea_market(TWO, theta=THETA, rounds=ROUNDS, is_own_priced=False)
    assert spans(plan) == {0: (4, 6), 1: (4, 6)} and plan.income.sum() == 0


@settings(max_examples=50, deadline=None)
@given(markets())
def test_without_prices_in_the_own_share_every_plan_is_still_sound(m: Market) -> None:
    plan = astraea_market(m, theta=THETA, rounds=ROUNDS, is_own_priced=False)
    assert violations(m, plan) == []
    assert all(s.is_shared or s.cost == 0 for s in plan.schedules)


@settings(max_examples=50, deadline=None)
@given(markets())
def test_what_holds_of_pareto_efficiency(m: Market) -> None:
    """No job that a round leaves out could be added at its last prices: prices only rise and resources only go."""
    slots, everyone = 8, len(m.worker_quota)
    r = empty_round(m, slots, THETA)
    refused = []
    for job in range(len(m.jobs)):
        ask = (m.jobs.ideal(job, slots), demand(m, job))
        a, b, workers, ps, server, is_central, _ = best_schedule(r, everyone, *ask)
        if server == NOWHERE:
            refused.append(ask)
            continue
        put = spread(r, a, b, workers, server, is_central)
        occupy(r, a, b, everyone, put, np.eye(len(put), dtype=np.int64)[server] * ps)
    assert all(best_schedule(r, everyone, *ask)[4] == NOWHERE for ask in refused)
