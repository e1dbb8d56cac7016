"""Loss curves: when a job has converged, what is observed, and how well the rest is foreseen."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astraea.core.arrays import FloatArray
from papers.themis.apps import Tuner
from papers.themis.loss_curves import estimated_length, learning_curve

LOSSES = st.lists(st.floats(0.001, 100.0), min_size=1, max_size=60).map(np.array)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def drawn(n: int, noise: float, seed: int = 0) -> list[FloatArray]:
    """Curves of many kinds."""
    random = rng(seed)
    ranges = ((0.2, 1.0), (0.5, 2.0), (0.6, 1.4))  # of floor, span and power
    return [learning_curve(*(random.uniform(*one) for one in ranges), noise, Tuner(), random) for _ in range(n)]


def test_a_curve_by_hand() -> None:
    """1 + 6 / k falls by 6 / (k (k + 1)): 3, 1, 0.5, 0.3 and 0.2, the first below 0.25; or it is cut at the longest."""
    curve = learning_curve(1.0, 6.0, 1.0, 0.0, Tuner(tolerance=0.25), rng())
    assert curve == pytest.approx([7.0, 4.0, 3.0, 2.5, 2.2])
    assert len(learning_curve(1.0, 6.0, 1.0, 0.0, Tuner(tolerance=0.25, longest=4), rng())) == 4
    assert len(learning_curve(1.0, 0.0, 1.0, 0.0, Tuner(), rng())) == 1


def test_noise_is_a_part_of_the_loss() -> None:
    """Observed over true loss has mean 1 and the given standard deviation, early and late; all losses are above 0.

    Convergence is a matter of the true loss.
    """
    tuner = Tuner(tolerance=1e-9)
    true = learning_curve(0.5, 4.0, 1.0, 0.0, tuner, rng())
    ratio = np.array([learning_curve(0.5, 4.0, 1.0, 0.02, tuner, rng(seed)) for seed in range(300)]) / true
    for part in (ratio[:, :20], ratio[:, -20:]):
        assert part.mean() == pytest.approx(1.0, abs=0.001)
        assert part.std() == pytest.approx(0.02, rel=0.05)
    for noise in (0.0, 0.01, 2.0):  # noise of twice the loss would make every third one negative
        curve = learning_curve(0.5, 1.0, 1.0, noise, Tuner(), rng(3))
        assert len(curve) == 45  # 1 / (44 * 45) = 0.000505, 1 / (45 * 46) = 0.000483
        assert np.isfinite(curve).all() and (curve > 0).all()


@given(losses=LOSSES, longest=st.integers(60, 150), factor=st.floats(1.0, 100.0))
def test_estimates_of_any_losses(losses: FloatArray, longest: int, factor: float) -> None:
    """From m + 1 on while there is another epoch, at most `longest`, whatever the losses look like; a whole number.

    A larger tolerance is met no later. Twice the losses and twice the tolerance are the same in other units.
    """
    tuner = Tuner(longest=longest)
    estimate = estimated_length(losses, tuner)
    assert min(len(losses) + 1, longest) <= estimate <= longest
    assert estimate == round(estimate)
    assert estimated_length(losses, tuner._replace(tolerance=factor * tuner.tolerance)) <= estimate
    assert estimated_length(2 * losses, tuner._replace(tolerance=2 * tuner.tolerance)) == estimate


@pytest.mark.parametrize(
    "losses", [[], [3.0, 2.999], [0.1] * 3, [0.3] * 12, [*np.linspace(0.3, 0.7, 50)], [1.0, 1.0, 5.0, 5.0]]
)
def test_losses_that_do_not_fall_tell_nothing(losses: list[float]) -> None:
    """Too few, all alike, or rising: the job may go on to the end."""
    assert estimated_length(np.array(losses), Tuner(longest=77)) == 77.0


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


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.4])
def test_the_fit_is_the_best_one(noise: float) -> None:
    """Against a plain twin, up to the steps of its grid; much noise gives curves of several local bests.

    Without noise it is the true length.
    """
    for curve, seen in zip(drawn(6, noise, seed=4), itertools.cycle((7, 4, 15)), strict=False):
        estimate = estimated_length(curve[:seen], Tuner())
        assert estimate == pytest.approx(plain_estimate(curve[:seen], Tuner()), abs=1)
        assert noise or estimate == pytest.approx(len(curve), abs=1)
