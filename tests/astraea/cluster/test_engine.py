"""The engine's own rules: rounds, leases, overheads, excluded jobs, integrals by hand, placement by node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from schedules import jobs, simulated, small_state, trace_of
from workloads import few

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.placement import PLACEMENTS, give_back, place
from astraea.cluster.engine.state import EVERY_ROUND, View
from astraea.cluster.policies import get_policy
from astraea.cluster.policy import (
    NO_JOB,
    LeaseTerm,
    all_candidates,
    fits,
    grant,
    is_open,
    policy,
    some_job_fits,
)
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError
from astraea.core.metrics import hourly, summary, tenant_windows
from astraea.core.result import GRANT_COLUMNS, JOB_COLUMNS, Result

ONE = jobs("a0 1 0 1")


def leased(term: float) -> Result:
    """One job under leases of this length."""
    return simulated(ONE, 1, "astraea", settings=Settings(), lease_term=term)


def test_a_job_is_seen_at_the_next_round_and_ends_at_its_exact_time() -> None:
    result = simulated(jobs("a0 1 0 12.5", "a1 1 3.25 4", "a2 1 20 1"), 1, "fifo")
    assert result.jobs["first_start_time"].tolist() == [0, 20, 30]  # GPUs that are free at 12.5 s are given at 20 s
    assert result.jobs["end_time"].tolist() == [12.5, 24, 31]
    assert result.jobs["queueing_delay"].tolist() == [0, 16.75, 10]
    assert tuple(result.jobs.columns[: len(JOB_COLUMNS)]) == JOB_COLUMNS


@pytest.mark.filterwarnings("error")
def test_a_job_that_executes_for_no_time_has_no_slowdown() -> None:
    """A duration of 1e-320 s is lost in a time of 10 s: the second job waits, and does not execute."""
    result = simulated(jobs("a0 1 0 1e-320", "a1 1 5 1e-320", "a2 1 10 30"), 1, "fifo")
    assert result.jobs["jct"].tolist() == [1e-320, 5, 40]
    assert result.jobs["slowdown"].isna().tolist() == [False, True, False]
    assert np.isfinite(result.jobs["contention"]).all()
    assert summary(result)["average_slowdown"] == pytest.approx((1 + 4 / 3) / 2)


def test_overheads_are_charged_as_time_and_never_as_progress() -> None:
    # two jobs of 100 s take turns on one GPU in leases of 60 s: checkpoint 5 s, restart 20 s
    result = simulated(jobs("a0 1 0 100", "a1 1 0 100"), 1, "astraea", settings=Settings(), lease_term=60)
    assert list(result.log[["job_id", "start", "end", "kind"]].itertuples(index=False, name=None)) == [
        ("a0", 0, 60, "start"),  # 55 s of service
        ("a1", 60, 120, "start"),
        ("a0", 120, 180, "restart"),  # 35 s: 90 s done
        ("a1", 180, 240, "restart"),
        ("a0", 240, 270, "restart"),  # 20 s of restart, 10 s of service
        ("a1", 270, 300, "restart"),
    ]
    assert result.jobs["overhead"].tolist() == [5 + 25 + 20] * 2
    assert result.jobs["preemptions"].tolist() == [2, 2]
    assert result.jobs["attained_service"].tolist() == [150, 150]


@pytest.mark.parametrize("interval", [0.1, 7.3])
def test_skipped_rounds_change_nothing_at_any_interval(interval: float) -> None:
    """Round k is at exactly k times the interval, even where the interval is no exact float."""
    w, settings = few(), Settings(interval=interval)
    usual = get_policy("astraea")
    every = replace(usual, revisit=lambda _: EVERY_ROUND)
    ours, theirs = (simulate(w.trace, w.cluster, chosen, settings=settings).jobs for chosen in (usual, every))
    pd.testing.assert_frame_equal(ours, theirs, check_exact=True)


@pytest.mark.parametrize("interval, submit, end", [(0.3, 200.1, 290.1), (0.1, 4.6, 94.6), (0.7, 2.1, 92.1)])
def test_a_job_as_long_as_its_lease_ends_with_it(interval: float, submit: float, end: float) -> None:
    """All of these times are multiples of the interval on paper."""
    term = 90.3 if interval == 0.7 else 90.0
    result = simulated(
        jobs(f"a0 1 {submit} {term}", f"a1 1 {submit} {term}"), 1, "astraea", settings=Settings(interval=interval),
        lease_term=term,
    )  # fmt: skip
    end += term - 90
    assert result.jobs["leases"].tolist() == [1, 1]
    assert result.jobs["first_start_time"].tolist() == [submit, pytest.approx(end, rel=1e-15)]
    np.testing.assert_allclose(result.jobs["end_time"], [end, end + term], rtol=1e-15)


@policy("turns", LeaseTerm, synchronous=lambda _: True)
def turns(s: View) -> None:
    """Grant the job that has attained least, with leases that end together."""
    while some_job_fits(s):
        best = NO_JOB
        for j in all_candidates(s):
            least = best == NO_JOB or s.job[j].attained_service < s.job[best].attained_service
            if is_open(s, j) and fits(s, j) and least:
                best = j
        grant(s, best)


def test_a_lease_shorter_than_the_restart_takes_nothing_from_earlier_ones() -> None:
    """a0 restarts for 20 s in a lease of 10 s, which a2 then takes: the work of its first lease is not lost."""
    trace = trace_of(jobs("a0 1 0 100", "a1 1 10 45", "a2 1 115 200"))
    result = simulate(trace, Cluster(1, 1), turns.with_parameters(lease_term=60), settings=Settings(), keep_log=True)
    assert list(result.log[["job_id", "start", "end", "kind"]].itertuples(index=False, name=None))[:8] == [
        ("a0", 0, 60, "start"),  # 55 s of service, because it is not renewed
        ("a1", 60, 105, "start"),
        ("a0", 110, 120, "restart"),  # half of the restart
        ("a2", 120, 180, "start"),
        ("a2", 180, 240, "renewal"),
        ("a0", 240, 300, "restart"),  # 20 s of restart, 35 s of service: 90 s done
        ("a2", 300, 360, "restart"),
        ("a0", 360, 390, "restart"),  # 20 s of restart, 10 s of service
    ]
    assert result.jobs["overhead"].tolist()[0] == 5 + 10 + 25 + 20


# a0 holds a GPU of the first node for 1,000 s and a1 the others for 50 s; a2 holds two of the second node.
# Per node 7 and 6 GPUs are free at 100 s: enough for 13 on two nodes, as in an empty cluster. a4 needs a whole node.
GANGS = jobs("a0 1 0 1000", "a1 7 0 50", "a2 2 10 1000", "a3 13 100 50", "a4 8 150 10", "a5 1 160 30")


@pytest.mark.parametrize("policy", ["fifo", "astraea"])
@pytest.mark.parametrize("cluster", [Cluster(2, 8), Cluster.of([8, 8, 0])], ids=["equal", "unequal"])
def test_a_strict_gang_waits_only_for_as_few_nodes_as_it_needs_and_keeps_no_gpus(cluster: Cluster, policy: str) -> None:
    """Under ASTRAEA, a gang for which there are no nodes closes its tenant for the round (Algorithm 1, line 16)."""
    strict = Settings(placement="strict", checkpoint_overhead=0, restart_overhead=0)
    starts = simulated(GANGS, cluster, policy, settings=strict).jobs["first_start_time"].tolist()
    assert starts == [0, 0, 10, 100, 1000, 160 if policy == "fifo" else 1000]


@pytest.mark.parametrize("sizes, gpus", [([8, 4], 12), ([8, 8, 6, 2], 20), ([8, 8, 6, 2], 24)])
def test_a_gang_fits_if_its_nodes_together_have_its_gpus(sizes: list[int], gpus: int) -> None:
    result = simulated(jobs(f"a0 {gpus} 0 10", "a1 1 0 10"), Cluster.of(sizes), "fifo")
    assert result.jobs["end_time"].tolist() == [10, 10 if gpus < sum(sizes) else 20]


def test_what_never_fits_is_excluded_with_the_reason() -> None:
    result = simulate(trace_of(jobs("a0 5 0 1", "b1 3 0 1", "b2 2 0 1")), Cluster(2, 2), "fifo")
    assert result.jobs["job_id"].tolist() == ["b2"]
    assert result.excluded_jobs["reason"].tolist() == [
        "demand exceeds the cluster (4 GPUs)", "demand exceeds the quota of its tenant (2 GPUs)",
    ]  # fmt: skip
    with pytest.raises(InputError, match="no job fits a cluster of 4 GPUs"):
        simulate(trace_of(jobs("a0 5 0 1")), Cluster(2, 2), "fifo")


@pytest.mark.parametrize("weight", [0.1, 0.7])
def test_a_third_of_nine_gpus_is_three(weight: float) -> None:
    """A quota that is a whole number stays one, however the weights are written."""
    rows = jobs(*(f"{t}0 3 0 100" for t in "abc"))
    result = simulated(rows, Cluster(3, 3), "yarn-cs", weights=dict.fromkeys("abc", weight))
    assert result.jobs["end_time"].tolist() == [100, 100, 100]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: simulate(trace_of(ONE), Cluster(1, 1), "fifo", -1), "seed must be a whole number .*, got -1"),
        (lambda: leased(20), r"longer than checkpoint and restart together \(25 s\)"),
        (lambda: leased(-1), "policy astraea: lease_term must be a number"),
        (lambda: leased(True), "policy astraea: lease_term must be a number"),
        (lambda: leased(np.inf), "policy astraea: lease_term must be a number"),
        (lambda: get_policy("themis").with_parameters(f=1.2), "themis: f must be a number from 0 to 1, got 1.2$"),
        (lambda: Settings(interval=0), "interval must be"),
        (lambda: Settings(restart_overhead=np.nan), "restart_overhead must be"),
        (lambda: Settings(placement="near"), "placement must be"),
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
    rows = jobs(f"a0 1 0 {100 * unit}", f"a1 2 {40 * unit} {100 * unit}", f"b2 6 {110 * unit} {100 * unit}")
    result = simulated(pd.DataFrame(rows).assign(weight=[*weights, 1]), 8, "fifo", weights={"a": 1, "b": 3})
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


def test_timeline_and_log_grow_with_jobs_of_thirty_days() -> None:
    days = 30 * 86_400.0
    result = simulated(jobs(f"a0 1 0 {days}", f"b1 1 100 {days}"), 2, "astraea", lease_term=900)
    assert result.grants is not None and result.placements is not None
    assert set(GRANT_COLUMNS) <= set(result.grants)
    assert len(result.grants) == result.jobs["leases"].sum() == 2 * days / 900
    assert result.placements["gpus"].tolist() == [1, 1]
    hours, every_hour = np.arange(30 * 24 + 1) * 3600.0, hourly(result)
    a, b = (every_hour[every_hour["tenant"] == t]["attained_service"].to_numpy() for t in "ab")
    np.testing.assert_array_equal(a, hours)
    np.testing.assert_array_equal(b, np.maximum(0, hours - 100))


@pytest.mark.parametrize(
    "kind, free, gpus, expected",
    [
        ("consolidated", [4, 3, 3], 2, {1: 2}),  # best fit: the fullest node that holds it; of equals, the first
        ("consolidated", [4, 1, 2, 4], 6, {0: 4, 2: 2}),  # a whole node and the fullest that holds the rest
        ("consolidated", [4, 1, 4], 6, {0: 4, 2: 2}),  # the rest on a node that was empty
        ("consolidated", [3, 2, 3], 4, {0: 3, 1: 1}),  # cannot be on one node: emptiest first, then the best fit
        ("strict", [4, 1, 2, 4], 6, {0: 4, 2: 2}),
        ("strict", [4, 1, 1, 1], 6, {}),  # waits
        ("strict", [3, 1, 3, 2], 6, {0: 3, 2: 3}),  # on two nodes as in an empty cluster, none of them empty
        ("spread", [1, 4, 2], 4, {1: 3, 2: 1}),  # always from the node with most free GPUs; of equals, the first
    ],
)
def test_where_a_gang_goes(kind: str, free: list[int], gpus: int, expected: dict[int, int]) -> None:
    """GPUs of the gang by node, where nodes of four GPUs have these free ones."""
    trace, cluster = trace_of(jobs(f"t0 {gpus} 0 1")), Cluster(len(free), 4)
    s, private = small_state(trace, cluster, placement=PLACEMENTS.index(kind))
    s.node_free[:] = free
    assert place(s, private, 0) == bool(expected)
    assert {node: g for node, g in enumerate(free - s.node_free) if g > 0} == expected


def test_a_long_job_has_rows_where_something_changes() -> None:
    """a1 waits for the whole of a0, which holds 2 of 3 GPUs for a million hours."""
    long = 1e6 * 3600.0
    result = simulated(jobs(f"a0 2 5000 {long}", "a1 2 9000 7200"), 3, "fifo")
    assert result.timeline["time"].unique().tolist() == [
        h * 3600.0 for h in (0, 1, 2, 3, 1_000_001, 1_000_002, 1_000_003)
    ]
    a = hourly(result)
    np.testing.assert_array_equal(a["time"], np.arange(1_000_004) * 3600.0)
    np.testing.assert_array_equal(a["attained_service"], np.clip(2 * (a["time"] - 5000), 0, 2 * (long + 7200)))
    assert (a["held"] == 2 * ((a["time"] > 5000) & (a["time"] <= 5000 + long + 7200))).all()
    assert (a["waiting"] == 2 * ((a["time"] > 9000) & (a["time"] <= 5000 + long))).all()
    windows = tenant_windows(result)
    assert len(windows) == 1_000_004 - 24
    assert (windows["attained_service"].iloc[2:-30] == 2 * 86_400).all()
    assert (windows["fair_service"].iloc[3:-30] == 3 * 86_400).all()


def test_random_placement_takes_every_free_gpu_equally_often() -> None:
    free, draws = np.array([4, 1, 0, 3]), 4000
    s, private = small_state(trace_of(jobs("t0 1 0 1")), Cluster(4, 4), placement=PLACEMENTS.index("random"))
    counts = np.zeros(4)
    for _ in range(draws):
        s.node_free[:] = free
        place(s, private, 0)
        counts += free - s.node_free
        give_back(s, 0)
    expected = free * draws / 8
    chi_square = ((counts - expected)[expected > 0] ** 2 / expected[expected > 0]).sum()
    assert counts[2] == 0
    assert chi_square < 13.8  # 0.999 quantile, two degrees of freedom


def test_random_placement_depends_on_the_seed_and_on_nothing_else() -> None:
    trace = trace_of(jobs(*(f"t{k} 4 0 1000" for k in range(30))))
    random = Settings(placement="random")
    first, again, other = (
        simulate(trace, Cluster(20, 8), "fifo", seed, settings=random, keep_log=True).placements for seed in (3, 3, 4)
    )
    assert first is not None and first.equals(again) and not first.equals(other)


@pytest.mark.parametrize("sensitivity, seconds", [(1.0, 600.0), (0.75, 800.0), (0.5, 1200.0)])
def test_a_spread_gang_runs_at_its_sensitivity(sensitivity: float, seconds: float) -> None:
    rows = pd.DataFrame(jobs("t0 4 0 600", "t1 5 5000 600")).assign(sensitivity=sensitivity)
    near, far = (
        simulated(rows, Cluster(4, 4), "fifo", settings=Settings(placement=p)).jobs for p in ("consolidated", "spread")
    )
    # 5 GPUs need two nodes: they are not spread more than they must be in one case, and over four in the other
    assert (near["end_time"] - near["first_start_time"]).tolist() == [600, 600]
    assert (far["end_time"] - far["first_start_time"]).tolist() == [seconds, seconds]
    assert (far["slowdown"] == 1).all()
