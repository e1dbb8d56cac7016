"""A `Trace` in files: parquet, which keeps everything, and CSV, which others can read."""

from __future__ import annotations

import csv
import hashlib
import json
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from astraea.core.errors import InputError
from astraea.core.files import write_atomically
from astraea.traces.columns import OPTIONAL, REQUIRED
from astraea.traces.trace import Trace, no_excluded_jobs

_KEY: Final = b"astraea.traces.trace"
_VERSION: Final = 1
_COLUMNS: Final = (*REQUIRED, *OPTIONAL)

#: columns of a CSV file that `write_csv` writes; no other source has just these, so they tell the format and the unit
CSV_COLUMNS: Final = (
    "job_id", "tenant", "user", "num_gpu", "submit_time", "duration", "weight", "state", "queueing_delay",
    "sensitivity", "deadline",
)  # fmt: skip


def is_parquet(path: Path) -> bool:
    """Whether the file begins as a parquet file."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False


def write_parquet(trace: Trace, path: str | Path) -> None:
    """Write jobs, tenants, history and what was set aside to one parquet file.

    The file has a row per job and per row set aside (`reason` is not empty). `part` is 0 for the trace, 1 for its
    history. Names, weights, origins and digests stand in the file's metadata as JSON.
    """
    parts: list[dict[str, Any]] = []
    frames: list[pd.DataFrame] = []
    part: Trace | None = trace
    while part is not None:
        parts.append(
            {
                "name": part.name,
                "tenants": list(part.tenants),
                "weights": part.tenant_weight.tolist(),
                "origin": None if part.origin is None else part.origin.isoformat(),
                "digest": part.digest,
            }
        )
        jobs = part.frame.assign(reason="")
        aside = part.excluded_jobs.assign(
            tenant="", user="", state="", demand=0,
            **{c: 0.0 for c in ("submit_time", "duration", "weight", "queueing_delay", "sensitivity", "deadline")},
        )  # fmt: skip
        frame = pd.concat([jobs, aside[jobs.columns]], ignore_index=True) if len(aside) else jobs
        frames.append(frame.assign(part=len(parts) - 1))
        part = part.history
    rows = pd.concat(frames, ignore_index=True)
    arrays = {
        c: pa.array(rows[c].to_numpy(dtype=object), pa.string())
        if c in ("job_id", "tenant", "user", "state", "reason")
        else pa.array(rows[c].to_numpy(dtype=np.int64 if c in ("demand", "part") else np.float64))
        for c in rows.columns
    }
    table = pa.table(arrays)
    note = {"version": _VERSION, "parts": parts, "check": _check(parts)}
    table = table.replace_schema_metadata({_KEY: json.dumps(note)})
    write_atomically(Path(path), lambda file: pq.write_table(table, file, compression="zstd", write_page_checksum=True))


def read_parquet(path: str | Path) -> Trace:
    """Read a file of `write_parquet`.

    Raises
    ------
    InputError
        If the file is missing, damaged, or not one of ours.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    try:
        table = pq.read_table(path, page_checksum_verification=True, memory_map=False)
        note = (table.schema.metadata or {}).get(_KEY)
        meta = None if note is None else json.loads(note)
    except (pa.ArrowException, OSError, ValueError, RecursionError) as err:
        first = str(err).splitlines()[0] if str(err) else type(err).__name__
        raise InputError(f"{path}: not a parquet file that can be read ({first[:200]})") from None
    if meta is None:
        raise InputError(f"{path}: a parquet file, but not one that Trace.to_parquet wrote")
    if not isinstance(meta, dict) or meta.get("version") != _VERSION:
        raise InputError(f"{path}: written by another version of astraea; write the trace again")
    try:
        trace = _restore(table.to_pandas(), meta["parts"])
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as err:
        raise InputError(f"{path}: the file is damaged ({type(err).__name__}: {err})") from None
    if trace is None or meta.get("check") != _check(meta["parts"]) or trace.digest != meta["parts"][0]["digest"]:
        raise InputError(f"{path}: the file is damaged (its content does not match its checksum)")
    return trace


def _check(parts: list[dict[str, Any]]) -> str:
    """Checksum of what stands in the metadata."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _restore(rows: pd.DataFrame, parts: list[dict[str, Any]]) -> Trace | None:
    """Rebuild the trace, from the oldest history up."""
    trace: Trace | None = None
    for number in reversed(range(len(parts))):
        part = parts[number]
        here = rows[rows["part"] == number]
        jobs = here[here["reason"] == ""]
        aside = here[here["reason"] != ""]
        listed = no_excluded_jobs()
        if len(aside):
            listed = pd.DataFrame({c: aside[c].to_numpy(dtype=object) for c in ("job_id", "reason")}, dtype=object)
        trace = Trace.from_frame(
            jobs[list(_COLUMNS)].reset_index(drop=True),
            name=str(part["name"]),
            weights=dict(zip(part["tenants"], part["weights"], strict=True)),
            origin=None if part["origin"] is None else pd.Timestamp(part["origin"]),
            history=trace,
            excluded_jobs=listed,
        )
    return trace


def write_csv(trace: Trace, path: str | Path) -> Path:
    """Write the jobs in the Tiresias CSV family, in seconds, and the tenant weights beside them.

    Columns: `job_id`, `tenant`, `user` (the person), `num_gpu`, `submit_time`, `duration`, `weight`, `state`,
    `queueing_delay`, `sensitivity`, `deadline` (on the trace's clock). The header tells the unit, so `read_trace`
    needs neither format nor unit. The share file is called like the CSV with ``.shares.csv`` at the end. History and
    what was set aside are not in it: parquet keeps those.

    Returns
    -------
    Path
        The share file.
    """
    path = Path(path)
    if path.suffix != ".csv":
        raise InputError(f"{path}: the name of a CSV file must end in .csv")
    jobs = trace.frame.rename(columns={"demand": "num_gpu"})[list(CSV_COLUMNS)]
    shares = pd.DataFrame({"name": trace.tenants, "share": trace.tenant_weight})
    beside = path.with_name(path.name.removesuffix(".csv") + ".shares.csv")
    for frame, target in ((jobs, path), (shares, beside)):
        # a carriage return inside a name would pass for the end of a line
        risky = any("\r" in v for c in frame.select_dtypes(exclude="number") for v in frame[c])
        quoting: Any = csv.QUOTE_NONNUMERIC if risky else csv.QUOTE_MINIMAL
        write_atomically(target, partial(frame.to_csv, index=False, lineterminator="\n", quoting=quoting))
    return beside
