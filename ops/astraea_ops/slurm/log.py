"""Reader of Slurm's accounting: ``sacct -P`` (columns in any order), ``sacct --json``, and shares of ``sshare -P``.

A row of the log is a run of a job, of an array task or of a component of a heterogeneous job, or a step of a run.

- A job counts as submitted when it could have started, at `Eligible`: a job that depends on others, or is held, comes
  later than its `Submit`. Second 0 is the first `Submit` of the log.
- Its demand is ``gres/gpu``, or another chosen resource, from `AllocTRES`, or from `ReqTRES` while it waits; typed
  GPUs (``gres/gpu:a100``) are added up if there is no total. Before Slurm 20.11 it may be in `AllocGRES`, or per node
  in `ReqGRES`. The components of a heterogeneous job start together, so they are one gang.
- The runs of a requeued job (``sacct --duplicates``) are one job: its duration is that of its last run, because a
  requeued job begins again, and all its runs are in `Trace.recorded`. The same number after any other end is a new job.
- A job that is still running has the time that it has run so far; the log ends at the latest time in it.
- The log is read as a stream, some ten thousand rows at a time.

Source: the manual pages of sacct and sshare (slurm.schedmd.com/sacct.html, sshare.html).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from astraea.core.arrays import BoolArray, FloatArray, TextArray
from astraea.core.checks import one_of
from astraea.core.errors import InputError
from astraea.core.units import MINUTE
from astraea.traces.columns import MAX_DEMAND, MAX_TIME, refuse_others
from astraea.traces.readers.rows import Format, Rows, faults_of
from astraea.traces.readers.shares import read_shares
from astraea.traces.readers.table import Faults, Table, read_start
from astraea_ops.slurm.files import ID, TENANTS, read_json_jobs, read_rows
from astraea_ops.slurm.jobs import details_of, jobs_of
from astraea_ops.slurm.shares import read_sshare
from astraea_ops.slurm.words import GPU, REQUEUED, RUNNING, STATES, WAITING, count_of, gres_of, length_of

REQUIRED: Final = ("JobID", "Submit", "Start", "End", "State")

NOBODY: Final = "(none)"
"""Tenant of a job whose account, or other tenant field, is empty."""

_ABSENT: Final = ("", "Unknown", "None", "N/A", "NULL", "0")
_NEVER_ENDS: Final = ("", "UNLIMITED", "Partition_Limit", "INVALID", "Unknown", "None")
_DEMANDS: Final = ("AllocTRES", "ReqTRES", "AllocGRES", "ReqGRES")
_COUNTS: Final = {"cpu": ("AllocCPUS", "NCPUS", "ReqCPUS"), "node": ("AllocNodes", "NNodes", "ReqNodes")}
"""Columns with the same information as a list of resources."""

_FIRST, _LAST = np.datetime64("2000-01-01T00:00:00"), np.datetime64("2106-02-07T06:28:15")
"""Slurm dates from 2002, and its times have 32 bits."""

_LONGEST = np.timedelta64(3653, "D")
"""The longest run that is believed: a replay of a run with a wrong year would take hours."""

Weights = str | Path | Mapping[str, float] | None
"""Source of tenant weights, as in `read_trace`."""


def is_first_line(line: str) -> bool:
    """Return whether a log of ``sacct`` can begin with this line, with or without column names."""
    fields = [field.strip() for field in line.split("|")]
    return {"JobID", "State"}.issubset(fields) or (len(fields) > 4 and ID.fullmatch(fields[0]) is not None) or (
        line.split()[:1] == ["JobID"]
    )  # fmt: skip


def read_slurm(
    path: Path, tenant: str | None, weights: Weights, resource: str | None, names: Sequence[str] = (),
    strict: bool = True,
) -> tuple[Rows, dict[str, float] | None]:
    """Read the output of ``sacct -P`` or ``sacct --json``, and the tenants' weights; arguments as in `read_trace`."""
    tenant, resource = tenant or "account", resource or GPU
    one_of(tenant, TENANTS, "tenant")
    shares, top = _weights(tenant, weights)
    faults: Faults = {}
    is_json = read_start(path).lstrip().startswith("{")
    tables = read_json_jobs(path, strict, faults) if is_json else read_rows(path, names, strict, faults)
    parts: list[pd.DataFrame] = []
    table = None
    for table in tables:
        table.require((*REQUIRED, TENANTS[tenant]))
        known = (*_DEMANDS, *_COUNTS.get(resource, ()))
        if set(known).isdisjoint(table.columns):
            says = f"the columns {' and '.join(known[:2])} are missing, which give the number of {_called(resource)}"
            raise InputError(f"{table.path}, line 1: {says}")
        parts.append(_parsed(table, tenant, top, resource))
    assert table is not None
    rows = _joined(parts)
    del parts
    if is_json:  # slurmdbd lists jobs in any order, and the runs of a job in theirs
        rows = rows.sort_values(["Submit", "Start", "number"], kind="stable", ignore_index=True)
    rows["fault"], rows["detail"], rest = faults_of(faults, rows["line"].to_numpy())
    return jobs_of(rows, table, rest, f"asks for 0 {_called(resource)}"), shares


