"""What Slurm's commands print: ``sacct -P`` and ``sacct --json`` as columns, and the shares of ``sshare -P -a``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.core.errors import InputError
from astraea.core.text import printable
from astraea.traces.columns import POSITIVE, refuse
from astraea.traces.readers.table import Table, read_json, read_text, table_of
from astraea.traces.slurm_words import number_of, state_of

TENANTS: Final = {
    "account": "Account", "top-account": "Account", "user": "User", "partition": "Partition", "qos": "QOS",
}  # fmt: skip
"""What may be the tenant, and its column."""

SHARES: Final = ("Account", "User", "RawShares", "NormShares")
"""Columns by which ``sshare -P`` is known."""


def read_columns(path: Path, text: str) -> Table:
    """What ``sacct -P``, ``sacct -p`` or ``sshare -P`` printed: fields with ``|`` between them, nothing quoted."""
    (_, head), *lines = ((number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip())
    names = [name.strip() for name in head.rstrip("|").split("|")]
    end = "|" if head.endswith("|") else ""
    rows = [line.removesuffix(end).split("|") for _, line in lines]
    hint = "; is there a | in a job's name? leave JobName out"
    return table_of(path, names, rows, [number for number, _ in lines], hint)


FLAGS: Final = {
    "STARTED_ON_SCHEDULE": "SchedMain", "STARTED_ON_BACKFILL": "SchedBackfill", "STARTED_ON_SUBMIT": "SchedSubmit",
    "START_RECEIVED": "StartReceived",
}  # fmt: skip
"""What the JSON calls a flag, and ``sacct -P``."""


class Shares(NamedTuple):
    """Shares in the whole, by account: of those without accounts below, of those right below the root; whose is whose.

    `top` names for each account the one of `tops` that it belongs to.
    """

    leaves: dict[str, float]
    tops: dict[str, float]
    top: dict[str, str]


def read_sshare(path: Path) -> Shares | None:
    """Read ``sshare -P -a``, where accounts are indented by their depth; None if the file is something else."""
    text = read_text(path)
    head = text.lstrip("\n").split("\n", 1)[0]
    if not {name.strip() for name in head.split("|")}.issuperset(SHARES):
        return None
    table = read_columns(path, text)
    accounts = np.array([not user for user in table.words("User")]) & (table.words("Account") != "root")
    table = table.take(accounts)
    if not len(table):
        raise InputError(f"{path}: there is no account in it")
    names, share = table.text("Account"), table.number("NormShares", *POSITIVE)
    refuse(pd.Series(names).duplicated(), names, "Account", table.where, "unique")
    depth = [len(name) - len(name.lstrip()) for name in table.columns["Account"]]
    outside = np.array(depth) < depth[0]
    refuse(outside, names, "Account", table.where, "indented at least as far as the first account below the root")
    top: dict[str, str] = {}
    for k, name in enumerate(names):
        top[name] = name if depth[k] == depth[0] else top[names[k - 1]]
    leaves = [k for k in range(len(names)) if k + 1 == len(names) or depth[k + 1] <= depth[k]]
    of = dict(zip(names, share.tolist(), strict=True))
    return Shares({names[k]: of[names[k]] for k in leaves}, {name: of[name] for name in set(top.values())}, top)


class _Listed(Table):
    """A table whose rows are the entries of a list."""

    row = "job {} of the list"


def read_json_jobs(path: Path, text: str) -> Table:
    """What ``sacct --json`` printed, as the columns that ``sacct -P`` would have; runs of a job in their order."""
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
    by = ("Submit", "Start", "JobID")  # slurmdbd gives them in any order
    order = sorted(range(len(rows)), key=lambda k: [(rows[k][name] or 20 * "~").zfill(20) for name in by])
    columns = {name: np.array([rows[k][name] for k in order], dtype=object) for name in rows[0]}
    return _Listed(path, columns, np.array(order) + 1)


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
            f"{t['type']}{'/' + t['name'] if t.get('name') else ''}={count}"
            for t in job.get("tres", {}).get(key) or ()
            if (count := number_of(t["count"])) is not None
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
        "State": state_of(state),
        "ElapsedRaw": str(number_of(time.get("elapsed")) or 0),
        "TimelimitRaw": "UNLIMITED" if limit is None else str(limit),
        "Reason": str(job["state"].get("reason") or ""),
        "Flags": ",".join(FLAGS.get(flag, flag) for flag in job.get("flags") or ()),
        "Constraints": str(job.get("constraints") or ""),
        "Priority": str(number_of(job.get("priority")) or ""),
        "NodeList": str(job.get("nodes") or ""),
        "Restarts": _text(number_of(job.get("restart_cnt"))),
    }


def _text(number: int | None) -> str:
    return "" if number is None else str(number)
