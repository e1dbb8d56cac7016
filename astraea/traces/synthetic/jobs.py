"""Properties of jobs: tenant and gang size, user, running time and end state.

Counts and durations are stratified: a class of n jobs gets n evenly spaced quantiles of its distribution, and chance
decides only which job gets which. Because a few long jobs have most of the GPU-time, independent draws would miss the
published means by tens of percent for most seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from astraea.core.arrays import FloatArray, IntArray, apportion

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
