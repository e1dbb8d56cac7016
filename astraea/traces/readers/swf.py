"""The Standard Workload Format of the Parallel Workloads Archive: 18 numbers a line, -1 for what is not known.

What the format calls processors are the GPUs of a gang: those that a job was given, or asked for where that is not
known. The tenant is the group, unless another is chosen. A job that never ran, or has no processors, is set aside.

Source: Chapin et al., "Benchmarks and Standards for the Evaluation of Parallel Job Schedulers" (JSSPP 1999); the
archive's page "The Standard Workload Format".
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray
from astraea.core.checks import one_of
from astraea.traces.columns import TIME, Rule, gpus
from astraea.traces.readers.table import NO_GPU, NO_TIME, Rows, frame, read_text, reasons, table_of

FIELDS: Final = (
    "job number", "submit time", "wait time", "run time", "allocated processors", "average CPU time", "used memory",
    "requested processors", "requested time", "requested memory", "status", "user", "group", "executable", "queue",
    "partition", "preceding job", "think time",
)  # fmt: skip
TENANTS: Final = ("group", "user", "queue", "partition")
"""What may be the tenant."""

_STATES: Final = {1: "completed", 0: "failed", 5: "cancelled"}


def read_swf(path: Path, tenant: str = "group") -> Rows:
    """Read a log, packed with gzip or not; `tenant` is one of `TENANTS`."""
    one_of(tenant, TENANTS, "tenant")
    text = read_text(path)
    rows = {number: line.partition(";")[0].split() for number, line in enumerate(text.splitlines(), 1)}
    rows = {number: fields for number, fields in rows.items() if fields}
    table = table_of(path, FIELDS, [*rows.values()], [*rows])

    def known(column: str, rule: Rule) -> FloatArray:
        expected, good = rule
        return table.number(column, f"{expected}, or -1", lambda v: good(v) | (v == -1))

    given, wanted = (known(f"{kind} processors", gpus(0)) for kind in ("allocated", "requested"))
    demand = np.maximum(np.where(given > 0, given, wanted), 0)
    submit, wait, run, limit = (known(f"{kind} time", TIME) for kind in ("submit", "wait", "run", "requested"))
    status = table.number("status", "a whole number from -1 to 5", lambda v: np.isin(v, np.arange(-1, 6)))
    found = {
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
    began = re.search(r"^;\s*UnixStartTime:\s*(\d{1,11})\s*$", text, re.MULTILINE)
    origin = pd.Timestamp(int(began[1]), unit="s") if began else None
    return Rows(frame(found), table.where, origin, "job number")
