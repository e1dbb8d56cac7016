"""Reader of the Standard Workload Format of the Parallel Workloads Archive: 18 numbers per line, -1 if unknown.

The format's processors count as the GPUs of a gang: those that a job was given, or if unknown those that it asked for.
Lines of 21 numbers (MetaCentrum and Frontier, as archived by the workshop JSSPP) give the GPUs themselves: the first of
the three extra numbers, field 18 if counted from 0. The tenant is the group, unless another is chosen. A job that never
ran, or has no processors, is excluded.

Source: Chapin et al., "Benchmarks and Standards for the Evaluation of Parallel Job Schedulers" (JSSPP 1999); the
archive's page "The Standard Workload Format".
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray
from astraea.core.checks import one_of
from astraea.traces.columns import TIME, Rule, gpus
from astraea.traces.readers.rows import NO_GPU, NO_TIME, Rows, reasons, rows_of
from astraea.traces.readers.table import read_lines, table_of

FIELDS: Final = (
    "job number", "submit time", "wait time", "run time", "allocated processors", "average CPU time", "used memory",
    "requested processors", "requested time", "requested memory", "status", "user", "group", "executable", "queue",
    "partition", "preceding job", "think time", "used GPUs", "field 19", "field 20",
)  # fmt: skip
WIDTHS: Final = (18, 21)
"""Possible numbers per line."""

TENANTS: Final = ("group", "user", "queue", "partition")
"""Possible tenants."""

_STATES: Final = {1: "completed", 0: "failed", 5: "cancelled"}


def read_swf(path: Path, tenant: str = "group", strict: bool = True) -> Rows:
    """Read a log, possibly compressed with gzip; `tenant` is one of `TENANTS`."""
    one_of(tenant, TENANTS, "tenant")
    began = None
    rows: list[list[str]] = []
    lines: list[int] = []
    for number, line in read_lines(path, strict):
        if found := re.fullmatch(r";\s*UnixStartTime:\s*(\d{1,11})\s*", line):
            began = began or pd.Timestamp(int(found[1]), unit="s")
        if fields := line.partition(";")[0].split():
            rows.append([sys.intern(text) for text in fields])  # each text is stored once
            lines.append(number)
    names = FIELDS[: len(rows[0]) if rows and len(rows[0]) in WIDTHS else WIDTHS[0]]  # the first job sets their number
    table = table_of(path, names, rows, lines, strict, {})

    def known(column: str, rule: Rule) -> FloatArray:
        expected, good = rule
        return table.number(column, f"{expected}, or -1", lambda v: good(v) | (v == -1))

    given, wanted = (known(f"{kind} processors", gpus(0)) for kind in ("allocated", "requested"))
    demand = np.maximum(np.where(given > 0, given, wanted), 0)
    if "used GPUs" in table.columns:
        demand = np.maximum(known("used GPUs", gpus(0)), 0)
    submit, wait, run, limit = (known(f"{kind} time", TIME) for kind in ("submit", "wait", "run", "requested"))
    status = table.number("status", "a whole number from -1 to 5", lambda v: np.isin(v, np.arange(-1, 6)))
    columns = {
        "job_id": table.text("job number"),
        "tenant": table.text(tenant),
        "user": table.text("user"),
        "demand": demand,
        "submit_time": submit,
        "duration": run,
        "queueing_delay": np.where(wait < 0, np.nan, wait),
        "time_limit": np.where(limit > 0, limit, np.nan),
        "state": pd.Series(status).map(_STATES).fillna("unknown").to_numpy(dtype=object),
        "reason": reasons(
            len(table), (demand == 0, NO_GPU), (submit < 0, "has no time of submission"), (run < 0, "never ran"),
            (run == 0, NO_TIME),
        ),
    }  # fmt: skip
    return rows_of(table, columns, origin=began, id_column="job number")
