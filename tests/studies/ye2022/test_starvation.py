"""The longest waits, on schedules small enough to follow by hand."""

from __future__ import annotations

import math

import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.simulate import simulate
from astraea.studies.ye2022.starvation import longest_waits
from astraea.traces.trace import Trace


def trace(*jobs: tuple[int, float, float]) -> Trace:
    """Jobs of one tenant: (demand, submit_time, duration)."""
    frame = pd.DataFrame(jobs, columns=["demand", "submit_time", "duration"])
    return Trace.from_frame(frame.assign(job_id=[f"j{k}" for k in range(len(frame))], tenant="a"), name="t")


def test_the_longest_wait_and_whose_it_is() -> None:
    # one node: 8 GPUs 0..1000; then the gang of 8 (900 s of waiting) before the small job (700 + 500)
    got = longest_waits(simulate(trace((8, 0.0, 1000.0), (8, 100.0, 500.0), (1, 300.0, 50.0)), Cluster(1), "fifo"))
    assert got == {
        "first_wait": 1200.0,
        "first_wait_large": 900.0,
        "total_wait": 1200.0,
        "total_wait_large": 900.0,
        "longest_waiting_demand": 1.0,
    }


def test_waits_between_leases_count_in_the_total_only() -> None:
    # two gangs of 8 share a node by leases of 900 s: each starts within the first two leases, then they take turns
    got = longest_waits(simulate(trace((8, 0.0, 3600.0), (8, 0.0, 3600.0)), Cluster(1), "astraea"))
    assert got["first_wait"] <= 900.0 + 10
    assert got["total_wait"] > 3 * 900.0
    assert got["total_wait_large"] == got["total_wait"]


def test_without_a_large_gang_its_wait_is_undefined() -> None:
    got = longest_waits(simulate(trace((1, 0.0, 60.0)), Cluster(1), "fifo"))
    assert got["first_wait"] == 0
    assert math.isnan(got["first_wait_large"])
    assert math.isnan(got["total_wait_large"])
