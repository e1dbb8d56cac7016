"""Causes of waits, from the starts and ends of all other jobs.

Every moment of a wait has one cause, the first of these that applies:

- `QUOTA`: with the job, a known limit (`Rules.cap`) would be exceeded. If no limits are known: enough GPUs are free,
  but with the job its tenant would exceed its quota. This is considered only if no tenant in the log ever exceeded its
  quota, so that quotas seem to be hard limits.
- `ORDER`: the gang must have room (so many GPUs are free that some nodes must fit it), but does not start: the GPUs are
  kept for a job ahead of it.
- `GANG`: enough GPUs are free, but not so many that the gang must have room. They are on nodes that it cannot have
  together, or are kept for another job; a log does not show which.
- `SHARE`, `BACKFILL`: enough GPUs would be free if no later job had been started. If most of those GPUs belong to other
  tenants that had used less for their share by then, fair share passed the job over; otherwise the order of the queue,
  or backfill, did.
- `QUEUE`: jobs that came before hold too many GPUs.

The cause of a wait is the one that lasted longest. Dependencies, reservations, broken nodes and priorities given by
hand are not in a log, so they are unknown here.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.audit.recorded import Log
from astraea.cluster.cluster import Cluster
from astraea.cluster.rules import Rules
from astraea.core.arrays import BoolArray, FloatArray, IntArray
from astraea.core.text import counted
from astraea.core.units import duration_text
from astraea.traces.trace import Trace


class Cause(StrEnum):
    """Causes of a wait."""

    QUOTA = "own quota or limit"
    ORDER = "kept back for a job ahead"
    GANG = "no room for the gang"
    SHARE = "its tenant had used more"
    BACKFILL = "passed over by later jobs"
    QUEUE = "behind others in the queue"


NAMED: Final = 3
"""Jobs or tenants that a sentence names."""


def causes(
    trace: Trace, runs: pd.DataFrame, cluster: Cluster, who: pd.DataFrame, rules: Rules | None = None
) -> pd.DataFrame:
    """Find out why some jobs waited.

    `runs` are those of `observed.recorded_runs`, `rules` those of the cluster if known, and `who` rows of
    `recorded.waits`; jobs that did not wait are left out. The columns are job_id, tenant, demand [GPU], since, until,
    wait [s], still, cause, the seconds of each cause, and the sentence `why`.
    """
    log = Log(trace, runs, cluster, rules)
    rows = [_explained(log, wait) for wait in who[who["until"] > who["since"]].itertuples()]
    names = ["job_id", "tenant", "demand", "since", "until", "wait", "still", "cause", *Cause, "why"]
    return pd.DataFrame(rows, columns=names)


def _explained(log: Log, w: Any) -> dict[str, object]:
    """Explain one wait, a row of `recorded.waits`."""
    trace, t = log.trace, int(w.tenant)
    lo, hi = (int(np.searchsorted(log.time, at, side="right")) for at in (w.since, w.until))
    hi = max(int(np.searchsorted(log.time, w.until, side="left")), lo)
    times = np.concatenate([[w.since], log.time[lo:hi], [w.until]])
    lasts = np.diff(times)
    free = np.concatenate([[log.free[lo - 1] if lo else log.free[0] + log.gpus[0]], log.free[lo:hi]])
    later = log.job[lo:hi] >= w.later
    passed = np.concatenate([[0], np.cumsum(np.where(later, log.gpus[lo:hi], 0))])
    owners = trace.tenant[log.job[lo:hi]]
    poorer = _poorer(log, w, lo, hi, later, owners)
    fairly = np.concatenate([[0], np.cumsum(np.where(poorer, log.gpus[lo:hi], 0))])
    room = free >= w.demand
    job = None if w.still else int(w.later) - 1
    sure = log.has_room(int(w.demand), job, free)
    walled = log.walled(t, int(w.demand), job, times[:-1])
    if log.rules is None:  # only a guess: it applies only while enough GPUs are free
        walled &= room
    overtaken = ~room & ~walled & (free + passed >= w.demand)
    masks = {
        Cause.QUOTA: walled,
        Cause.ORDER: room & ~walled & sure,
        Cause.GANG: room & ~walled & ~sure,
        Cause.SHARE: overtaken & (2 * fairly > passed),
        Cause.BACKFILL: overtaken & (2 * fairly <= passed),
        Cause.QUEUE: ~room & ~walled & ~overtaken,
    }
    seconds = {cause: float(lasts[mask].sum()) for cause, mask in masks.items()}
    cause = max(seconds, key=lambda c: seconds[c])
    begins = later & (log.gpus[lo:hi] > 0)
    started, poorly = (lo + np.flatnonzero(rows) for rows in (begins, begins & poorer))
    text = _sentence(log, w, cause, seconds[cause], free[masks[cause]], lasts[masks[cause]], started, poorly)
    return {
        "job_id": w.job_id, "tenant": trace.tenants[t], "demand": int(w.demand), "since": float(w.since),
        "until": float(w.until), "wait": float(w.until - w.since), "still": bool(w.still), "cause": str(cause),
        **{str(one): lasted for one, lasted in seconds.items()}, "why": text,
    }  # fmt: skip


def _poorer(log: Log, w: Any, lo: int, hi: int, later: BoolArray, owners: IntArray) -> BoolArray:
    """Return which events of later jobs are of another tenant that had used less for its weight at the job's start."""
    jobs, time, t = log.job[lo:hi], log.time[lo:hi], int(w.tenant)
    _, first, of = np.unique(jobs, return_index=True, return_inverse=True)
    started = time[first][of]  # first event of each later job since the wait began
    out = np.zeros(hi - lo, dtype=bool)
    for other in set(owners[later].tolist()) - {t}:
        rows = np.flatnonzero(later & (owners == other))
        out[rows] = log.usage(other, started[rows]) < log.usage(t, started[rows])
    return out


