"""Loss curves: when a job has converged, what is observed, and how well the rest is foreseen."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from astraea.core.arrays import FloatArray
from astraea.core.errors import InputError
from papers.themis.apps import Tuner
from papers.themis.loss_curves import estimated_length, learning_curve

FLOORS = st.floats(0.01, 5.0)
SPANS = st.floats(0.1, 5.0)
POWERS = st.floats(0.3, 2.5)
LOSSES = st.lists(st.floats(0.001, 100.0), min_size=1, max_size=60).map(np.array)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def drawn(n: int, noise: float, seed: int = 0) -> list[FloatArray]:
    """Curves of many kinds."""
    random = rng(seed)
    return [
        learning_curve(
            random.uniform(0.2, 1.0), random.uniform(0.5, 2.0), random.uniform(0.6, 1.4), noise, Tuner(), random
        )
        for _ in range(n)
    ]


def test_a_curve_by_hand() -> None:
    """1 + 6 / k falls by 6 / (k (k + 1)): 3, 1, 0.5, 0.3 and 0.2, the first below 0.25."""
    curve = learning_curve(1.0, 6.0, 1.0, 0.0, Tuner(tolerance=0.25), rng())
    assert curve == pytest.approx([7.0, 4.0, 3.0, 2.5, 2.2])


@given(span=st.floats(0.0, 5.0), power=POWERS, tolerance=st.floats(1e-5, 0.1), longest=st.integers(4, 200))
def test_a_job_converges_by_definition(span: float, power: float, tolerance: float, longest: int) -> None:
    """Every epoch but the last has a next one that lowers the loss by the tolerance; the last has not, or is the last.

    Slack is what the powers are rounded by.
    """
    curve = learning_curve(1.0, span, power, 0.0, Tuner(tolerance=tolerance, longest=longest), rng())
    falls = [span * (k**-power - (k + 1) ** -power) for k in range(1, len(curve) + 1)]
    slack = 1e-14 * span
    assert all(fall >= tolerance - slack for fall in falls[:-1])
    assert len(curve) <= longest
    assert len(curve) == longest or falls[-1] < tolerance + slack


def test_noise_is_a_part_of_the_loss() -> None:
    """Observed over true loss has mean 1 and the given standard deviation, early and late."""
    tuner = Tuner(tolerance=1e-9)
    true = learning_curve(0.5, 4.0, 1.0, 0.0, tuner, rng())
    ratio = np.array([learning_curve(0.5, 4.0, 1.0, 0.02, tuner, rng(seed)) for seed in range(300)]) / true
    for part in (ratio[:, :20], ratio[:, -20:]):
        assert part.mean() == pytest.approx(1.0, abs=0.001)
        assert part.std() == pytest.approx(0.02, rel=0.05)


def test_noise_does_not_change_when_a_job_has_converged() -> None:
    """Convergence is a matter of the true loss."""
    lengths = {len(learning_curve(0.5, 1.0, 1.0, noise, Tuner(), rng(3))) for noise in (0.0, 0.01, 1.0)}
    assert lengths == {45}  # 1 / (44 * 45) = 0.000505, 1 / (45 * 46) = 0.000483


def test_losses_are_positive_and_finite_under_heavy_noise() -> None:
    """Noise of twice the loss would make every third one negative."""
    curves = [learning_curve(0.1, 2.0, 0.5, 2.0, Tuner(), rng(seed)) for seed in range(20)]
    for curve in curves:
        assert np.isfinite(curve).all() and (curve > 0).all()


def test_a_curve_takes_one_draw_an_epoch() -> None:
    """What the stream gives afterwards depends on the length of the curve only; the same stream gives the same."""
    one, other = rng(7), rng(7)
    curve = learning_curve(0.5, 1.0, 1.0, 0.01, Tuner(), one)
    assert np.array_equal(curve, learning_curve(0.5, 1.0, 1.0, 0.01, Tuner(), rng(7)))
    other.standard_normal(len(curve))
    assert one.random() == other.random()


@pytest.mark.parametrize(
    "place, value, said",
    [
        (0, 0.0, "floor must be a number above 0, got 0.0"),
        (0, np.inf, "floor must be a number above 0, got inf"),
        (1, -0.5, "span must be a number of at least 0, got -0.5"),
        (2, 0.0, "power must be a number above 0, got 0.0"),
        (2, np.nan, "power must be a number above 0, got nan"),
        (3, -0.01, "noise must be a number of at least 0, got -0.01"),
        (3, np.nan, "noise must be a number of at least 0, got nan"),
    ],
)
def test_no_curve(place: int, value: float, said: str) -> None:
    """One number out of range is named with its value."""
    numbers = [0.5, 1.0, 1.0, 0.01]
    numbers[place] = value
    with pytest.raises(InputError) as err:
        learning_curve(*numbers, Tuner(), rng())  # type: ignore[call-arg, arg-type]
    assert str(err.value) == f"learning curve: {said}"


@settings(deadline=None)
@given(floor=FLOORS, span=SPANS, power=POWERS, seen=st.integers(6, 60))
def test_without_noise_the_end_is_known_within_an_epoch(floor: float, span: float, power: float, seen: int) -> None:
    """Six losses are enough to tell the curve."""
    curve = learning_curve(floor, span, power, 0.0, Tuner(), rng())
    assume(len(curve) > seen)
    assert abs(estimated_length(curve[:seen], Tuner()) - len(curve)) <= 1


@settings(deadline=None)
@given(losses=LOSSES, longest=st.integers(60, 150))
def test_an_estimate_is_after_the_losses_and_not_beyond_the_longest(losses: FloatArray, longest: int) -> None:
    """From m + 1 on while there is another epoch, at most `longest`, whatever the losses look like; a whole number."""
    estimate = estimated_length(losses, Tuner(longest=longest))
    assert min(len(losses) + 1, longest) <= estimate <= longest
    assert estimate == round(estimate)


def test_the_least_estimate_is_one_more_epoch() -> None:
    """A job whose losses say that it has long converged is still asked for, so it has another epoch."""
    curve = 1.0 + 0.001 / np.arange(1.0, 31.0)
    assert estimated_length(curve, Tuner()) == 31.0
    assert estimated_length(curve, Tuner(longest=31)) == 31.0
    assert estimated_length(curve, Tuner(longest=30)) == 30.0


@pytest.mark.parametrize(
    "losses",
    [
        [],
        [3.0],
        [3.0, 2.999],
        [0.1] * 3,
        [0.3] * 12,
        [1.0, 1.1, 1.2],
        list(np.linspace(0.3, 0.7, 50)),
        [1.0, 1.0, 5.0, 5.0],
    ],
)
def test_losses_that_do_not_fall_tell_nothing(losses: list[float]) -> None:
    """Too few, all alike, or rising: the job may go on to the end."""
    assert estimated_length(np.array(losses), Tuner(longest=77)) == 77.0


@settings(deadline=None)
@given(losses=LOSSES, factor=st.floats(1.0, 100.0))
def test_a_larger_tolerance_is_met_no_later(losses: FloatArray, factor: float) -> None:
    """The fit does not depend on the tolerance, and a curve falls ever less."""
    strict, lax = Tuner(), Tuner(tolerance=Tuner().tolerance * factor)
    assert estimated_length(losses, lax) <= estimated_length(losses, strict)


@settings(deadline=None)
@given(losses=LOSSES)
def test_losses_twice_as_high_need_no_fewer_epochs(losses: FloatArray) -> None:
    """Twice the losses and twice the tolerance are the same in other units; with the old tolerance it takes longer."""
    estimate = estimated_length(losses, Tuner())
    assert estimated_length(2 * losses, Tuner(tolerance=2 * Tuner().tolerance)) == estimate
    assert estimated_length(2 * losses, Tuner()) >= estimate


def test_a_larger_limit_changes_only_what_it_has_cut() -> None:
    """An estimate below the limit stays as it is, one at the limit grows with it."""
    for curve in drawn(20, 0.01):
        near, far = estimated_length(curve[:10], Tuner(longest=50)), estimated_length(curve[:10], Tuner(longest=500))
        assert near == min(far, 50.0)


def test_estimates_depend_on_their_arguments_alone() -> None:
    """In any order, and again, the same estimates; the losses stay as they are."""
    asked = [curve[:seen] for curve, seen in itertools.product(drawn(10, 0.01), (3, 5, 12))]
    before = [losses.copy() for losses in asked]
    forward = [estimated_length(losses, Tuner()) for losses in asked]
    for losses in asked:
        estimated_length(losses, Tuner(longest=60))
    assert [estimated_length(losses, Tuner()) for losses in reversed(asked)] == forward[::-1]
    assert all(np.array_equal(now, then) for now, then in zip(asked, before, strict=True))


def plain_estimate(losses: FloatArray, tuner: Tuner) -> float:
    """As the docstring says it: each power of one fine grid, a library's least squares, an epoch after the other."""
    epochs = np.arange(1.0, len(losses) + 1)
    best = (float(((losses - losses.mean()) ** 2).sum()), 0.0, 1.0)
    for power in np.arange(0.05, 3.0005, 0.002):
        line = np.column_stack([np.ones(len(losses)), epochs**-power])
        (_, span), squares, *_ = np.linalg.lstsq(line, losses)
        if span > 0:
            best = min(best, (float(squares[0]), float(span), float(power)))
    _, span, power = best
    if span == 0:
        return float(tuner.longest)
    length = 1
    while length < tuner.longest and span * (length**-power - (length + 1) ** -power) >= tuner.tolerance:
        length += 1
    return float(max(length, len(losses) + 1))


@pytest.mark.parametrize("noise", [0.01, 0.1, 0.4])
def test_the_fit_is_the_best_one(noise: float) -> None:
    """Against a plain twin, up to the steps of its grid; much noise gives curves of several local bests."""
    for curve, seen in zip(drawn(12, noise, seed=4), itertools.cycle((4, 7, 15)), strict=False):
        assert estimated_length(curve[:seen], Tuner()) == pytest.approx(plain_estimate(curve[:seen], Tuner()), abs=1)


def test_more_epochs_tell_more() -> None:
    """Under 1 % of noise the median error is about 12 % after 4 epochs and shrinks; on average it is not one-sided."""
    curves = [curve for curve in drawn(400, 0.01) if len(curve) > 32]
    errors = [
        np.log([estimated_length(curve[:seen], Tuner()) / len(curve) for curve in curves]) for seen in (4, 8, 16, 32)
    ]
    typical = [float(np.median(np.abs(error))) for error in errors]
    assert typical == sorted(typical, reverse=True)
    assert typical[0] < 0.18 and typical[1] < 0.08 and typical[3] < 0.035
    assert max(abs(float(np.median(error))) for error in errors) < 0.05
