"""The tables of the state and their version, which is a digest of their columns."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from astraea.cluster.engine.records import CLOCK, JOB, PRIVATE_JOB, SHARE, TENANT, TIMELINE
from astraea.core.errors import InputError

OF_JOB: Final = tuple(dict.fromkeys((*(JOB.names or ()), *(PRIVATE_JOB.names or ()))))
"""Columns of a job that are fields of the simulation's records."""

LEASE: Final = ("job", "number", "tenant", "demand", "submitted", "granted", "ends", "started", "over", "outcome",
                "is_renewal", "restarts", "serial")  # fmt: skip

COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "clock": ("id", "epoch", "serial", *(CLOCK.names or ())),
    "job": ("id", "owner", "user", "memory", *OF_JOB),
    "tenant": ("name", "memory", *(TENANT.names or ())),
    "share": ("tenant", *(SHARE.names or ())),
    "hour": ("hour", "tenant", *(TIMELINE.names or ())),
    "lease": LEASE,
    "failure": ("id", "rounds", "time", "what"),
}
KEYS: Final[dict[str, tuple[str, ...]]] = {
    "clock": ("id",), "job": ("id",), "tenant": ("name",), "share": ("tenant", "demand", "weight"),
    "hour": ("hour", "tenant"), "lease": ("serial",), "failure": ("id",),
}  # fmt: skip
_WHOLE: Final = ("clock", "lease", "failure")
"""Tables whose key is a whole number."""


def version() -> int:
    """Return a digest of all tables, columns and keys: a whole number from 2 to 2**31 - 1, for ``user_version``."""
    kinds = [(dtype[name].str, name) for dtype in (CLOCK, JOB, PRIVATE_JOB, SHARE, TENANT, TIMELINE)
             for name in dtype.names or ()]  # fmt: skip
    said = repr((COLUMNS, KEYS, kinds)).encode()
    return int.from_bytes(hashlib.sha256(said).digest()[:4]) % (2**31 - 2) + 2


FIRST: Final = 1
"""The version of the first layout, whose leases had no serial numbers."""


def prepare(db: sqlite3.Connection, path: Path) -> None:
    """Make the tables of a new file, or bring those of the first layout up to date.

    Parameters
    ----------
    db : Connection
        Without a transaction.
    path : Path
        For messages.

    Raises
    ------
    InputError
        If the file has another layout.
    sqlite3.Error
        If the tables cannot be read or written; then they are as before.
    """
    found = _version(db)
    if found not in (0, FIRST):
        check(db, path)
        return
    db.execute("pragma journal_mode = wal")
    db.execute("begin immediate")
    try:
        if found == 0:
            _create(db, COLUMNS)
        else:
            _migrate(db, path)
        db.execute(f"pragma user_version = {version()}")
        db.execute("commit")
    except BaseException:
        if db.in_transaction:
            db.execute("rollback")
        raise


def check(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a file of another layout.

    Raises
    ------
    InputError
        Says what to do with the file.
    """
    found = _version(db)
    if found == FIRST:
        raise InputError(f"{path}: an older version wrote this state; start the coordinator to bring it up to date")
    if found not in (0, version()):
        raise InputError(
            f"{path}: the state has the layout {found}, expected {version()}; go back to the version that wrote it, "
            "or move the file away to begin anew"
        )


def _version(db: sqlite3.Connection) -> int:
    (found,) = db.execute("pragma user_version").fetchone()
    return int(found)


def _create(db: sqlite3.Connection, tables: Iterable[str]) -> None:
    for name in tables:
        columns = ", ".join(f'"{column}"' for column in COLUMNS[name])
        keys = ", ".join(f'"{key}"' for key in KEYS[name])
        if name in _WHOLE:
            columns = columns.replace(keys, f"{keys} integer primary key")
        else:
            columns = f"{columns}, primary key ({keys})"
        db.execute(f"create table {name} ({columns})")
        if name == "lease":
            db.execute("create index running on lease (job) where outcome = 'running'")


def _migrate(db: sqlite3.Connection, path: Path) -> None:
    """Give the leases of the first layout serial numbers, in the order in which they were granted."""
    new = {"clock": {"serial"}, "lease": {"serial"}, "failure": set(COLUMNS["failure"])}
    for name, columns in COLUMNS.items():
        there = [row[1] for row in db.execute(f"pragma table_info({name})")]
        expected = [column for column in columns if column not in new.get(name, ())]
        if there != expected:
            raise InputError(
                f"{path}: table {name} of this older state has the columns {', '.join(there) or 'none'}, expected "
                f"{', '.join(expected)}; go back to the version that wrote it, or move the file away to begin anew"
            )
    for name in ("clock", "lease"):
        db.execute(f"alter table {name} rename to old_{name}")
    _create(db, ("clock", "lease", "failure"))
    names = {name: ", ".join(f'"{c}"' for c in COLUMNS[name] if c != "serial") for name in ("clock", "lease")}
    db.execute(
        f"insert into lease ({names['lease']}, serial) "
        f"select {names['lease']}, row_number() over (order by granted, rowid) from old_lease"
    )
    db.execute(
        f"insert into clock ({names['clock']}, serial) "
        f"select {names['clock']}, (select coalesce(max(serial), 0) from lease) from old_clock"
    )
    for name in ("clock", "lease"):
        db.execute(f"drop table old_{name}")
    os.chmod(path, stat.S_IRUSR | stat.S_IWUSR)  # it was made for everybody to read, which nobody had asked for
