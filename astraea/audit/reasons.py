"""Comparison of the causes from a log's starts and ends with the reasons that Slurm itself gave.

For every job, also for one that ran, Slurm keeps the last reason for waiting that was not Priority or Resources
(`Reason` of sacct). It can be compared as follows:

- No reason: the queue, that is Priority or Resources. Every cause except `Cause.QUOTA` agrees.
- A limit of an association, a QOS or a partition: `Cause.QUOTA` agrees.
- Certain nodes are down or reserved: `Cause.GANG` agrees.
- Licences and the like: no cause found from starts and ends agrees.
- Dependencies, begin times and holds: they end before a job is eligible and its wait begins, so nothing is compared.

Slurm's reason is the last one, not the longest: if it differs from the cause, either may have lasted longer.

Source: slurm.schedmd.com/sacct.html, slurm.schedmd.com/job_reason_codes.html.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

import numpy as np
import pandas as pd

from astraea.audit.causes import Cause
from astraea.traces.trace import Trace


class Told(StrEnum):
    """Subject of Slurm's reason."""

    QUEUE = "Priority or Resources"
    LIMIT = "a limit"
    NODES = "certain nodes"
    OTHER = "licences and others"
    BEFORE = "not yet eligible"


_WORDS: Final = {
    Told.QUEUE: r"|None|Priority|Resources",
    Told.BEFORE: r"Dependency\w*|BeginTime|JobHeld\w+",
    Told.LIMIT: r"QOS\w+|Assoc\w+|Max\w+PerAccount|Partition\w*Limit|PartitionConfig|JobArrayTaskLimit",
    Told.NODES: r"ReqNodeNotAvail|NodeDown|Reservation\w*|BadConstraints|PartitionDown|PartitionInactive",
    Told.OTHER: r".*",
}

AGREE: Final = {cause: (Told.QUEUE,) for cause in Cause} | {
    Cause.QUOTA: (Told.LIMIT,),
    Cause.GANG: (Told.QUEUE, Told.NODES),
}
"""Reasons that fit each cause."""


def told_by(reason: str) -> Told:
    """Return the subject of a reason of Slurm."""
    return next(told for told, words in _WORDS.items() if re.fullmatch(words, reason))


def beside(found: pd.DataFrame, trace: Trace) -> pd.DataFrame:
    """Add Slurm's own reasons to the waits of `causes.causes`.

    The new columns are reason, told and shown. `reason` is Slurm's word; `told` is its subject, one of `Told`, empty if
    the log does not have it. `shown` is the cause, or Slurm's reason if it does not fit the cause and concerns the
    wait. A known limit that lasted for part of the wait does not replace the cause that lasted longest.
    """
    known: dict[str, str] = {}
    if trace.details is not None and (trace.details["reason"] != "").any():
        words = trace.details["reason"].astype(str).str.extract(r"^(\w*)", expand=False)  # nodes may follow
        known = dict(zip(trace.job_id, words, strict=True))
    told = [str(told_by(known[job])) if job in known else "" for job in found["job_id"]]
    shown = [
        cause if about in ("", Told.BEFORE, *AGREE[Cause(cause)]) or (about == Told.LIMIT and limited > 0)
        else f"Slurm: {about}"
        for cause, about, limited in zip(found["cause"], told, found[Cause.QUOTA], strict=True)
    ]  # fmt: skip
    reason = [known.get(job, "") for job in found["job_id"]]
    return found.assign(**{name: pd.Series(values, found.index, dtype=object) for name, values in
                           (("reason", reason), ("told", told), ("shown", shown))})  # fmt: skip


def agreement(found: pd.DataFrame) -> tuple[pd.DataFrame, float, float]:
    """Count the waits of each cause and reason; return the parts of the comparable ones that agree, in number and time.

    The table has a row for each cause and a column for each `Told` that occurs; both parts are NaN if nothing
    can be compared.
    """
    known = found[found["told"] != ""]
    table = pd.crosstab(known["cause"], known["told"]).reindex(columns=[t for t in Told if t in set(known["told"])])
    both = known[known["told"] != Told.BEFORE]
    agrees = np.array([t in AGREE[Cause(c)] for c, t in zip(both["cause"], both["told"], strict=True)], dtype=float)
    if not len(both):
        return table, float("nan"), float("nan")
    return table, float(agrees.mean()), float(np.average(agrees, weights=both["wait"]))
