"""Ticks of Slurm's clocks on the clock of a trace: computations of usage, and full minutes of backfill."""

from __future__ import annotations

import numpy as np
import pandas as pd

from astraea.cluster.site import Site
from astraea.core.units import DAY
from astraea.traces.trace import Trace

_ALIKE = ("account", "user", "partition", "qos", "constraint", "gpu_type", "cpus", "nodes")


def clock(site: Site, trace: Trace, period: float) -> dict[str, float]:
    """Return `calc_offset` and `clock_offset` of the policy `slurm` [s], as far as the log or the site has them.

    `period` is the time between two computations of usage [s].
    """
    found: dict[str, float] = {}
    boot = pd.to_datetime(site.setting("boot_time"), errors="coerce")
    offset = None
    if trace.origin is not None:
        found["clock_offset"] = (trace.origin - trace.origin.normalize()).total_seconds() % DAY
        if not (pd.isna(boot) or boot > trace.origin + pd.Timedelta(seconds=period)):  # restarted after the log began
            offset = float((boot - trace.origin).total_seconds() % period)
    if offset is None:
        offset = _of_priorities(trace, period)
    return found if offset is None else {**found, "calc_offset": offset}


def _of_priorities(trace: Trace, period: float) -> float | None:
    """Return the offset for which like jobs submitted between two computations differ least in priority.

    A job gets its account's priority at submission, and that changes only when usage is computed. None if no
    priority changes, or the log has none.
    """
    details = trace.details
    if details is None or details["priority"].isna().all() or not 2 <= period <= DAY:
        return None
    like = pd.MultiIndex.from_frame(details[list(_ALIKE)].assign(demand=trace.demand)).factorize()[0]
    steps = np.arange(0.0, period, max(1.0, period / 300))
    wrong = np.zeros(len(steps), dtype=np.int64)
    for k, step in enumerate(steps):
        between = np.floor((trace.submit_time - step) / period)
        kinds = pd.DataFrame({"like": like, "between": between, "priority": details["priority"]}).drop_duplicates()
        wrong[k] = len(kinds) - len(kinds[["like", "between"]].drop_duplicates())
    if wrong.max() == wrong.min():
        return None
    best = np.flatnonzero(wrong == wrong.min())
    if 0 in best and len(steps) - 1 in best:  # around the end of the period
        best = np.where(best > len(steps) / 2, best - len(steps), best)
    return float(np.median(best) * (steps[1] - steps[0]) % period)
