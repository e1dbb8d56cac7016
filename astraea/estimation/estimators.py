"""Estimators of running times by name: what a policy may know about the duration of jobs that have not ended.

- `oracle`: the true duration.
- `noisy`: the true duration times exp(sigma z), z standard normal. The error rate is the mean absolute percentage
  error, E abs(exp(sigma z) - 1) = exp(sigma^2 / 2) erf(sigma / sqrt(2)), which is solved for sigma. (The median
  percentage error cannot exceed 100 %.)
- `history`: what the user's jobs with this demand needed before; `gradient-boosting`: a model of that and more;
  `constant`: the same for every job. They learn from jobs that ended before second 0 (`astraea.estimation.models`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from statistics import NormalDist
from typing import Any, Final, TypeVar

import numpy as np

from astraea.core.digest import digest_of
from astraea.core.errors import extra
from astraea.estimation.estimates import HIGH, Estimates, check
from astraea.estimation.models import Constant, GradientBoosting, History
from astraea.traces.trace import Trace

T = TypeVar("T")

Model = History | GradientBoosting | Constant

LEARNED: Final[dict[str, type[Model]]] = {
    "history": History, "gradient-boosting": GradientBoosting, "constant": Constant,
}  # fmt: skip
"""Estimators that need a history."""

_STREAM: Final = 7
"""Random stream of the noise, so that it is independent of a synthetic trace with the same seed."""

_KEPT: Final = 8
_fitted: dict[tuple[Any, ...], Model] = {}
_estimated: dict[tuple[Any, ...], Estimates] = {}
"""The last `_KEPT` of each: the runs of a grid share them, and workloads with different jobs share what was learned
from one history."""


def estimate(trace: Trace, name: str = "oracle", error: float = 0.0, seed: int = 0) -> Estimates:
    """Estimate the service that every job of a trace needs, as a scheduler would before the first job comes.

    `name` is one of `ESTIMATORS`; those that learn need a trace with a history. `error` is the mean absolute percentage
    error of `noisy` as a number (0.5 is 50 %), and `seed` is its seed. `InputError` if there is no such estimator, the
    error is out of range, or there is nothing to learn from.
    """
    check(name, error)
    if name == "noisy":
        return noisy(trace, error, seed)
    if name == "oracle":
        return Estimates(trace.duration, np.zeros(len(trace)), np.zeros(len(trace)))
    past, further = "" if trace.history is None else trace.history.digest, further_digest(trace)
    model = _kept(_fitted, (name, past, further), lambda: LEARNED[name](trace))
    learned = identity(trace, name)
    return _kept(_estimated, (name, trace.digest, further), lambda: replace(model.predict(trace), learned=learned))


def _kept(store: dict[tuple[Any, ...], T], key: tuple[Any, ...], make: Callable[[], T]) -> T:
    """Return what was made for this key, or make it now; the oldest entry is dropped when there are too many."""
    if key not in store:
        found = make()
        while len(store) >= _KEPT:
            del store[next(iter(store))]
        store[key] = found
    return store[key]


def noisy(trace: Trace, error: float, seed: int) -> Estimates:
    """Return true durations with a log-normal error, and its spread: the 90 % quantile is met on both sides."""
    sigma = sigma_of(error)
    z = np.random.default_rng([_STREAM, seed]).standard_normal(len(trace))
    median, factor = trace.duration * np.exp(sigma * z), math.exp(sigma * NormalDist().inv_cdf(HIGH))
    return Estimates.through(median / factor, median, median * factor)


def sigma_of(error: float) -> float:
    """Return sigma of a log-normal factor around 1 whose mean absolute percentage error is `error`."""
    if error == 0:
        return 0.0
    with extra("learn"):
        from scipy.optimize import brentq

    return float(brentq(lambda s: math.exp(s * s / 2) * math.erf(s / math.sqrt(2)) - error, 0.0, 5.0, xtol=1e-15))


def identity(trace: Trace, name: str) -> dict[str, str]:
    """Return everything that decides the estimates besides `trace.digest`, name, error rate, seed and code."""
    known = {}
    if name in LEARNED:
        known["learned_from_sha256"] = further_digest(trace)
    if name == "gradient-boosting":
        with extra("learn"):
            known["scikit-learn"] = version("scikit-learn")
    return known


def further_digest(trace: Trace) -> str:
    """Return the SHA-256 of what estimators read but a simulation does not: dates, states and waits of the history."""
    past = trace.history
    if past is None:
        return digest_of(origin=str(trace.origin))
    origin = (str(trace.origin), str(past.origin))
    return digest_of(origin=origin, state=past.state, queueing_delay=past.queueing_delay)
