"""How far a replay of a cluster's own scheduler is from what its log shows."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from astraea.core.arrays import FloatArray
from astraea.core.result import Result

NOTICED: Final = 2.0
"""Waits up to this are the reaction of a scheduler, and no wait [s]."""

_BLOCK: Final = 2000


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
        return (
            f"Replaying the cluster's own scheduler gives {abs(100 * self.error):.0f} % {more} waiting than the log shows "
            f"({self.replayed:.0f} s against {self.recorded:.0f} s on average), and {100 * self.in_order:.0f} % of the "
            f"pairs of the {self.waited} jobs that waited start in the recorded order."
        )


def calibration(log: Result, replay: Result) -> Calibration:
    """Compare two results on the jobs that both have."""
    both = log.jobs.merge(replay.jobs, on="job_id", suffixes=("", "_replayed"))
    wait = (both["first_start_time"] - both["submit_time"]).to_numpy(dtype=float)
    replayed = (both["first_start_time_replayed"] - both["submit_time"]).to_numpy(dtype=float)
    waited = wait > NOTICED
    starts = both.loc[waited, ["first_start_time", "first_start_time_replayed"]].to_numpy(dtype=float)
    return Calibration(int(waited.sum()), in_order(starts[:, 0], starts[:, 1]), float(wait.mean()), float(replayed.mean()))


def in_order(one: FloatArray, other: FloatArray) -> float:
    """Part of the pairs with different times in `one` that have the same order in `other`, in [0, 1].

    Pairs with equal times in `other` count half. A block of rows at a time, so that it takes little memory.
    """
    agree, pairs = 0.0, 0
    for k in range(0, len(one), _BLOCK):
        a = np.sign(one[k : k + _BLOCK, None] - one[None, :])
        b = np.sign(other[k : k + _BLOCK, None] - other[None, :])
        pairs += int((a != 0).sum())
        agree += float(((a != 0) & (a == b)).sum()) + 0.5 * float(((a != 0) & (b == 0)).sum())
    return agree / pairs if pairs else float("nan")
