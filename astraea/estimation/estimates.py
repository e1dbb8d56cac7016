"""What an estimate of running times is, and how good it was: pure functions of estimates and true durations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from astraea.core.arrays import FloatArray
from astraea.core.errors import InputError

LOW, HIGH = 0.1, 0.9
"""The quantiles that, with the median, make an estimate."""

LEVELS: Final = tuple(round(0.05 * k, 2) for k in range(1, 20))
"""Quantiles at which calibration is shown."""

_LOG_ODDS: Final = float(np.log(HIGH / (1 - HIGH)))


@dataclass(frozen=True, eq=False)
class Estimates:
    """A distribution of the service that each job needs: log-logistic, one shape below its median and one above.

    Its distribution function is F(x) = 1 / (1 + (median / x)^(1 / spread)).

    Attributes
    ----------
    median : array, shape (n,)
        Half of such jobs need less [s].
    spread_below, spread_above : arrays, shape (n,)
        At least 0; 0 below and above is certainty.
    """

    median: FloatArray
    spread_below: FloatArray
    spread_above: FloatArray

    def __post_init__(self) -> None:
        for f in fields(self):
            values = getattr(self, f.name).view()
            values.flags.writeable = False  # several runs share them
            object.__setattr__(self, f.name, values)

    def __len__(self) -> int:
        return len(self.median)

    @classmethod
    def through(cls, low: npt.ArrayLike, median: npt.ArrayLike, high: npt.ArrayLike) -> Estimates:
        """The distributions with these 10 %, 50 % and 90 % quantiles [s]; spreads are ln(their ratio) / ln 9."""
        q10, q50, q90 = (np.asarray(q, dtype=np.float64) for q in (low, median, high))
        return cls(q50, np.log(q50 / q10) / _LOG_ODDS, np.log(q90 / q50) / _LOG_ODDS)

    def quantile(self, p: float) -> FloatArray:
        """The service that a job needs at most with probability `p` [s], shape (n,).

        Raises
        ------
        InputError
            If `p` is not between 0 and 1, both excluded.
        """
        if not 0 < p < 1:
            raise InputError(f"a quantile is asked for at a probability above 0 and below 1, got {p!r}")
        spread = self.spread_below if p < 0.5 else self.spread_above
        quantile: FloatArray = self.median * (p / (1 - p)) ** spread
        return quantile

    def take(self, rows: npt.NDArray[np.intp]) -> Estimates:
        """The estimates of these jobs."""
        return Estimates(self.median[rows], self.spread_below[rows], self.spread_above[rows])


def accuracy(estimates: Mapping[str, Estimates], duration: FloatArray) -> pd.DataFrame:
    """Compare estimates with what the jobs really needed.

    Parameters
    ----------
    estimates : mapping of str to Estimates
        By the name of the estimator.
    duration : array, shape (n,)
        True service of the jobs [s].

    Returns
    -------
    DataFrame, columns estimator, measure, value, unit
        `median APE`: median of abs(median / duration - 1) [%]; `mean APE`: its mean [%]; `log-MAE`: mean of
        abs(ln(median / duration)), its exponential is the typical factor; `coverage`: share of jobs inside the 10-90 %
        band [%]; `below`, `above`: shares under and over that band [%]; `band`: mean of ln(90 % / 10 % quantile).
    """
    rows = []
    for name, e in estimates.items():
        _check_length(name, e, duration)
        error = 100 * np.abs(e.median / duration - 1)
        low, high = e.quantile(LOW), e.quantile(HIGH)
        below, above = 100 * np.mean(duration < low), 100 * np.mean(duration > high)
        rows += [
            (name, "median APE", np.median(error), "%"),
            (name, "mean APE", np.mean(error), "%"),
            (name, "log-MAE", np.mean(np.abs(np.log(e.median / duration))), "1"),
            (name, "coverage", 100 - below - above, "%"),
            (name, "below", below, "%"),
            (name, "above", above, "%"),
            (name, "band", np.mean(np.log(high / low)), "1"),
        ]
    return pd.DataFrame(rows, columns=["estimator", "measure", "value", "unit"])


def calibration(estimates: Mapping[str, Estimates], duration: FloatArray) -> pd.DataFrame:
    """How often jobs needed no more than each quantile of their estimate.

    Parameters
    ----------
    estimates, duration
        As in `accuracy`.

    Returns
    -------
    DataFrame, columns estimator, probability, share
        Equal where an estimator is calibrated; `probability` runs through `LEVELS`.
    """
    rows = []
    for name, e in estimates.items():
        _check_length(name, e, duration)
        rows += [(name, p, float(np.mean(duration <= e.quantile(p)))) for p in LEVELS]
    return pd.DataFrame(rows, columns=["estimator", "probability", "share"])


def _check_length(name: str, estimates: Estimates, duration: FloatArray) -> None:
    if len(estimates) != len(duration):
        raise InputError(f"estimates of {name}: {len(estimates)} jobs, but {len(duration)} durations to compare with")
