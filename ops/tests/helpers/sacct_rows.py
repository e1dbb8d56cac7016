"""Rows of a log as sacct prints them, and the trace that is read of some."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from slurm_logs import HEAD

from astraea.traces.readers import read_trace
from astraea.traces.trace import Trace


def at(second: float | None) -> str:
    if second is None:
        return "Unknown"
    return (datetime(2026, 3, 1, 12) + timedelta(seconds=second)).isoformat()


def row(
    id: str, submit: float, start: float | None, end: float | None, gpus: str = "4", *, state: str = "COMPLETED",
    account: str = "vision", eligible: float | None = None, limit: str = "60",
) -> str:  # fmt: skip
    """A row of a log as sacct prints it."""
    elapsed = "0" if start is None or end is None else f"{end - start:.0f}"
    tres = f"billing=1,cpu=8,gres/gpu={gpus},node=1" if "=" not in gpus else gpus
    moments = "|".join(map(at, (submit, submit if eligible is None else eligible, start, end)))
    given = tres if start is not None else ""
    return f"{id}|{account}|ann|gpu|normal|{moments}|{state}|{elapsed}|{limit}|{tres}|{given}"


def read(folder: Path, *rows: str, head: str = HEAD, tenant: str | None = None, weights: Path | None = None) -> Trace:
    file = folder / "log.txt"
    file.write_text("\n".join([head, *rows]) + "\n")
    return read_trace(file, tenant=tenant, weights=weights)
