"""Each claim where it is known to hold or to fail, the smallest market, and schedulers called by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from market_small import market as small

from astraea.core.errors import InputError
from papers.market import theorems
from papers.market.example import THETA, small_market
from papers.market.metrics import total_revenue
from papers.market.policies.batch_sche import batch_sche
from papers.market.policies.batches import posted_prices, rounds_needed
from papers.market.policies.capacity import demand, feasible_theta
from papers.market.simulate import OURS, SCHEDULERS, ratios, simulate
from papers.market.theorems import CLAIMS, REPAIRED, Job, market_of

EASY = Job(0, 1, 1, 1, 10)
"""One worker for a slot, worth 10 - t."""


@pytest.mark.parametrize(
    ("name", "owners", "jobs", "words"),
    [
        # the second of two jobs of a tenant avoids the slot of the first, although it pays nothing
        ("lambda rounds", [0, 0], [EASY, EASY], "λ = 8 rounds earn 17, one round can earn 18"),
        ("Pareto efficiency", [0, 0], [EASY, EASY],
         "j2 of tenant 1 could run in (4, 5] instead of (5, 6], worth 1 more, and nothing else would change"),
        ("sharing incentive", [0, 1], [EASY, EASY, EASY._replace(tenant=1)], "tenant 2 gains 7 in (4, 8], alone 9"),
        # a job of 2 chunks in one slot, or in two as one
        ("strategy-proofness", [0, 0], [EASY, EASY, Job(0, 1, 2, 1, 10), Job(0, 1, 1, 1, 20)],
         "tenant 1 gains 38 instead of 36 when it reports j3 with D = 1, M = 2"),
        ("no free rides", [0], [EASY._replace(tenant=1)], "j1 runs on idle resources of all tenants and pays 0"),
        ("near the optimum", [0], [EASY._replace(height=10), Job(0, 1, 1, 3, 10)], "revenue 9, the optimum 15"),
        ("fairer than Gandiva_fair", [0, 1], [EASY, EASY, EASY._replace(tenant=1)],
         "variance 0.184, under gandiva-fair 0.13"),
        # a job that is worth 1 finds prices of 0 and takes the only parameter server for too long
        ("approximation", [0], [Job(0, 3, 1, 3, 10), Job(0, 2, 1, 1, 100)],
         "one round earns 1, the best 98, more than σ = 15.6 times"),
    ],
)  # fmt: skip
def test_counter_examples(name: str, owners: list[int], jobs: list[Job], words: str) -> None:
    market = market_of(owners, jobs)
    assert CLAIMS[name].fails(market) == words
    assert CLAIMS[name].fails(market_of([0, 1], [EASY])) == ""


def test_the_smallest_is_found_and_said_in_words() -> None:
    found = theorems.smallest("Pareto efficiency", examples=100)["counter_example"]
    assert found == (
        "2 servers and 0 servers (j1 of tenant 1, D = 1, E = 1, worth 10 − 1 t; j2 of tenant 1, D = 1, E = 1, worth "
        "10 − 1 t): j2 of tenant 1 could run in (4, 5] instead of (5, 6], worth 1 more, and nothing else would change"
    )
    assert theorems.smallest("feasibility", examples=5) == {"counter_example": ""}


def test_every_claim_is_tried() -> None:
    table = theorems.tried(7).set_index("property")
    market = theorems.random_market(7)
    assert [*table.index] == [*CLAIMS]
    assert table["fails"].to_dict() == {name: claim.fails(market) != "" for name, claim in CLAIMS.items()}
    assert [*table.index[table["repaired"].notna()]] == [name for name in CLAIMS if name in REPAIRED]
    # the repair ends what prices within a tenant's own share do
    two = market_of([0, 0], [EASY, EASY])
    assert theorems.better_for_one(two) and not theorems.better_for_one(two, is_own_priced=False)


@given(theorems.markets(), st.sampled_from([(2.0, 2.0), (16.0, 4.0)]), st.integers(1, 2))
def test_payments_are_those_of_equations_2_and_8(m: theorems.Market, theta: tuple[float, float], rounds: int) -> None:
    plan = posted_prices(m, theta=theta, rounds=rounds)
    assert plan.income == pytest.approx(theorems.income_by_slot(plan, theta))
    assert theorems.not_as_contributed(m) == theorems.infeasible(m) == theorems.not_by_income(m) == ""


def test_income_by_slot_is_that_of_the_paper() -> None:
    """§4.3: j12 pays 16 for slots (8, 12], half of it to each tenant."""
    m = small_market("j12 alone", [2] * 4, [1] * 4, [(4, 2), (4, 2)], chunks=[2, 2, 3], tenant=[0, 1, 0])
    server, two, one = np.arange(4), np.array([2]), np.array([1])
    own = [theorems.Schedule(0, 8, 10, server[[0]], two, one), theorems.Schedule(1, 10, 12, server[[1]], two, one)]
    pays = theorems.Schedule(2, 8, 12, server[2:], np.array([2, 1]), np.array([1, 0]), 16.0, True)
    plan = theorems.MarketPlan(m, (*own, pays), np.zeros((2, 2)))
    assert theorems.income_by_slot(plan, THETA) == pytest.approx(np.array([[8, 0], [8, 0]]))


def test_bounds_of_theorem_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two one-slot jobs: with lambda 8, both are done in (16, 32], so all are done by tau_6 = 32."""
    m = market_of([0, 0], [EASY, EASY])
    plan, rounds, last = theorems._as_proven(m)
    assert rounds == rounds_needed([demand(m, 0), demand(m, 1)], feasible_theta(m)) == 8
    assert [(s.start, s.end) for s in plan.schedules] == [(32, 33), (33, 34)] and last == 7
    assert theorems.too_far_from_optimum(m) == theorems.not_competitive(m) == ""
    assert theorems._best(m) == theorems._best_round(m) == 18
    # an algorithm that earns nothing breaks both; lambda is 14
    monkeypatch.setattr(theorems, "posted_prices", lambda market, **_: replace(plan, market=market, schedules=()))
    m = market_of([0, 0], [EASY._replace(height=100)] * 2)
    assert theorems.too_far_from_optimum(m) == "198 less than the optimum, allowed 160"
    assert theorems.not_competitive(m).startswith("0 of the optimum, at least 0.0")


def test_schedulers_by_name() -> None:
    m = small([2, 2, 1, 1], [2] * 4, tenant=[0, 0, 1, 1], quota=[2, 2], ps_quota=[1, 1])
    by_section = simulate(m, OURS)
    asked = posted_prices(m, theta=feasible_theta(m), rounds=1)
    assert [(s.job, s.start, s.end) for s in by_section.schedules] == [(s.job, s.start, s.end) for s in asked.schedules]
    cheap = simulate(m, "batch-sche", theta=(2.0, 2.0), rounds=None)
    assert [s.start for s in cheap.schedules] == [s.start for s in batch_sche(m, theta=(2.0, 2.0)).schedules]
    with pytest.raises(InputError, match="scheduler must be one of"):
        simulate(m, "astraea")
    table = ratios(m)
    assert [*table["scheduler"]] == [*SCHEDULERS] and table["is_exact"].all()
    assert table["ratio"].max() <= 1 + 1e-6
    revenue = [total_revenue(simulate(m, name)) for name in SCHEDULERS]
    assert table["ratio"].to_numpy() == pytest.approx(np.array(revenue) / (2 * 99 + 2 * 97))
