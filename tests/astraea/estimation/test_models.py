"""Estimators that learn: their data, features and accuracy; estimates, and their errors by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from histories import DAY, busy, of
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import left
from threadpoolctl import threadpool_limits

from astraea.core.errors import InputError
from astraea.estimation import models
from astraea.estimation.estimates import Estimates
from astraea.estimation.estimators import LEARNED, estimate
from astraea.estimation.models import GradientBoosting
from astraea.estimation.past import Past
from papers.ye2022.running_times import accuracy, median_remaining


def test_history_asks_the_nearest_jobs_first() -> None:
    past = [
        ("a", "x", 1, 0, 10), ("a", "x", 1, 1, 40), ("a", "y", 2, 2, 300), ("b", "z", 4, 3, 80), ("b", "z", 1, 4, 6),
    ]  # fmt: skip
    present = [
        ("a", "x", 1, 1000, 7),  # the user's with this demand: the median of 10 and 40 is 20, by logarithms
        ("a", "x", 2, 1000, 7),  # the tenant's with this demand
        ("b", "z", 2, 1000, 7),  # the user's
        ("a", "new", 4, 1000, 7),  # those with this demand
        ("a", "new", 8, 1000, 7),  # all
        ("new", "x", 1, 1000, 7),  # a known user of a new tenant
    ]
    found = estimate(of(past, present), "history")
    expected = [20, 300, (80 * 6) ** 0.5, 80, 40, 20]
    np.testing.assert_allclose(found.median, expected, rtol=1e-12)
    # too few errors to take quantiles of: a factor of nine
    np.testing.assert_allclose(found.quantile(0.9), 9 * found.median)


def test_history_takes_the_last_hundred() -> None:
    past = [("a", "x", 1, i, 500 if i < 30 else 20) for i in range(130)]
    (median,) = estimate(of(past, [("a", "x", 1, 1000, 7)]), "history").median
    assert median == pytest.approx(20)
    (median,) = estimate(of(past[:40], [("a", "x", 1, 1000, 7)]), "history").median
    assert median == pytest.approx(500)


def test_only_jobs_that_ended_before_the_window_count() -> None:
    past = [("a", "x", 1, 100, 50), ("a", "x", 1, 500, 501), ("a", "x", 1, 990, 2)]
    trace = of(past, [("a", "x", 1, 1000, 7)])
    assert estimate(trace, "history").median == pytest.approx((50 * 2) ** 0.5)
    # a wait counts too, where it is known: with this one the last ended at 1,001
    assert trace.history is not None
    waited = replace(trace.history, queueing_delay=np.array([0, np.nan, 9]))
    assert estimate(replace(trace, history=waited), "history").median == pytest.approx(50)


def test_the_clock_of_the_history_is_exact() -> None:
    # the second job ends at second 0 or just before it; without dates, second 0 is only known to be after 999
    for ends, expected in ((1000, 50), (999.9, (50 * 899.9) ** 0.5)):
        past = [("a", "x", 1, 10, 50), ("a", "x", 1, 100, ends - 100), ("a", "y", 1, 999, 99)]
        dated = of(past, [("a", "x", 1, 1000, 7)])
        assert Past(dated, "history").start == 1000
        assert estimate(dated, "history").median == pytest.approx(expected)
        undated = of(past, [("a", "x", 1, 1000, 7)], origin=None)
        assert Past(undated, "history").start == 999
        assert estimate(undated, "history").median == pytest.approx(50)


def test_statistics_of_the_past_are_those_of_plain_loops() -> None:
    trace = busy(150)
    past = Past(trace, "history")
    age = past.jobs["submit_time"] - past.jobs["seen_from"]  # a job is seen from before its submission
    assert trace.history is not None
    half = (past.start - trace.history.submit_time[0]) / 2
    assert age.between(0, half).all() and age.mean() == pytest.approx(half / 2, rel=0.05)
    jobs, y = past.jobs, past.log_duration
    completed = dict(zip(trace.history.submit_time, trace.history.state == "completed", strict=True))
    for keys in models.LEVELS:
        found = past.look(jobs, keys)
        for i, job in jobs.iterrows():
            before = jobs[(jobs["end"] < job["seen_from"]) & (jobs[list(keys)] == job[list(keys)]).all(axis=1)]
            before = before.sort_values("end", kind="stable").tail(100)
            row = found.loc[i]
            if len(before) == 0:
                assert row.isna().all()
                continue
            last = y[before.index]
            assert row["last"] == last[-1]
            assert row["median"] == pytest.approx(np.median(last))
            assert row[["low", "high"]].tolist() == pytest.approx(np.quantile(last, [0.1, 0.9]).tolist())
            assert row["completed"] == pytest.approx(np.mean([completed[s] for s in before["submit_time"]]))
            assert np.isnan(row["previous"]) if len(last) == 1 else row["previous"] == last[-2]


@pytest.mark.parametrize("name", LEARNED)
def test_the_window_and_jobs_that_had_not_ended_are_out_of_reach(name: str) -> None:
    trace = busy()
    usual = LEARNED[name](trace).predict(trace)
    first = trace.head(20)  # how long the trace will last is not known either
    assert (LEARNED[name](first).predict(first).quantile(0.9) == usual.quantile(0.9)[:20]).all()
    history = trace.history
    assert history is not None
    unended = history.submit_time + history.duration >= 3 * DAY
    assert 0 < unended.sum() < 30
    longer = replace(history, duration=np.where(unended, 5 * history.duration + 7, history.duration))
    states = np.full(len(trace), "failed", dtype=object)
    changed = replace(trace, duration=trace.duration[::-1], state=states, history=longer)
    again = LEARNED[name](changed).predict(changed)
    for p in (0.1, 0.5, 0.9):
        assert (again.quantile(p) == usual.quantile(p)).all()


def test_the_constant_is_the_history() -> None:
    past = [("a", "x", 1, i, d) for i, d in enumerate((10, 20, 40, 80, 160))]
    e = estimate(of(past, [("a", "x", 1, 1000, 7), ("b", "y", 8, 1001, 9)]), "constant")
    np.testing.assert_allclose(e.median, [40, 40])
    for p in (0.1, 0.9):
        np.testing.assert_allclose(e.quantile(p), np.exp(np.quantile(np.log([10, 20, 40, 80, 160]), p)))


@pytest.mark.parametrize("name", ["history", "gradient-boosting"])
def test_habits_are_learned(name: str) -> None:
    trace = busy()
    table = accuracy({"it": estimate(trace, name)}, trace).loc["it"]
    assert table["log-MAE"] < 0.3  # durations spread over e^1.2 around their median, and e^0.24 within a habit
    assert 65 < table["coverage"] < 92


@pytest.mark.parametrize("name", LEARNED)
def test_strangers_and_short_histories_have_estimates_too(name: str) -> None:
    trace = busy()
    strange = replace(trace, tenants=("s0", "s1"), user=np.full(len(trace), "stranger", dtype=object))
    assert trace.history is not None
    low, high = np.quantile(trace.history.duration, [0.1, 0.9])
    assert low < np.median(estimate(strange, name).median) < high
    for n in (1, 60):
        past = [("a", f"u{i % 3}", 1 + i % 2, i, 5 + i % 7) for i in range(n)]
        e = estimate(of(past, [("a", "u0", 1, 1000, 7), ("b", "v", 8, 1001, 7)]), name)
        assert np.isfinite(e.quantile(0.9)).all()
        assert (e.quantile(0.1) < e.quantile(0.9)).all()


def test_the_gradient_boosting_gives_the_same_bytes_on_any_number_of_threads() -> None:
    trace, found = busy(), []
    for threads in (1, 3):
        with threadpool_limits(threads):
            found.append(GradientBoosting(trace).predict(trace))
    assert all((found[0].quantile(p) == found[1].quantile(p)).all() for p in (0.1, 0.5, 0.9))


def test_importance_finds_what_matters() -> None:
    trace = busy()
    model = GradientBoosting(trace)
    table = model.importance(trace, repeats=2)
    assert sorted(table["feature"]) == sorted(model.features)
    assert {"tenant", "user", "demand", "hour", "weekday", "median of user and demand"} <= set(model.features)
    assert table["importance"].is_monotonic_decreasing
    assert "user" in table["feature"][0]
    by_chance = table.set_index("feature")["importance"][["hour", "weekday"]]
    assert (by_chance.abs() < 0.05 * table["importance"][0]).all()
    undated = replace(trace, origin=None)
    assert not {"hour", "weekday"} & set(GradientBoosting(undated).features)


def test_an_estimate_goes_through_its_quantiles() -> None:
    e = Estimates.through([30], [100], [2000])
    assert [float(e.quantile(p)[0]) for p in (0.1, 0.5, 0.9)] == pytest.approx([30, 100, 2000])
    # by hand: the odds of 0.75 are 3, and the spread above is ln(2000 / 100) / ln 9
    assert e.quantile(0.75)[0] == pytest.approx(100 * 3 ** (np.log(20) / np.log(9)))
    assert Estimates.through([5], [5], [5]).quantile(0.99).tolist() == [5]
    for p in (0, 1, -0.5, np.nan):
        with pytest.raises(InputError, match="the probability of a quantile must be above 0 and below 1, got"):
            e.quantile(p)


@settings(deadline=None)  # the first example compiles
@given(st.floats(0.05, 3), st.floats(0.05, 3), st.floats(1e-3, 1e3))
def test_what_is_left_is_what_policies_compute(below: float, above: float, had: float) -> None:
    e = Estimates(np.array([100.0]), np.array([below]), np.array([above]))
    (mine,) = median_remaining(e, 100 * had)
    total, rest = left(e, 100 * had)
    assert mine == pytest.approx(rest, rel=1e-3, abs=1e-3)
    assert total > 100 * had and rest > 0  # who outlives an estimate always has something left
    assert total <= left(e, 200 * had)[0] * (1 + 1e-9)
    assert left(e, 0)[0] == 100


def test_what_is_left_is_the_median_of_those_that_got_so_far() -> None:
    e = Estimates.through([30], [100], [2000])
    draws = np.concatenate([e.quantile(p) for p in (np.arange(20_000) + 0.5) / 20_000])
    for had in (1, 100, 600):
        assert left(e, had)[0] == pytest.approx(np.median(draws[draws > had]), rel=0.01)
