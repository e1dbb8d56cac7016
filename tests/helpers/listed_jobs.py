"""Traces of a few jobs, written down one by one."""

from __future__ import annotations

from typing import Any

import pandas as pd

from astraea.traces.trace import Trace


def listed(*jobs: tuple[str, str, int, float, float], **about: Any) -> Trace:
    """Jobs (name, tenant, demand, submission, running time), with what `Trace.from_frame` is told about the trace."""
    columns = ["job_id", "tenant", "demand", "submit_time", "duration"]
    return Trace.from_frame(pd.DataFrame(jobs, columns=columns), **about)
