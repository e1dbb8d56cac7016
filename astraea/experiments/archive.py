"""What a run gave, as the bytes of one file: the values, types and provenance come back exactly.

One file and not a folder, because a single `os.replace` publishes a file, also over an older one, while a folder that
is not empty cannot be replaced in one step. It is a zip without compression of its own, so every zip tool opens it:

- a parquet file for each table: those of a `Result`, or ``rows.parquet`` of a run that gave one table; columns of the
  jobs that follow from others to the last bit are left out and computed again (`FOLLOWING`);
- ``result.json``: what it is the result of, column types, provenance;
- ``seconds.json``: the time spent simulating, the only member that differs between two equal runs;
- the archive's comment: the SHA-256 of all bytes before it, so that any change to the file is noticed.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from astraea.core.errors import InputError
from astraea.core.result import Result
from astraea.experiments.kept import TABLES, Value

VERSION: Final = 3
_DIGEST: Final = 64

FOLLOWING: Final[dict[str, Callable[[Any], Any]]] = {
    "jct": lambda jobs: jobs["end_time"] - jobs["submit_time"],
    "queueing_delay": lambda jobs: jobs["jct"] - (jobs["duration"] + jobs["overhead"]),
    "slowdown": lambda jobs: jobs["jct"] / (jobs["jct"] - jobs["queueing_delay"]),
    "attained_service": lambda jobs: jobs["demand"] * (jobs["jct"] - jobs["queueing_delay"]),
    "rho_job": lambda jobs: jobs["attained_service"] / jobs["fair_service"],
}
"""How columns of `Result.jobs` mostly follow from others, each after those that it follows from."""


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
        "following": [] if (jobs := tables.get("jobs")) is None else following(jobs),
        "provenance": provenance,
    }
    if note["following"]:
        tables["jobs"] = tables["jobs"].drop(columns=note["following"])
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
                name: _restored(archive.read(f"{name}.parquet"), types, note["following"] if name == "jobs" else ())
                for name, types in note["tables"].items()
            }
    except (zipfile.BadZipFile, pa.ArrowException, KeyError, TypeError) as err:
        raise InputError(f"not an archive of a result ({type(err).__name__})") from None
    return tables["rows"] if "rows" in tables else Result(**tables, provenance=note["provenance"], seconds=seconds)


def _restored(content: bytes, types: Mapping[str, Any], missing: Sequence[str]) -> pd.DataFrame:
    """Read a table; column by column, since pandas takes longer to change a table than to make it."""
    table = pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)
    columns: dict[str, Any] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        columns[name] = column.to_numpy() if column.type in (pa.float64(), pa.int64()) else column.to_pandas()
    with np.errstate(all="ignore"):
        for name in missing:
            columns[name] = FOLLOWING[name](columns)
    made = {c: v if str(v.dtype) == t else pd.Series(v).astype(t) for c, t in types.items() for v in (columns[c],)}
    return pd.DataFrame(made, index=range(len(table)), columns=list(types))


def following(jobs: pd.DataFrame) -> list[str]:
    """Columns that follow from others of the same table to the last bit, in the order of `FOLLOWING`."""
    found = []
    for column, formula in FOLLOWING.items():
        try:
            if formula(jobs).to_numpy().tobytes() == jobs[column].to_numpy().tobytes():
                found.append(column)
        except (KeyError, TypeError):  # a column is not there, or not of numbers
            continue
    return found


def _parquet(table: pd.DataFrame) -> bytes:
    """Compress a table without what pandas adds: the types stand in ``result.json``.

    The bytes of floats are split, so that equal exponents stand together: a third smaller than a dictionary of them.
    """
    file = io.BytesIO()
    columns = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None)
    floats = [field.name for field in columns.schema if pa.types.is_floating(field.type)]
    others = [name for name in columns.column_names if name not in floats]
    options = {"use_dictionary": others, "use_byte_stream_split": floats}
    pq.write_table(columns, file, compression="zstd", compression_level=3, **options)
    return file.getvalue()
