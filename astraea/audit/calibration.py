"""How far a replay of a cluster's own scheduler is from what its log shows."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from scipy.stats import kendalltau

from astraea.core.arrays import FloatArray
from astraea.core.result import Result

NOTICED: Final = 2.0
"""Waits up to this are the reaction of a scheduler, and no wait [s]."""


class Calibration(NamedTuple):
    """Recorded and replayed starts compared.

    Attributes
    ----------
    waited : int
        Jobs that waited in the log.
    in_order : float
        Part of the pairs of them that start in the recorded order, in [0, 1]; NaN for fewer than two.
    recorded, replayed : float
        Average wait of all jobs [s].
    """

    waited: int
    in_order: float
    recorded: float
    replayed: float

    @property
    def error(self) -> float:
        """Replayed over recorded average wait, less 1; NaN if nobody waited."""
        return self.replayed / self.recorded - 1 if self.recorded > 0 else float("nan")

    @property
    def sentence(self) -> str:
        """What goes with every answer."""
        if not self.waited:
            return "Nobody waited in the log, so there is nothing that a replay of its scheduler could be held against."
        more = "more" if self.error >= 0 else "less"
        order = ""
        if self.waited > 1 and not math.isnan(self.in_order):
            part = f"{100 * self.in_order:.0f} % of the pairs of the {self.waited:,} jobs that waited"
            order = f", and {part} start in the recorded order"
        return (
            f"Replaying the cluster's own scheduler gives {abs(100 * self.error):.0f} % {more} waiting than the log "
            f"shows ({self.replayed:.0f} s against {self.recorded:.0f} s on average){order}."
        )


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

    Pairs with equal times in `other` count half. From Kendall's tau-b, which scipy counts in n log n steps.
    """
    pairs = len(one) * (len(one) - 1) // 2
    apart, other_apart = (pairs - _ties(times) for times in (one, other))
    if apart == 0:
        return float("nan")
    tau = float(kendalltau(one, other).statistic) if other_apart else 0.0
    return 0.5 * (1 + round(tau * math.sqrt(apart) * math.sqrt(other_apart)) / apart)


def _ties(times: FloatArray) -> int:
    """Pairs of equal times."""
    counts = np.unique(times, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())
