"""When jobs arrive: a daily and weekly profile, bursts that last hours, and tenants that come and go.

Everything here works on a grid of ten-minute bins, the finest at which the arrivals of Venus were published.
"""

from __future__ import annotations

from math import gamma
from typing import Final

import numpy as np

from astraea.core.arrays import FloatArray, IntArray

BIN: Final = 600
"""Width of a bin of the arrival intensity [s]."""

DAY: Final = 86_400
"""[s]."""

#: GPU jobs submitted per hour of the day, 0-23, in Venus, April to September 2020 (public Helios logs)
HOURLY: Final = (26, 19, 17, 11, 8, 6, 5, 7, 11, 23, 37, 43, 34, 37, 45, 48, 50, 50, 37, 38, 39, 39, 33, 30)
#: GPU jobs submitted per day of the week, Monday first (same source)
DAILY: Final = (708, 765, 882, 831, 656, 471, 533)

#: Shape of the bursts. Hourly Fano factor 39 and autocorrelation 0.48 at one hour (same source) ask for a part that
#: lasts for hours (squared coefficient of variation 0.46, correlation 0.70 from one hour to the next) and a part that
#: is gone in ten minutes; what is left of the autocorrelation after a day, 0.24, is the profile's.
LASTING_SHAPE, LASTING_CORRELATION, SHORT_SHAPE = 1.5, 0.70, 0.90

#: A tenant's activity: log-normal spread, and correlation from one day to the next. With a half-life of two days one
#: virtual cluster idles while another is full, and the other way round in the next week ([Ye2022] Fig. 4).
ACTIVITY_SPREAD, ACTIVITY_CORRELATION = 0.9, 0.70


def intensity(rng: np.random.Generator, days: int) -> FloatArray:
    """Relative arrival rate in each bin of `days` days that start on a Monday, shape (days * 144,)."""
    per_hour = np.tile(HOURLY, days) * np.repeat(np.resize(DAILY, days), 24)
    walk = autoregressive(rng, (len(per_hour),), LASTING_CORRELATION)
    per_hour = per_hour * _weibull(np.argsort(np.argsort(walk)), LASTING_SHAPE)
    bins = DAY // BIN // 24
    rate: FloatArray = np.repeat(per_hour, bins) * _weibull(rng.permutation(len(per_hour) * bins), SHORT_SHAPE)
    return rate


def submit_times(rng: np.random.Generator, rate: FloatArray, n: int) -> IntArray:
    """`n` times in order, in whole seconds from the start of the first bin, as dense as `rate` says."""
    cumulative = np.concatenate([[0.0], np.cumsum(rate)])
    u = np.sort(rng.random(n)) * cumulative[-1]
    time = np.interp(u, cumulative, np.arange(len(cumulative)) * BIN)
    whole: IntArray = time.astype(np.int64)
    return np.minimum(whole, len(rate) * BIN - 1)


def activity(rng: np.random.Generator, days: int, swing: FloatArray) -> FloatArray:
    """How active each tenant is on each day, relative to itself, shape (days, tenants).

    `swing` is the size of a fortnightly wave on top of chance, shape (tenants,): above 0 the first week is the busy
    one, below 0 the second.
    """
    # peaks on the fourth day, so that who was full in the first week has drained by the end of the second
    wave = np.sin(2 * np.pi * np.arange(days) / 14)
    walk = autoregressive(rng, (days, len(swing)), ACTIVITY_CORRELATION)
    return np.exp(ACTIVITY_SPREAD * walk + wave[:, None] * swing)


def autoregressive(rng: np.random.Generator, shape: tuple[int, ...], correlation: float) -> FloatArray:
    """Draw standard normal numbers, each correlated with the one before along the first axis."""
    x = rng.standard_normal(shape)
    fresh = np.sqrt(1 - correlation**2)
    for i in range(1, shape[0]):
        x[i] = correlation * x[i - 1] + fresh * x[i]
    return x


def _weibull(rank: IntArray, shape: float) -> FloatArray:
    """Factors of mean 1 in the order of `rank`: exact quantiles, so that their spread is the same for every seed."""
    u = (rank + 0.5) / len(rank)
    return (-np.log1p(-u)) ** (1 / shape) / gamma(1 + 1 / shape)
