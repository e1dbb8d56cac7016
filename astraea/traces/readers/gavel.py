"""Reader of Gavel's traces ([Narayanan2020]): tab-separated lines without a header, 7 columns (older) or 10.

A line gives steps, not seconds: duration = total_steps / (steps/s of that job type and scale factor, alone on V100s),
from Gavel's table of measured throughputs. Jobs have no identifier: they are numbered from 0 in the order of the file.
In the 10-column form `priority` is the job's weight, and `SLO` times the duration is the deadline (below 0: none).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from astraea.core.checks import is_number
from astraea.core.errors import InputError
from astraea.core.text import printable
from astraea.traces.columns import MAX_TIME, POSITIVE, refuse
from astraea.traces.readers.rows import NO_GPU, Rows, frame, reasons
from astraea.traces.readers.table import Table, read_json, read_table

THROUGHPUTS: Final = "simulation_throughputs.json"
#: names of the columns, by their number
FORMS: Final[dict[int, tuple[str, ...]]] = {
    7: ("job_type", "command", "num_steps_arg", "needs_data_dir", "total_steps", "arrival_time", "scale_factor"),
    10: (
        "job_type", "command", "working_directory", "num_steps_arg", "needs_data_dir", "total_steps", "scale_factor",
        "priority", "SLO", "arrival_time",
    ),
}  # fmt: skip
MAX_STEPS: Final = 1e15
"""Largest accepted number of steps."""

_ACCELERATOR: Final = "v100"
_KEY: Final = re.compile(r"\((['\"])(?P<type>.+)\1, (?P<scale>\d{1,7})\)")


def read_columns(path: Path, known: Sequence[str], source: str) -> tuple[Table, dict[str, Any]]:
    """Read a trace: the table, for places, and its columns by name; job types must be `known` ones of `source`."""
    table = read_table(path, FORMS)
    types = table.text("job_type")
    unknown = ~np.isin(types.astype(str), list(known))
    refuse(unknown, types, "job_type", table.where, f"a job type of {source}")
    expected = f"a number of steps above 0 and at most {MAX_STEPS:g}"
    columns = {
        "job_type": types,
        "demand": table.demand("scale_factor"),
        "submit_time": table.seconds("arrival_time"),
        "steps": table.number("total_steps", expected, lambda v: (v > 0) & (v <= MAX_STEPS)),
    }
    if "SLO" in table.columns:
        columns["weight"] = table.number("priority", *POSITIVE)
        expected = "a multiple of the duration, or below 0 for none"
        factor = table.number("SLO", expected, lambda v: (v != 0) & (v <= 1e9) & np.isfinite(v))
        columns["slo"] = np.where(factor > 0, factor, np.nan)
    return table, columns


def read_gavel(path: Path, tenant: str, several: bool, speeds: dict[tuple[str, int], float]) -> Rows:
    """Read one file, possibly one of `several`; jobs that ask for 0 GPUs or have no throughput are excluded."""
    table, columns = read_columns(path, [job_type for job_type, _ in speeds], "the throughputs table")
    types, demand, submit = columns["job_type"], columns["demand"], columns["submit_time"]
    speed = np.array([speeds.get((t, int(d)), np.nan) for t, d in zip(types, demand, strict=True)])
    runs = speed > 0
    duration = np.divide(columns["steps"], speed, out=np.full(len(table), np.nan), where=runs)
    refuse(
        runs & ~((duration > 0) & (duration <= MAX_TIME)), table.words("total_steps"), "total_steps", table.where,
        f"at most {MAX_TIME:g} s of work at the measured throughput",
    )  # fmt: skip
    rows: dict[str, Any] = {
        "job_id": [f"{tenant}/{i}" if several else str(i) for i in range(len(table))],
        "tenant": np.full(len(table), tenant, dtype=object),
        "demand": demand,
        "submit_time": submit,
        "duration": duration,
        "reason": reasons(
            len(table),
            (demand == 0, NO_GPU),
            (np.isnan(speed), f"its job type was not measured on that many {_ACCELERATOR.upper()}s"),
            (speed == 0, f"its job type cannot run on that many {_ACCELERATOR.upper()}s (throughput 0)"),
        ),
    }
    if "slo" in columns:
        rows |= {"weight": columns["weight"], "deadline": submit + columns["slo"] * duration}
    return Rows(frame(rows), table.where)


def read_speeds(trace: Path, throughputs: str | Path | None) -> dict[tuple[str, int], float]:
    """Return steps/s of (job type, scale factor) alone on V100s, from `throughputs` or the file beside a trace."""
    beside = (trace if trace.is_dir() else trace.parent) / THROUGHPUTS
    path = beside if throughputs is None else Path(throughputs)
    if not path.is_file():
        hint = "download it with `astraea data fetch gavel-throughputs` and give its path as throughputs"
        raise InputError(f"{path}: no such file of throughputs, which turn steps into seconds; {hint}")
    data = read_json(path)
    entries = data.get(_ACCELERATOR) if isinstance(data, dict) else None
    if not isinstance(entries, dict) or not entries:
        raise InputError(f"{path}: key {_ACCELERATOR!r} must contain the throughputs of each job type")
    out: dict[tuple[str, int], float] = {}
    for key, value in entries.items():
        match = _KEY.fullmatch(key)
        speed = value.get("null") if isinstance(value, dict) else None
        if match is None or not is_number(speed) or not 0 <= speed < float("inf"):
            expected = '"(\'job type\', scale factor)" with a number of at least 0 under "null"'
            raise InputError(f"{path}: {_ACCELERATOR} must have {expected}, got {printable(key)}: {printable(speed)}")
        out[match["type"], int(match["scale"])] = float(speed)
    return out
