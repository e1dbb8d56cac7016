"""What policies see of the estimate of one job."""

from __future__ import annotations

from functools import cache

import pandas as pd
from schedules import small_view

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.leases import expect
from astraea.cluster.engine.state import View
from astraea.cluster.policy import remaining_service
from astraea.estimation.estimates import Estimates
from astraea.traces.trace import Trace


@cache
def state_of_one_job() -> View:
    """What policies see of a single job."""
    trace = Trace.from_frame(
        pd.DataFrame({"job_id": ["0"], "tenant": ["t"], "demand": [1], "submit_time": [0.0], "duration": [1.0]})
    )
    return small_view(trace, Cluster(1, 1))


def left(e: Estimates, progress: float) -> tuple[float, float]:
    """Total and remaining service as policies see them."""
    view = state_of_one_job()
    view.job[0].estimate, view.job[0].progress = e.median[0], progress
    view.job[0].spread_below, view.job[0].spread_above = e.spread_below[0], e.spread_above[0]
    expect(view, 0)
    return float(view.job[0].total_service), float(remaining_service(view, 0))
