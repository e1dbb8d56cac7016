"""Rounds: drawn by hand, and beside a naive twin."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gavel_naive import Rounds
from gavel_small import fixed, of, pair, throughputs, workload
from hypothesis import given, settings
from hypothesis import strategies as st

from astraea.core.result import GRANT_COLUMNS, Result
from papers.gavel.simulate import simulate

ONE = throughputs({"a": (1.0, 0.5), "b": (2.0, 2.0), "slow": (0.015, 0.005)})
TOGETHER = throughputs({"a": (1.0, 1.0)}, shared={("a", "a"): 0.75})
LONE = {j: (1, 0) for j in range(12)}
HALF = {0: (1, 0), 1: (1, 0), 2: (0.5, 0), 3: (1, 0)}
BETTER = {0: (0.6, 0.9), 1: (0.4, 0.1)}  # job 0 has most priority on the second type, and more than job 1 on the first


def run(rows: Any, workers: Any, shares: Any, table: Any = ONE, pairs: Any = None, **options: Any) -> Result:
    given = {"solve_interval": 0.0, "preemption_overhead": 0.0, "round_length": 100.0, "keep_log": True} | options
    return simulate(workload(rows), table, workers, fixed(shares, pairs), **given)


def times(result: Result) -> list[tuple[Any, ...]]:
    """(Job, start, end) of every row of the log, in order, and the part of its GPUs if that is not all."""
    g = result.grants
    rows = zip(g["job_id"].str[1:].astype(int), g["start"], g["end"], g["part"], strict=True)
    return sorted((row[:3] if row[3] == 1 else row for row in rows), key=lambda row: (row[1], row[0]))


STEP = 1 / 0.015
DRAWN: dict[str, tuple[Any, ...]] = {
    "a lease is renewed without cost": ([("a", 1, 250, 7)], (1, 0), LONE, {"preemption_overhead": 20}, [(0, 7, 257)]),
    "turns are paid for, and a round is over with its last job": (
        [("a", 1, 150, 0)] * 2, (1, 0), LONE, {"preemption_overhead": 10},
        [(0, 0, 100), (1, 100, 200), (0, 200, 260), (1, 260, 320)],
    ),
    "another type is paid for": (
        [("b", 1, 380, 0)], (1, 1), {0: (0.5, 0.4)}, {"preemption_overhead": 10, "by_part": False},
        [(0, 0, 100), (0, 100, 200)],
    ),
    "what a job leaves waits": (
        [("a", 1, 100, 0), ("a", 1, 30, 0), ("a", 1, 50, 0), ("a", 1, 10, 20)], (2, 0), HALF, {},
        [(0, 0, 100), (1, 0, 30), (2, 100, 150), (3, 100, 110)],
    ),
    "with refill it does not, but who comes meanwhile": (
        [("a", 1, 100, 0), ("a", 1, 30, 0), ("a", 1, 50, 0), ("a", 1, 10, 20)], (2, 0), HALF, {"refill": True},
        [(0, 0, 100), (1, 0, 30), (2, 30, 80), (3, 100, 110)],
    ),
    "who starts late does what fits, and goes on": (
        [("a", 1, 500, 0), ("a", 1, 40, 0), ("a", 1, 90, 0)], (2, 0), HALF, {"refill": True},
        [(0, 0, 500), (1, 0, 40), (2, 40, 130)],
    ),
    "or waits if that is no step": (
        [("a", 1, 150, 0), ("a", 1, 99, 0), ("slow", 1, 1, 0)], (2, 0), HALF, {"refill": True},
        [(0, 0, 150), (1, 0, 99), (2, 100, 100 + STEP)],
    ),
    "a round is as long as its whole steps": (
        [("slow", 1, 2, 0), ("slow", 1, 1, 0)], (1, 0), LONE, {},
        [(0, 0, STEP), (1, STEP, 2 * STEP), (0, 2 * STEP, 3 * STEP)],
    ),
    "or as one step that is longer": (
        [("slow", 1, 1, 0), ("a", 1, 150, 0)], (1, 1), {0: (0, 1), 1: (1, 0)}, {}, [(0, 0, 200), (1, 0, 250)],
    ),
    "who does not fit is passed over": (
        [("a", 1, 100, 0), ("a", 2, 200, 0), ("a", 1, 100, 0)], (2, 0), {0: (0.9, 0), 1: (0.8, 0), 2: (0.1, 0)}, {},
        [(0, 0, 100), (2, 0, 100), (1, 100, 200)],
    ),
    "all types at once": ([("a", 1, 50, 0)] * 2, (1, 1), BETTER, {}, [(0, 0, 100), (1, 0, 50)]),
    "a gang that does fewer steps than it has GPUs": (
        [("a", 2, 3, 0), ("a", 2, 1, 0)], (4, 0), {0: (1, 0), 1: (1, 0)}, {"lost_rounds": True},
        [(0, 0, 1.5), (1, 0, 1.5 + 4 * 0.5)],  # it is given up after five rounds
    ),
    "one type after the other": ([("a", 1, 50, 0)] * 2, (1, 1), BETTER, {"by_type": True}, [(0, 0, 50), (1, 0, 100)]),
    "nobody waits for a program in an idle cluster": (
        [("a", 1, 50, 5), ("a", 1, 50, 30), ("a", 1, 50, 1000)], (1, 0), LONE, {"solve_interval": 500.0},
        [(0, 5, 55), (1, 55, 105), (2, 1000, 1050)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWN)
def test_rounds_drawn_by_hand(name: str) -> None:
    *drawn, options, expected = DRAWN[name]
    result = run(*drawn, **options)
    assert times(result) == [pytest.approx(row) for row in expected]
    if name == "a lease is renewed without cost":
        row = result.jobs.iloc[0]
        assert (row.first_start_time, row.jct, row.duration, row.leases, row.queueing_delay) == (7, 250, 250, 3, 0)
    if name == "or as one step that is longer":
        assert result.jobs["attained_service"].tolist() == [200, 250]  # a GPU idles beside it


def test_a_pair_shares_gpus_and_who_is_left_keeps_them_to_the_end_of_the_round() -> None:
    rows = [("a", 1, 30, 0), ("a", 1, 120, 0), ("a", 1, 10, 0)]
    for refill in (False, True):
        shares = {1: (0.5, 0), 2: (0.1, 0)}
        result = run(rows, (1, 0), shares, TOGETHER, {(0, 1): 1.0}, refill=refill, preemption_overhead=20)
        # 75 steps together at 0.75, then 45 alone, after a restart
        assert times(result) == [(0, 0, 40, 0.5), (1, 0, 100, 0.5), (1, 100, 165), (2, 165, 175)]
        assert result.jobs[["attained_service", "preemptions"]].to_numpy().tolist() == [[20, 0], [115, 1], [10, 0]]


def test_a_pair_takes_turns_with_others_by_its_own_time() -> None:
    rows = [("a", 1, 225, 0), ("a", 1, 225, 0), ("a", 1, 200, 0)]
    result = run(rows, (1, 0), {2: (0.4, 0)}, TOGETHER, {(0, 1): 0.6})
    began = result.grants.loc[result.grants["part"] == 1, "start"].tolist()
    assert began == [100, 300]  # 0.6 / 50 and 0.4 / 50; then 0.6 / 150; 0.4 / 150; 0.6 / 250
    assert result.jobs["end_time"].tolist() == [500, 500, 400]


def test_leftovers_go_to_who_is_owed_most() -> None:
    """Both are owed half of the first 300 s; j1 had two rounds of them, and j2 one. Then only j0 has a share."""
    rows = [("a", 1, 1000, 0), ("a", 1, 1000, 0), ("a", 1, 1000, 0), ("a", 1, 1000, 250)]

    def shares(p: Any) -> Any:
        x = np.zeros((len(p.job), 2))
        x[:, 0] = [1, 0, 0, 0] if len(p.job) == 4 else [1, 0.5, 0.5]
        return x

    given = {"round_length": 100.0, "keep_log": True, "preemption_overhead": 0.0, "solve_interval": 0.0, "until": 1}
    for leftovers, later in ((True, ["j0", "j2"]), (False, ["j0"])):
        g = simulate(workload(rows), ONE, (2, 0), of(shares), leftovers=leftovers, **given).grants
        at = [sorted(g.loc[(g["start"] <= t) & (g["end"] > t), "job_id"]) for t in range(0, 1000, 100)]
        assert at == [["j0", "j1"], ["j0", "j2"], ["j0", "j1"], *[later] * 7]


def test_the_log_grows() -> None:
    result = run([("a", 1, 1000, 0)] * 12, (1, 0), LONE)
    assert len(result.grants) == 120 > 4 * 12 + 64
    assert result.jobs["end_time"].max() == 12_000


EVERY = st.fixed_dictionaries(
    {name: st.booleans() for name in ("by_type", "leftovers", "lost_rounds", "refill", "by_part")}
    | {"solve_interval": st.sampled_from([0.0, 35.0, 500.0]), "preemption_overhead": st.sampled_from([0.0, 3.0, 19.5])}
)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), options=EVERY, aware=st.booleans())
def test_a_naive_twin_does_the_same(seed: int, options: dict[str, Any], aware: bool) -> None:
    draw = np.random.default_rng(seed)
    n, kinds = int(draw.integers(1, 9)), {"a": (1.0, 0.4, 0.0), "b": (2.0, 0.03, 0.5), "c": (0.04, 0.7, 3.0)}
    workers = [int(k) for k in draw.permutation([2, draw.integers(0, 3), draw.integers(2, 5)])]
    table = throughputs(kinds, ("x", "y", "z"), shared={("a", "a"): 0.6, ("a", "c"): 0.8, ("b", "c"): 0.7})
    rows = []
    while len(rows) < n:
        kind, gang = str(draw.choice(list(kinds))), int(draw.choice([1, 1, 2]))
        if any(s > 0 and gang <= k for s, k in zip(kinds[kind], workers, strict=True)):
            rows.append((kind, gang, int(draw.integers(1, 80)), 0))
    arrival = np.sort(draw.choice([0, 0, 7, 30, 31, 100, 220], n)) + int(draw.integers(0, 2))
    rows = [(*row[:3], int(t)) for row, t in zip(rows, arrival, strict=True)]
    levels = draw.choice([0.0, 0.25, 0.5, 1.0], (n, 3))
    speed, share, pairs = {}, {}, {}
    for j, (kind, gang, _, _) in enumerate(rows):
        for k in range(3):
            if kinds[kind][k] > 0 and gang <= workers[k]:
                speed[j, None, k] = kinds[kind][k] * gang
                share[j, None, k] = levels[j, k]
        best = max((k for k in range(3) if (j, None, k) in speed), key=lambda k: share[j, None, k])
        share[j, None, best] = levels[j, best] = max(levels[j, best], 0.125)
    for a, b in combinations(range(n), 2):
        x = draw.choice([0.0, 0.0, 0.5, 1.0], 3)
        both = pair(table, rows[a][:2], rows[b][:2]) * (rows[a][1] <= np.array(workers))
        both = both * both.all(axis=0)
        if both.any() and x.any():
            pairs[a, b] = x
            for k in np.flatnonzero((x > 0) & (both[0] > 0)):
                share[a, b, int(k)] = x[k]
                speed[a, b, int(k)], speed[b, a, int(k)] = both[0, k], both[1, k]
    options = options | {"round_length": 20.0, "until": int(draw.integers(1, n + 1))}
    twin = Rounds(
        [row[3] for row in rows], [row[2] for row in rows], [row[1] for row in rows], workers, share, speed,
        SimpleNamespace(**options), shuffled=options["by_type"] and not aware,
    )  # fmt: skip
    twin.run()
    policy = fixed({j: tuple(levels[j]) for j in range(n)}, pairs, knows_speeds=aware, least_gain=0.0)
    jobs = simulate(workload(rows), table, workers, policy, **options).jobs
    first = range(options["until"])
    assert jobs["end_time"].tolist() == pytest.approx([twin.end[j] for j in first])
    assert jobs["first_start_time"].tolist() == pytest.approx([twin.first[j] for j in first])
    assert jobs["preemptions"].tolist() == twin.preemptions[: len(first)]
    assert jobs["overhead"].tolist() == twin.overhead[: len(first)]


READINGS = [{}, {"by_type": True, "leftovers": True}, {"refill": True, "leftovers": True}]


@pytest.mark.parametrize("options", READINGS, ids=str)
def test_received_fractions_converge_to_the_allocation(options: dict[str, bool]) -> None:
    shares = {0: (0.9, 0.1), 1: (0.6, 0.3), 2: (0.3, 0.5), 3: (0.2, 0.1), 4: (0.0, 1.0)}  # the last ends first
    w = workload([("a", 1, 1e7, 0)] * 4 + [("b", 1, 2e5, 0)])
    result = simulate(w, ONE, (2, 2), fixed(shares, leaves_idle=True), until=5, round_length=100.0, keep_log=True,
                      **options)  # fmt: skip
    end, grants = result.jobs["end_time"].iloc[4], result.grants
    assert end < 1.2e5
    assert set(GRANT_COLUMNS) <= set(grants)
    held = (grants["end"].clip(upper=end) - grants["start"]).clip(lower=0).groupby(grants["job_id"]).sum() / end
    for j in range(4):
        assert held[f"j{j}"] == pytest.approx(sum(shares[j]), abs=0.02)


def random_shares(problem: Any) -> Any:
    x = np.random.default_rng(problem.job.sum() + len(problem.job)).random((len(problem.job), len(problem.workers)))
    return x / np.maximum(x.sum(axis=1, keepdims=True), 1)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), options=EVERY, ideal=st.booleans())
def test_capacity_is_never_exceeded_and_no_job_runs_twice(seed: int, options: dict[str, Any], ideal: bool) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 15))
    kinds, gangs = rng.choice(["a", "b"], n), rng.choice([1, 1, 2, 4], n)
    w = workload(list(zip(kinds, gangs, rng.integers(20, 3000, n), np.sort(rng.integers(0, 800, n)), strict=True)))
    result = simulate(w, ONE, (4, 5), of(random_shares), keep_log=True, round_length=50.0, ideal=ideal, **options)
    g, jobs = result.grants, result.jobs
    assert (g["end"] >= g["start"]).all()
    for _, own in g.sort_values("start").groupby("job_id"):
        assert (own["start"].to_numpy()[1:] >= own["end"].to_numpy()[:-1]).all()
    held = [(g["demand"] * g["part"])[(g["start"] <= t) & (g["end"] > t)].sum() for t in np.unique(g["start"])]
    assert ideal or max(held) <= 9
    assert (jobs["end_time"] >= jobs["submit_time"] + jobs["duration"] - 1e-6).all()
    assert (jobs["first_start_time"] >= jobs["submit_time"]).all()
    lasted = (g["end"] - g["start"]) * g["demand"] * g["part"]
    by_job = lasted.groupby(g["job_id"]).sum().reindex(jobs["job_id"]).to_numpy()
    assert by_job == pytest.approx(jobs["attained_service"].to_numpy())
