"""What every reader gives, checked rows, and the last step: jobs become a `Trace`, others are listed with a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.core.arrays import TextArray
from astraea.core.errors import InputError
from astraea.traces.columns import POSITIVE, STATES, printable, refuse
from astraea.traces.readers.table import read_table
from astraea.traces.trace import Trace

NO_GPU: Final = "asks for 0 GPUs"
NO_TIME: Final = "ran for 0 s"
_TEXT: Final = ("job_id", "tenant", "user", "state", "reason")


def frame(columns: dict[str, Any]) -> pd.DataFrame:
    """Make a table of rows for `assemble`; text stays Python text, which is quicker to walk than Arrow's."""
    return pd.DataFrame({c: pd.Series(v, dtype=object) if c in _TEXT else v for c, v in columns.items()})


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


def read_shares(source: str | Path | Mapping[str, float] | None) -> dict[str, float] | None:
    """Tenant weights from a share file (`name,share` or `vc,node num`: the header's words do not matter) or a mapping.

    Raises
    ------
    InputError
        If the file is not two columns with a header, a name is there twice, or a weight is not a number above 0.
    """
    if source is None or isinstance(source, Mapping):
        return None if source is None else dict(source)
    table = read_table(Path(source))
    if len(table.columns) != 2:
        found = ", ".join(map(printable, table.columns))
        raise InputError(f"{source}, line 1: a share file has two columns, tenant and weight; found {found}")
    name_column, share_column = table.columns
    names = table.text(name_column)
    refuse(pd.Series(names).duplicated(), names, printable(name_column), table.where, "unique")
    return dict(zip(names, table.number(share_column, *POSITIVE).tolist(), strict=True))


def assemble(found: Rows, name: str, weights: dict[str, float] | None) -> Trace:
    """Make the trace of checked rows; tenants have equal weights if none are given."""
    rows, where, origin, id_column = found
    ids = rows["job_id"].to_numpy(dtype=object)
    refuse(pd.Series(ids).duplicated(), ids, id_column, where, "unique")
    kept = np.flatnonzero(rows["reason"] == "")
    aside = rows.loc[rows["reason"] != "", ["job_id", "reason"]]
    if len(kept) == 0:
        counts = ", ".join(f"{n} {r}" for r, n in aside["reason"].value_counts().items())
        raise InputError(f"{name}: none of the {len(rows)} rows is a job that can be simulated ({counts})")
    # where several files make one trace, only some may have these columns
    jobs = rows.drop(columns="reason").iloc[kept].fillna({"weight": 1.0, "sensitivity": 1.0, "state": STATES[0]})
    places = [where[i] for i in kept]
    return Trace.from_frame(jobs, name=name, weights=weights, origin=origin, excluded_jobs=aside, places=places)
