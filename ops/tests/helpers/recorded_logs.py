"""Logs of a few jobs with their starts and ends, and some that are still waiting."""

from __future__ import annotations

import pandas as pd

from astraea.traces.trace import Trace
from astraea_ops.slurm.jobs import WAITS


def recorded(*rows: str, weights: dict[str, float] | None = None) -> Trace:
    """A log from lines ``name demand submit start end``, or ``name demand submit`` for a job that is still waiting.

    The tenant is the first letter of the name.
    """
    fields = [row.split() for row in rows]
    jobs = pd.DataFrame(
        [
            {
                "job_id": name, "tenant": name[0], "demand": int(demand), "submit_time": float(submit),
                "duration": float(end) - float(start), "queueing_delay": float(start) - float(submit),
            }
            for name, demand, submit, start, end in (f for f in fields if len(f) == 5)
        ]
    )  # fmt: skip
    waiting = [f for f in fields if len(f) == 3]
    aside = pd.DataFrame(
        [(name, name[0], int(demand), float(submit), WAITS) for name, demand, submit in waiting],
        columns=["job_id", "tenant", "demand", "submit_time", "reason"],
    )
    return Trace.from_frame(jobs, name="log", weights=weights, excluded_jobs=aside)
