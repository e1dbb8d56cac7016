"""Rounds, drawn by hand: jobs, places, lengths and costs."""

from __future__ import annotations

import numpy as np
import pytest
from gavel_small import fixed, of, throughputs, workload
from hypothesis import given, settings
from hypothesis import strategies as st

from astraea.core.result import GRANT_COLUMNS
from papers.gavel.rounds.mechanism import IN_ROUNDS, Mechanism
from papers.gavel.rounds.selection import is_over, rank, ranking
from papers.gavel.rounds.state import Pairs, new_state
from papers.gavel.simulate import simulate
from verification.gavel_rounds import RELEASED_ROUNDS

ONE = throughputs({"a": (1.0, 0.5), "b": (2.0, 2.0)})
APART = throughputs({"a": (1.0,)}, types=("fast",), apart=0.25)
ALWAYS = fixed({j: (1,) for j in range(5)})
ROUND = 100.0


def run(w, workers, policy, table=ONE, **options):
    given = {"solve_interval": 0.0, **options}
    return simulate(w, table, workers, policy, round_length=ROUND, keep_log=True, **given)


def test_a_job_renews_its_lease_without_cost_and_ends_to_the_second() -> None:
    jobs = run(workload([("a", 1, 250, 7)]), (1, 0), fixed({0: (1, 0)}), preemption_overhead=20).jobs
    row = jobs.iloc[0]
    assert (row.first_start_time, row.end_time, row.jct, row.duration) == (7, 257, 250, 250)
    assert (row.leases, row.preemptions, row.overhead, row.queueing_delay) == (3, 0, 0, 0)


def test_two_jobs_take_turns_and_pay_for_it() -> None:
    w = workload([("a", 1, 150, 0), ("a", 1, 150, 0)])
    result = run(w, (1, 0), fixed({0: (0.5, 0), 1: (0.5, 0)}), preemption_overhead=10)
    # 0-100 j0; 100-200 j1; 200-210 j0 loads, 210-260 j0 ends; j1 loads and goes on at once
    assert list(result.jobs["end_time"]) == [260, 320]
    assert list(result.jobs["preemptions"]) == [1, 1]
    assert list(result.jobs["overhead"]) == [10, 10]
    grants = result.grants.set_index("job_id")
    assert grants.loc["j0", ["start", "end"]].to_numpy().tolist() == [[0, 100], [200, 260]]
    assert grants.loc["j1", ["start", "end"]].to_numpy().tolist() == [[100, 200], [260, 320]]


def test_freed_workers_and_arrivals_do_not_wait_for_the_end_of_the_round() -> None:
    w = workload([("a", 1, 30, 0), ("a", 1, 60, 0), ("a", 1, 40, 95)])
    jobs = run(w, (1, 0), fixed({0: (1, 0), 1: (0.5, 0), 2: (0.5, 0)})).jobs
    assert list(jobs["first_start_time"]) == [0, 30, 95]
    assert list(jobs["end_time"]) == [30, 90, 135]


def test_gangs_are_placed_first_and_together() -> None:
    w = workload([("a", 1, 1000, 0), ("a", 1, 1000, 0), ("a", 2, 2000, 0)])
    jobs = run(w, (4,), ALWAYS, APART, server_gpus=2).jobs
    assert list(jobs["end_time"]) == [1000, 1000, 1000]  # the gang has a server of its own


def test_a_gang_that_is_spread_is_slower() -> None:
    w = workload([("a", 1, 90, 0), ("a", 1, 900, 0), ("a", 1, 90, 0), ("a", 1, 900, 0), ("a", 2, 200, 91)])
    # j0 and j2 leave one GPU of each server; the gang gets those, and keeps them: 0.25 * 2 steps/s from 91 s on
    spread = run(w, (4,), ALWAYS, APART, server_gpus=2).jobs
    assert spread["end_time"].iloc[4] == 491
    assert spread["leases"].iloc[4] == 5
    # where servers have one GPU each, every gang is as together as it can be
    assert run(w, (4,), ALWAYS, APART).jobs["end_time"].iloc[4] == 191


def test_a_pair_shares_workers_and_the_rest_goes_on_alone() -> None:
    table = throughputs({"a": (1.0, 1.0)}, shared={("a", "a"): 0.75})
    w = workload([("a", 1, 75, 0), ("a", 1, 150, 0)])
    result = run(w, (1, 0), fixed({}, pairs={(0, 1): 1.0}), table)
    # together at 0.75 until 100 s; j1 has 75 left and does them alone
    assert list(result.jobs["end_time"]) == [100, 175]
    assert list(result.jobs["attained_service"]) == [50, 125]
    assert result.timeline["attained_service"].iloc[-1] <= 175


