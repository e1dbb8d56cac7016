"""The columns of a trace: their rules, and the message for the first row that breaks one."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from astraea.core.arrays import BoolArray, FloatArray, IntArray
from astraea.core.checks import number
from astraea.core.errors import InputError
from astraea.core.text import printable

STATES: Final = ("completed", "cancelled", "failed", "unknown")
"""End of a job in the recorded trace; unknown if the source does not give it. It does not affect a simulation."""

MAX_TIME: Final = 1e10
"""Largest accepted time [s] (317 years): a larger value has the wrong unit."""

MAX_DEMAND: Final = 1_000_000
"""Largest accepted gang [GPU]."""

#: column -> default; a column without a default must be given
OPTIONAL: Final[dict[str, Any]] = {
    "user": None,
    "weight": 1.0,
    "state": "unknown",
    "queueing_delay": np.nan,
    "sensitivity": 1.0,
    "deadline": np.nan,
    "time_limit": np.nan,
}

#: column of `Trace.details` -> value if unknown
DETAILS: Final[dict[str, Any]] = {
    "account": "", "user": "", "partition": "", "qos": "", "constraint": "", "gpu_type": "", "gpus": np.nan,
    "cpus": np.nan, "memory": np.nan, "nodes": np.nan, "node_list": "", "reason": "", "flags": "", "priority": np.nan,
    "restarts": np.nan,
}  # fmt: skip
"""Information of a log about a job beyond the columns of a trace.

Text is categorical. `gpus`, `cpus`, `memory` [MB] and `gpu_type` (comma-separated) are what the job asked for, `nodes`
is the number that it got; `node_list` is in Slurm's notation, `n[1-3,7]`. `reason` is the last reason for which it
waited; `flags` (comma-separated) say which scheduler started it.
"""

REQUIRED: Final = ("job_id", "tenant", "demand", "submit_time", "duration")

Where = Callable[[int], str]
"""Location of a row, for messages."""

Rule = tuple[str, Callable[[FloatArray], BoolArray]]
"""Expected values of a column of numbers, in words, and the test for them."""

TIME: Final[Rule] = (f"a time of at least 0 and at most {MAX_TIME:g} s", lambda v: (v >= 0) & (v <= MAX_TIME))
POSITIVE: Final[Rule] = ("a number above 0", lambda v: (v > 0) & np.isfinite(v))
SPEED: Final[Rule] = ("a speed above 0 and at most 1", lambda v: (v > 0) & (v <= 1))


def gpus(least: int) -> Rule:
    """Return the rule for a number of GPUs of at least `least`."""
    return (
        f"a whole number of GPUs from {least} to {MAX_DEMAND}",
        lambda v: (v >= least) & (v <= MAX_DEMAND) & (np.floor(v) == v),
    )


_NUMBERS: Final[dict[str, Rule]] = {
    "demand": gpus(1),
    "submit_time": TIME,
    "duration": (f"a time above 0 and at most {MAX_TIME:g} s", lambda v: (v > 0) & (v <= MAX_TIME)),
    "weight": POSITIVE,
    "queueing_delay": (TIME[0], lambda v: np.isnan(v) | TIME[1](v)),
    "sensitivity": SPEED,
    "deadline": ("a time in seconds", lambda v: ~np.isinf(v)),
    "time_limit": (f"a time above 0 and at most {MAX_TIME:g} s", lambda v: np.isnan(v) | ((v > 0) & (v <= MAX_TIME))),
}


def rank(ids: npt.NDArray[np.object_]) -> npt.NDArray[np.intp]:
    """Return the position of each identifier in natural order: runs of digits count by their value."""
    if all(map(str.isdecimal, ids)):  # as in a synthetic trace
        keys: list[Any] = [(int(i), i) for i in ids]
    else:
        keys = [([int(p) if p.isdecimal() else p for p in re.split(r"(\d+)", i)], i) for i in ids]
    return np.argsort(sorted(range(len(keys)), key=keys.__getitem__), kind="stable")


def job_order(submit_time: FloatArray, ids: npt.NDArray[np.object_]) -> npt.NDArray[np.intp]:
    """Return rows in order of `(submit_time, rank of the identifier)`; only rows with equal times are ranked."""
    order = np.argsort(submit_time, kind="stable")
    same = np.diff(submit_time[order]) == 0
    tied = np.append(same, False) | np.insert(same, 0, False)
    rows = order[tied]
    order[tied] = rows[np.lexsort((rank(ids[rows]), submit_time[rows]))]
    return order


def tenant_table(
    tenant: npt.NDArray[np.object_], weights: dict[str, float] | None, where: Where, name: str
) -> tuple[IntArray, tuple[str, ...], FloatArray]:
    """Return the position of each job's tenant, the names in alphabetical order, and their weights."""
    if weights is None:
        weights = dict.fromkeys(tenant, 1.0)
    for t, w in weights.items():
        number(w, f"{name}: the weight of tenant {t!r}", above=0)
    names = tuple(sorted(weights))
    position = pd.Index(names, dtype=object).get_indexer(pd.Index(tenant)).astype(np.int64)
    if len(lacking := np.flatnonzero(position < 0)):
        row, known = int(lacking[0]), ", ".join(map(printable, names))
        raise InputError(f"{where(row)}: tenant {tenant[row]!r} has no weight; weights are given for {known}")
    return position, names, np.array([float(weights[t]) for t in names])


