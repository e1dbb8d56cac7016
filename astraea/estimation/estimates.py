"""Estimates of running times: one distribution per job, and the names of the estimators that make them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from astraea.core.arrays import FloatArray
from astraea.core.checks import number, one_of
from astraea.core.errors import InputError
from astraea.core.frozen import read_only

ESTIMATORS: Final = ("oracle", "noisy", "history", "gradient-boosting", "constant")
"""All estimators, the best informed first; `estimators` explains them."""

LOW, HIGH = 0.1, 0.9
"""The quantiles that, with the median, make an estimate."""

_LOG_ODDS: Final = float(np.log(HIGH / (1 - HIGH)))


@read_only
@dataclass(frozen=True, eq=False)
class Estimates:
    """A distribution of the service that each job needs: log-logistic, one shape below its median and one above.

    Its distribution function is F(x) = 1 / (1 + (median / x)^(1 / spread)).

    Attributes
    ----------
    median : array, shape (n,)
        Median service [s].
    spread_below, spread_above : arrays, shape (n,)
        At least 0; 0 below and above means certainty.
    learned : mapping of str to str
        What decided it besides the trace, the estimator and its error and seed: digest and version, for provenance.
    """

    median: FloatArray
    spread_below: FloatArray
    spread_above: FloatArray
    learned: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def through(cls, low: npt.ArrayLike, median: npt.ArrayLike, high: npt.ArrayLike) -> Estimates:
        """Return the distributions with these 10 %, 50 % and 90 % quantiles [s]; spreads are ln(their ratio) / ln 9."""
        q10, q50, q90 = (np.asarray(q, dtype=np.float64) for q in (low, median, high))
        return cls(q50, np.log(q50 / q10) / _LOG_ODDS, np.log(q90 / q50) / _LOG_ODDS)

    def quantile(self, p: float) -> FloatArray:
        """Return quantiles [s], shape (n,), at a probability above 0 and below 1; `InputError` at any other."""
        if not 0 < p < 1:
            raise InputError(f"the probability of a quantile must be above 0 and below 1, got {p!r}")
        spread = self.spread_below if p < 0.5 else self.spread_above
        return np.asarray(self.median * (p / (1 - p)) ** spread)


def check(name: str, error: float) -> None:
    """Raise `InputError` for an unknown estimator, or an error rate that it cannot have."""
    one_of(name, ESTIMATORS, "estimator")
    number(error, "estimate_error", least=0, most=10, expected="a number from 0 to 10 (1 is 100 %)")
    if error != 0 and name != "noisy":
        raise InputError(f"estimate_error is for the estimator noisy only and must be 0 with {name}, got {error!r}")
