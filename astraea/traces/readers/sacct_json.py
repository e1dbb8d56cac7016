"""What ``sacct --json`` printed, as the columns that ``sacct -P`` would have."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from astraea.core.errors import InputError
from astraea.core.text import printable
from astraea.traces.readers.table import Table, read_json
from astraea.traces.slurm_words import number_of

TENANTS: Final = {
    "account": "Account", "top-account": "Account", "user": "User", "partition": "Partition", "qos": "QOS",
}  # fmt: skip
"""What may be the tenant, and its column."""


def read_json_jobs(path: Path, text: str) -> Table:
    """What ``sacct --json`` printed, as the columns that ``sacct -P`` would have; a line is a job of the list."""
    found = read_json(path, text)
    jobs = found.get("jobs") if isinstance(found, dict) else None
    if not isinstance(jobs, list) or not jobs:
        raise InputError(f"{path}: there is no list of jobs in it, as sacct --json prints one")
    rows = []
    for number, job in enumerate(jobs, 1):
        try:
            rows.append(_flat(job))
        except (KeyError, TypeError, AttributeError, ValueError, IndexError, OverflowError) as err:
            what = f"{type(err).__name__}: {printable(err)}"
            raise InputError(f"{path}, job {number} of the list: not a job of sacct --json ({what})") from None
    names = rows[0].keys()
    columns = {name: np.array([row[name] for row in rows], dtype=object) for name in names}
    return _Listed(path, columns, np.arange(1, len(rows) + 1))


class _Listed(Table):
    """A table whose rows are the entries of a list."""

    @property
    def where(self) -> list[str]:
        """Place of each row, for messages."""
        return [f"{self.path}, job {n} of the list" for n in self.lines]


def _flat(job: dict[str, Any]) -> dict[str, str]:
    """One entry of the list."""
    array, het, time, state = job.get("array") or {}, job.get("het") or {}, job["time"], job["state"]["current"]
    task = number_of(array.get("task_id"))
    id = str(job["job_id"])
    if number_of(array.get("job_id")) and task is not None:
        id = f"{array['job_id']}_{task}"
    elif array.get("task"):
        id = f"{array['job_id']}_[{array['task']}]"
    elif number_of(het.get("job_id")):
        id = f"{number_of(het['job_id'])}+{number_of(het.get('job_offset')) or 0}"
    tres = {
        column: ",".join(
            f"{t['type']}{'/' + t['name'] if t.get('name') else ''}={int(t['count'])}"
            for t in job.get("tres", {}).get(key) or ()
        )
        for column, key in (("AllocTRES", "allocated"), ("ReqTRES", "requested"))
    }
    moments = {
        column: str(number_of(time.get(key)) or "")
        for column, key in (("Submit", "submission"), ("Eligible", "eligible"), ("Start", "start"), ("End", "end"))
    }
    limit = number_of(time.get("limit"))
    named = {column: str(job.get(column.lower()) or "") for column in TENANTS.values()}
    return {
        "JobID": id,
        **moments,
        **tres,
        **named,
        "State": str(state[0] if isinstance(state, list) else state),
        "ElapsedRaw": str(number_of(time.get("elapsed")) or 0),
        "TimelimitRaw": "UNLIMITED" if limit is None else str(limit),
    }
