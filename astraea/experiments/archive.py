"""What a run gave, as the bytes of one file: the values, types and provenance come back exactly.

One file and not a folder, because a single `os.replace` publishes a file, also over an older one, while a folder that
is not empty cannot be replaced in one step. It is a zip without compression of its own, so every zip tool opens it:

- a parquet file for each table: those of a `Result`, or ``rows.parquet`` of a run that gave one table;
- ``result.json``: what it is the result of, column types, provenance;
- ``seconds.json``: the time spent simulating, the only member that differs between two equal runs;
- the archive's comment: the SHA-256 of all bytes before it, so that any change to the file is noticed.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from astraea.core.errors import InputError
from astraea.core.result import Result

VERSION: Final = 2
TABLES: Final = ("jobs", "excluded_jobs", "timeline", "grants", "placements")
_DIGEST: Final = 64

Value = Result | pd.DataFrame
"""What a run gives: the result of a simulation, or one table."""

Kept = Mapping[str, Sequence[str]]
"""Columns that are kept of the tables of a `Result`; a table that is not named is kept without rows, or not at all."""


def reduced(value: Value, kept: Kept | None) -> Value:
    """Drop what nobody will read: all but the columns in `kept`; everything stays if that is None."""
    if kept is None or isinstance(value, pd.DataFrame):
        return value
    tables = {name: table for name in TABLES if (table := getattr(value, name)) is not None}
    left = {name: table[list(kept[name])] if name in kept else table.iloc[:0, :0] for name, table in tables.items()}
    for name in ("grants", "placements"):
        left[name] = left[name] if name in kept else None
    return replace(value, **left)


def pack(value: Value, key: str = "") -> bytes:
    """Make the archive of what a run gave; `key` says what it is the result of."""
    if isinstance(value, pd.DataFrame):
        tables, provenance, seconds = {"rows": value}, None, 0.0
    else:
        tables = {name: table for name in TABLES if (table := getattr(value, name)) is not None}
        provenance, seconds = value.provenance, value.seconds
    note = {
        "version": VERSION,
        "key": key,
        "tables": {name: {c: str(t) for c, t in table.dtypes.items()} for name, table in tables.items()},
        "provenance": provenance,
    }
    members = {f"{name}.parquet": _parquet(table) for name, table in tables.items()}
    members["result.json"] = json.dumps(note, indent=1).encode()
    members["seconds.json"] = json.dumps(seconds).encode()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)  # dated 1980: the same bytes at any time
        archive.comment = b"0" * _DIGEST
    data = file.getvalue()[:-_DIGEST]
    return data + hashlib.sha256(data).hexdigest().encode()


def unpack(data: bytes, key: str | None = None) -> Value:
    """Restore what `pack` packed.

    Raises
    ------
    InputError
        If the archive is damaged, not one of ours, or the result of something else than `key`.
    """
    if hashlib.sha256(data[:-_DIGEST]).hexdigest().encode() != data[-_DIGEST:]:
        raise InputError("the content does not match its checksum")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            note = json.loads(archive.read("result.json"))
            seconds = json.loads(archive.read("seconds.json"))
            if note["version"] != VERSION:
                raise InputError(f"written in form {note['version']}, this version reads form {VERSION}")
            if key is not None and note["key"] != key:
                raise InputError(f"it holds the result of another run ({note['key'][:16]})")
            tables = {
                name: pq.read_table(io.BytesIO(archive.read(f"{name}.parquet"))).to_pandas().astype(types)
                for name, types in note["tables"].items()
            }
    except (zipfile.BadZipFile, pa.ArrowException, KeyError, TypeError) as err:
        raise InputError(f"not an archive of a result ({type(err).__name__})") from None
    return tables["rows"] if "rows" in tables else Result(**tables, provenance=note["provenance"], seconds=seconds)


def _parquet(table: pd.DataFrame) -> bytes:
    """Compress a table without what pandas adds: the types stand in ``result.json``."""
    file = io.BytesIO()
    columns = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None)
    pq.write_table(columns, file, compression="zstd")
    return file.getvalue()
