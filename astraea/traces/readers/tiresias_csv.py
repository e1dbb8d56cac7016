"""Reader of the CSV family of Tiresias's simulator: Tiresias, Muri (ms), Chronus (min), ASTRAEA (s), and your own.

Every member has `job_id, num_gpu, submit_time, duration`; they differ in the time unit and in further columns:

- `tenant` is the tenant and `user` the person; without `tenant`, `user` is the tenant (as in ASTRAEA and Chronus);
  with neither, the tenant is named after the file;
- `expect_time`, or the first entry of `expect_time_list`, is the deadline counted from submission; 0 or less, an empty
  field, or `best_effort` 1 means no deadline;
- `weight`, `state`, `queueing_delay`, `sensitivity`, `deadline`, `time_limit` are those of `Trace` (times in the
  file's unit);
- other columns (`iterations`, `model_name`, `interval`, ...) describe the training itself and are not used.

A file of `Trace.frame` has `demand` in place of `num_gpu`, and its times are in seconds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from astraea.core.arrays import FloatArray, TextArray
from astraea.core.checks import one_of
from astraea.core.errors import InputError
from astraea.traces.columns import MAX_TIME, OPTIONAL, POSITIVE, SPEED, STATES
from astraea.traces.columns import REQUIRED as OWN
from astraea.traces.readers.rows import NO_GPU, NO_TIME, Rows, reasons, rows_of
from astraea.traces.readers.table import Table, Unit, read_table

REQUIRED: Final = ("job_id", "num_gpu", "submit_time", "duration")

UNITS: Final[dict[str, Unit]] = {"ms": (1.0, 1000.0), "s": (1.0, 1.0), "min": (60.0, 1.0)}

_COMMON: Final = ("job_id", "num_gpu", "submit_time", "iterations", "model_name", "duration", "interval")
#: a header of only one member of the family implies the unit: Muri's, Chronus's, ASTRAEA's, that of a whole `Trace`
_TOLD: Final = {
    frozenset({
        *_COMMON, "batch_size", "iteration_time", "resource_time_0", "resource_time_1", "resource_time_2", "priority",
    }): "ms",
    frozenset({*_COMMON, "user", "expect_time_list", "expect_value_list", "best_effort", "job_type"}): "min",
    frozenset({*_COMMON, "user", "expect_time"}): "s",
    frozenset({"tenant", *REQUIRED, *OPTIONAL}): "s",
}  # fmt: skip

NAMES: Final = {"demand": "num_gpu"} | {c: c for c in ("job_id", "tenant", "submit_time", "duration", *OPTIONAL)}
"""Columns that may have other names in a file, and their usual names."""


def is_frame(header: Collection[str]) -> bool:
    """Return whether a file with these columns is one of `Trace.frame`."""
    return "num_gpu" not in header and {*OWN}.issubset(header)


def read_tiresias_csv(
    path: Path, tenant: str, several: bool, time_unit: str | None, names: Mapping[str, str], strict: bool
) -> Rows:
    """Read one file; if it is one of `several`, identifiers become ``file/job_id`` and `user` is the person."""
    table = read_table(path, strict=strict)
    is_own = is_frame(table.columns)
    for ours, theirs in names.items():
        one_of(ours, NAMES, "a column")
        table.require([theirs])
    named = {c: v for c, v in table.columns.items() if c not in names.values()}
    named |= {NAMES[ours]: table.columns[theirs] for ours, theirs in names.items()}
    table = replace(table, columns=named)
    gpus = "demand" if is_own and "demand" not in names else "num_gpu"
    table.require(("job_id", gpus, "submit_time", "duration"))
    told = time_unit or ("s" if is_own else _TOLD.get(frozenset(table.columns)))
    if told is None:
        says = "the columns do not imply the unit of submit_time and duration"
        raise InputError(f"{table.path}: {says}; give the time unit (--time-unit), one of {', '.join(UNITS)}")
    unit = UNITS[told]
    demand = table.demand(gpus)
    submit, duration = table.seconds("submit_time", unit), table.seconds("duration", unit)
    ids = table.text("job_id")
    of_file: TextArray = np.full(len(table), tenant, dtype=object)
    people = table.text("user") if "user" in table.columns else of_file
    if several:
        if "tenant" in table.columns:
            place = f"{table.path}, line 1"
            raise InputError(f"{place}: in a folder each file is one tenant, but this file has a column 'tenant'")
        ids = np.array([f"{tenant}/{i}" for i in ids], dtype=object)
    owner = table.text("tenant") if "tenant" in table.columns else of_file if several else people
    rows: dict[str, object] = {
        "job_id": ids,
        "tenant": owner,
        "user": people if "user" in table.columns else owner,
        "demand": demand,
        "submit_time": submit,
        "duration": duration,
        "deadline": _deadline(table, submit, unit),
        "reason": reasons(len(table), (demand == 0, NO_GPU), (duration == 0, NO_TIME)),
    }
    return rows_of(table, rows | _extras(table, unit))


def _deadline(table: Table, submit: FloatArray, unit: Unit) -> FloatArray:
    """Return the latest end on the trace's clock [s]; NaN if there is none."""
    multiply, divide = unit
    wanted = np.full(len(table), np.nan)
    column = next((c for c in ("deadline", "expect_time", "expect_time_list") if c in table.columns), None)
    if column == "expect_time_list":  # a list "60-90" has a first deadline and later ones of lower value
        first = [v[:1] + v[1:].partition("-")[0] for v in table.words(column)]
        table = replace(table, columns=table.columns | {column: np.array(first, dtype=object)})
    if column:
        expected, most = f"a number of at most {MAX_TIME:g} s, or nothing", MAX_TIME * divide / multiply
        wanted = table.number(column, expected, lambda v: np.abs(v) <= most, empty=np.nan)
    if column == "deadline":
        return wanted * multiply / divide
    if "best_effort" in table.columns:
        flag = table.number("best_effort", "0 or 1", lambda v: (v == 0) | (v == 1), empty=0.0)
        wanted = np.where(flag == 1, np.nan, wanted)
    return submit + np.where(wanted > 0, wanted, np.nan) * multiply / divide


def _extras(table: Table, unit: Unit) -> dict[str, object]:
    """Return the optional columns of `Trace` that the file has."""
    out: dict[str, object] = {}
    most = MAX_TIME * unit[1] / unit[0]
    for column, rule in (("weight", POSITIVE), ("sensitivity", SPEED)):
        if column in table.columns:
            out[column] = table.number(column, *rule, empty=1.0)
    if "queueing_delay" in table.columns:
        out["queueing_delay"] = table.seconds("queueing_delay", unit, empty=np.nan)
    if "time_limit" in table.columns:
        expected, good = f"a time above 0 and at most {MAX_TIME:g} s, or nothing", lambda v: (v > 0) & (v <= most)
        out["time_limit"] = table.number("time_limit", expected, good, empty=np.nan) * unit[0] / unit[1]
    if "state" in table.columns:
        state = table.words("state")
        state = np.where(state == "", STATES[0], state).astype(object)
        table.check(~np.isin(state.astype(str), STATES), state, "state", f"one of {', '.join(STATES)}")
        out["state"] = state
    return out