@pytest.mark.parametrize("mechanism", [IN_ROUNDS, RELEASED_ROUNDS], ids=["rounds", "released"])
def test_received_fractions_converge_to_the_allocation(mechanism: Mechanism) -> None:
    shares = {0: (0.9, 0.1), 1: (0.6, 0.3), 2: (0.3, 0.5), 3: (0.2, 0.1), 4: (0.0, 1.0)}  # the last ends first
    w = workload([("a", 1, 1e7, 0)] * 4 + [("b", 1, 2e5, 0)])
    result = run(w, (2, 2), fixed(shares, leaves_idle=True), mechanism=mechanism, until=5)
    end = result.jobs["end_time"].iloc[4]
    assert end < 1.2e5
    grants = result.grants
    assert set(GRANT_COLUMNS) <= set(grants)
    held = (grants["end"].clip(upper=end) - grants["start"]).clip(lower=0).groupby(grants["job_id"]).sum() / end
    for j in range(4):
        assert held[f"j{j}"] == pytest.approx(sum(shares[j]), abs=0.02)


def random_shares(problem):
    rng = np.random.default_rng(problem.job.sum() + len(problem.job))
    x = rng.random((len(problem.job), len(problem.workers)))
    return x / np.maximum(x.sum(axis=1, keepdims=True), 1)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), mechanism=st.sampled_from([IN_ROUNDS, RELEASED_ROUNDS]))
def test_capacity_is_never_exceeded_and_no_job_runs_twice(seed: int, mechanism: Mechanism) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 15))
    kinds, gangs = rng.choice(["a", "b"], n), rng.choice([1, 1, 2, 4], n)
    w = workload(list(zip(kinds, gangs, rng.integers(20, 3000, n), np.sort(rng.integers(0, 800, n)), strict=True)))
    result = run(w, (4, 5), of(random_shares), mechanism=mechanism, server_gpus=2)
    g = result.grants
    assert (g["end"] >= g["start"]).all()
    for _, own in g.sort_values("start").groupby("job_id"):
        assert (own["start"].to_numpy()[1:] >= own["end"].to_numpy()[:-1]).all()
    times = np.unique(g["start"])
    held = [(g["demand"] * g["part"])[(g["start"] <= t) & (g["end"] > t)].sum() for t in times]
    assert max(held) <= 9
    jobs = result.jobs
    assert (jobs["end_time"] >= jobs["submit_time"] + jobs["duration"] - 1e-6).all()
    assert (jobs["first_start_time"] >= jobs["submit_time"]).all()
    lasted = (g["end"] - g["start"]) * g["demand"] * g["part"]
    by_job = lasted.groupby(g["job_id"]).sum().reindex(jobs["job_id"]).to_numpy()
    assert by_job == pytest.approx(jobs["attained_service"].to_numpy())


def by_hand(s, r):
    alive = [c for c in range(len(r.order)) if not is_over(s, r.what[c, 0], r.what[c, 1])]
    return sorted(alive, key=lambda c: (*-r.key[c], c))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_order_that_is_kept_is_that_of_a_sort(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    speed = rng.choice([0.0, 1.0, 2.0], (n, 3))
    s = new_state(np.zeros(n), np.ones(n), np.ones(n, np.int64), speed, speed, np.array([2, 2, 2]), 1)
    s.active[:], s.clock[0].active = np.arange(n), n
    s.jobs.share[:], s.jobs.deficit[:] = rng.choice([0.0, 0.25, 0.5], (n, 3)), rng.choice([-1.0, 0.0, 3.0], (n, 3))
    s.jobs.received[:] = 180.0
    share, received = np.full((1, 3), 0.5), np.full((1, 3), 180.0)
    s = s._replace(pairs=Pairs(np.array([[0, 1]]), np.ones((1, 2, 3)), share, received))
    r = ranking(s, False)
    given_time = (s.jobs.share > 0) & (speed > 0)
    assert r.size[0] == given_time.sum() + 3
    for _ in range(4):
        for c, (a, b, k, _) in enumerate(r.what[: len(r.order)]):
            if c in r.order[: r.size[0]]:
                got = s.jobs.received[a, k] if b < 0 else s.pairs.received[0, k]
                assert r.key[c, 0] == r.key[c, 2] / got
        assert r.order[: r.size[0]].tolist() == by_hand(s, r)
        s.jobs.received[rng.random((n, 3)) < 0.3] += 360.0
        s.pairs.received[0, rng.integers(3)] += 100.0
        over = rng.integers(n)
        s.jobs.left[over], s.jobs.end[over] = 0.0, 1.0
        rank(s, r)
