"""When jobs arrive: a daily and weekly profile, bursts that last hours, tenants that come and go, users who look first.

Arrivals are drawn on a grid of ten-minute bins, the finest at which those of Venus were published.

Who sees no room for a large or long job runs something else first. Without this, gangs that run for days in virtual
clusters of a few nodes leave six jobs in ten waiting behind them under FIFO. In Venus the GPUs were busy for three
quarters of the time, and yet only 4.4 % of the 1-GPU jobs waited for more than half an hour ([Ye2022] Fig. 5): users
answered to what they saw. Submission times stay what they are here, and so do the jobs; only which of a tenant's jobs
goes at which time changes.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right, insort
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

LONG: Final = 3600.0
"""From this running time on, users leave room for others [s]."""

HEADROOM: Final = (6, 0.035, 0.25)
"""What a long job leaves free when it is submitted: GPUs, plus a part of the virtual cluster, and at most a part."""


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


def look_before_submitting(submit: IntArray, demand: IntArray, duration: FloatArray, gpus: int) -> IntArray:
    """Order in which a tenant's jobs go to its submission times.

    Parameters
    ----------
    submit : array, shape (n,)
        Submission times of the tenant [s], rising.
    demand, duration : arrays, shape (n,)
        Its jobs in the order in which their users came up with them [GPU, s].
    gpus : int
        GPUs of its virtual cluster, where jobs run first come, first served.

    Returns
    -------
    array, shape (n,)
        Index of the job that is submitted at each time.
    """
    width, length = demand.tolist(), duration.tolist()
    spare = min(HEADROOM[0] + HEADROOM[1] * gpus, HEADROOM[2] * gpus)
    room = [d + (spare if t > LONG else 0.0) for d, t in zip(width, length, strict=True)]
    running: list[tuple[float, int]] = []
    free, busy_until, fresh = gpus, 0.0, 0
    held: list[tuple[float, int]] = []  # put off until there is room, by the room that they want
    chosen = np.empty(len(submit), dtype=np.int64)
    for slot, now in enumerate(submit.tolist()):
        while running and running[0][0] <= now:
            free += heapq.heappop(running)[1]
        start = max(now, busy_until)
        job = -1
        if start == now:  # nobody waits: the largest of those put off that now finds room, or a new one
            place = bisect_right(held, (free, len(width)))
            if place:
                job = held.pop(place - 1)[1]
            while job < 0 and fresh < len(width):
                if room[fresh] <= free:
                    job = fresh
                else:
                    insort(held, (room[fresh], fresh))
                fresh += 1
        elif not held:
            job, fresh = fresh, fresh + 1
        if job < 0:  # it will have to wait: the smallest of those put off
            job = held.pop(0)[1]
        while free < width[job]:  # first come, first served: it blocks the others until it starts
            start, released = heapq.heappop(running)
            free += released
        free -= width[job]
        busy_until = start
        heapq.heappush(running, (start + length[job], width[job]))
        chosen[slot] = job
    return chosen
