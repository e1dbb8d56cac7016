"""Tables of a `Result`, from the arrays of a finished simulation."""

from __future__ import annotations

import numpy as np
import pandas as pd

from astraea.cluster.engine.state import Private, View
from astraea.core.arrays import FloatArray
from astraea.core.units import HOUR
from astraea.traces.trace import Trace

KINDS = np.array(["start", "restart", "renewal"], dtype=object)


def ratio(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return quotients; NaN where the denominator is 0, because the job was owed, or executed, nothing."""
    return np.divide(a, b, out=np.full(len(a), np.nan), where=b > 0)


def job_table(trace: Trace, s: View, x: Private) -> pd.DataFrame:
    """Make `Result.jobs`."""
    jct = x.job.end_time - trace.submit_time
    frame = trace.frame
    return pd.DataFrame(
        {
            "job_id": frame["job_id"],
            "tenant": frame["tenant"],
            "demand": trace.demand,
            "submit_time": trace.submit_time,
            "first_start_time": x.job.first_start,
            "end_time": x.job.end_time,
            "duration": trace.duration,
            "jct": jct,
            "queueing_delay": jct - s.job.executed,
            "slowdown": ratio(jct, s.job.executed),
            "attained_service": s.job.attained_service,
            "fair_service": x.job.fair_service,
            "rho_job": ratio(s.job.attained_service, x.job.fair_service),
            "leases": s.job.leases,
            "preemptions": x.job.preemptions,
            "overhead": x.job.overhead,
            "user": frame["user"],
            "contention": x.job.contention_mean,
        }
    )


def timeline_table(trace: Trace, s: View, x: Private) -> pd.DataFrame:
    """Make `Result.timeline`, up to the last whole hour before the end of the last job."""
    hour, tenants = s.hour[: s.n_rows], len(trace.tenants)
    rows = int(np.searchsorted(hour, x.job.end_time.max() // HOUR, side="right"))
    return pd.DataFrame(
        {
            "time": np.repeat(hour[:rows] * HOUR, tenants),
            "tenant": np.tile(np.array(trace.tenants, dtype=object), rows),
            "attained_service": s.timeline.attained[:rows].ravel(),
            "fair_service": s.timeline.fair[:rows].ravel(),
            "held": s.timeline.held[:rows].ravel(),
            "waiting": s.timeline.waiting[:rows].ravel(),
        }
    )


def grant_log(trace: Trace, x: Private) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make `Result.grants` and `Result.placements`."""
    n, m = int(x.n_log), int(x.n_place)
    j = x.log.job[:n]
    grants = pd.DataFrame(
        {
            "job_id": trace.job_id[j],
            "tenant": np.array(trace.tenants, dtype=object)[trace.tenant[j]],
            "demand": trace.demand[j],
            "start": x.log.time[:n],
            "end": x.log.end[:n],
            "kind": KINDS[x.log.kind[:n]],
            "nodes": x.log.nodes[:n],
        }
    )
    return grants, pd.DataFrame(x.place_log[:m].copy(), columns=["grant", "node", "gpus"])
