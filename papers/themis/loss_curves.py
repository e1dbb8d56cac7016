"""Loss curves, and what the losses seen so far tell about the rest ([Mahajan2020] §4.3).

A job's true loss after epoch k = 1, 2, ... is floor + span * k**(-power). The job has converged after the first epoch
at which one more would lower the true loss by less than the tuner's tolerance. What is observed has noise on it. An
agent that bids fits the same family of curves, this project's choice, to the losses seen so far.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np

from astraea.core.arrays import FloatArray
from papers.themis.apps import Tuner

_SLOWEST: Final = 0.05
_STEEPEST: Final = 3.0
_STEP: Final = 0.05
"""Powers between which a fit looks, and the step from one to the next of those tried first."""

_ZOOMS: Final = 2
_FINER: Final = 10
"""Factor by which steps shrink each time the fit looks again around the best power."""

_LEAST: Final = 0.01
"""Noise leaves at least this part of a loss, so that it stays positive."""


def learning_curve(
    floor: float, span: float, power: float, noise: float, tuner: Tuner, rng: np.random.Generator
) -> FloatArray:
    """Observed losses of a job, one an epoch until it has converged or `tuner.longest` is reached; all are above 0.

    `floor` is the loss after endless training, above 0, and `span` the loss that the job can shed from epoch 1 on, at
    least 0. `power` is the steepness, above 0, and `noise` the standard deviation of an observed loss, as part of the
    true one. One draw an epoch is taken from `rng`.
    """
    epochs = _length(span, power, tuner)
    true = floor + span * np.arange(1.0, epochs + 1) ** -power
    return np.asarray(true * np.maximum(1 + noise * rng.standard_normal(epochs), _LEAST))


def estimated_length(losses: FloatArray, tuner: Tuner) -> float:
    """Epochs after which a job that is still training will have converged, as far as its losses tell.

    The curve is fitted by least squares. Span and floor follow from the power, so only the power is searched: on a grid
    that gets finer twice, because noisy losses can have more than one local best. Of losses after epochs 1, 2, ..., m
    it is from m + 1 to `tuner.longest`, which it is where there are fewer than 3 losses, or they do not fall.
    """
    return _estimate(np.asarray(losses, np.float64).tobytes(), tuner)


@lru_cache(maxsize=2**15)  # one curve is looked at in many simulations
def _estimate(seen_losses: bytes, tuner: Tuner) -> float:
    losses = np.frombuffer(seen_losses)
    seen = len(losses)
    if seen < 3 or seen >= tuner.longest:
        return float(tuner.longest)
    step, powers = _STEP, np.arange(_SLOWEST, _STEEPEST + _STEP / 2, _STEP)
    span, power = _fit(losses, powers)
    for _ in range(_ZOOMS):
        step /= _FINER
        powers = power + step * np.arange(-_FINER, _FINER + 1)
        span, power = _fit(losses, np.minimum(np.maximum(powers, _SLOWEST), _STEEPEST))
    if span == 0:
        return float(tuner.longest)
    return float(max(_length(span, power, tuner), seen + 1))


def _length(span: float, power: float, tuner: Tuner) -> int:
    epoch = np.arange(1.0, tuner.longest + 1)
    has_converged = span * (epoch**-power - (epoch + 1) ** -power) < tuner.tolerance
    return int(has_converged.argmax()) + 1 if has_converged.any() else tuner.longest


def _fit(losses: FloatArray, powers: FloatArray) -> tuple[float, float]:
    """Span, at least 0, and power of the curve with the least squares among those of the given powers."""
    shape = np.arange(1.0, len(losses) + 1) ** -powers[:, None]
    shape -= np.add.reduce(shape, axis=1, keepdims=True) / len(losses)
    size = np.add.reduce(shape * shape, axis=1)
    # the first loss is taken off, which no span depends on, so that losses all alike give a span of exactly 0
    falls = np.maximum(np.add.reduce(shape * (losses - losses[0]), axis=1), 0.0)
    best = int((falls * falls / size).argmax())  # by so much the line lowers the sum of squares
    return float(falls[best] / size[best]), float(powers[best])
