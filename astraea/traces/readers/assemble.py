"""What every reader gives, checked rows, and the last step: jobs become a `Trace`, others are listed with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.core.arrays import TextArray
from astraea.core.errors import InputError
from astraea.traces.columns import STATES, refuse
from astraea.traces.readers.shares import Shares
from astraea.traces.trace import Trace, no_excluded_jobs

NO_GPU: Final = "asks for 0 GPUs"
NO_TIME: Final = "ran for 0 s"
_TEXT: Final = ("job_id", "tenant", "user", "state", "reason")


def frame(columns: dict[str, Any]) -> pd.DataFrame:
    """Make a table of rows for `assemble`; text stays Python text, which is quicker to walk than Arrow's."""
    as_is = {c: pd.Series(v, dtype=object) if c in _TEXT else v for c, v in columns.items()}
    return pd.DataFrame(as_is)


def reasons(n: int, *rules: tuple[Any, str]) -> TextArray:
    """Why each row is set aside: the first rule that is true for it, ``""`` for a job."""
    out = np.full(n, "", dtype=object)
    for applies, reason in reversed(rules):
        out[np.asarray(applies)] = reason
    return out


class Rows(NamedTuple):
    """What a reader found.

    frame : the columns of `Trace.from_frame` and `reason`, ``""`` for a job, otherwise why the row is set aside
    where : place of each row
    origin : date and time of second 0, where the source tells
    id_column : what the source calls `job_id`
    """

    frame: pd.DataFrame
    where: list[str]
    origin: pd.Timestamp | None = None
    id_column: str = "job_id"


def tenant_of(path: Path, *endings: str) -> str:
    """Name a tenant after its file, without these endings and that of gzip."""
    name = path.name.removesuffix(".gz")
    return next((name.removesuffix(end) for end in endings if name.endswith(end)), name) or path.name


def together(parts: Sequence[Rows]) -> Rows:
    """The rows of several files as those of one."""
    return Rows(pd.concat([p.frame for p in parts], ignore_index=True), [place for p in parts for place in p.where])


def assemble(found: Rows, name: str, shares: Shares | None) -> Trace:
    """Make the trace of checked rows; tenants have equal weights if no shares are given."""
    rows, where, origin, id_column = found
    ids = rows["job_id"].to_numpy(dtype=object)
    refuse(pd.Series(ids, dtype=object).duplicated().to_numpy(), ids, id_column, where, "unique")
    reason = rows["reason"].to_numpy(dtype=object)
    kept = np.flatnonzero(reason == "")
    aside = no_excluded_jobs()
    if len(kept) < len(rows):
        out = np.flatnonzero(reason != "")
        aside = pd.DataFrame({"job_id": ids[out], "reason": reason[out]}, dtype=object)
    if len(kept) == 0:
        counts = ", ".join(f"{n} {r}" for r, n in aside["reason"].value_counts().items())
        raise InputError(f"{name}: none of the {len(rows)} rows is a job that can be simulated ({counts})")
    # where several files make one trace, only some may have these columns
    jobs = rows.drop(columns="reason").iloc[kept].fillna({"weight": 1.0, "sensitivity": 1.0, "state": STATES[0]})
    places = [where[i] for i in kept]
    if shares is not None:
        shares.check(jobs["tenant"].to_numpy(dtype=object), places)
    weights = None if shares is None else shares.weight
    return Trace.from_frame(jobs, name=name, weights=weights, origin=origin, excluded_jobs=aside, places=places)
