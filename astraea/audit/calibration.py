"""How far a replay of a cluster's own scheduler is from what its log shows."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.result import Result
from astraea.core.units import duration_text

NOTICED: Final = 2.0
"""Waits up to this are the reaction of a scheduler, and no wait [s]."""


class Calibration(NamedTuple):
    """Recorded and replayed starts compared."""

    waited: int  #: jobs that waited in the log
    in_order: float  #: part of the pairs of them that start in the recorded order, in [0, 1]; NaN for fewer than two
    recorded: float  #: average wait of all jobs [s]
    replayed: float  #: the same in the replay [s]

    @property
    def error(self) -> float:
        """Replayed over recorded average wait, less 1; NaN if nobody waited."""
        return self.replayed / self.recorded - 1 if self.recorded > 0 else float("nan")

    @property
    def sentence(self) -> str:
        """What goes with every answer."""
        if not self.waited:
            return "Nobody waited in the log, so there is nothing that a replay of its scheduler could be held against."
        recorded, replayed = duration_text(self.recorded), duration_text(self.replayed)
        much = f"{abs(100 * self.error):.0f} % {'more' if self.error > 0 else 'less'} waiting than"
        if self.error >= 1:
            much = f"{1 + self.error:.1f} times as much waiting as"
        waiting = f"{much} the log shows ({replayed} against {recorded} on average)"
        if abs(self.error) < 0.005:
            waiting = f"as much waiting as the log shows ({recorded} on average)"
        order = ""
        if self.waited > 1 and not math.isnan(self.in_order):
            part = f"{100 * self.in_order:.0f} % of the pairs of the {self.waited:,} jobs that waited"
            order = f", and {part} start in the recorded order"
        return f"Replaying the cluster's own scheduler gives {waiting}{order}."


def calibration(log: Result, replay: Result) -> Calibration:
    """Compare two results on the jobs that both have."""
    both = log.jobs.merge(replay.jobs, on="job_id", suffixes=("", "_replayed"))
    wait = (both["first_start_time"] - both["submit_time"]).to_numpy(dtype=float)
    replayed = (both["first_start_time_replayed"] - both["submit_time"]).to_numpy(dtype=float)
    waited = wait > NOTICED
    starts = both.loc[waited, ["first_start_time", "first_start_time_replayed"]].to_numpy(dtype=float)
    order = in_order(starts[:, 0], starts[:, 1])
    return Calibration(int(waited.sum()), order, float(wait.mean()), float(replayed.mean()))


def in_order(one: FloatArray, other: FloatArray) -> float:
    """Part of the pairs with different times in `one` that have the same order in `other`, in [0, 1].

    Pairs with equal times in `other` count half. Takes n (log n)^2 steps.
    """
    apart = len(one) * (len(one) - 1) // 2 - _ties(one)
    if apart == 0:
        return float("nan")
    same = _ties(other) - _ties(np.stack([one, other], axis=1))
    # sorted by `one`, and by `other` within equal times, so that no pair of equal times is an inversion
    against = _inversions(np.unique(other, return_inverse=True)[1][np.lexsort((other, one))])
    return (apart - against - 0.5 * same) / apart


def _ties(times: FloatArray) -> int:
    """Pairs of equal rows."""
    counts = np.unique(times, return_counts=True, axis=0)[1]
    return int((counts * (counts - 1) // 2).sum())


def _inversions(ranks: IntArray) -> int:
    """Pairs of which the later one is the smaller, told by the highest bit in which they differ."""
    count = 0
    for bit in reversed(range(int(ranks.max(initial=0)).bit_length())):
        ranks = ranks[np.argsort(ranks >> (bit + 1), kind="stable")]  # equal in all higher bits, in their order
        first = np.searchsorted(ranks >> (bit + 1), ranks >> (bit + 1))
        ones = (ranks >> bit) & 1
        before = np.cumsum(ones) - ones
        count += int((before - before[first])[ones == 0].sum())
    return count
