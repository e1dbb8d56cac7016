"""Random draws: arrivals, tenants, gang sizes, users, running times and end states of jobs.

Arrivals are drawn on a grid of ten-minute bins, the finest at which those of Venus were published, with a daily and
weekly profile, bursts of hours, and tenants' activity.

Users who see no room for a large or long job submit it at another time. Without this, gangs that run for days make six
of ten jobs wait under FIFO. In Venus a job waited 1,253 s on average (public Helios logs), and only 4.4 % of the 1-GPU
jobs waited for more than half an hour ([Ye2022] Fig. 5). This changes only which job is submitted at which time.

Counts and durations are stratified: a class of n jobs gets n evenly spaced quantiles of its distribution, and chance
decides only which job gets which. Because a few long jobs have most of the GPU-time, independent draws would miss the
published means by tens of percent for most seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gamma
from typing import Final

import numpy as np
import numpy.typing as npt

from astraea.core.arrays import FloatArray, IntArray, apportion
from astraea.core.compilation import compiled
from astraea.core.units import HOUR

BIN: Final = 600
"""Width of a bin of the arrival intensity [s]."""

#: GPU jobs submitted per hour of the day, 0-23, in Venus, April to September 2020 (public Helios logs)
HOURLY: Final = (26, 19, 17, 11, 8, 6, 5, 7, 11, 23, 37, 43, 34, 37, 45, 48, 50, 50, 37, 38, 39, 39, 33, 30)
#: GPU jobs submitted per day of the week, Monday first (same source)
DAILY: Final = (708, 765, 882, 831, 656, 471, 533)

#: Shape of the bursts. Hourly Fano factor 39 and autocorrelation 0.48 at one hour (same source) require a component
#: that lasts for hours (squared coefficient of variation 0.46, correlation 0.70 from one hour to the next) and one
#: that is gone in ten minutes; the autocorrelation that remains after a day, 0.24, comes from the profile.
LASTING_SHAPE, LASTING_CORRELATION, SHORT_SHAPE = 1.5, 0.70, 0.90

#: A tenant's activity: log-normal spread, and correlation from one day to the next. With a half-life of two days, one
#: virtual cluster idles while another is full, and vice versa in the next week ([Ye2022] Fig. 4).
ACTIVITY_SPREAD, ACTIVITY_CORRELATION = 0.9, 0.70

LONG: Final = 1200.0
"""Users look before they submit a job that runs for longer than this [s] ..."""

LARGE: Final = 0.1
"""... or a gang that is a larger part of their virtual cluster than this."""

FILLED: Final = 0.92
"""Part of a virtual cluster that users who look fill; the rest is for those who do not.