def checked_columns(jobs: pd.DataFrame, name: str, where: Where) -> dict[str, Any]:
    """Return every column in its final type; `InputError` for the first invalid value."""
    missing = [c for c in REQUIRED if c not in jobs.columns]
    if missing:
        raise InputError(f"{name}: column {missing[0]!r} is missing; found {', '.join(map(str, jobs.columns))}")
    unknown = [c for c in jobs.columns if c not in REQUIRED and c not in OPTIONAL]
    if unknown:
        known = ", ".join((*REQUIRED, *OPTIONAL))
        raise InputError(f"{name}: unknown column {unknown[0]!r}; expected some of {known}")
    if len(jobs) == 0:
        raise InputError(f"{name}: there is no job in it")
    out: dict[str, Any] = {}
    for c in ("job_id", "tenant", "user", "state"):
        given = jobs[c] if c in jobs else jobs["tenant"] if c == "user" else pd.Series(OPTIONAL[c], index=jobs.index)
        texts = [str(v).strip() for v in given]
        if c != "job_id":  # each name is in memory once, not once per job
            texts = [sys.intern(text) for text in texts]
        out[c] = np.array(texts, dtype=object)
        refuse(given.isna() | (out[c] == ""), out[c], c, where, "a name")
    refuse(pd.Series(out["job_id"]).duplicated(), out["job_id"], "job_id", where, "unique")
    refuse_others(out["state"], STATES, "state", where)
    for c, (expected, good) in _NUMBERS.items():
        raw = jobs[c] if c in jobs else pd.Series(np.full(len(jobs), OPTIONAL[c]))
        values = pd.to_numeric(raw, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        text = raw.notna().to_numpy() & np.isnan(values)
        refuse(text | ~good(values), raw.to_numpy(), c, where, expected)
        out[c] = values.astype(np.int64) if c == "demand" else values
    return out


def refuse(bad: Any, values: Any, column: str, where: Where, expected: str) -> None:
    """Raise `InputError` for the first bad row with its place, column and value, and the number of other bad rows."""
    rows = np.flatnonzero(bad)
    if len(rows) == 0:
        return
    first = int(rows[0])
    more = f" (and {len(rows) - 1} more like it)" if len(rows) > 1 else ""
    raise InputError(f"{where(first)}: {printable(column)} must be {expected}, got {shown(values[first])}{more}")


def shown(value: Any) -> str:
    """Return a refused value as text for a message."""
    return f'"{printable(value)}"' if isinstance(value, str) else f"{value}"


def refuse_others(values: Any, allowed: Collection[str], column: str, where: Where) -> None:
    """Raise `InputError` for the first row whose text is not one of `allowed`."""
    refuse(~np.isin(values.astype(str), list(allowed)), values, column, where, f"one of {', '.join(allowed)}")
