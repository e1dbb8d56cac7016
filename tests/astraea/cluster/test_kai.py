"""KAI: fair shares by hand, and who is evicted for whom."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from schedules import drawn, jobs, simulated, small_view

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.accounting import change_active, change_held
from astraea.cluster.engine.state import View
from astraea.cluster.policies.kai import Parameters, fair_shares
from astraea.traces.trace import Trace

HALF_LIFE = 100.0


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
