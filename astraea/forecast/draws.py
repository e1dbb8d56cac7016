"""The unknown future, drawn from the past: how long jobs run, and which jobs come.

Run times
    A job uses the same part of its time limit as an earlier job of its user, or else of its tenant, or else any. The
    user's, or the tenant's, count if at least `LEAST` have ended and any used a larger part than this job has already.
    If there is none, it runs to its time limit; without a limit, its whole time is its elapsed time divided by a
    random number from 0 to 1. A job without a time limit runs as long as an earlier job. In each draw the past itself
    is resampled (bootstrap), because a short past says little.
Arrivals
    The jobs that came in some stretch of the past come again, with their tenants, sizes and run times; at the end of
    the past, it begins again. In every second simulation no job comes.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray, IntArray
from astraea.forecast.moment import COLUMNS

LEAST: Final = 10
"""Smallest number of jobs of a user, or of a tenant, that say enough about how long their jobs run."""

MOST_ARRIVALS: Final = 500
"""Most jobs that come in one simulation."""

SHORTEST: Final = 1.0
"""Shortest time that a job still runs [s]: a log has whole seconds."""


class Past:
    """Ended jobs, with running times as parts of their time limits."""

    def __init__(self, past: pd.DataFrame) -> None:
        done = past[past["duration"].notna() & (past["duration"] > 0)]
        self.duration = done["duration"].to_numpy(dtype=float)
        self.limit = done["time_limit"].to_numpy(dtype=float)
        self.of = [done.groupby(name).indices for name in ("user", "tenant")]
        self.came = past.sort_values("submit_time", kind="stable", ignore_index=True)

    def run_times(self, jobs: pd.DataFrame, elapsed: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw the total running time of each of some jobs, given that `elapsed` of it is over [s]."""
        anew = rng.integers(0, len(self.duration), len(self.duration)) if len(self.duration) else np.zeros(0, np.int64)
        weight = np.bincount(anew, minlength=len(self.duration))
        rows = zip(jobs["user"], jobs["tenant"], jobs["time_limit"].to_numpy(dtype=float), elapsed, strict=True)
        return np.array([self._run_time(*row, weight, rng) for row in rows])

    def _run_time(
        self, user: str, tenant: str, limit: float, elapsed: float, weight: IntArray, rng: np.random.Generator
    ) -> float:
        least = elapsed + SHORTEST
        for rows in (self.of[0].get(user), self.of[1].get(tenant), np.arange(len(self.duration))):
            if rows is None or len(rows) < LEAST:
                continue
            times = self.duration[rows]
            if not np.isnan(limit):
                times = np.where(np.isnan(self.limit[rows]), times, times / self.limit[rows] * limit)
                times = np.minimum(times, limit)
            often = weight[rows] * (times >= least)
            if often.sum() > 0:
                return float(times[np.searchsorted(np.cumsum(often), rng.integers(often.sum()), side="right")])
        if np.isnan(limit):
            return max(elapsed / (1 - rng.random()), least)
        return max(limit, least)

    def arrivals(self, rng: np.random.Generator, most: int) -> pd.DataFrame:
        """Draw future jobs: `COLUMNS`, submit_time [s] and duration [s]; none without a past."""
        came = self.came
        if most == 0 or len(came) < 2 or came["submit_time"].iloc[0] >= 0:
            return pd.DataFrame(columns=[*COLUMNS, "submit_time", "duration"])
        since, first = came["submit_time"].to_numpy(dtype=float), float(came["submit_time"].iloc[0])
        begin = rng.uniform(first, 0.0)
        k = int(np.searchsorted(since, begin))
        rows = (k + np.arange(min(len(came), most))) % len(came)
        jobs = came.iloc[rows].reset_index(drop=True)
        after = np.where(rows >= k, since[rows] - begin, since[rows] - begin - first)
        jobs["submit_time"] = after
        lacking = jobs["duration"].isna().to_numpy()
        jobs.loc[lacking, "duration"] = self.run_times(jobs[lacking], np.zeros(int(lacking.sum())), rng)
        return jobs
