"""Reader of Microsoft's Philly trace ([Jeon2019]): `cluster_job_log`, a JSON list of jobs with their attempts.

Choices that the log leaves open:

- `demand` is the number of GPUs of the first attempt that lists any, as in the publishers' own notebook;
- `duration` is the running time, summed over the attempts that have a start and an end: the wait between
  attempts is not service;
- a job whose last attempt has no end was still running when the log was taken, so its duration is unknown;
- times are local and naive. On 2017-11-05 clocks went back from 2:00 to 1:00: if an interval within that hour seems to
  end before it starts, its length is unknown.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.core.errors import InputError
from astraea.core.text import printable
from astraea.traces.columns import MAX_DEMAND, Where, refuse, refuse_others
from astraea.traces.readers.rows import NO_TIME, Rows, frame, reasons
from astraea.traces.readers.table import parse_dates, read_json, to_seconds

LOG: Final = "cluster_job_log"
_STATES: Final = {"Pass": "completed", "Killed": "cancelled", "Failed": "failed"}
_REPEATED_HOUR: Final = (np.datetime64("2017-11-05T01:00:00"), np.datetime64("2017-11-05T02:00:00"))


def read_philly(path: Path) -> Rows:
    """Read a `cluster_job_log`, or the folder that contains it; `queueing_delay` is first start - submission."""
    log = path / LOG if path.is_dir() else path
    entries = read_json(log)
    if not isinstance(entries, list):
        raise InputError(f"{log}, line 1: expected a list of jobs, got {type(entries).__name__}")
    if not entries:
        raise InputError(f"{log}: there is no job in it")
    for i, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise InputError(f"{log}, job {i + 1}: expected an object with jobid, vc, ..., got {printable(entry)}")
    where = [f'{log}, job {i + 1} ("{printable(e.get("jobid"))}")' for i, e in enumerate(entries)].__getitem__
    columns = {key: _words(entries, key, where) for key in ("jobid", "vc", "status", "submitted_time")}
    refuse_others(columns["status"], _STATES, "status", where)
    submit = parse_dates(columns["submitted_time"], "submitted_time", where, absent=())
    users = [e.get("user") for e in entries]
    attempts, gpus = _attempts(entries, where)
    n = len(entries)
    job = attempts["job"].to_numpy(dtype=np.int64)
    place = [where(j) for j in job].__getitem__
    start = parse_dates(attempts["start_time"].to_numpy(dtype=object), "start_time", place)
    end = parse_dates(attempts["end_time"].to_numpy(dtype=object), "end_time", place)
    backwards = end < start
    repeated = backwards & (end >= _REPEATED_HOUR[0]) & (start < _REPEATED_HOUR[1])
    refuse(backwards & ~repeated, attempts["end_time"].to_numpy(), "end_time", place, "no earlier than start_time")
    ran, open_ended = to_seconds(end - start), np.isnat(end) & ~np.isnat(start)
    columns_of = {"ran": ran, "timed": ~np.isnan(ran), "repeated": repeated, "running": open_ended}
    how = {"ran": "sum", "timed": "max", "repeated": "max", "running": "last", "first": "min"}
    # NaN for a job without an attempt
    of_job = pd.DataFrame(columns_of, dtype=float).assign(first=start).groupby(job).agg(how).reindex(range(n))
    duration = of_job["ran"].fillna(0.0).to_numpy()
    delay = to_seconds(of_job["first"] - submit)
    rows = frame(
        {
            "job_id": columns["jobid"],
            "tenant": columns["vc"],
            "user": [u if _is_text(u) else vc for u, vc in zip(users, columns["vc"], strict=True)],
            "demand": gpus,
            "submit_time": to_seconds(submit - submit.min()),
            "duration": duration,
            "state": [_STATES[s] for s in columns["status"]],
            "queueing_delay": delay,
            "reason": reasons(
                n,
                (of_job["ran"].isna(), "has no attempt"),
                (gpus == 0, "lists no GPU"),
                (of_job["running"] == 1, "was still running when the log was taken"),
                (of_job["timed"] == 0, "has no attempt with a start and an end"),
                (of_job["repeated"] == 1, "ran in the hour that clocks repeated"),
                (duration == 0, NO_TIME),
                (delay < 0, "starts before it was submitted"),
            ),
        }
    )
    return Rows(rows, where, pd.Timestamp(submit.min()), id_column="jobid")


def _words(entries: list[dict[str, Any]], key: str, where: Where) -> Any:
    """Return one text per job; a missing key or another type is refused."""
    values = [e.get(key) for e in entries]
    for row, (value, entry) in enumerate(zip(values, entries, strict=True)):
        if not _is_text(value):
            got = f"got {printable(value)}" if key in entry else "which is missing"
            raise InputError(f"{where(row)}: {key} must be a text, {got}")
    return np.array(values, dtype=object)


def _attempts(entries: list[dict[str, Any]], where: Where) -> tuple[pd.DataFrame, Any]:
    """Collect all attempts in one table (job, start_time, end_time), and the GPUs of each job."""
    jobs: list[int] = []
    times: dict[str, list[str]] = {"start_time": [], "end_time": []}
    gpus = np.zeros(len(entries), dtype=np.int64)
    for i, entry in enumerate(entries):
        for attempt in _list(entry, "attempts", where(i)):
            jobs.append(i)
            for key, column in times.items():
                value = attempt.get(key)
                if not (value is None or (isinstance(value, str) and value.isascii())):
                    raise InputError(f"{where(i)}: {key} must be a time YYYY-MM-DD HH:MM:SS, got {printable(value)}")
                column.append(value or "")
            if gpus[i] == 0:
                for detail in _list(attempt, "detail", where(i)):
                    if not isinstance(listed := detail.get("gpus"), list):
                        raise InputError(f"{where(i)}: gpus must be a list of GPUs, got {printable(listed)}")
                    gpus[i] += len(listed)
    refuse(gpus > MAX_DEMAND, gpus.astype(object), "gpus", where, f"a list of at most {MAX_DEMAND} GPUs")
    return pd.DataFrame({"job": np.array(jobs, dtype=np.int64), **times}), gpus


def _is_text(value: Any) -> bool:
    """Return whether it is a text that names something and can be written: JSON may contain unpaired surrogates."""
    if not (isinstance(value, str) and value.strip()):
        return False
    return value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value)


def _list(item: dict[str, Any], key: str, place: str) -> list[dict[str, Any]]:
    """Return a list of objects; a missing value counts as an empty list."""
    value = item.get(key)
    if value is None:
        return []
    if not (isinstance(value, list) and all(isinstance(v, dict) for v in value)):
        raise InputError(f"{place}: {key} must be a list of objects, got {printable(value)}")
    return value
