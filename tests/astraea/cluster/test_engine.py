"""The engine's own rules: rounds, leases, overheads, what is set aside, the integrals by hand, room to grow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError
from astraea.core.metrics import summary
from astraea.core.result import GRANT_COLUMNS, JOB_COLUMNS, Result
from astraea.traces.trace import Trace

FREE = Settings(checkpoint_overhead=0, restart_overhead=0)


def trace_of(*jobs: tuple[Any, ...], weights: dict[str, float] | None = None, **columns: Any) -> Trace:
    """A trace of rows (tenant, demand, submit, duration)."""
    frame = pd.DataFrame(jobs, columns=["tenant", "demand", "submit_time", "duration"]).assign(**columns)
    return Trace.from_frame(frame.assign(job_id=range(len(jobs))), weights=weights)


ONE = trace_of(("a", 1, 0, 1))


def leased(term: float) -> Result:
    """One job under leases of this length."""
    return simulate(ONE, Cluster(1, 1), get_policy("astraea")(lease_term=term))


# -- rounds and leases -------------------------------------------------------------------------------------------------


def test_a_job_is_seen_at_the_next_round_and_ends_at_its_exact_time() -> None:
    result = simulate(trace_of(("a", 1, 0, 12.5), ("a", 1, 3.25, 4), ("a", 1, 20, 1)), Cluster(1, 1), "fifo")
    assert result.jobs["first_start_time"].tolist() == [0, 20, 30]  # GPUs that are free at 12.5 s are given at 20 s
    assert result.jobs["end_time"].tolist() == [12.5, 24, 31]
    assert result.jobs["queueing_delay"].tolist() == [0, 16.75, 10]
    assert tuple(result.jobs.columns[: len(JOB_COLUMNS)]) == JOB_COLUMNS


@pytest.mark.filterwarnings("error")
def test_a_job_that_executes_for_no_time_has_no_slowdown() -> None:
    """A duration of 1e-320 s is lost in a time of 10 s: the second job waits, and does not execute."""
    result = simulate(trace_of(("a", 1, 0, 1e-320), ("a", 1, 5, 1e-320), ("a", 1, 10, 30)), Cluster(1, 1), "fifo")
    assert result.jobs["jct"].tolist() == [1e-320, 5, 40]
    assert result.jobs["slowdown"].isna().tolist() == [False, True, False]
    assert np.isfinite(result.jobs["contention"]).all()
    assert summary(result)["average_slowdown"] == pytest.approx((1 + 4 / 3) / 2)


def test_overheads_are_charged_as_time_and_never_as_progress() -> None:
    # two jobs of 100 s take turns on one GPU in leases of 60 s: checkpoint 5 s, restart 20 s
    result = simulate(
        trace_of(("a", 1, 0, 100), ("a", 1, 0, 100)), Cluster(1, 1), get_policy("astraea")(lease_term=60), keep_log=True
    )
    assert result.grants is not None
    assert list(result.grants[["job_id", "start", "end", "kind"]].itertuples(index=False, name=None)) == [
        ("0", 0, 60, "start"),  # 55 s of service
        ("1", 60, 120, "start"),
        ("0", 120, 180, "restart"),  # 35 s: 90 s done
        ("1", 180, 240, "restart"),
        ("0", 240, 270, "restart"),  # 20 s of restart, 10 s of service
        ("1", 270, 300, "restart"),
    ]
    assert result.jobs["overhead"].tolist() == [5 + 25 + 20] * 2
    assert result.jobs["preemptions"].tolist() == [2, 2]
    assert result.jobs["attained_service"].tolist() == [150, 150]


@pytest.mark.parametrize("interval", [0.1, 7.3])
def test_skipped_rounds_change_nothing_at_any_interval(interval: float) -> None:
    """Also where the interval is no exact float: round k is at k times the interval, however one gets there."""
    rng, n = np.random.default_rng(1), 30
    tenant, demand, submit = rng.choice(list("ab"), n), rng.integers(1, 3, n), rng.uniform(0, 900, n)
    trace = trace_of(*zip(tenant, demand, submit, rng.uniform(1, 700, n), strict=True))
    results = [
        simulate(trace, Cluster(2, 4), "astraea", settings=Settings(interval=interval), skip_rounds=skip)
        for skip in (True, False)
    ]
    pd.testing.assert_frame_equal(results[0].jobs, results[1].jobs, check_exact=True)


def test_what_never_fits_is_set_aside_with_the_reason() -> None:
    result = simulate(trace_of(("a", 5, 0, 1), ("b", 3, 0, 1), ("b", 2, 0, 1)), Cluster(2, 2), "fifo")
    assert result.jobs["job_id"].tolist() == ["2"]
    assert result.excluded_jobs["reason"].tolist() == [
        "demand exceeds the cluster (4 GPUs)", "demand exceeds the quota of its tenant (2 GPUs)",
    ]  # fmt: skip
    with pytest.raises(InputError, match="no job fits a cluster of 4 GPUs"):
        simulate(trace_of(("a", 5, 0, 1)), Cluster(2, 2), "fifo")


@pytest.mark.parametrize("weight", [0.1, 0.7])
def test_a_third_of_nine_gpus_is_three(weight: float) -> None:
    """A quota that is whole on paper stays whole, whatever the weights are written as."""
    trace = trace_of(*[(t, 3, 0, 100) for t in "abc"], weights=dict.fromkeys("abc", weight))
    result = simulate(trace, Cluster(3, 3), "yarn-cs")
    assert len(result.excluded_jobs) == 0
    assert result.jobs["end_time"].tolist() == [100, 100, 100]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: simulate(ONE, Cluster(1, 1), "lifo"), "policy must be one of astraea, .*, got 'lifo'"),
        (lambda: simulate(ONE, Cluster(1, 1), "fifo", -1), "seed must be a whole number of at least 0, got -1"),
        (lambda: leased(5), "lease_term must be at least the scheduling interval of 10 s"),
        (lambda: leased(20), r"longer than checkpoint and restart together \(25 s\)"),
        (lambda: leased(-1), "policy astraea: lease_term must be a number"),
        (lambda: leased(True), "policy astraea: lease_term must be a number"),
        (lambda: leased(np.inf), "policy astraea: lease_term must be a number"),
        (lambda: get_policy("themis")(f=1.2), "policy themis: f must be a number from 0 to 1, got 1.2$"),
        (lambda: get_policy("astraea")(lease=900), "policy astraea: unknown parameter 'lease'"),
        (lambda: Settings(interval=0), "interval must be"),
        (lambda: Settings(restart_overhead=np.nan), "restart_overhead must be"),
        (lambda: Settings(placement="near"), "placement must be"),
        (lambda: Settings(list_removal_flaw=1), "list_removal_flaw must be"),
    ],
)
def test_bad_arguments_are_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


# -- integrals by hand, [Ye2022] Eqs. 6, 8, 13, 14; a unit is 36 s, so that an hour is 100 units ---------------------


@pytest.mark.parametrize("weights, fair", [((1, 1), (100, 140)), ((1, 3), (70, 170))])
def test_fair_service_of_two_jobs_by_hand(weights: tuple[float, float], fair: tuple[float, float]) -> None:
    # tenant a has weight 1 of 4 on 8 GPUs: quota 2 (Eq. 6). a0 asks for 1 GPU in [0, 100), a1 for 2 in [40, 140).
    #            [0, 40)          [40, 100)                         [100, 140)
    # tenant     min(1, 2) = 1    min(3, 2) = 2                     min(2, 2) = 2             Eq. 8
    # a0, a1     1, -             1, 1  or with weights 0.5, 1.5    -, 2                      Eqs. 13, 14
    # sums       a0: 40 + 60 = 100 or 40 + 30 = 70;                 a1: 60 + 80 = 140 or 90 + 80 = 170
    unit = 36.0
    trace = trace_of(
        ("a", 1, 0, 100 * unit), ("a", 2, 40 * unit, 100 * unit), ("b", 6, 110 * unit, 100 * unit),
        weights={"a": 1, "b": 3}, weight=[*weights, 1],
    )  # fmt: skip
    result = simulate(trace, Cluster(1, 8), "fifo", settings=FREE)
    assert result.jobs["fair_service"].tolist() == [fair[0] * unit, fair[1] * unit, 600 * unit]
    assert result.jobs["attained_service"].tolist() == [100 * unit, 200 * unit, 600 * unit]
    np.testing.assert_allclose(result.jobs["rho_job"], [100 / fair[0], 200 / fair[1], 1], rtol=1e-15)
    # active jobs: one in [0, 40), two in [40, 100), one in [100, 110), two in [110, 140), one in [140, 210)
    np.testing.assert_allclose(result.jobs["contention"], [(40 + 120) / 100, (120 + 10 + 60) / 100, (60 + 70) / 100])
    # hours 0, 1, 2: tenant a attained 100 + 2 x 60 = 220 then 300, fair 40 + 120 = 160 then 240 (Eqs. 9, 11)
    a, b = (result.timeline[result.timeline["tenant"] == t] for t in "ab")
    assert a["time"].tolist() == [0, 3600, 7200]
    assert a["attained_service"].tolist() == [0, 220 * unit, 300 * unit]
    assert a["fair_service"].tolist() == [0, 160 * unit, 240 * unit]
    assert a["held"].tolist() == [0, 3, 0]
    assert b["attained_service"].tolist() == [0, 0, 540 * unit]
    assert b["fair_service"].tolist() == [0, 0, 540 * unit]
    assert b["held"].tolist() == [0, 0, 6]
    assert result.timeline["waiting"].tolist() == [0] * 6


# -- room for a long run -----------------------------------------------------------------------------------------------


def test_timeline_and_log_grow_with_jobs_of_thirty_days() -> None:
    policy, days = get_policy("astraea")(lease_term=900), 30 * 86_400.0
    trace = trace_of(("a", 1, 0, days), ("b", 1, 100, days))
    result = simulate(trace, Cluster(1, 2), policy, settings=FREE, keep_log=True)
    assert result.grants is not None and result.placements is not None
    assert set(GRANT_COLUMNS) <= set(result.grants)
    assert len(result.grants) == result.jobs["leases"].sum() == 2 * days / 900
    assert result.placements["gpus"].tolist() == [1, 1]
    hours = np.arange(30 * 24 + 1) * 3600.0
    a, b = (result.timeline[result.timeline["tenant"] == t]["attained_service"].to_numpy() for t in "ab")
    np.testing.assert_array_equal(a, hours)
    np.testing.assert_array_equal(b, np.maximum(0, hours - 100))
