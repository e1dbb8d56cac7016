"""Readers of public cluster logs, each with its own format: Acme, MIT SuperCloud, Kestrel, and Alibaba's spot GPUs.

Times become seconds from the first submission; dates are in UTC. Excluded: CPU jobs, jobs that never started or ended,
jobs whose times contradict each other, and earlier runs of requeued jobs.

Sources: the READMEs of InternLM/AcmeTrace, MIT-AI-Accelerator/MIT-Supercloud-Dataset and alibaba/clusterdata
(cluster-trace-v2026-spot-gpu) on GitHub; the datacard of NLR HPC Kestrel Jobs Data (DOI 10.7799/3023270).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray, TextArray
from astraea.core.errors import InputError, extra
from astraea.traces.columns import DETAILS, TIME
from astraea.traces.readers.rows import AGAIN, NO_GPU, NO_TIME, Rows, reasons, rows_of
from astraea.traces.readers.table import NO_DATE, Table, read_table, to_seconds

HEADERS: Final = {
    "acme": ("job_id", "user", "node_num", "gpu_num", "cpu_num", "type", "state", "submit_time", "start_time",
             "end_time"),
    "supercloud": ("id_job", "id_user", "timelimit", "state", "time_submit", "time_start", "time_end", "tres_req",
                   "tres_alloc"),
    "spot-gpu": ("job_name", "organization", "gpu_model", "cpu_request", "gpu_request", "worker_num", "submit_time",
                 "duration", "job_type"),
}  # fmt: skip
"""Columns of the formats that are one CSV file."""

KESTREL: Final = (
    "id", "user_hash", "account_hash", "partition", "qos", "state_simple", "submit_time", "start_time", "end_time",
    "wallclock_req", "gpus_requested", "nodes_used", "processors_req",
)  # fmt: skip
PARQUET: Final = ".parquet"

_STATES: Final = {"COMPLETED": "completed", "CANCELLED": "cancelled", "FAILED": "failed", "TIMEOUT": "failed",
                  "NODE_FAIL": "failed", "OUT_OF_MEMORY": "failed"}  # fmt: skip
#: Slurm's numbers of job states, the lowest byte of the column
_CODES: Final = {3: "COMPLETED", 4: "CANCELLED", 5: "FAILED", 6: "TIMEOUT", 7: "NODE_FAIL", 11: "OUT_OF_MEMORY"}
#: identifiers of the two kinds of GPUs in SuperCloud's TRES
_GPUS: Final = re.compile(r"(?:^|,)100[12]=(\d+)")
_YEAR: Final = 525_600.0  #: SuperCloud's time limit for jobs that asked for none [min]


def read_acme(path: Path, strict: bool) -> Rows:
    """Read the jobs of Seren or Kalos; the tenants are the users."""
    table = read_table(path, strict=strict).require(HEADERS["acme"])
    known = {"user": table.words("user"), "nodes": table.words("node_num"), "cpus": table.words("cpu_num")}
    times = [_dates(table, f"{c}_time") for c in ("submit", "start", "end")]
    return _rows(table, "job_id", "user", "user", table.demand("gpu_num"), times, _states(table.words("state")), known)


def read_supercloud(path: Path, strict: bool) -> Rows:
    """Read ``slurm-log.csv``; the tenants are the users. Demand is the GPUs that a job got, else those it asked for."""
    table = read_table(path, strict=strict).require(HEADERS["supercloud"])
    got, asked = (
        np.array([sum(map(int, _GPUS.findall(tres))) for tres in table.words(c)], dtype=np.float64)
        for c in ("tres_alloc", "tres_req")
    )
    expected = f"{TIME[0]}, or -1"
    times = [table.number(f"time_{c}", expected, lambda v: TIME[1](v) | (v == -1)) for c in ("submit", "start", "end")]
    times = [np.where(t > 0, t, np.nan) for t in times]  # 0 and -1: never
    minutes = table.number("timelimit", "minutes", np.isfinite)
    limit = np.where((minutes > 0) & (minutes < _YEAR), 60 * minutes, np.nan)
    codes = table.number("state", "the number of a state", np.isfinite)
    state = pd.Series(codes).mod(256).map(_CODES).fillna("").to_numpy(dtype=object)
    known = {"user": table.words("id_user")}
    demand = np.where(got > 0, got, asked)
    return _rows(table, "id_job", "id_user", "id_user", demand, times, _states(state), known, limit)


def read_spot_gpu(path: Path, strict: bool) -> Rows:
    """Read ``job_info_df.csv``, which has no start times; the tenants are the organizations, HP or Spot is `qos`."""
    table = read_table(path, strict=strict).require(HEADERS["spot-gpu"])
    each, workers = (table.number(c, "a number of at least 0", lambda v: v >= 0) for c in ("gpu_request", "worker_num"))
    submit, duration = table.seconds("submit_time"), table.seconds("duration")
    known = {"account": table.words("organization"), "gpu_type": table.words("gpu_model"),
             "cpus": table.words("cpu_request"), "qos": table.words("job_type")}  # fmt: skip
    state = np.full(len(table), "unknown", dtype=object)
    found = _rows(table, "job_name", "organization", "organization", each * workers,
                  [submit, submit, submit + duration], state, known)  # fmt: skip
    return found._replace(frame=found.frame.drop(columns="queueing_delay"), origin=None)


def read_kestrel(path: Path, strict: bool) -> Rows:
    """Read one Parquet file, or those of a folder; the tenants are the (hashed) accounts."""
    with extra("data"):
        import pyarrow  # noqa: F401  pandas needs it for Parquet
    files = sorted(path.rglob(f"*{PARQUET}")) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path}: the folder has no file whose name ends in {PARQUET}")
    try:
        jobs = pd.concat([pd.read_parquet(file, columns=list(KESTREL)) for file in files], ignore_index=True)
    except (OSError, ValueError) as err:
        raise InputError(f"{path}: not the Parquet files of Kestrel ({' '.join(str(err).split())[:200]})") from None
    given = jobs["gpus_requested"].fillna(0).replace("", 0)
    uses = ~(pd.to_numeric(given, errors="coerce") <= 0).to_numpy()  # not a number counts too: it is excluded
    texts = {c: _texts(jobs.loc[uses, c]) for c in KESTREL}
    table = Table(path, texts, np.flatnonzero(uses) + 1, strict, row="row {}")
    times = [_dates(table, f"{c}_time") for c in ("submit", "start", "end")]
    known = {"account": texts["account_hash"], "user": texts["user_hash"], "partition": texts["partition"],
             "qos": texts["qos"], "nodes": texts["nodes_used"], "cpus": texts["processors_req"]}  # fmt: skip
    asked = jobs.loc[uses, "wallclock_req"]  # intervals, nanoseconds or text
    spans = pd.to_timedelta(asked, unit="ns" if pd.api.types.is_numeric_dtype(asked) else None, errors="coerce")
    limit = to_seconds(spans.where(spans > pd.Timedelta(0)))
    demand, state = table.demand("gpus_requested"), _states(texts["state_simple"])
    found = _rows(table, "id", "account_hash", "user_hash", demand, times, state, known, limit)
    rest = pd.DataFrame({"job_id": _texts(jobs.loc[~uses, "id"]), "reason": NO_GPU}, dtype=object)
    return found._replace(unreadable=None, frame=pd.concat([found.frame, rest], ignore_index=True))


READERS: Final[dict[str, Callable[[Path, bool], Rows]]] = {
    "acme": read_acme, "supercloud": read_supercloud, "kestrel": read_kestrel, "spot-gpu": read_spot_gpu,
}  # fmt: skip


def _texts(column: pd.Series[Any]) -> TextArray:
    return np.array(["" if pd.isna(value) else str(value) for value in column], dtype=object)


def _dates(table: Table, column: str) -> FloatArray:
    """Read dates with a time zone as seconds since 1970; NaN if marked as absent."""
    words = pd.Series(table.words(column), dtype=object)
    dates = pd.to_datetime(words, format="ISO8601", utc=True, errors="coerce")
    seconds = to_seconds(dates.dt.as_unit("us") - pd.Timestamp(0, tz="UTC").as_unit("us"))
    seconds = np.where(TIME[1](seconds), seconds, np.nan)
    bad = np.isnan(seconds) & ~words.isin(NO_DATE).to_numpy()
    table.check(bad, words.to_numpy(), column, "a date with its zone")
    return seconds


def _states(words: TextArray) -> TextArray:
    return np.array([_STATES.get(str(word), "unknown") for word in words], dtype=object)


def _rows(
    table: Table, job_id: str, tenant: str, user: str, demand: FloatArray, times: list[FloatArray], state: TextArray,
    known: Mapping[str, TextArray], limit: FloatArray | None = None,
) -> Rows:  # fmt: skip
    """Make rows from a format's data: columns of names, and submission, start and end [s], NaN if absent."""
    (submit, start, end), ids = times, table.text(job_id)
    last = pd.Series(np.nan_to_num(end, nan=np.inf)).groupby(ids).transform("max").to_numpy()
    again = pd.Series(ids).duplicated(keep=False).to_numpy() & (np.nan_to_num(end, nan=np.inf) < last)
    reason = reasons(
        len(table),
        (demand == 0, NO_GPU),
        (demand != np.floor(demand), "asks for a part of a GPU"),
        (np.isnan(submit), "has no time of submission"),
        (again, AGAIN),
        (np.isnan(start), "never started"),
        (np.isnan(end), "has no end"),
        (start < submit, "starts before it was submitted"),
        (end < start, "ends before it starts"),
        (end == start, NO_TIME),
    )
    first = float(np.floor(np.min(submit[reason == ""], initial=np.inf)))
    first = first if np.isfinite(first) else 0.0
    columns = {
        "job_id": ids, "tenant": table.text(tenant), "user": table.text(user), "demand": demand,
        "submit_time": submit - first, "duration": end - start, "queueing_delay": start - submit, "state": state,
        "time_limit": np.full(len(table), np.nan) if limit is None else limit, "reason": reason,
    }  # fmt: skip
    details = {}
    for name, unknown in DETAILS.items():
        values = known.get(name, np.full(len(table), unknown, dtype=object))
        numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=np.float64) if unknown != "" else 0
        details[name] = pd.Categorical(values) if unknown == "" else numbers
    origin = pd.Timestamp(first, unit="s")
    return rows_of(table, columns, origin=origin, id_column=job_id, details=pd.DataFrame(details))
