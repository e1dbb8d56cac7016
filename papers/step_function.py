"""Piecewise constant functions of time, and their exact integrals."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from astraea.core.arrays import FloatArray


class Stepped:
    """A piecewise constant function of time: value `rate[k]` from `time[k]` on, 0 before `time[0]`."""

    def __init__(self, time: FloatArray, rate: FloatArray) -> None:
        self.time, self.rate = time, rate
        self.area = np.concatenate([[0.0], np.cumsum(rate[:-1] * np.diff(time))]) if len(time) else time

    @classmethod
    def of_changes(cls, time: FloatArray, change: FloatArray) -> Stepped:
        """Return the sum of the changes up to each moment."""
        order = np.argsort(time, kind="stable")
        return cls(time[order], np.cumsum(change[order]))

    @classmethod
    def between(cls, start: FloatArray, stop: FloatArray, amount: FloatArray) -> Stepped:
        """Return the sum of the amounts, each counted from its start to its stop."""
        return cls.of_changes(np.concatenate([start, stop]), np.concatenate([amount, -amount]))

    def at(self, when: FloatArray) -> FloatArray:
        """Return the value at each moment, after the changes of that moment."""
        k = np.searchsorted(self.time, when, side="right") - 1
        return np.where(k >= 0, self.rate[np.maximum(k, 0)], 0.0) if len(self.time) else np.zeros(len(when))

    def until(self, when: FloatArray) -> FloatArray:
        """Return the integral up to each moment."""
        if len(self.time) == 0:
            return np.zeros(len(when))
        k = np.searchsorted(self.time, when, side="right") - 1
        i = np.maximum(k, 0)
        return np.where(k >= 0, self.area[i] + self.rate[i] * (when - self.time[i]), 0.0)


def passed(times: npt.ArrayLike, at: FloatArray) -> FloatArray:
    """Return how many of some times have passed at each moment."""
    return np.searchsorted(np.sort(np.asarray(times, np.float64)), at, side="right").astype(np.float64)


def contention(arrival: FloatArray, end: FloatArray, now: float) -> FloatArray:
    """Return the average number of active jobs during the life of each job."""
    stop = np.minimum(end, now)
    active = Stepped.between(arrival, stop, np.ones(len(arrival)))
    return np.asarray((active.until(stop) - active.until(arrival)) / np.maximum(stop - arrival, 1e-12))
