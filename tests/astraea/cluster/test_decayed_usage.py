"""Fair share by decayed usage: the decay by hand, and who goes first by it."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from schedules import drawn, jobs, simulated, small_view

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.accounting import change_held, tenant_decayed
from astraea.cluster.engine.state import View
from astraea.traces.trace import Trace


def state(half_life: float) -> View:
    """A tenant that holds nothing yet."""
    trace = Trace.from_frame(pd.DataFrame(jobs("a0 1 0 10")))
    return small_view(trace, Cluster(1, 8), decay=math.log(2) / half_life)


def test_usage_counts_half_after_each_half_life() -> None:
    """Two GPUs from 0 to 100, six from 100 to 150, none after; the half-life is 100 s."""
    s, unit = state(100), 100 / math.log(2)  # one GPU held for ever comes to this
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
