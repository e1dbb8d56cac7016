"""What an estimate is, what it leaves of a job that outlives it, and how good it was."""

from __future__ import annotations

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_job import left

from astraea.core.errors import InputError
from astraea.estimation.accuracy import accuracy, calibration
from astraea.estimation.estimates import Estimates

# -- what an estimate is -----------------------------------------------------------------------------------------------


def one(low: float, median: float, high: float) -> Estimates:
    """Estimate of one job from three quantiles."""
    return Estimates.through([low], [median], [high])


def test_an_estimate_goes_through_its_quantiles() -> None:
    e = one(30, 100, 2000)
    assert [float(e.quantile(p)[0]) for p in (0.1, 0.5, 0.9)] == pytest.approx([30, 100, 2000])
    # by hand: the odds of 0.75 are 3, and the spread above is ln(2000 / 100) / ln 9
    assert e.quantile(0.75)[0] == pytest.approx(100 * 3 ** (np.log(20) / np.log(9)))
    assert one(5, 5, 5).quantile(0.99).tolist() == [5]


@pytest.mark.parametrize("p", [0, 1, -0.5, np.nan])
def test_no_quantile_at_the_ends(p: float) -> None:
    with pytest.raises(InputError, match="at a probability above 0 and below 1, got"):
        one(1, 2, 3).quantile(p)


def test_estimates_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        one(1, 2, 3).median[0] = 9






quantiles = st.tuples(st.floats(1, 1e6), st.floats(1.12, 1e3), st.floats(1.12, 1e3)).map(
    lambda v: one(v[0] / v[1], v[0], v[0] * v[2])
)


@hypothesis.settings(deadline=None)  # the first example may compile
@given(quantiles, st.floats(0, 1e9), st.floats(0, 1e9))
def test_a_job_that_outlives_its_estimate_always_has_something_left(e: Estimates, a: float, b: float) -> None:
    less, more = sorted((a, b))
    assert left(e, more)[0] > more
    assert left(e, more)[1] > 0
    assert left(e, less)[0] <= left(e, more)[0] * (1 + 1e-9)
    assert left(e, 0)[0] == e.median[0]


@pytest.mark.parametrize("had", [1, 40, 100, 600, 5000])
def test_what_is_left_is_the_median_of_those_that_got_so_far(had: float) -> None:
    e = one(30, 100, 2000)
    draws = np.concatenate([e.quantile(p) for p in (np.arange(200_000) + 0.5) / 200_000])
    survivors = draws[draws > had]
    assert left(e, had)[0] == pytest.approx(np.median(survivors), rel=0.01)


# -- how good it was ---------------------------------------------------------------------------------------------------


def test_accuracy_by_hand() -> None:
    e = Estimates.through([50, 50, 50, 50], [100, 100, 100, 100], [200, 200, 200, 200])
    table = accuracy({"it": e}, np.array([100.0, 200.0, 400.0, 25.0])).set_index("measure")["value"]
    assert table["median APE"] == pytest.approx((50 + 75) / 2)
    assert table["mean APE"] == pytest.approx((0 + 50 + 75 + 300) / 4)
    assert table["log-MAE"] == pytest.approx(np.log(2) * (0 + 1 + 2 + 2) / 4)
    assert table["band"] == pytest.approx(np.log(4))
    assert (table["below"], table["above"]) == (25, 25)
    assert table["coverage"] == 50
    with pytest.raises(InputError, match="estimates of it: 4 jobs, but 3 durations"):
        accuracy({"it": e}, np.ones(3))


def test_calibration_of_the_truth_is_a_diagonal() -> None:
    e = Estimates.through(np.full(1900, 30.0), np.full(1900, 100.0), np.full(1900, 2000.0))
    draws = np.array([one(30, 100, 2000).quantile(p)[0] for p in (np.arange(1900) + 0.5) / 1900])
    table = calibration({"it": e}, draws)
    np.testing.assert_allclose(table["share"], table["probability"], atol=1e-9)