def _called(resource: str) -> str:
    return "GPUs" if resource == GPU else resource


def _weights(tenant: str, given: Weights) -> tuple[dict[str, float] | None, dict[str, str] | None]:
    """Return the weights of the tenants, and the tenant of each account if that is not the account itself."""
    tree = None if given is None or isinstance(given, Mapping) else read_sshare(Path(given))
    if tenant == "top-account":
        if tree is None:
            raise InputError("tenant top-account needs the tree of accounts: give weights from sshare -P -a")
        return tree[1], tree[2]
    if tree is None:
        return read_shares(given), None
    if tenant != "account":
        raise InputError(f"{given}: sshare gives shares of accounts, but the tenant is the {tenant}")
    return tree[0], None


def _parsed(table: Table, tenant: str, top: Mapping[str, str] | None, resource: str) -> pd.DataFrame:
    """Return some rows of the log in their final types; anything unreadable is noted as a fault of the table."""
    own = table.words("JobID")
    found = [ID.fullmatch(v) for v in own]
    table.check([m is None for m in found], own, "JobID", "a number such as 12, 12_3, 12+1 or 12.batch")
    is_step = np.array([m is not None and m["step"] is not None for m in found], dtype=bool)
    is_row = ~is_step
    states = pd.Index([(v.split() or [""])[0].rstrip("+") for v in table.columns["State"]], dtype=object)
    table.check(is_row & ~states.isin(STATES), states, "State", f"one of {', '.join(STATES)}")
    submit, eligible, start, end = (_times(table, c, is_row) for c in ("Submit", "Eligible", "Start", "End"))
    table.check(is_row & np.isnat(submit), table.columns["Submit"], "Submit", "a time")
    waits = states.isin(WAITING) | (states.isin(REQUEUED) & np.isnat(start))
    started = is_row & ~waits & ~np.isnat(start)
    start, end = (np.where(started, when, np.datetime64("NaT")) for when in (start, end))
    may_run = states.isin(RUNNING)
    end = np.where(may_run & (end <= start), np.datetime64("NaT"), end)  # some versions write the start as End
    runs = started & np.isnat(end)
    column, told, elapsed = _lengths(table, "Elapsed", 1.0, 3e9)
    table.check(runs & may_run & np.isnan(elapsed) & (told != ""), told, column, "a running time")
    table.check(runs & ~may_run, table.columns["End"], "End", "a time (the job has ended)")
    table.check(end < start, table.columns["End"], "End", "at or after Start")
    table.check(end - start > _LONGEST, table.columns["End"], "End", "at most 10 years after Start")
    owner = table.words(TENANTS[tenant])
    owner = np.where(owner == "", NOBODY, owner).astype(object)
    if top is not None:
        is_good = np.array([line not in table.faults for line in table.lines.tolist()], dtype=bool)
        names = np.where(is_row & is_good, owner, NOBODY)
        refuse_others(names, (*top, NOBODY), TENANTS[tenant], table.where)
        owner = np.array([top.get(o, o) for o in owner], dtype=object)
    people = table.words("User") if "User" in table.columns else owner
    jobs = [m["job"] + m["task"] if m and m["task"] else m["job"] if m else "" for m in found]
    columns = {
        "line": table.lines,
        "number": own,
        "job": np.array([text if text == job else job for text, job in zip(own, jobs, strict=True)], dtype=object),
        "part": pd.Categorical([m["part"] or "" if m else "" for m in found]),
        "is_step": is_step,
        "waits": waits & is_row,
        "state": pd.Categorical(states),
        "tenant": pd.Categorical(owner),
        "user": pd.Categorical(np.where(people == "", owner, people)),
        "demand": _demands(table, resource, is_row),
        "time_limit": _limits(table, is_row),
        "elapsed": elapsed,
        "Submit": submit,
        "Eligible": eligible,
        "Start": start,
        "End": end,
    }
    return pd.concat([pd.DataFrame(columns), details_of(table).add_prefix("details ")], axis=1)


