"""A forecast in five lines of plain English."""

from __future__ import annotations

import math
from typing import Final

import pandas as pd

from astraea.core.text import escaped
from astraea.core.wording import counted, duration_text
from astraea_ops.forecast.moment import Moment, clock
from astraea_ops.forecast.start import PROMISE, Change, Forecast

NAMED: Final = 3
"""Jobs that a line names; beyond that it gives their number."""


def as_text(found: Forecast, moment: Moment) -> str:
    """Format a forecast in five lines."""
    job = moment.asked.iloc[0]
    limit = "no time limit" if math.isnan(job["time_limit"]) else f"a limit of {duration_text(job['time_limit'])}"
    asked = f"{counted(job['demand'], 'GPU')} for {job['tenant']} with {limit}, submitted at"
    free = moment.cluster.gpus - int(moment.running["demand"].sum())
    run, wait = len(moment.running), len(moment.waiting)
    queue = f"{counted(run, 'job')} {'runs' if run == 1 else 'run'}, {wait:,} {'waits' if wait == 1 else 'wait'}"
    lines = (
        f"{asked} {clock(moment.origin, moment.time)}: {free} of {moment.cluster.gpus} GPUs are free, {queue}",
        f"it would start {_when(found, moment)}",
        f"it waits for: {_before(found)}",
        f"sooner: {_sooner(found)}",
        f"from: {found.draws} simulations with {_past(moment)}",
    )
    return "\n".join(map(escaped, lines))


def _when(found: Forecast, moment: Moment) -> str:
    low, middle, high = found.interval
    begin, end = (clock(moment.origin, moment.time + seconds) for seconds in (low, high))
    sure = f"({100 * PROMISE:.0f} % interval)"
    if found.at_once:
        return f"at once, by {end} at the latest {sure}"
    waits = f"after {duration_text(low)} to {duration_text(high)}, probably about {duration_text(middle)}"
    return f"between {begin} and {end} {sure}: {waits}"


def _before(found: Forecast) -> str:
    if found.at_once:
        return "nothing"
    waiting = "no job that is waiting now"
    if len(found.ahead):
        gpus = counted(int(found.ahead["demand"].sum()), "GPU")
        waiting = f"{counted(len(found.ahead), 'waiting job')} with {gpus} ({_names(found.ahead)})"
    come = f", {found.come:.0f} that come later" if found.come >= 0.5 else ""
    last = found.last.head(NAMED)
    ends = f"; it mostly starts when {_names(last)} {'ends' if len(last) == 1 else 'end'}" if len(last) else ""
    return f"{waiting}{come}{ends}"


def _names(jobs: pd.DataFrame) -> str:
    named = ", ".join(f"{job.job_id} of {job.tenant}" for job in jobs.head(NAMED).itertuples())
    return named + (f" and {len(jobs) - NAMED} more" if len(jobs) > NAMED else "")


def _sooner(found: Forecast) -> str:
    if found.at_once:
        return "not possible"
    ways = []
    if found.fewer:
        ways.append(f"with {counted(int(found.fewer.value), 'GPU')} it would {_start(found.fewer)}")
    if found.shorter:
        limit, start = duration_text(found.shorter.value), found.shorter.start
        what = f"it would {_start(found.shorter)}" if start else "backfill would start it at once"
        ways.append(f"with a limit of {limit} {what}")
    return "; ".join(ways) or "neither fewer GPUs nor a shorter limit would help"


def _start(change: Change) -> str:
    return f"probably start after about {duration_text(change.start)}" if change.start else "start at once"


def _past(moment: Moment) -> str:
    ended = int(moment.past["duration"].notna().sum())
    comes = (moment.past["submit_time"] < 0).any()
    runs = f"the run times of {counted(ended, 'earlier job')}" if ended else "jobs that run to their time limits"
    return f"{runs}; {'in half of them' if comes else 'because no history is known,'} no further job comes"
