"""GPU-time that tenants attained and were owed, and measures of several schedulers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_logs import recorded
from workloads import crowd, few

from astraea.cluster.cluster import Cluster
from astraea.cluster.observed import observed
from astraea.cluster.simulate import simulate
from astraea.core.metrics import sharing_loss
from astraea.core.result import Result
from astraea.core.units import HOUR
from astraea_ops.audit import scenarios
from astraea_ops.audit.scenarios import calibration, in_order

CLUSTER = Cluster(4, 4)

run = st.tuples(st.sampled_from("ab"), st.integers(1, 3), st.integers(0, 20), st.integers(0, 10), st.integers(1, 20))


@given(st.lists(run, min_size=1, max_size=5), st.integers(1, 15))
def test_owed_second_by_second(rows: list[tuple[str, int, int, int, int]], length: int) -> None:
    lines = [f"{t}{k} {demand} {since} {since + wait} {since + wait + ran}"
             for k, (t, demand, since, wait, ran) in enumerate(rows)]  # fmt: skip
    trace = recorded(*lines, weights={"a": 2.0, "b": 1.0})
    quota = {"a": 16 * 2 / 3, "b": 16 / 3}
    was = observed(trace, CLUSTER)
    end = int(was.jobs["end_time"].max())
    bounds = np.append(np.arange(0.0, end, length), float(end))
    waiting = pd.DataFrame({"tenant": ["b"], "demand": [3], "submit_time": [1.0]})
    found = scenarios.owed(was, quota, bounds, waiting).set_index(["period", "tenant"])
    active, held = np.zeros((2, end)), np.zeros((2, end))
    for t, demand, since, wait, ran in rows:
        active["ab".index(t), since : since + wait + ran] += demand
        held["ab".index(t), since + wait : since + wait + ran] += demand
    active[1, 1:] += 3
    for k, t in enumerate("ab"):
        due = np.minimum(active[k], quota[t])
        for period, (a, b) in enumerate(zip(bounds[:-1].astype(int), bounds[1:].astype(int), strict=True), 1):
            row = found.loc[(period, t)]
            assert row["owed"] * HOUR == pytest.approx(due[a:b].sum(), abs=1e-6)
            assert row["got"] * HOUR == pytest.approx(held[k, a:b].sum(), abs=1e-6)
            assert np.isnan(row["rho"]) == (due[a:b].sum() == 0)
        assert found.loc[(0, t), "owed"] * HOUR == pytest.approx(due.sum())


def test_the_timeline_agrees_with_what_was_held() -> None:
    trace = recorded("a1 4 0 0 10", "b1 8 0 0 20", "a2 8 5 10 30")
    table = scenarios.over_time(observed(trace, CLUSTER), pd.DataFrame())
    assert table["time"].iloc[[0, -1]].tolist() == pytest.approx([0, 30 - 0.03])
    step = 0.03
    assert table["held"].sum() * step == pytest.approx(4 * 10 + 8 * 20 + 8 * 20)
    assert table["wanted"].sum() * step == pytest.approx(8 * 5)
    assert scenarios.use(observed(trace, CLUSTER), 5.0) == 12 / 16
    assert np.isnan(scenarios.use(observed(trace, CLUSTER), 0.0))


def test_periods_and_sizes_of_gangs() -> None:
    for end, name, count in (
        (30.0, "minute", 1), (150.0, "minute", 3), (14400.0, "hour", 4), (5.5 * 86400.0, "day", 6), (3e6, "week", 5),
    ):  # fmt: skip
        bounds, called = scenarios.periods(end)
        assert (called, len(bounds) - 1, bounds[0], bounds[-1]) == (name, count, 0, end)
        assert (np.diff(bounds) > 0).all()
    assert scenarios.size_of(pd.Series([1, 2, 3, 4, 8, 127, 128, 999])).tolist() == [
        "1", "2-3", "2-3", "4-7", "8-15", "64-127", "128+", "128+",
    ]  # fmt: skip


def test_intervals_hold_their_mean() -> None:
    w = few()
    results = {name: simulate(w.trace, w.cluster, name) for name in ("fifo", "astraea")}
    for by in ("tenant", "size"):
        table = scenarios.waits_by(results, by)
        several = table[table["jobs"] > 1]
        assert ((several["low"] <= several["mean"]) & (several["mean"] <= several["high"])).all()
        assert table.groupby("scheduler")["jobs"].sum().tolist() == [40, 40]
    one = scenarios.gains(results["fifo"], results["fifo"], {"astraea": results["astraea"]}).iloc[0]
    losses = [(results[name].jobs["rho_job"] < 0.95).mean() for name in ("fifo", "astraea")]
    assert [one["gain"], one["over_log"]] == pytest.approx([losses[0] - losses[1]] * 2)
    assert one["low"] <= one["gain"] <= one["high"]


def test_a_job_that_is_owed_nothing_is_neither_lost_nor_spared() -> None:
    w, nan = few(), float("nan")
    result = simulate(w.trace, w.cluster, "fifo")

    def with_rho(*rho: float) -> Result:
        return replace(result, jobs=result.jobs.head(4).assign(rho_job=rho))

    before, after = with_rho(0.5, 0.5, 1.0, nan), with_rho(1.0, 0.5, 1.0, nan)
    found = scenarios.gains(before, before, {"astraea": after}).iloc[0]
    assert (sharing_loss(before), sharing_loss(after)) == (2 / 3, 1 / 3)
    assert [found["gain"], found["over_log"]] == pytest.approx([1 / 3] * 2)
    assert found["high"] - found["gain"] == pytest.approx(1.96 * np.std([1, 0, 0], ddof=1) / 3**0.5)
    unlike = scenarios.gains(before, before, {"astraea": with_rho(1.0, nan, 1.0, 0.5)}).iloc[0]
    assert unlike["gain"] == 1 / 2  # of the first and the third job, which both are owed something


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12))
def test_pairs_in_order_one_by_one(drawn: list[tuple[int, int]]) -> None:
    one, other = (np.array([pair[k] for pair in drawn], dtype=float) for k in (0, 1))
    agree, pairs = 0.0, 0
    for i in range(len(drawn)):
        for j in range(i):
            if one[i] != one[j]:
                pairs += 1
                agree += 0.5 if other[i] == other[j] else float((one[i] < one[j]) == (other[i] < other[j]))
    assert in_order(one, other) == pytest.approx(agree / pairs if pairs else np.nan, nan_ok=True)


def test_calibration_compares_the_jobs_that_both_have() -> None:
    log = observed(recorded("a1 8 0 0 10", "b1 8 0 10 20", "b2 8 0 20 30", "b3 1 0 0 1"), CLUSTER)
    replay = observed(recorded("a1 8 0 0 10", "b2 8 0 10 20", "b1 8 0 20 30"), CLUSTER)
    found = calibration(log, replay)
    assert (found.waited, found.in_order, found.recorded, found.replayed, found.error) == (2, 0, 10, 10, 0)
    assert found.sentence == (
        "Replaying the cluster's own scheduler gives as much waiting as the log shows (10 s on average), and 0 % of "
        "the pairs of the 2 jobs that waited start in the recorded order."
    )
    slower = found._replace(replayed=15.0, waited=1)
    assert slower.sentence.endswith("gives 50 % more waiting than the log shows (15 s instead of 10 s on average).")
    assert "gives 3.5 times as much waiting as the log shows" in slower._replace(replayed=35.0).sentence
    log = observed(recorded("a1 8 0 0 10"), CLUSTER)
    assert calibration(log, log).sentence.startswith("No job waited in the log")


def test_the_use_of_a_cluster_by_the_hour_is_that_of_its_leases() -> None:
    w = crowd()
    result = simulate(w.trace, w.cluster, "astraea", settings=w.settings, keep_log=True)
    hourly = replace(result, grants=None)
    for until in (HOUR, 3 * HOUR, result.makespan):
        assert scenarios.use(hourly, until) == pytest.approx(scenarios.use(result, until))
    assert scenarios.use(hourly, 2.5 * HOUR) == pytest.approx(scenarios.use(result, 2.5 * HOUR), rel=0.02)
    assert math.isnan(scenarios.use(hourly, 0.0))
