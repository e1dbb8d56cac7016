"""The last step of every reader: checked rows become a `Trace`, and the others are listed with a reason."""

from __future__ import annotations

from typing import Any, Final

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


def assemble(
    rows: pd.DataFrame,
    where: list[str],
    *,
    name: str,
    shares: Shares | None,
    origin: pd.Timestamp | None = None,
    id_column: str = "job_id",
) -> Trace:
    """Make the trace of checked rows.

    Parameters
    ----------
    rows : DataFrame
        The columns of `Trace.from_frame` and `reason`, which is ``""`` for a job and says otherwise why the row is
        set aside.
    where : list of str
        Place of each row.
    shares : Shares or None
        Tenant weights; equal ones if not given.
    id_column : str
        What the source calls `job_id`.
    """
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