These three values determine how long jobs wait: below 0.92 hardly at all, from 0.95 several times as long as in Venus.
"""

#: Sessions: a user submits the same kind of job several times in a row (log-normal number, mean about 5) ...
SESSION_MEDIAN, SESSION_SPREAD, SESSION_MAX = 2.5, 1.2, 80
#: ... as a sweep within seconds, or one by one after looking at the last result [h]
SWEEP_SHARE, SWEEP_GAP, REPEAT_GAP = 0.5, 0.005, 0.4

#: Users of a tenant: the amount that each submits falls as rank ** -USER_EXPONENT, down to USER_FLOOR, and TASTE is the
#: shape of the gamma distribution of a user's preference for each gang size. Chosen for the logs of Venus, where the
#: busiest 1, 5 and 20 % of the users have 32, 60 and 88 % of the GPU-time
USER_EXPONENT, USER_FLOOR, TASTE = 3.6, 0.012, 4.0

TEMPLATES: Final = 3
"""Kinds of job that a user runs with each gang size."""

#: Shares of the variance of (normal scores of) durations between users, between templates of a user, and
#: between runs of one template; no estimator can know the last part
BETWEEN_USERS, BETWEEN_TEMPLATES, WITHIN = 0.10, 0.70, 0.20


def intensity(rng: np.random.Generator, days: int) -> FloatArray:
    """Return the relative arrival rate in each bin of `days` days that start on a Monday, shape (days * 144,)."""
    per_hour = np.tile(HOURLY, days) * np.repeat(np.resize(DAILY, days), 24)
    walk = autoregressive(rng, (len(per_hour),), LASTING_CORRELATION)
    per_hour = per_hour * _weibull(np.argsort(np.argsort(walk, kind="stable"), kind="stable"), LASTING_SHAPE)
    bins = int(HOUR) // BIN
    rate: FloatArray = np.repeat(per_hour, bins) * _weibull(rng.permutation(len(per_hour) * bins), SHORT_SHAPE)
    return rate


def submit_times(rng: np.random.Generator, rate: FloatArray, n: int) -> IntArray:
    """Return `n` sorted times, in whole seconds from the start of the first bin, with the density of `rate`."""
    cumulative = np.concatenate([[0.0], np.cumsum(rate)])
    u = np.sort(rng.random(n)) * cumulative[-1]
    time = np.interp(u, cumulative, np.arange(len(cumulative)) * BIN)
    whole: IntArray = time.astype(np.int64)
    return np.minimum(whole, len(rate) * BIN - 1)


def activity(rng: np.random.Generator, days: int, swing: FloatArray) -> FloatArray:
    """Return the activity of each tenant on each day, relative to its own mean, shape (days, tenants).

    `swing` is the size of a fortnightly wave on top of chance, shape (tenants,): above 0 the first week is the busy
    one, below 0 the second.
    """
    # peaks on the fourth day, so that a cluster that was full in the first week has drained by the end of the second
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
    """Return factors with mean 1 in the order of `rank`: exact quantiles, so every seed has the same spread."""
    u = (rank + 0.5) / len(rank)
    return (-np.log1p(-u)) ** (1 / shape) / gamma(1 + 1 / shape)


def look_before_submitting(
    submit: IntArray, tenant: IntArray, demand: IntArray, duration: FloatArray, quota: FloatArray
) -> IntArray:
    """Return the order in which jobs take the submission times, so that users who look find room.

    A user who looks takes the nearest bin from which the virtual cluster has room for as long as the job runs. If there
    is none, the user takes the bin after which room comes soonest. Gangs that are large and long for their virtual
    cluster choose first; the others keep their order.

    `submit` are the rising submission times [s]. The jobs are in the order in which their users thought of them. The
    result is the index of the job that is submitted at each time.
    """
    time = submit // BIN
    left = np.bincount(time)  # submissions that are not taken yet
    part = demand / quota[tenant]
    looks = (duration > LONG) | (part > LARGE)
    order = np.argsort(np.where(looks, -part * np.sqrt(duration), 0.0), kind="stable")[: np.sum(looks)]
    room = np.maximum(FILLED * quota[tenant] - demand, 0.0)  # for other jobs while it runs
    lasts = duration.astype(np.int64) // BIN + 1
    _choose(order, tenant, demand, lasts, room, time, left, np.zeros((len(quota), len(left))))
    time[~looks] = np.repeat(np.arange(len(left)), left)
    return np.argsort(time, kind="stable")


@compiled
def _choose(
    order: IntArray, tenant: IntArray, demand: IntArray, lasts: IntArray, room: FloatArray, time: IntArray,
    left: IntArray, planned: FloatArray,
) -> None:  # fmt: skip
    """Find each job's bin in turn: sets `time`, decrements `left`, and adds to `planned`, the GPUs planned so far."""
    end = left.shape[0]
    start = np.empty(end, np.int64)
    for job in order:
        own, gpus = planned[tenant[job]], demand[job]
        chosen = begin = time[job]
        fits = left[chosen] > 0
        for b in range(begin, min(begin + lasts[job], end)):
            fits = fits and own[b] <= room[job]
        if not fits:
            full = soonest = end  # from a bin on: the first without room, and the first at which the job has room
            for b in range(end - 1, -1, -1):
                if own[b] > room[job]:
                    full = b
                if full >= min(b + lasts[job], end):
                    soonest = b
                start[b] = soonest
            wanted, least = chosen, -1
            for b in range(end):  # the bin with the shortest wait; among equals the nearest
                cost = (start[b] - b) * end + abs(b - wanted)
                if left[b] > 0 and (least < 0 or cost < least):
                    chosen, least = b, cost
            begin = start[chosen]
        left[chosen] -= 1
        time[job] = chosen
        for b in range(begin, min(begin + lasts[job], end)):
            own[b] += gpus


