"""Rows of Slurm's accounting as a stream: ``sacct -P``, with ``|`` between fields, and ``sacct --json``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations_with_replacement, islice
from pathlib import Path
from typing import Any, Final, TextIO

from astraea.core.errors import InputError
from astraea.core.text import printable
from astraea.traces.readers.table import WIDTH, Faults, Table, opened, read_lines, table_of
from astraea_ops.slurm.words import STATES, number_of, state_of

TENANTS: Final = {
    "account": "Account", "top-account": "Account", "user": "User", "partition": "Partition", "qos": "QOS",
}  # fmt: skip
"""Possible tenants, and their columns."""

CHUNK: Final = 5_000
"""Number of rows read at a time."""

ID: Final = re.compile(r"(?P<job>\d+)(?P<task>_\d+|_\[[^\]]*\])?(?P<part>\+\d+)?(?P<step>\.[\w.+-]+)?")
"""A `JobID`."""

_FREE: Final = ("JobName", "SubmitLine", "Comment", "AdminComment", "SystemComment", "Constraints", "WorkDir", "WCKey",
                "Extra")  # fmt: skip
"""Columns in which users write free text, which may contain ``|``."""

_MOST_BARS: Final = 30
"""Most ``|`` in the free text of a row."""

_MOST_TRIALS: Final = 500
"""Most rows that are tried for one with such free text."""

_COMMAND: Final = re.compile(r"\s*$|[^\s|]*(sbatch|srun|salloc)\b")
"""A `SubmitLine`."""

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d|\d{1,11}|Unknown|None|N/A|")

FLAGS: Final = {
    "STARTED_ON_SCHEDULE": "SchedMain", "STARTED_ON_BACKFILL": "SchedBackfill", "STARTED_ON_SUBMIT": "SchedSubmit",
    "START_RECEIVED": "StartReceived",
}  # fmt: skip
"""Flags in the JSON, and in ``sacct -P``."""

_SIZE: Final = 1 << 20
_LIST: Final = re.compile(r'"jobs"\s{0,9}:\s{0,9}\[')  # at most 26 characters
_BETWEEN: Final = re.compile(r"[\s,]*")
_OTHER_FORM: Final = (KeyError, TypeError, AttributeError, ValueError, IndexError, OverflowError)

_COLUMNS: Final = (
    "JobID", "Submit", "Eligible", "Start", "End", "AllocTRES", "ReqTRES", "Account", "User", "Partition", "QOS",
    "State", "ElapsedRaw", "TimelimitRaw", "Reason", "Flags", "Constraints", "Priority", "NodeList", "Restarts",
)  # fmt: skip


def read_rows(path: Path, names: Sequence[str], strict: bool, faults: Faults) -> Iterator[Table]:
    """Yield the output of ``sacct -P`` or ``sacct -p``, `CHUNK` rows at a time; nothing in it is quoted.

    `names` are the columns of a log without a header line. Lines that are not rows go into `faults`.
    """
    lines = read_lines(path, strict)
    number, head = next(lines)
    end = "|" if head.endswith("|") else ""
    if names:
        lines = chain([(number, head)], lines)
    else:
        names, place = [name.strip() for name in head.removesuffix(end).split("|")], f"{path}, line {number}"
        if ID.fullmatch(names[0]):
            says = "expected a header line, got a job, as sacct -n prints it"
            raise InputError(f"{place}: {says}; give --columns with the names that were given to sacct --format")
        if len(names) == 1:
            raise InputError(f"{place}: expected fields separated by |; make the log with sacct -P")

    def rows() -> Iterator[tuple[int, Sequence[str]]]:
        is_first = True
        for number, line in lines:
            if line == head and not is_first:
                faults[number] = "is the header line again", printable(line)
                continue
            fields = line.removesuffix(end).split("|")
            row = _split(fields, names)
            if row is not None:
                is_first = False
                yield number, row
            elif strict:
                got = line.count("|") + 1
                hint = "; is there a | in a job's name?" if got > len(names) else ""
                raise InputError(f"{path}, line {number}: expected {len(names)} columns, got {got}{hint}")
            else:
                faults[number] = WIDTH, f"{line.count('|') + 1}, not {len(names)}"

    return _in_tables(path, names, rows(), strict, faults)


def _in_tables(
    path: Path, names: Sequence[str], rows: Iterator[tuple[int, Sequence[str]]], strict: bool, faults: Faults,
    place: str = "line {}",
) -> Iterator[Table]:  # fmt: skip
    """Yield numbered rows `CHUNK` at a time, in at least one table."""
    part = [*islice(rows, CHUNK)]
    while True:
        yield replace(
            table_of(path, names, [row for _, row in part], [number for number, _ in part], strict, faults), row=place
        )
        if not (part := [*islice(rows, CHUNK)]):
            return


def _split(fields: list[str], names: Sequence[str]) -> list[str] | None:
    """Return a row, also if its free text contains a ``|``; None if it has another number of columns.

    Of all possible rows, it is the first that has a state, times, a constraint without blanks and, if possible, a
    command as its `SubmitLine`. The owners of bars are tried one by one before they are combined, `Constraints` last.
    """
    more = len(fields) - len(names)
    if more == 0:
        return fields
    if not 0 < more <= _MOST_BARS:
        return None
    free = sorted((k for k, name in enumerate(names) if name in _FREE), key=lambda k: (names[k] == "Constraints", -k))
    good = None
    alone, several = ((k,) * more for k in free), combinations_with_replacement(free, more)
    for owners in islice(chain(alone, several), _MOST_TRIALS):
        rest = iter(fields)
        row = ["|".join(islice(rest, 1 + owners.count(k))) for k in range(len(names))]
        known = dict(zip(names, row, strict=True))
        state = (known.get("State", STATES[0]).split() or [""])[0].rstrip("+")
        times = (known.get(name, "") for name in ("Submit", "Eligible", "Start", "End"))
        if len(free) > 1 and (
            state not in STATES or not all(map(_TIME.fullmatch, times)) or " " in known.get("Constraints", "").strip()
        ):
            continue
        if _COMMAND.match(known.get("SubmitLine", "")):
            return row
        good = good or row
    return good


def read_json_jobs(path: Path, strict: bool, faults: Faults) -> Iterator[Table]:
    """Yield the jobs of ``sacct --json`` as `read_rows` does; entries that are not jobs go into `faults`."""
    with opened(path, "strict" if strict else "backslashreplace") as file:
        entries = enumerate(_entries(path, file), 1)
        first = next(entries, None)
        if first is None:
            raise InputError(f"{path}: expected a list of jobs, as sacct --json prints it, found none")

        def rows() -> Iterator[tuple[int, Sequence[str]]]:
            for number, job in chain([first], entries):
                try:
                    row = _flat(job)
                except _OTHER_FORM as err:
                    what = f"{type(err).__name__}: {printable(err)}"
                    if strict:
                        place = f"{path}, job {number} of the list"
                        raise InputError(f"{place}: not a job of sacct --json ({what})") from None
                    faults[number] = "is not a job of sacct --json", what
                else:
                    yield number, [row[name] for name in _COLUMNS]

        yield from _in_tables(path, _COLUMNS, rows(), strict, faults, "job {} of the list")


def _entries(path: Path, file: TextIO) -> Iterator[Any]:
    """Yield the entries of every list ``jobs``; only a part of the file is in memory."""
    decode, text, at, line, is_inside = json.JSONDecoder().raw_decode, "", 0, 1, False
    while more := file.read(max(_SIZE, len(text) - at)):  # twice as much each time, so that it is linear
        line += text.count("\n", 0, at)
        text, at = text[at:] + more, 0
        while mark := (_BETWEEN.match(text, at) if is_inside else _LIST.search(text, at)):
            if text.startswith("]", mark.end()) or not is_inside:
                at, is_inside = mark.end() + is_inside, not is_inside
                continue
            try:
                entry, at = decode(text, mark.end())
            except (RecursionError, ValueError) as err:
                # reading on does not repair an error far from the end of the buffer, except in a long text
                if isinstance(err, json.JSONDecodeError) and (len(text) - err.pos < _SIZE // 2 or "string" in err.msg):
                    break
                raise InputError(f"{path}, line {line + text.count(chr(10), 0, at)}: not JSON ({err})") from None
            yield entry
        at = at if is_inside else max(at, len(text) - 26)
    if is_inside:
        raise InputError(f"{path}, line {line + text.count(chr(10))}: not JSON (the file ends within the list of jobs)")


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
