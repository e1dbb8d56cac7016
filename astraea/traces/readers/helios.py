"""Reader of Helios traces (SenseTime, [Hu2021]): `cluster_log.csv` with `cluster_gpu_number.csv` beside it.

Jobs with 0 GPUs are CPU jobs. TIMEOUT and NODE_FAIL count as failed, as in the publishers' work. A tenant's weight is
the number of GPUs of its virtual cluster on the last day on which it had any. Times have no time zone and become
seconds from the earliest submission of a GPU job.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from astraea.core.errors import InputError
from astraea.traces.columns import refuse, refuse_others
from astraea.traces.readers.rows import NO_TIME, Rows, frame, reasons
from astraea.traces.readers.table import NO_DATE, parse_dates, read_table, to_seconds

LOG: Final = "cluster_log.csv"
SIZES: Final = "cluster_gpu_number.csv"
REQUIRED: Final = (
    "job_id", "user", "vc", "gpu_num", "state", "submit_time", "start_time", "end_time", "duration", "queue",
)  # fmt: skip
_STATES: Final = {
    "COMPLETED": "completed", "CANCELLED": "cancelled", "FAILED": "failed", "TIMEOUT": "failed", "NODE_FAIL": "failed",
}  # fmt: skip
#: a state that the publishers ignore; one job in their four clusters has it
_SUSPENDED: Final = "SUSPENDED"


def read_helios(path: Path, weights: dict[str, float] | None) -> tuple[Rows, dict[str, float]]:
    """Read a folder of one Helios cluster, or its `cluster_log.csv`; `weights` replace its virtual clusters' sizes."""
    log = path / LOG if path.is_dir() else path
    table = read_table(log).require(REQUIRED)
    ids = table.text("job_id")
    gpus = table.demand("gpu_num")
    cpu_job = gpus == 0
    jobs = table.take(~cpu_job)
    if len(jobs) == 0:
        raise InputError(f"{log}: none of the {len(table)} jobs uses a GPU")
    absent = {"submit_time": (), "start_time": NO_DATE, "end_time": NO_DATE}
    submit, start, end = (parse_dates(jobs.words(c), c, jobs.where, none) for c, none in absent.items())
    refuse(end < start, jobs.words("end_time"), "end_time", jobs.where, "no earlier than start_time")
    state = jobs.words("state")
    refuse_others(state, (*_STATES, _SUSPENDED), "state", jobs.where)
    ran = ~(np.isnat(start) | np.isnat(end))
    duration, queue = np.full((2, len(jobs)), np.nan)
    duration[ran], queue[ran] = (jobs.take(ran).seconds(c) for c in ("duration", "queue"))
    vc = jobs.text("vc")
    chosen = _sizes(log.parent / SIZES) if weights is None else weights
    homeless = np.array([weights is None and v not in chosen for v in vc])
    origin = pd.Timestamp(submit.min())
    rows = frame(
        {
            "job_id": ids[~cpu_job],
            "tenant": vc,
            "user": jobs.text("user"),
            "demand": gpus[~cpu_job],
            "submit_time": to_seconds(submit - submit.min()),
            "duration": duration,
            "state": [_STATES.get(s, s) for s in state],
            "queueing_delay": queue,
            "reason": reasons(
                len(jobs),
                (np.isnat(start), "never started"),
                (np.isnat(end), "has no end"),
                (duration == 0, NO_TIME),
                (state == _SUSPENDED, "was suspended for good"),
                (homeless, f"its virtual cluster has no GPUs in {SIZES}"),
            ),
        }
    )
    cpu = frame({"job_id": ids[cpu_job], "reason": np.full(int(cpu_job.sum()), "is a CPU job (0 GPUs)", dtype=object)})
    where = replace(table, lines=np.concatenate([jobs.lines, table.lines[cpu_job]])).where
    return Rows(pd.concat([rows, cpu], ignore_index=True), where, origin), chosen


def _sizes(path: Path) -> dict[str, float]:
    """Read the GPUs of each virtual cluster on the last day on which it had any."""
    if not path.is_file():
        raise InputError(f"{path}: no such file, which gives the sizes of the virtual clusters; add it or give weights")
    table = read_table(path).require(("date",))
    day = table.words("date")
    dates = pd.to_datetime(pd.Series(day, dtype=object).str[:10], format="%Y-%m-%d", errors="coerce")
    refuse(dates.isna().to_numpy(), day, "date", table.where, "a date YYYY-MM-DD")
    columns = {vc: table.demand(vc, empty=0.0) for vc in table.columns if vc not in ("date", "total")}
    sizes = pd.DataFrame(columns, index=dates).sort_index(kind="stable")
    last = sizes.where(sizes > 0).ffill().iloc[-1].dropna()
    if last.empty:
        raise InputError(f"{path}: no virtual cluster has a GPU in it")
    return {str(vc): float(size) for vc, size in last.items()}