def demand_matrix(
    counts: IntArray, gpu_time: FloatArray, load: FloatArray, taste: FloatArray, fits: npt.NDArray[np.bool_]
) -> IntArray:
    """Jobs of each tenant with each gang size: exact totals per size, and the tenants' loads are met.

    `counts`, shape (sizes,), is the number of jobs of each size, and `gpu_time`, shape (sizes,), their mean GPU-time
    [GPU-s]; `load`, shape (tenants,), is the GPU-time that each tenant asks for, in any unit. `taste`, shape (tenants,
    sizes), is the relative preference of a tenant for a size, and `fits`, of the same shape, is true if the gang fits
    into the tenant's quota.
    """
    target = load / load.sum() * (counts @ gpu_time)
    x = np.where(fits, taste, 0.0)
    for _ in range(400):  # iterative proportional fitting, rows weighed by GPU-time
        x *= (target / (x @ gpu_time))[:, None]
        x *= counts / x.sum(axis=0)
    return np.stack([apportion(part / part.sum() * n, int(n)) for part, n in zip(x.T, counts, strict=True)], axis=1)


def quantiles(u: FloatArray, knots: Sequence[float], percent: Sequence[float]) -> FloatArray:
    """Return running times at the quantiles `u`, in whole seconds; log(time) is linear between knots [s].

    `percent` is the distribution function at `knots[1:-1]` [%]; it is 0 at the first knot, and 100 at the last.
    """
    log_time = np.interp(u, np.array([0.0, *percent, 100.0]) / 100, np.log(knots))
    return np.maximum(np.round(np.exp(log_time)), 1.0)


class Users:
    """The people of every tenant: how active they are, and how long their templates run."""

    def __init__(self, rng: np.random.Generator, number: IntArray, sizes: int) -> None:
        self.tenant = np.repeat(np.arange(len(number)), number)
        self.first = np.concatenate([[0], np.cumsum(number)])
        rank = np.arange(len(self.tenant)) - self.first[self.tenant] + 1
        taste = rng.gamma(TASTE, size=(len(rank), sizes))
        self.activity = (rank[:, None] ** -USER_EXPONENT + USER_FLOOR) * taste
        self.pace = np.sqrt(BETWEEN_USERS) * rng.standard_normal((len(rank), 1, 1)) + np.sqrt(
            BETWEEN_TEMPLATES
        ) * rng.standard_normal((len(rank), sizes, TEMPLATES))

    def pick(self, rng: np.random.Generator, tenant: int, size: int, n: int) -> IntArray:
        """Pick users of the tenant for `n` sessions with gangs of this size."""
        first, last = int(self.first[tenant]), int(self.first[tenant + 1])
        p = np.cumsum(self.activity[first:last, size])
        chosen: IntArray = first + np.searchsorted(p, rng.random(n) * p[-1])
        return chosen


def session_lengths(rng: np.random.Generator, n: int) -> IntArray:
    """Return the number of jobs in each session, `n` in total."""
    draw = SESSION_MEDIAN * np.exp(SESSION_SPREAD * rng.standard_normal(n))
    lengths = np.clip(np.round(draw), 1, SESSION_MAX).astype(np.int64)
    ends = np.cumsum(lengths)
    last = int(np.searchsorted(ends, n))
    lengths = lengths[: last + 1]
    lengths[-1] -= ends[last] - n
    return lengths


def deal(rng: np.random.Generator, tenant: IntArray, score: FloatArray) -> IntArray:
    """Order the jobs of one class by the running times that they will get, shortest first.

    Each tenant's jobs are spread evenly over the ranks, so that its load is as intended and the few very long jobs go
    to tenants with many jobs of the class. Within a tenant the order is that of `score`.
    """
    order = np.lexsort((score, tenant))
    counts = np.bincount(tenant)
    first = np.cumsum(counts) - counts
    mine = tenant[order]
    place = (np.arange(len(order)) - first[mine] + rng.uniform(0.25, 0.75, len(counts))[mine]) / counts[mine]
    return order[np.argsort(place, kind="stable")]


def end_states(
    rng: np.random.Generator, n: int, shares: Sequence[float], tilt: Sequence[float]
) -> npt.NDArray[np.object_]:
    """Draw the end state of each of a class's `n` jobs, shortest first; `shares` are of completed, cancelled, failed.

    `tilt` is the tendency of cancelled and of failed jobs to be long (below 0: short).
    """
    counts = apportion(np.array(shares) / sum(shares) * n, n)
    state = np.full(n, "completed", dtype=object)
    rank = np.linspace(-1.7, 1.7, n)
    for name, count, slope in (("cancelled", counts[1], tilt[0]), ("failed", counts[2], tilt[1])):
        left = np.flatnonzero(state == "completed")
        key = slope * rank[left] + rng.standard_normal(len(left))
        state[left[np.argsort(-key, kind="stable")[:count]]] = name
    return state
