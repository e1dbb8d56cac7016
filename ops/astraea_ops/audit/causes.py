"""Causes of waits, from the starts and ends of all other jobs, and their comparison with Slurm's own reasons.

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

Slurm keeps the last reason for waiting that was not Priority or Resources (`Reason` of sacct), also for a job that ran.
`AGREE` has the reasons that fit each cause. Dependencies, begin times and holds end before a wait begins, so they are
not compared. Slurm's reason is the last one, not the longest: if it differs, either may have lasted longer.

Source: slurm.schedmd.com/sacct.html, slurm.schedmd.com/job_reason_codes.html.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.rules import Rules
from astraea.core.arrays import FloatArray, IntArray
from astraea.core.wording import counted, duration_text
from astraea.traces.trace import Trace
from astraea_ops.audit.recorded import Log


class Cause(StrEnum):
    """Causes of a wait."""

    QUOTA = "own quota or limit"
    ORDER = "kept back for a job ahead"
    GANG = "no room for the gang"
    SHARE = "its tenant had used more"
    BACKFILL = "passed over by later jobs"
    QUEUE = "behind others in the queue"


class Subject(StrEnum):
    """Subject of Slurm's reason."""

    QUEUE = "Priority or Resources"
    LIMIT = "a limit"
    NODES = "certain nodes"
    OTHER = "licences and others"
    BEFORE = "not yet eligible"


_WORDS: Final = {
    Subject.QUEUE: r"|None|Priority|Resources",
    Subject.BEFORE: r"Dependency\w*|BeginTime|JobHeld\w+",
    Subject.LIMIT: r"QOS\w+|Assoc\w+|Max\w+PerAccount|Partition\w*Limit|PartitionConfig|JobArrayTaskLimit",
    Subject.NODES: r"ReqNodeNotAvail|NodeDown|Reservation\w*|BadConstraints|PartitionDown|PartitionInactive",
    Subject.OTHER: r".*",
}

AGREE: Final = {cause: (Subject.QUEUE,) for cause in Cause} | {
    Cause.QUOTA: (Subject.LIMIT,),
    Cause.GANG: (Subject.QUEUE, Subject.NODES),
}
"""Reasons that fit each cause."""

NAMED: Final = 3
"""Jobs or tenants that a sentence names."""


def causes(
    trace: Trace, runs: pd.DataFrame, cluster: Cluster, who: pd.DataFrame, rules: Rules | None = None
) -> pd.DataFrame:
    """Find out why some jobs waited.

    `runs` are those of `observed.recorded_runs`, `rules` those of the cluster if known, and `who` rows of
    `recorded.waits`; jobs that did not wait are left out. The column of a cause has its seconds, `why` is a sentence.
    """
    log = Log(trace, runs, cluster, rules)
    rows = [_explained(log, wait) for wait in who[who["until"] > who["since"]].itertuples()]
    names = ["job_id", "tenant", "demand", "since", "until", "wait", "still", "cause", *Cause, "why"]
    return pd.DataFrame(rows, columns=names)


def _explained(log: Log, w: Any) -> tuple[object, ...]:
    """Explain one wait, a row of `recorded.waits`: a row of `causes`."""
    trace, t = log.trace, int(w.tenant)
    lo = int(np.searchsorted(log.time, w.since, side="right"))
    hi = max(int(np.searchsorted(log.time, w.until, side="left")), lo)
    times = np.concatenate([[w.since], log.time[lo:hi], [w.until]])
    lasts = np.diff(times)
    free = np.concatenate([[log.free[lo - 1] if lo else log.free[0] + log.gpus[0]], log.free[lo:hi]])
    later = log.job[lo:hi] >= w.later
    passed = np.concatenate([[0], np.cumsum(np.where(later, log.gpus[lo:hi], 0))])
    owners = trace.tenant[log.job[lo:hi]]
    _, first, of = np.unique(log.job[lo:hi], return_index=True, return_inverse=True)
    begun = log.time[lo:hi][first][of]  # first event of each later job since the wait began
    poorer = np.zeros(hi - lo, dtype=bool)  # events of later jobs of another tenant that had used less for its weight
    for other in set(owners[later].tolist()) - {t}:
        rows = np.flatnonzero(later & (owners == other))
        poorer[rows] = log.usage(other, begun[rows]) < log.usage(t, begun[rows])
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
    started, poorly = (lo + np.flatnonzero(starts) for starts in (begins, begins & poorer))
    text = _sentence(log, w, cause, seconds[cause], free[masks[cause]], lasts[masks[cause]], started, poorly)
    return (
        w.job_id, trace.tenants[t], int(w.demand), float(w.since), float(w.until), float(w.until - w.since),
        bool(w.still), str(cause), *seconds.values(), text,
    )  # fmt: skip


