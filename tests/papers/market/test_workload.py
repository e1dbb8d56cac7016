"""Markets sampled from a trace: quotas, arrivals, ranges, and what depends on what."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from synthetic_traces import synthetic

from astraea.core.errors import InputError
from astraea.traces.trace import Trace
from papers.market.workload import MIX, REAL, WHOLE, sample_market


def _trace() -> Trace:
    """Jobs of three tenants, one every half hour from 1000 s on; b is the smallest."""
    n = 12
    frame = pd.DataFrame(
        {
            "job_id": [f"j{i}" for i in range(n)],
            "tenant": ["a", "b", "c"] * 4,
            "demand": 1,
            "submit_time": 1000.0 + 1800.0 * np.arange(n),
            "duration": 60.0,
        }
    )
    return Trace.from_frame(frame, name="three", weights={"a": 5.0, "b": 1.0, "c": 4.0})


def test_the_smallest_tenant_and_its_jobs_are_left_out() -> None:
    market = sample_market(_trace(), jobs=8, servers=3, tenants=2, seed=0)
    assert market.jobs.job_id == ("j0", "j2", "j3", "j5", "j6", "j8", "j9", "j11")
    assert market.jobs.tenant.tolist() == [0, 1] * 4
    # half hours 0, 2, 3, 5, ... since the first of them
    assert market.jobs.arrival.tolist() == [0, 1, 1, 2, 3, 4, 4, 5]
    assert market.worker_quota.tolist() == [16, 8]  # whole servers in parts of 5 : 4, 1.67 and 1.33
    assert market.ps_quota.tolist() == [2, 1]
    assert market.workers.tolist() == [8, 8, 8]


def test_a_stretch_is_contiguous_and_starts_at_0() -> None:
    firsts = set()
    for seed in range(8):
        market = sample_market(_trace(), jobs=4, servers=3, tenants=3, seed=seed)
        number = [int(name[1:]) for name in market.jobs.job_id]
        assert number == list(range(number[0], number[0] + 4))
        assert market.jobs.arrival.tolist() == [0, 0, 1, 1]
        firsts.add(number[0])
    assert len(firsts) > 2


@pytest.mark.parametrize("utility", ["linear", "convex"])
def test_everything_drawn_is_in_its_printed_range(utility: str) -> None:
    market = sample_market(synthetic("philly"), jobs=3000, seed=5, utility=utility)  # type: ignore[arg-type]
    for name, (low, high) in WHOLE.items():
        values = getattr(market.jobs, name)
        assert values.min() == low and values.max() == high, name
    slope = "slope" if utility == "linear" else "power"
    for name in ("train", "update", "size", "height", "slope"):
        values, (least, most) = getattr(market.jobs, name), REAL[slope if name == "slope" else name]
        assert least <= values.min() < least + 0.01 * (most - least), name
        assert most - 0.01 * (most - least) < values.max() <= most, name
    assert len(market.worker_quota) == 14
    assert market.worker_quota.sum() == 800 and market.ps_quota.sum() == 100


def test_a_property_depends_on_the_seed_alone() -> None:
    trace = synthetic("philly")
    few = sample_market(trace, jobs=50, seed=3, utility="convex", servers=10, tenants=5, mixed=True)
    many = sample_market(trace, jobs=80, seed=3)
    for name in (*WHOLE, "train", "update", "size", "height"):
        assert np.array_equal(getattr(few.jobs, name), getattr(many.jobs, name)[:50]), name
    assert few.worker_bandwidth == many.worker_bandwidth and few.ps_bandwidth == many.ps_bandwidth
    other = sample_market(trace, jobs=50, seed=4)
    assert not np.array_equal(few.jobs.train, other.jobs.train)


def test_chunks_can_be_what_the_trace_asked_for() -> None:
    trace = synthetic("philly")
    asked = dict(zip(trace.job_id, trace.demand, strict=True))
    market = sample_market(trace, jobs=200, seed=2, chunks="requested")
    assert market.jobs.chunks.tolist() == [asked[name] for name in market.jobs.job_id]


def test_every_tenant_brings_in_whole_servers() -> None:
    for servers, owned in ((3, [1, 1, 1]), (4, [2, 1, 1]), (10, [5, 1, 4]), (20, [10, 2, 8])):
        for mixed in (False, True):
            market = sample_market(_trace(), jobs=4, servers=servers, tenants=3, seed=0, mixed=mixed)
            assert market.ps_quota.tolist() == owned
            parts = np.split(market.workers, np.cumsum(owned)[:-1])
            assert market.worker_quota.tolist() == [part.sum() for part in parts]


def test_servers_are_those_of_the_trace_if_mixed() -> None:
    workers = sample_market(synthetic("philly"), jobs=5, servers=550, seed=0, mixed=True).workers
    large, few = MIX
    assert np.count_nonzero(workers == 8) == int(large * 550) and set(workers.tolist()) == {8, few}
    assert abs(workers.sum() - 2490) < 10
    assert np.count_nonzero(workers[:100] == 8) == 42 and np.count_nonzero(workers[100:150] == 8) == 21


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"jobs": 0}, "the number of jobs must be a whole number of at least 1, got 0"),
        ({"servers": 2}, "each of 3 tenants brings in a server, so 2 servers are too few"),
        ({"seed": -1}, "the seed must be a whole number of at least 0, got -1"),
        ({"tenants": 4}, "three: it has 3 tenants, so 4 cannot be taken"),
        ({"jobs": 9, "tenants": 2}, "three: its 2 largest tenants have 8 jobs, so 9 cannot be taken"),
        ({"chunks": "none"}, "chunks must be one of drawn, requested, got 'none'"),
    ],
)
def test_bad_numbers_are_refused(change: dict[str, object], sentence: str) -> None:
    arguments = {"jobs": 2, "servers": 4, "tenants": 3, "seed": 0} | change
    with pytest.raises(InputError, match=f"^{sentence}$"):
        sample_market(_trace(), **arguments)  # type: ignore[arg-type]