def _joined(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate the parts of a log; words stay categories."""
    columns: dict[str, Any] = {}
    for name in parts[0].columns:
        values = [part.pop(name) for part in parts]  # so each column is in memory only once
        if isinstance(values[0].dtype, pd.CategoricalDtype):
            columns[name] = union_categoricals(values, sort_categories=True)
        else:
            columns[name] = np.concatenate([part.to_numpy() for part in values])
    return pd.DataFrame(columns)


def _times(table: Table, column: str, is_row: BoolArray) -> Any:
    """Return times of a column, ISO or seconds since 1970; NaT if there is none, or no such column."""
    if column not in table.columns:
        return np.full(len(table), np.datetime64("NaT", "s"))
    values = pd.Series(table.words(column), dtype=object)
    absent = values.isin(_ABSENT)
    text = values.mask(absent)
    epoch = text.str.fullmatch(r"[0-9]{1,11}").fillna(False).astype(bool)
    dates = pd.to_datetime(text.mask(epoch), format="%Y-%m-%dT%H:%M:%S", errors="coerce")
    times = dates.to_numpy(dtype="datetime64[s]").copy()
    times[epoch] = text[epoch].astype("int64").to_numpy().astype("datetime64[s]")
    times[(times < _FIRST) | (times > _LAST)] = np.datetime64("NaT")
    bad = is_row & np.isnat(times) & ~absent.to_numpy()
    expected = "a time YYYY-MM-DDTHH:MM:SS of this century, Unknown or None"
    table.check(bad, values.to_numpy(), column, expected)
    return times


def _demands(table: Table, resource: str, is_row: BoolArray) -> FloatArray:
    """Return the amount of the resource that each row was given, or else asked for."""
    values, nothing = np.zeros(len(table)), np.full(len(table), "", dtype=object)
    for kind, count in (("TRES", count_of), ("GRES", gres_of)):
        given, asked = (table.words(c) if (c := head + kind) in table.columns else nothing for head in ("Alloc", "Req"))
        many = np.array([count(text, resource) for text in np.where(given == "", asked, given)], dtype=np.float64)
        if kind == "GRES":  # requests are per node
            many *= np.where(given == "", _number(table, "NNodes").clip(min=1), 1)
        values = np.where(values > 0, values, many)
    for column in _COUNTS.get(resource, ()):
        values = np.where(values > 0, values, _number(table, column))
    bad = is_row & ((values > MAX_DEMAND) | (values != np.floor(values)))
    table.check(bad, values, "AllocTRES", f"a whole number of {_called(resource)}, at most {MAX_DEMAND}")
    return np.where(bad, 0, values)


def _number(table: Table, column: str) -> FloatArray:
    """Return the numbers of a column, 0 for anything else."""
    values = table.columns.get(column, np.zeros(len(table)))
    found = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=np.float64)
    return np.where(np.isfinite(found), found, 0.0)


def _limits(table: Table, is_row: BoolArray) -> FloatArray:
    """Return the time limit of each row [s]; NaN if none."""
    column, values, seconds = _lengths(table, "Timelimit", MINUTE, MAX_TIME)
    kind = "whole number of minutes" if column.endswith("Raw") else "time [days-]hours:minutes:seconds"
    bad = is_row & np.isnan(seconds) & ~pd.Index(values, dtype=object).isin(_NEVER_ENDS)
    table.check(bad, values, column, f"a {kind}, or UNLIMITED")
    return np.where(seconds > 0, seconds, np.nan)


def _lengths(table: Table, name: str, unit: float, most: float) -> tuple[str, TextArray, FloatArray]:
    """Return the column of lengths, ``NameRaw`` in `unit` or ``Name``, its words, and the seconds, NaN above `most`."""
    column = f"{name}Raw" if f"{name}Raw" in table.columns else name
    values = table.words(column) if column in table.columns else np.full(len(table), "", dtype=object)
    seconds = np.array([length_of(v, np.nan if column == name else unit) for v in values])
    return column, values, np.where(seconds <= most, seconds, np.nan)


def _begins(text: str) -> bool:
    """Return whether a log can begin with this text."""
    return text[0] == "{" or is_first_line(text.split("\n", 1)[0].rstrip("\r"))


FORMAT: Final = Format(_begins, read_slurm, tuple(TENANTS))
"""The format ``slurm`` of `astraea.read_trace`."""
