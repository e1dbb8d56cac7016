"""Ticks of Slurm's clocks on the clock of a trace: computations of usage, full minutes of backfill, and passes."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray
from astraea.core.units import DAY
from astraea.traces.trace import Trace
from astraea_ops.site.site import Site

_ALIKE = ("account", "user", "partition", "qos", "constraint", "gpu_type", "cpus", "nodes")

_TRIED: Final = 3000
"""Number of clocks that are tried."""


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


def passes(starts: FloatArray, intervals: tuple[float, float], random: np.random.Generator) -> dict[str, float]:
    """Return parameters of the policy `slurm` for the times of its passes, as far as the starts in a log tell them.

    A job starts in a pass, so the seconds of starts [s] are those of passes. Of random clocks, the one that passes in
    most of them is that of backfill, which starts most jobs, and that of the main scheduler too if hardly any second is
    left. `intervals` are those of both in the settings [s]; a pass takes some milliseconds, so the next one comes up to
    1 % later. The result is empty if a quarter of the seconds is left, as in a log of weeks, in which no clock is even.
    """
    seconds = np.unique(np.floor(starts))
    seconds = seconds[:: 1 + len(seconds) // 500]
    every = intervals[0] * (1 + 0.01 * random.random(_TRIED) ** 2)
    offset = every * random.random(_TRIED)
    told = ((offset - seconds[:, None]) % every < 1).mean(axis=0)
    best = int(told.argmax())
    if told[best] < 0.75:
        return {}
    found = {"interval": 0.1, "bf_interval": float(every[best]), "bf_offset": float(offset[best])}
    if told[best] > 0.95 and intervals[0] == intervals[1]:
        found |= {"sched_interval": found["bf_interval"], "sched_offset": found["bf_offset"]}
    return found
