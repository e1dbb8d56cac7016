"""Reader of ``sacct --json`` as a stream, with the columns of ``sacct -P``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TextIO

import numpy as np

from astraea.core.errors import InputError
from astraea.core.text import printable
from astraea.traces.readers.slurm_files import CHUNK, TENANTS
from astraea.traces.readers.table import Faults, Table, opened
from astraea.traces.slurm_words import number_of, state_of

FLAGS: Final = {
    "STARTED_ON_SCHEDULE": "SchedMain", "STARTED_ON_BACKFILL": "SchedBackfill", "STARTED_ON_SUBMIT": "SchedSubmit",
    "START_RECEIVED": "StartReceived",
}  # fmt: skip
"""Flags in the JSON, and in ``sacct -P``."""

_SIZE: Final = 1 << 20
_OTHER_FORM: Final = (KeyError, TypeError, AttributeError, ValueError, IndexError, OverflowError)


class Listed(Table):
    """A table whose rows are the entries of a list."""

    row = "job {} of the list"


def read_json_jobs(path: Path, strict: bool, faults: Faults) -> Iterator[Table]:
    """Yield the jobs of the list, `CHUNK` at a time, in order; entries that are not jobs go into `faults`."""
    rows: list[dict[str, str]] = []
    at: list[int] = []
    number, done = 0, False
    with opened(path, "strict" if strict else "backslashreplace") as file:
        for number, job in enumerate(_jobs(path, _Stream(path, file)), 1):
            try:
                rows.append(_flat(job))
                at.append(number)
            except _OTHER_FORM as err:
                what = f"{type(err).__name__}: {printable(err)}"
                if strict:
                    place = f"{path}, job {number} of the list"
                    raise InputError(f"{place}: not a job of sacct --json ({what})") from None
                faults[number] = "is not a job of sacct --json", what
            if len(rows) == CHUNK:
                yield _table(path, rows, at, strict, faults)
                rows, at, done = [], [], True
    if not number:
        raise InputError(f"{path}: expected a list of jobs, as sacct --json prints it, found none")
    if rows or not done:
        yield _table(path, rows, at, strict, faults)


_COLUMNS: Final = (
    "JobID", "Submit", "Eligible", "Start", "End", "AllocTRES", "ReqTRES", "Account", "User", "Partition", "QOS",
    "State", "ElapsedRaw", "TimelimitRaw", "Reason", "Flags", "Constraints", "Priority", "NodeList", "Restarts",
)  # fmt: skip


def _table(path: Path, rows: list[dict[str, str]], at: list[int], strict: bool, faults: Faults) -> Table:
    columns = {name: np.array([row[name] for row in rows], dtype=object) for name in _COLUMNS}
    return Listed(path, columns, np.array(at, dtype=np.int64), strict, faults)


class _Stream:
    """JSON values of a file, one after the other; only the current one is in memory."""

    def __init__(self, path: Path, file: TextIO) -> None:
        self.path, self.file, self.text, self.at, self.line = path, file, file.read(_SIZE), 0, 1
        self.decode = json.JSONDecoder().raw_decode

    def value(self) -> Any:
        """Return the value that begins here."""
        while True:
            self.skip()
            try:
                found, end = self.decode(self.text, self.at)
            except json.JSONDecodeError as err:
                # reading on does not repair an error far from the end of the buffer, except in a long text
                if (len(self.text) - err.pos < _SIZE // 2 or "string" in err.msg) and self.more():
                    continue
                line = self.line + self.text.count("\n", 0, err.pos)
                raise InputError(f"{self.path}, line {line}: not JSON ({err.msg})") from None
            except (RecursionError, ValueError) as err:
                raise InputError(f"{self.path}: not JSON that can be read ({err})") from None
            if end < len(self.text) or not self.more():  # a number may continue
                self.at = end
                return found

    def skip(self) -> str:
        """Skip blanks and return the next character without taking it; "" at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in " \t\r\n":
                self.at += 1
            if self.at < len(self.text) or not self.more():
                return self.text[self.at : self.at + 1]

    def take(self, *expected: str) -> str:
        """Take the next character, which must be one of `expected`; `InputError` if it is not."""
        found = self.skip()
        if found not in expected or not found:
            line = self.line + self.text.count("\n", 0, self.at)
            got = f"got {printable(found)!r}" if found else "the file ends"
            raise InputError(f"{self.path}, line {line}: not JSON (expected {' or '.join(expected)}, {got})")
        self.at += 1
        return found

    def more(self) -> bool:
        """Read on, and drop what was taken; False at the end of the file."""
        more = self.file.read(max(_SIZE, len(self.text) - self.at))  # twice as much each time, so that it is linear
        self.line += self.text.count("\n", 0, self.at)
        self.text, self.at = self.text[self.at :] + more, 0
        return bool(more)


def _jobs(path: Path, stream: _Stream) -> Iterator[Any]:
    """Yield the entries of the list ``jobs`` in the file's object."""
    stream.take("{")
    last = "," if stream.skip() != "}" else stream.take("}")
    while last == ",":
        stream.skip()
        key = stream.value()
        stream.take(":")
        if key == "jobs" and stream.skip() == "[":
            stream.take("[")
            inside = "," if stream.skip() != "]" else stream.take("]")
            while inside == ",":
                yield stream.value()
                inside = stream.take(",", "]")
        else:
            stream.value()
        last = stream.take(",", "}")
    if stream.skip():
        stream.take("the end of the file")


def _flat(job: dict[str, Any]) -> dict[str, str]:
    """Return one entry of the list as the row that ``sacct -P`` would print."""
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
        column: _text(number_of(time.get(key)) or None)
        for column, key in (("Submit", "submission"), ("Eligible", "eligible"), ("Start", "start"), ("End", "end"))
    }
    limit = number_of(time.get("limit"))
    row = {
        "JobID": id,
        **moments,
        **tres,
        **{column: _text(job.get(column.lower())) for column in TENANTS.values()},
        "State": state_of(state),
        "ElapsedRaw": str(number_of(time.get("elapsed")) or 0),
        "TimelimitRaw": "UNLIMITED" if limit is None else str(limit),
        "Reason": _text(job["state"].get("reason")),
        "Flags": ",".join(FLAGS.get(flag, flag) for flag in job.get("flags") or ()),
        "Constraints": _text(job.get("constraints")),
        "Priority": _text(number_of(job.get("priority"))),
        "NodeList": _text(job.get("nodes")),
        "Restarts": _text(number_of(job.get("restart_cnt"))),
    }
    return {name: text.encode("utf-8", "backslashreplace").decode() for name, text in row.items()}


def _text(value: Any) -> str:
    return "" if value is None else str(value)
