"""The kept part of a run's result as the bytes of one file; values, types and provenance are restored exactly.

It is one file and not a folder, because a single `os.replace` publishes a file, even over an older one. It is not
Parquet, because an installation without extras has no library for that; any zip tool opens it. ``seconds.json`` is the
only member that differs between two equal runs. The archive's comment is the SHA-256 of all bytes before it, so that
any change is noticed.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from astraea.core.errors import InputError
from astraea.core.metrics import summary
from astraea.core.result import Result

Value = Result | pd.DataFrame
"""The output of a run: the result of a simulation, or one table."""

Keep = Mapping[str, Sequence[str]] | Literal["summary"]
"""Columns of a `Result`'s tables that are kept; a table that is not named is kept without rows, or not at all.

With "summary", only `metrics.summary` is kept, as a table of one row.
"""

_DIGEST: Final = 64
_NUMBERS: Final = ("bool", *(f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64)))
"""Types of columns that are stored as arrays; columns of other types may have missing values."""


def reduced(value: Value, keep: Keep | None) -> Value:
    """Drop everything that is not in `keep`; keep everything if that is None."""
    if keep is None or isinstance(value, pd.DataFrame):
        return value
    if keep == "summary":
        return pd.DataFrame([summary(value)])
    left: dict[str, Any] = {
        name: table[list(keep[name])] if name in keep else table.iloc[:0, :0] for name, table in _tables(value).items()
    }
    for name in ("grants", "placements"):
        left[name] = left[name] if name in keep else None
    return replace(value, **left)


def _tables(result: Result) -> dict[str, pd.DataFrame]:
    names = ("jobs", "excluded_jobs", "timeline", "grants", "placements")
    return {name: table for name in names if (table := getattr(result, name)) is not None}


def pack(value: Value) -> bytes:
    """Make the archive of a run's output."""
    if isinstance(value, pd.DataFrame):
        tables, provenance, seconds = {"rows": value}, None, 0.0
    else:
        tables, provenance, seconds = _tables(value), value.provenance, value.seconds
    types = {name: {str(c): str(t) for c, t in table.dtypes.items()} for name, table in tables.items()}
    rows = {name: len(table) for name, table in tables.items()}
    note = {"tables": types, "rows": rows, "provenance": provenance}
    members = {f"{name}/{c}": _written(tables[name][c]) for name in types for c in types[name]}
    members["result.json"] = json.dumps(note, indent=1).encode()
    members["seconds.json"] = json.dumps(seconds).encode()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():  # dated 1980, so the bytes do not depend on the time; fastest compression
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED, compresslevel=1)
        archive.comment = b"0" * _DIGEST
    data = file.getvalue()[:-_DIGEST]
    return data + hashlib.sha256(data).hexdigest().encode()


def unpack(data: bytes) -> Value:
    """Restore what `pack` packed; `InputError` if it is damaged."""
    if hashlib.sha256(data[:-_DIGEST]).hexdigest().encode() != data[-_DIGEST:]:
        raise InputError("the content does not match its checksum")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        note = json.loads(archive.read("result.json"))
        seconds = json.loads(archive.read("seconds.json"))
        tables = {}
        for name, types in note["tables"].items():
            columns = {c: _read(archive.read(f"{name}/{c}"), t) for c, t in types.items()}
            tables[name] = pd.DataFrame(columns, index=range(note["rows"][name]), columns=list(types))
    return tables["rows"] if "rows" in tables else Result(**tables, provenance=note["provenance"], seconds=seconds)


def _written(column: pd.Series[Any]) -> bytes:
    if str(column.dtype) not in _NUMBERS:
        return json.dumps(column.astype(object).where(column.notna(), None).tolist()).encode()
    file = io.BytesIO()
    np.save(file, column.to_numpy(), allow_pickle=False)
    return file.getvalue()


def _read(content: bytes, kind: str) -> Any:
    if kind not in _NUMBERS:
        return pd.Series(json.loads(content), dtype=kind)
    return np.load(io.BytesIO(content), allow_pickle=False)