def _sentence(
    log: Log, w: Any, cause: Cause, seconds: float, free: IntArray, lasts: FloatArray, started: IntArray,
    poorly: IntArray,
) -> str:  # fmt: skip
    """Return a sentence with names and numbers about what held a job up.

    `free` are the GPUs that were free meanwhile, each number for `lasts` [s]; `started` are the starts of later jobs,
    in the log's order, and `poorly` those of tenants that had used less.
    """
    trace, t, wait = log.trace, int(w.tenant), duration_text(float(w.until - w.since))
    tenant = trace.tenants[t]
    head = f"{w.job_id} of {tenant} ({counted(int(w.demand), 'GPU')}) {'has waited' if w.still else 'waited'} {wait}"
    head = f"{head}: for {duration_text(seconds)},"
    if cause in (Cause.QUOTA, Cause.ORDER, Cause.GANG):
        mean = round(float(np.average(free, weights=lasts)))
        were = f"{counted(mean, 'GPU')} {_is(mean)} free"
        if cause is Cause.QUOTA and log.rules is not None:
            return f"{head} it would have exceeded a limit of Slurm, while {were}"
        if cause is Cause.QUOTA:
            quota = counted(int(log.quota[t]), "GPU")
            return f"{head} {were} on average, but with it {tenant} would have exceeded its quota of {quota}"
        if cause is Cause.ORDER:
            return f"{head} it had room ({were} on average), but was kept back{_ahead(log, w)}"
        nodes = "nodes that its gang could not have together"
        if not w.still and trace.details is not None and (asked := trace.details["constraint"].iloc[w.later - 1]):
            nodes += f" or that are not {asked}"
        return f"{head} {were} on average, but on {nodes}, or kept for another job"
    if cause is Cause.QUEUE:
        return f"{head} jobs that came before it held too many GPUs{_holders(log, w)}"
    jobs = log.job[started]
    largest = jobs[np.argsort(-trace.demand[jobs], kind="stable")][:NAMED]
    names = ", ".join(f"{trace.job_id[j]} of {trace.tenants[trace.tenant[j]]}" for j in largest)
    later = f"{counted(len(jobs), 'job')} that came later,{' such as' * (len(jobs) > len(largest))} {names}"
    if log.in_order is not None:
        number = int(log.in_order[jobs].sum())
        later += f" ({number} in order of priority, {len(jobs) - number} by backfill)"
    if cause is Cause.BACKFILL:
        return f"{head} it would have had room without {later}"
    first = int(poorly[np.argmax(log.gpus[poorly])])
    j, then = int(log.job[first]), log.time[first : first + 1]
    ours, theirs = (float(log.usage(one, then)[0]) for one in (t, int(trace.tenant[j])))
    other = trace.tenants[int(trace.tenant[j])]
    used = f"{other} had used nothing yet"
    if theirs > 0:
        used = f"{tenant} had used {ours / theirs:.1f} times as much as {other}, relative to their shares"
    return f"{head} its GPUs went to {later}; when {trace.job_id[j]} started, {used}"


def _is(number: int) -> str:
    return "was" if number == 1 else "were"


def _holders(log: Log, w: Any) -> str:
    """Return which tenants held most GPUs when the job came, and how many jobs were ahead of it."""
    trace, ahead = log.trace, _before(log, w)
    held = np.array([int(log.held(t, np.array([w.since]))[0]) for t in range(len(trace.tenants))])
    order = [t for t in np.argsort(-held, kind="stable") if held[t] > 0][:NAMED]
    names = ", ".join(f"{held[t]} by {trace.tenants[t]}" for t in order)
    queue = "no job was ahead of it"
    if len(ahead):
        gpus = counted(int(trace.demand[ahead].sum()), "GPU")
        queue = f"{counted(len(ahead), 'job')} with {gpus} {_is(len(ahead))} ahead of it"
    return f"{f' ({names} when it came)' * bool(names)}, and {queue} in the queue"


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
    gpus = counted(int(log.trace.demand[j]), "GPU")
    name = f"{log.trace.job_id[j]} of {log.trace.tenants[log.trace.tenant[j]]} ({gpus})"
    if len(ahead) == 1:
        return f" behind an earlier job, {name}"
    return f" behind {counted(len(ahead), 'earlier job')}, the largest of them {name}"


def subject_of(reason: str) -> Subject:
    """Return the subject of a reason of Slurm."""
    return next(subject for subject, words in _WORDS.items() if re.fullmatch(words, reason))


def beside(found: pd.DataFrame, trace: Trace) -> pd.DataFrame:
    """Add Slurm's own reasons to the waits of `causes`: reason, subject (empty if not in the log) and shown.

    `shown` is the cause, or Slurm's reason if it does not fit the cause and concerns the wait. A known limit that
    lasted for part of the wait does not replace the cause that lasted longest.
    """
    known: dict[str, str] = {}
    if trace.details is not None and (trace.details["reason"] != "").any():
        words = trace.details["reason"].astype(str).str.extract(r"^(\w*)", expand=False)  # nodes may follow
        known = dict(zip(trace.job_id, words, strict=True))
    subject = [str(subject_of(known[job])) if job in known else "" for job in found["job_id"]]
    shown = [
        cause if about in ("", Subject.BEFORE, *AGREE[Cause(cause)]) or (about == Subject.LIMIT and limited > 0)
        else f"Slurm: {about}"
        for cause, about, limited in zip(found["cause"], subject, found[Cause.QUOTA], strict=True)
    ]  # fmt: skip
    reason = [known.get(job, "") for job in found["job_id"]]
    return found.assign(**{name: pd.Series(values, found.index, dtype=object) for name, values in
                           (("reason", reason), ("subject", subject), ("shown", shown))})  # fmt: skip


def agreement(found: pd.DataFrame) -> tuple[pd.DataFrame, float, float]:
    """Count the waits by cause and reason; return also the parts of the comparable ones that agree, in number and time.

    Both parts are NaN if nothing can be compared.
    """
    known = found[found["subject"] != ""]
    subjects = [subject for subject in Subject if subject in set(known["subject"])]
    table = pd.crosstab(known["cause"], known["subject"]).reindex(columns=subjects)
    both = known[known["subject"] != Subject.BEFORE]
    agrees = np.array([s in AGREE[Cause(c)] for c, s in zip(both["cause"], both["subject"], strict=True)], dtype=float)
    if not len(both):
        return table, float("nan"), float("nan")
    return table, float(agrees.mean()), float(np.average(agrees, weights=both["wait"]))