def _sentence(
    log: Log, w: Any, cause: Cause, seconds: float, free: IntArray, lasts: FloatArray, started: IntArray,
    poorly: IntArray,
) -> str:  # fmt: skip
    """Return a sentence with names and numbers about what held a job up.

    `free` are the GPUs that were free meanwhile, each number for `lasts` [s]; `started` are the starts of later jobs,
    in the log's order, and `poorly` those of tenants that had used less.
    """
    trace = log.trace
    wait = duration_text(float(w.until - w.since))
    verb = "has waited" if w.still else "waited"
    head = f"{w.job_id} of {trace.tenants[int(w.tenant)]} ({_gpus(int(w.demand))}) {verb} {wait}"
    long = duration_text(seconds)
    if cause in (Cause.QUOTA, Cause.ORDER, Cause.GANG):
        mean = round(float(np.average(free, weights=lasts)))
        if cause is Cause.QUOTA:
            if log.rules is not None:
                return f"{head}: for {long}, it would have exceeded a limit of Slurm, while {_were(mean)} free"
            tenant, quota = trace.tenants[int(w.tenant)], _gpus(int(log.quota[int(w.tenant)]))
            more = f"but with it {tenant} would have exceeded its quota of {quota}"
            return f"{head}: for {long}, {_were(mean)} free on average, {more}"
        if cause is Cause.ORDER:
            room = f"it had room ({_were(mean)} free on average)"
            return f"{head}: for {long}, {room}, but was kept back{_ahead(log, w)}"
        nodes = "nodes that its gang could not have together"
        if not w.still and trace.details is not None and (asked := trace.details["constraint"].iloc[w.later - 1]):
            nodes += f" or that are not {asked}"
        return f"{head}: for {long}, {_were(mean)} free on average, but on {nodes}, or kept for another job"
    if cause is Cause.QUEUE:
        return f"{head}: for {long}, jobs that came before it held too many GPUs{_holders(log, w)}"
    later = f"{counted(len(started), 'job')} that came later{_largest(log, started)}"
    if log.in_order is not None:
        number = int(log.in_order[log.job[started]].sum())
        later += f" ({number} in order of priority, {len(started) - number} by backfill)"
    if cause is Cause.BACKFILL:
        return f"{head}: for {long}, it would have had room without {later}"
    tenant, first = trace.tenants[int(w.tenant)], int(poorly[np.argmax(log.gpus[poorly])])
    j, then = int(log.job[first]), log.time[first : first + 1]
    ours, theirs = (float(log.usage(t, then)[0]) for t in (int(w.tenant), int(trace.tenant[j])))
    other = trace.tenants[int(trace.tenant[j])]
    used = f"{other} had used nothing yet"
    if theirs > 0:
        used = f"{tenant} had used {ours / theirs:.1f} times as much as {other}, relative to their shares"
    return f"{head}: for {long}, its GPUs went to {later}; when {trace.job_id[j]} started, {used}"


def _gpus(number: int) -> str:
    return counted(number, "GPU")


def _were(number: int) -> str:
    return f"{_gpus(number)} {_is(number)}"


def _holders(log: Log, w: Any) -> str:
    """Return which tenants held most GPUs when the job came, and how many jobs were ahead of it."""
    trace = log.trace
    held = np.array([int(log.held(t, np.array([w.since]))[0]) for t in range(len(trace.tenants))])
    order = [t for t in np.argsort(-held, kind="stable") if held[t] > 0][:NAMED]
    names = ", ".join(f"{held[t]} by {trace.tenants[t]}" for t in order)
    ahead = _before(log, w)
    queue = f"{counted(len(ahead), 'job')} with {_gpus(int(trace.demand[ahead].sum()))} {_is(len(ahead))} ahead of it"
    queue = queue if len(ahead) else "no job was ahead of it"
    return f" ({names} when it came), and {queue} in the queue" if names else f", and {queue} in the queue"


def _is(number: int) -> str:
    return "was" if number == 1 else "were"


def _before(log: Log, w: Any) -> IntArray:
    """Return the jobs that came before, waited when the job came, and started before it."""
    lo, hi = np.searchsorted(log.time, [w.since, w.until], side="right")
    started = log.job[lo:hi][log.gpus[lo:hi] > 0]
    ahead: IntArray = np.unique(started[started < w.later - 1])
    return ahead


def _ahead(log: Log, w: Any) -> str:
    """Return the largest of the jobs that waited when the job came and started before it."""
    ahead = _before(log, w)
    if len(ahead) == 0:
        return ", although no job that came before it was waiting"
    j = int(ahead[np.argmax(log.trace.demand[ahead])])
    owner, demand = log.trace.tenants[log.trace.tenant[j]], int(log.trace.demand[j])
    name = f"{log.trace.job_id[j]} of {owner} ({_gpus(demand)})"
    if len(ahead) == 1:
        return f" behind an earlier job, {name}"
    return f" behind {counted(len(ahead), 'earlier job')}, the largest {name}"


def _largest(log: Log, started: IntArray) -> str:
    """Return the largest jobs by GPUs."""
    jobs = log.job[started]
    order = jobs[np.argsort(-log.trace.demand[jobs], kind="stable")][:NAMED]
    names = ", ".join(f"{log.trace.job_id[j]} of {log.trace.tenants[log.trace.tenant[j]]}" for j in order)
    return f", such as {names}" if len(jobs) > len(order) else f", {names}"
