"""What an estimate is, errors of estimates by hand, and what is left of a job: the same as policies compute."""

from __future__ import annotations

import numpy as np
import pytest
from histories import busy, of
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import left

from astraea.core.errors import InputError
from astraea.estimation.accuracy import (
    accuracy,
    calibration,
    error_by_age,
    error_table,
    joint_density,
    median_remaining,
    observed_remaining,
    survival,
)
from astraea.estimation.estimates import Estimates
from astraea.traces.trace import Trace


def four() -> Trace:
    """Jobs at 1,000, 1,010, 1,050 and 1,090 s of 10, 100, 1,000 and 10,000 s on 1, 4, 2 and 1 GPUs."""
    present = [("a", "x", g, t, d) for g, t, d in ((1, 1000, 10), (4, 1010, 100), (2, 1050, 1000), (1, 1090, 10_000))]
    return of([("a", "x", 1, 0, d) for d in (10, 20, 40, 80, 160)], present)


def around(medians: list[float], factor: float = 3.0) -> Estimates:
    m = np.array(medians, dtype=float)
    return Estimates.through(m / factor, m, m * factor)


def test_an_estimate_goes_through_its_quantiles() -> None:
    e = Estimates.through([30], [100], [2000])
    assert [float(e.quantile(p)[0]) for p in (0.1, 0.5, 0.9)] == pytest.approx([30, 100, 2000])
    # by hand: the odds of 0.75 are 3, and the spread above is ln(2000 / 100) / ln 9
    assert e.quantile(0.75)[0] == pytest.approx(100 * 3 ** (np.log(20) / np.log(9)))
    assert Estimates.through([5], [5], [5]).quantile(0.99).tolist() == [5]
    for p in (0, 1, -0.5, np.nan):
        with pytest.raises(InputError, match="at a probability above 0 and below 1, got"):
            e.quantile(p)


def test_accuracy_by_hand() -> None:
    e = around([100] * 4, 2.0)
    table = accuracy({"it": e}, np.array([100.0, 200.0, 400.0, 25.0])).set_index("measure")["value"]
    assert table["median APE"] == pytest.approx((50 + 75) / 2)
    assert table["mean APE"] == pytest.approx((0 + 50 + 75 + 300) / 4)
    assert table["log-MAE"] == pytest.approx(np.log(2) * (0 + 1 + 2 + 2) / 4)
    assert table["band"] == pytest.approx(np.log(4))
    assert (table["below"], table["above"]) == (25, 25)
    assert table["coverage"] == 50


def test_calibration_of_the_truth_is_a_diagonal() -> None:
    one = Estimates.through([30], [100], [2000])
    draws = np.array([one.quantile(p)[0] for p in (np.arange(1900) + 0.5) / 1900])
    everybody = Estimates(*(np.full(1900, part[0]) for part in (one.median, one.spread_below, one.spread_above)))
    table = calibration({"it": everybody}, draws)
    np.testing.assert_allclose(table["share"], table["probability"], atol=1e-9)


def test_error_table_by_hand() -> None:
    trace = four()
    table = error_table({"true": around([10, 100, 1000, 10_000]), "same": around([50] * 4),
                         "back": around([10_000, 1000, 100, 10])}, trace)  # fmt: skip
    assert table.index.tolist() == ["true", "same", "back"]
    known = accuracy({"back": around([10_000, 1000, 100, 10])}, trace.duration).set_index("measure")["value"]
    assert table.loc["back", list(known.index)].tolist() == pytest.approx(known.tolist())
    # GPU-times 10, 400, 2,000, 10,000; a constant ranks 1, 4, 2 and 1 GPUs: 1.5, 4, 3, 1.5
    assert table["rank correlation"].tolist() == pytest.approx(
        [1, np.corrcoef([1, 2, 3, 4], [1.5, 4, 3, 1.5])[0, 1], -1]
    )
    alone = error_table({"one": around([5])}, trace.head(1))
    assert np.isnan(alone.loc["one", "rank correlation"])


def test_error_by_age_by_hand() -> None:
    trace = four()  # at 0, 10, 50 and 90 s
    age = error_by_age({"it": around([20, 100, 1000, 100])}, trace, parts=2)
    assert age["jobs"].tolist() == [2, 2]
    assert age["day"].tolist() == pytest.approx([22.5 / 86_400, 67.5 / 86_400])
    assert age["log-MAE"].tolist() == pytest.approx([np.log(2) / 2, np.log(100) / 2])
    assert age["coverage"].tolist() == [1.0, 0.5]
    at_once = error_by_age({"it": around([20])}, trace.head(1))
    assert at_once["jobs"].tolist() == [1]


def test_joint_density_counts_every_job_once() -> None:
    trace = busy()
    cells = joint_density({"truth": Estimates(trace.duration, *np.zeros((2, len(trace)))),
                           "ten": around([10.0] * len(trace))}, trace)  # fmt: skip
    assert cells.groupby("estimator")["share"].sum().tolist() == pytest.approx([1, 1])
    truth = cells[cells["estimator"] == "truth"]
    assert (truth["truth"] == truth["estimate"]).all()
    assert set(cells.loc[cells["estimator"] == "ten", "estimate"]) == {10.0}
    low = joint_density({"it": around([11, 150, 999, 9999])}, four())
    assert low["truth"].tolist() == pytest.approx([10, 100, 1000, 10_000])
    assert low["estimate"].tolist() == pytest.approx([10, 10 ** (13 / 6), 10 ** (17 / 6), 10 ** (23 / 6)])


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


def test_what_a_job_needs_more_with_spread_and_without() -> None:
    wide = Estimates.through([10], [100], [5000])
    assert survival(wide, [0, 10, 100, 5000]) == pytest.approx([1, 0.9, 0.5, 0.1])
    certain = Estimates(np.array([100.0]), np.zeros(1), np.zeros(1))
    assert survival(certain, [40, 100, 170]).tolist() == [1, 0.5, 0]
    assert median_remaining(certain, [0, 40, 100, 170]).tolist() == [100, 60, 0, 0]


def test_observed_remaining_by_hand() -> None:
    durations = np.r_[np.full(30, 10.0), np.full(50, 100.0), np.full(49, 400.0)]
    found = observed_remaining(durations, [0, 10, 50, 100])
    assert found[:3].tolist() == [100, 90, 50]
    assert np.isnan(found[3])  # 49 are not enough
