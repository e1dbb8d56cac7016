"""Starvation: the longest wait under each scheduler, which an average does not show."""

from __future__ import annotations

from typing import Final

from astraea.core.result import Result

LARGE_GANG: Final = 8
"""GPUs from which on a gang counts as large: a whole node."""


def longest_waits(result: Result) -> dict[str, float]:
    """Longest waits of any job, and of any gang of `LARGE_GANG` GPUs or more.

    Returns
    -------
    dict
        first_wait, first_wait_large : longest time from submission to the first start [s].
        total_wait, total_wait_large : longest queueing delay, all waits of a job together [s].
        longest_waiting_demand : demand of the job with the longest first wait, the first submitted of equals [GPU].
        NaN where there is no such job.
    """
    jobs = result.jobs.assign(first_wait=result.jobs["first_start_time"] - result.jobs["submit_time"])
    large = jobs[jobs["demand"] >= LARGE_GANG]
    return {
        "first_wait": float(jobs["first_wait"].max()),
        "first_wait_large": float(large["first_wait"].max()),
        "total_wait": float(jobs["queueing_delay"].max()),
        "total_wait_large": float(large["queueing_delay"].max()),
        "longest_waiting_demand": float(jobs["demand"].iloc[int(jobs["first_wait"].argmax())]),
    }
