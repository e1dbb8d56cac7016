"""Rows that a reader makes from a file, each a job or excluded with a reason, and the trace of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from astraea.core.arrays import TextArray
from astraea.core.errors import InputError
from astraea.core.units import HOUR
from astraea.traces.columns import OPTIONAL, REQUIRED, STATES, Where, refuse
from astraea.traces.readers.table import Faults, Table
from astraea.traces.trace import Trace

NO_GPU: Final = "asks for 0 GPUs"
NO_TIME: Final = "ran for 0 s"
AGAIN: Final = "is an earlier run of a job that was requeued"
_TEXT: Final = ("job_id", "tenant", "user", "state", "reason")


class Rows(NamedTuple):
    """Result of a reader: columns of `Trace.from_frame` with `reason` (empty for a job), and the places.

    Other columns are those of `Trace.excluded_jobs`. `origin`, `recorded` and `details` are as in `Trace`. `id_column`
    is the source's name of `job_id`, and `aside` are the columns kept for excluded rows. `unreadable` are
    further excluded rows: lines that are not rows.
    """

    frame: pd.DataFrame
    where: Where
    origin: pd.Timestamp | None = None
    id_column: str = "job_id"
    recorded: pd.DataFrame | None = None
    aside: Sequence[str] = ("job_id", "reason", "line", "detail", "gpu_hours")
    details: pd.DataFrame | None = None
    unreadable: pd.DataFrame | None = None


class Format(NamedTuple):
    """A format of logs that an installed package adds, as an entry point of the group ``astraea.formats``.

    `begins` returns whether a file can begin with some text, its first lines. `read` takes the path, and of the
    arguments of `read_trace` tenant, weights, resource, columns and strict; it returns rows and weights of tenants.
    `tenants` are the values of tenant.
    """

    begins: Callable[[str], bool]
    read: Callable[..., tuple[Rows, dict[str, float] | None]]
    tenants: tuple[str, ...]


def frame(columns: dict[str, Any]) -> pd.DataFrame:
    """Make a table of rows for `assemble`; text stays Python text, which is faster to iterate over than Arrow's."""
    return pd.DataFrame({c: pd.Series(v, dtype=object) if c in _TEXT else v for c, v in columns.items()})


def reasons(n: int, *rules: tuple[Any, str]) -> TextArray:
    """Return why each row is excluded: the first rule that is true for it, ``""`` for a job."""
    out = np.full(n, "", dtype=object)
    for applies, reason in reversed(rules):
        out[np.asarray(applies)] = reason
    return out


def faults_of(faults: Faults, lines: npt.NDArray[np.int64]) -> tuple[TextArray, TextArray, pd.DataFrame]:
    """Return fault and detail of the rows on these lines, "" if none, and a table of the faults on all other lines."""
    reason, detail = np.array([faults.get(line, ("", "")) for line in lines.tolist()], object).reshape(-1, 2).T
    others = sorted(faults.keys() - set(lines.tolist()))
    rest = pd.DataFrame([(line, *faults[line]) for line in others], columns=["line", "reason", "detail"], dtype=object)
    return reason, detail, rest


def rows_of(table: Table, columns: dict[str, Any], **more: Any) -> Rows:
    """Make the rows of a table; rows with faults are excluded."""
    reason, detail, rest = faults_of(table.faults, table.lines)
    made = frame(columns)
    made["line"], made["detail"] = table.lines, pd.Series(detail, dtype=object)
    made["reason"] = made["reason"].where(reason == "", pd.Series(reason, dtype=object))
    made["gpu_hours"] = made["demand"] * made["duration"] / HOUR
    return Rows(made, table.where, unreadable=rest, **more)


def tenant_of(path: Path, *endings: str) -> str:
    """Name a tenant after its file, without these endings and that of gzip."""
    name = path.name.removesuffix(".gz")
    return next((name.removesuffix(end) for end in endings if name.endswith(end)), name) or path.name


def assemble(found: Rows, name: str, weights: dict[str, float] | None, strict: bool = True) -> Trace:
    """Make the trace from checked rows; one with the identifier of an earlier job is refused if `strict`."""
    rows, where, details = found.frame, found.where, found.details
    ids = rows["job_id"].to_numpy(dtype=object)
    if strict:
        refuse(pd.Series(ids).duplicated(), ids, found.id_column, where, "unique")
    else:
        jobs = rows.index[rows["reason"] == ""]
        again = jobs[rows.loc[jobs, "job_id"].duplicated()]
        if len(again):
            rows.loc[again, "reason"] = f"{found.id_column} is not unique"
            rows.loc[again, "detail"] = rows.loc[again, "job_id"]
    kept = np.flatnonzero(rows["reason"] == "")
    aside = rows.loc[rows["reason"] != ""].reindex(columns=[c for c in found.aside if c in rows])
    if found.unreadable is not None and len(found.unreadable):
        aside = pd.concat([aside, found.unreadable.assign(job_id="")], ignore_index=True)
    if len(kept) == 0:
        counts = ", ".join(f"{n} {r}" for r, n in aside["reason"].value_counts().items())
        hint = (
            "; if the cluster has no GPUs, choose another resource, such as --resource cpu" if NO_GPU in counts
            else "; check the columns and their order (--columns); --strict shows the first row that cannot be read"
            if "detail" in aside and (aside["detail"] != "").all() else ""
        )  # fmt: skip
        raise InputError(f"{name}: none of the {len(aside)} rows is a job that can be simulated ({counts}){hint}")
    # if several files make one trace, only some may have these columns
    columns = [c for c in (*REQUIRED, *OPTIONAL) if c in rows]
    used = pd.DataFrame({c: rows.pop(c).iloc[kept] for c in columns})  # `pop` saves memory for a million rows
    used = used.fillna({"weight": 1.0, "sensitivity": 1.0, "state": STATES[0]})
    return Trace.from_frame(
        used, name=name, weights=weights, origin=found.origin, excluded_jobs=aside,
        recorded=found.recorded, details=None if details is None else details.iloc[kept],
        places=lambda row: where(kept[row]),
    )  # fmt: skip
