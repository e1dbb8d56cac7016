"""Usage that decays: by hand, who goes first by it, and KAI, its fair shares and who is evicted for whom."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from schedules import drawn, jobs, simulated, small_view

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.accounting import change_active, change_held, tenant_decayed
from astraea.cluster.engine.state import View
from astraea.cluster.policies.kai import Parameters, fair_shares
from astraea.traces.trace import Trace

HALF_LIFE = 100.0


def one_tenant(half_life: float) -> View:
    """A tenant that holds nothing yet."""
    trace = Trace.from_frame(pd.DataFrame(jobs("a0 1 0 10")))
    return small_view(trace, Cluster(1, 8), decay=math.log(2) / half_life)


def test_usage_counts_half_after_each_half_life() -> None:
    """Two GPUs from 0 to 100, six from 100 to 150, none after; the half-life is 100 s."""
    s, unit = one_tenant(100), 100 / math.log(2)  # one GPU held for ever comes to this
    change_held(s, 0, 2, 0.0)
    assert tenant_decayed(s, 0, 100.0) == pytest.approx(2 * unit / 2)
    change_held(s, 0, 4, 100.0)
    assert tenant_decayed(s, 0, 150.0) == pytest.approx(unit * (math.sqrt(0.5) + 6 * (1 - math.sqrt(0.5))))
    change_held(s, 0, -6, 150.0)
    assert tenant_decayed(s, 0, 350.0) == pytest.approx(unit * (math.sqrt(0.5) + 6 * (1 - math.sqrt(0.5))) / 4)


@pytest.mark.parametrize("half_life, first", [(100, "b5"), (260, "b5"), (274, "a4"), (1e9, "a4")])
def test_the_tenant_with_the_least_decayed_usage_goes_first(half_life: float, first: str) -> None:
    """One GPU at 800 s: b had one from 0 to 400, a from 700 to 800.

    With y = 2 ** (-100 / half-life), b has (1 - y**4) y**4 and a has 1 - y: equal at a half-life of 267 s.
    """
    rows = jobs("b0 1 0 400", "c1 1 0 3000", "c2 1 0 3000", "a3 1 700 100", "a4 1 750 50", "b5 1 750 50")
    table = simulated(rows, 3, "decayed-usage", lease_term=1000, half_life=half_life).jobs
    assert table.loc[table["first_start_time"] == 800, "job_id"].tolist() == [first]


def test_what_is_granted_counts_at_once_and_jobs_are_in_the_order_of_astraea() -> None:
    """One GPU of two for each tenant, new jobs first, then the least served, the first submitted of equals."""
    rows = jobs("a0 1 0 60", "a1 1 0 60", "b2 1 0 60", "b3 1 30 30")
    assert drawn(simulated(rows, 2, "decayed-usage", lease_term=30), 10) == [
        "a0 S==...R==",
        "a1 ...S==...R==",
        "b2 S==...R==",
        "b3    S==",
    ]


def state(demands: list[int], weights: list[float]) -> View:
    """Tenants a, b, ... that ask for so many GPUs of eight."""
    rows = [f"{'abc'[t]}{k} 1 0 10" for t, demand in enumerate(demands) for k in range(demand)]
    trace = Trace.from_frame(pd.DataFrame(jobs(*rows)), weights=dict(zip("abc", weights, strict=False)))
    view = small_view(trace, Cluster(1, 8), decay=math.log(2) / HALF_LIFE)
    for j in range(len(trace)):
        change_active(view, j, 1, 0.0)
    return view


@pytest.mark.parametrize(
    ("demands", "deserved", "shares"),
    [
        ([8, 8], 1.0, [4, 4]),
        ([8, 1], 1.0, [7, 1]),  # what b does not want goes to a
        ([8, 8, 1], 0.5, [3.5, 3.5, 1]),
        ([2, 1], 1.0, [2, 1]),
    ],
)
def test_what_is_not_wanted_goes_round(demands: list[int], deserved: float, shares: list[float]) -> None:
    s = state(demands, [1, 1, 1][: len(demands)])
    p = Parameters(deserved=deserved, half_life=HALF_LIFE)
    np.testing.assert_allclose(fair_shares(s, p), shares, rtol=1e-12)


@pytest.mark.parametrize(
    ("weights", "deserved", "k", "shares"),
    [
        # W is a half each and U is 1 and 0, so P is 1/2 - k/2 and 1/2 + k/2
        ([1, 1], 0.0, 0.0, [4, 4]),
        ([1, 1], 0.0, 0.5, [2, 6]),
        ([1, 1], 0.0, 1.0, [0, 8]),
        ([1, 1], 0.0, 9.0, [0, 8]),
        ([3, 1], 1.0, 9.0, [6, 2]),  # a deserved quota is not touched by usage
    ],
)
def test_usage_counts_against_what_is_over_quota(
    weights: list[float], deserved: float, k: float, shares: list[float]
) -> None:
    """a held all eight GPUs so far."""
    s = state([8, 8], weights)
    change_held(s, 0, 8, 0.0)
    s.clock[0].now = 250.0
    p = Parameters(deserved=deserved, k_value=k, half_life=HALF_LIFE)
    np.testing.assert_allclose(fair_shares(s, p), shares, rtol=1e-12)


def test_the_queue_furthest_below_its_share_goes_first_and_small_jobs_pass() -> None:
    """Four GPUs, two for each: after b's two, a's gang of three does not fit, and its small one goes."""
    rows = jobs("b0 2 0 100", "a1 3 10 50", "a2 1 10 50")
    assert drawn(simulated(rows, 6, "kai", lease_term=1000, half_life=1e9), 10) == [
        "b0 S=========",
        "a1  S====",
        "a2  S====",
    ]
    rows = jobs("b0 2 0 100", "a1 3 10 50", "a2 1 20 50")
    assert drawn(simulated(rows, 6, "kai", lease_term=1000, half_life=1e9), 10)[2] == "a2   S===="


def test_a_queue_below_its_share_reclaims_the_youngest_of_one_above() -> None:
    """Four GPUs. a holds all; b comes and is owed two: a's two youngest leave, and lose what they did."""
    rows = jobs("a0 1 0 100", "a1 1 0 100", "a2 1 10 100", "a3 1 20 100", "b4 2 50 30")
    result = simulated(rows, 4, "kai", lease_term=1000, half_life=1e9)
    assert drawn(result, 10) == [
        "a0 S=========",
        "a1 S=========",
        "a2  S===...R=========",
        "a3   S==...R=========",
        "b4      S==",
    ]


def test_nobody_reclaims_beyond_its_share() -> None:
    """b holds one of the two GPUs that it is owed of four: for its gang of two it takes nothing from a."""
    rows = jobs("a0 2 0 100", "a1 2 0 100", "b2 1 40 200", "b3 2 50 30")
    assert drawn(simulated(rows, 4, "kai", lease_term=1000, half_life=1e9), 10) == [
        "a0 S=========",
        "a1 S===......R=========",
        "b2     S===================",
        "b3      ...............S==",
    ]
