"""Traces of a few jobs, written down one by one."""

from __future__ import annotations

from typing import Any

import pandas as pd

from astraea.traces.trace import Trace

Job = tuple[str, str, int, float, float]
"""Its name, tenant, demand [GPU], submission and running time [s]."""


def listed(*jobs: Job, **about: Any) -> Trace:
    """These jobs as a trace, with what `Trace.from_frame` is told about it: name, weights, origin."""
    columns = ["job_id", "tenant", "demand", "submit_time", "duration"]
    return Trace.from_frame(pd.DataFrame(jobs, columns=columns), **about)
