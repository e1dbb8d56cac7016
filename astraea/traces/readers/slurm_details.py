"""Information in a Slurm log about each job beyond times and GPUs: `Trace.details`.

Source: the manual page of sacct (slurm.schedmd.com/sacct.html).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray
from astraea.traces.columns import DETAILS
from astraea.traces.readers.table import Table, among
from astraea.traces.slurm_words import count_of

_COLUMNS: Final = {
    "account": ("Account",), "user": ("User",), "partition": ("Partition",), "qos": ("QOS",),
    "constraint": ("Constraints",), "node_list": ("NodeList",), "reason": ("Reason",), "flags": ("Flags",),
    "priority": ("Priority",), "restarts": ("Restarts",), "nodes": ("NNodes", "AllocNodes", "ReqNodes"),
    "cpus": ("ReqCPUS", "NCPUS", "AllocCPUS"),
}  # fmt: skip
"""Columns for each detail; the first that the log has is used."""

_RESOURCES: Final = ("gpus", "cpus", "memory", "nodes")
"""Details that lists of resources give."""

_UNITS: Final = {"K": 1 / 1024, "M": 1.0, "": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)(?:([nc])?)")
_NONE: Final = ("None", "None assigned", "Unknown", "(null)", "N/A")


def details_of(table: Table) -> pd.DataFrame:
    """Return the columns of `DETAILS`, a row per row of the log; unreadable values count as unknown."""
    found: dict[str, Any] = {}
    for name, unknown in DETAILS.items():
        column = next((c for c in _COLUMNS.get(name, ()) if c in table.columns), None)
        if column is None:
            found[name] = np.full(len(table), unknown, dtype=object if unknown == "" else float)
        elif unknown == "":
            text = table.words(column)
            found[name] = np.where(among(text, _NONE), "", text)
        else:
            found[name] = pd.to_numeric(pd.Series(table.words(column)), errors="coerce").to_numpy(dtype=np.float64)
    asked = np.array([many or (np.nan,) * 4 for many in _of_each(table, ("ReqTRES", "AllocTRES"), _asked)])
    for name, many in zip(_RESOURCES, asked.reshape(-1, 4).T, strict=True):
        found[name] = np.where(np.isnan(found[name]) | (name == "nodes") & ~(found[name] > 0), many, found[name])
    if "ReqMem" in table.columns:
        found["memory"] = np.where(np.isnan(found["memory"]), _asked_memory(table, found), found["memory"])
    # a request without a type may get any, and AllocTRES then names the type that it happened to get
    asked_for = "ReqTRES" if "ReqTRES" in table.columns else "AllocTRES"
    found["gpu_type"] = np.array(_of_each(table, (asked_for, "ReqGRES"), _types_of), dtype=object)
    return pd.DataFrame({name: pd.Categorical(found[name]) if u == "" else found[name] for name, u in DETAILS.items()})


def _of_each(table: Table, columns: tuple[str, ...], read: Any) -> list[Any]:
    """Return, for each row, what `read` finds in the first column in which it finds anything, else in ""."""
    known: dict[str, Any] = {}
    out: list[Any] = [read("")] * len(table)
    for column in reversed([c for c in columns if c in table.columns]):
        for row, text in enumerate(table.columns[column]):
            if text not in known:
                known[text] = read(text)
            out[row] = known[text] or out[row]
    return out


def _asked(text: str) -> tuple[float, ...]:
    """Return the `_RESOURCES` of ``cpu=8,mem=4G``, NaN for those not given; () for an empty list."""
    tres = {name: count for name, _, count in (part.partition("=") for part in text.split(",")) if count}
    many = float(count_of(text)) or float("nan"), *(_size(tres.get(name, "")) for name in ("cpu", "mem", "node"))
    return many if tres else ()


def _types_of(text: str) -> str:
    """Return the types of the GPUs of ``gres/gpu:a100=4``, or of ``gpu:a100:4`` before Slurm 20.11."""
    return ",".join(sorted(set(re.findall(r"(?:gres/gpu:|(?<![\w/])gpu:(?!\d+(?:,|$)))([^=:,(]+)", text))))


@lru_cache(4096)
def _size(text: str) -> float:
    """Return a number with a unit, in MB if it is memory; NaN for other text."""
    found = _SIZE.fullmatch(text)
    return float(found[1]) * _UNITS[found[2]] if found else float("nan")


def _asked_memory(table: Table, found: dict[str, Any]) -> FloatArray:
    """Return ReqMem [MB]: ``4000Mn`` is per node, ``2Gc`` per core, ``4G`` in total (Slurm 21.08 and newer)."""
    text = table.words("ReqMem")
    units = np.array([t[-1:] for t in text], dtype=object)
    many = np.where(units == "n", found["nodes"], np.where(units == "c", found["cpus"], 1.0))
    return np.array([_size(t) for t in text]) * many
