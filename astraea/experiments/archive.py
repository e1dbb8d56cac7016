"""A `Result` in files: one archive that keeps everything, and the CSV files of `astraea simulate`.

The archive is one file and not a folder, because a single `os.replace` publishes a file, also over an older one,
while a folder that is not empty cannot be replaced in one step. It is a zip without compression of its own, so every
zip tool opens it:

- ``jobs.parquet``, ``set_aside.parquet``, ``timeline.parquet``; if kept, ``grants.parquet``, ``placements.parquet``;
- ``result.json``: what it is the result of, column types, provenance;
- ``seconds.json``: the time spent simulating, the only member that differs between two equal runs;
- the archive's comment: the SHA-256 of all bytes before it, so that any change to the file is noticed.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from astraea.core.errors import InputError
from astraea.core.files import publish
from astraea.core.metrics import tenant_windows
from astraea.core.result import JOB_COLUMNS, Result

VERSION: Final = 1
TABLES: Final = ("jobs", "set_aside", "timeline", "grants", "placements")
_DIGEST: Final = 64


def pack(result: Result, key: str = "") -> bytes:
    """Make the archive of a result; `key` says what it is the result of."""
    tables = {name: table for name in TABLES if (table := getattr(result, name)) is not None}
    note = {
        "version": VERSION,
        "key": key,
        "tables": {name: {c: str(t) for c, t in table.dtypes.items()} for name, table in tables.items()},
        "provenance": result.provenance,
    }
    members = {f"{name}.parquet": _parquet(table) for name, table in tables.items()}
    members["result.json"] = json.dumps(note, indent=1).encode()
    members["seconds.json"] = json.dumps(result.seconds).encode()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)  # dated 1980: the same bytes at any time
        archive.comment = b"0" * _DIGEST
    data = file.getvalue()[:-_DIGEST]
    return data + hashlib.sha256(data).hexdigest().encode()


def unpack(data: bytes, key: str | None = None) -> Result:
    """Restore the result of an archive: the same values, types and provenance.

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
    return Result(**tables, provenance=note["provenance"], seconds=seconds)


def save_result(result: Result, path: str | Path) -> None:
    """Write the archive of a result in one step; `InputError` if it cannot be written."""
    data = pack(result)
    publish(Path(path), lambda file: file.write_bytes(data))


def load_result(path: str | Path) -> Result:
    """Read an archive of `save_result`; `InputError` if it is missing, damaged or another's."""
    try:
        return unpack(Path(path).read_bytes())
    except OSError as err:
        raise InputError(f"{path}: cannot be read ({err.strerror or err})") from None
    except InputError as err:
        raise InputError(f"{path}: {err}") from None


def _parquet(table: pd.DataFrame) -> bytes:
    """Compress a table without what pandas adds: the types stand in ``result.json``."""
    file = io.BytesIO()
    columns = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None)
    pq.write_table(columns, file, compression="zstd")
    return file.getvalue()


def all_set_aside(result: Result, listed: pd.DataFrame) -> pd.DataFrame:
    """List what was set aside by the reader (`Trace.set_aside`) and before the run, in this order.

    Returns
    -------
    DataFrame, columns job_id, tenant, demand, duration, reason
        Tenant, demand and duration are missing where a reader found no job.
    """
    table = pd.concat([listed, result.set_aside], ignore_index=True) if len(listed) else result.set_aside
    columns = ["job_id", "tenant", "demand", "duration", "reason"]
    return table.reindex(columns=columns).astype({"demand": "Int64"})


def write_tables(result: Result, folder: Path, listed: pd.DataFrame) -> None:
    """Write ``jobs.csv``, ``tenants.csv``, ``set_aside.csv`` and ``provenance.json`` into an existing folder.

    Numbers are written with as many digits as it takes to read the same number back; an undefined one is empty.

    Parameters
    ----------
    result : Result
    folder : path
    listed : DataFrame
        What the trace's reader set aside (`Trace.set_aside`).
    """
    tables = {
        "jobs": result.jobs[list(JOB_COLUMNS)],
        "tenants": tenant_windows(result),
        "set_aside": all_set_aside(result, listed),
    }
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
    (folder / "provenance.json").write_text(json.dumps(result.provenance, indent=2) + "\n", encoding="utf-8")


@contextmanager
def publishing(folder: str | Path) -> Iterator[Path]:
    """Give a temporary folder to write into, which becomes `folder` when all went well, and vanishes if not.

    A folder that is not there yet appears in one step with everything in it; in one that is there, each file is
    replaced in one step and other files are left alone.

    Raises
    ------
    InputError
        If `folder` cannot be made or written; at the start where that can be known then.
    """
    target = Path(folder)
    above = target if target.exists() else next(p for p in target.absolute().parents if p.exists())
    if not above.is_dir():
        raise InputError(f"{target}: {'it' if above == target else above} is not a folder")
    work: Path | None = None
    try:
        work = Path(tempfile.mkdtemp(prefix=".astraea-", dir=above))
        yield work
        if target.exists():
            for file in sorted(work.iterdir()):
                os.replace(file, target / file.name)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            work.chmod(0o755)
            work.rename(target)
    except OSError as err:
        if err.errno == errno.ENOSPC:
            raise InputError(f"{target}: no space left on the disk; free some and try again") from None
        raise InputError(f"{target}: cannot be written ({err.strerror or err})") from None
    finally:
        if work is not None:
            shutil.rmtree(work, ignore_errors=True)
