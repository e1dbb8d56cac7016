"""Tables of the state's file, and their version, which is a digest of their columns."""

from __future__ import annotations

import functools
import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, ParamSpec, TypeVar, cast

from astraea.cluster.engine.records import CLOCK, JOB, PRIVATE_JOB, SHARE, TENANT, TIMELINE
from astraea.core.errors import InputError

_T = TypeVar("_T")
_P = ParamSpec("_P")

OF_JOB: Final = tuple(dict.fromkeys((*(JOB.names or ()), *(PRIVATE_JOB.names or ()))))
"""Columns of a job that are fields of the simulator's records."""

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
    "round": ("id", "rounds", "seconds", "last"),
    "kept": ("job", "why"),
    "ended": ("job", "time"),
}
KEYS: Final[dict[str, tuple[str, ...]]] = {
    "clock": ("id",), "job": ("id",), "tenant": ("name",), "share": ("tenant", "demand", "weight"),
    "hour": ("hour", "tenant"), "lease": ("serial",), "failure": ("id",), "round": ("id",), "kept": ("job",),
    "ended": ("job",),
}  # fmt: skip
_WHOLE: Final = ("clock", "lease", "failure", "round")
"""Tables whose key is an integer."""


def version() -> int:
    """Return a digest of all tables, columns and keys, from 2 to 2**31 - 1, for ``user_version``."""
    kinds = [(dtype[name].str, name) for dtype in (CLOCK, JOB, PRIVATE_JOB, SHARE, TENANT, TIMELINE)
             for name in dtype.names or ()]  # fmt: skip
    said = repr((COLUMNS, KEYS, kinds)).encode()
    return int.from_bytes(hashlib.sha256(said).digest()[:4]) % (2**31 - 2) + 2


def prepare(db: sqlite3.Connection, path: Path) -> None:
    """Create the tables of a new file; refuse a file with another layout and leave it unchanged."""
    if check(db, path):
        return
    db.execute("pragma journal_mode = wal")
    with transaction(db):
        for name in COLUMNS:
            columns = ", ".join(f'"{column}"' for column in COLUMNS[name])
            keys = ", ".join(f'"{key}"' for key in KEYS[name])
            if name in _WHOLE:
                columns = columns.replace(keys, f"{keys} integer primary key")
            else:
                columns = f"{columns}, primary key ({keys})"
            db.execute(f"create table {name} ({columns})")
        db.execute("create index running on lease (job) where outcome = 'running'")
        db.execute(f"pragma user_version = {version()}")


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Run the body of the ``with`` as one transaction: all of it or nothing takes effect."""
    db.execute("begin immediate")
    try:
        yield
        db.execute("commit")
    except BaseException:
        if db.in_transaction:
            db.execute("rollback")
        raise


def check(db: sqlite3.Connection, path: Path) -> bool:
    """Return whether there are tables; refuse a file with another layout and say what to do with it."""
    (found,) = db.execute("pragma user_version").fetchone()
    if found not in (0, version()):
        raise InputError(
            f"{path}: the state has layout {found}, expected {version()}; use the version of Astraea that wrote it, "
            "or move the file away to start with an empty state"
        )
    return bool(found)


def readable(read: Callable[_P, _T]) -> Callable[_P, _T]:
    """Make a function that reads from its first argument, a database, raise `InputError` if the file is damaged."""

    @functools.wraps(read)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        db, path = cast(sqlite3.Connection, args[0]), "the state"
        try:
            ((_, _, path),) = db.execute("pragma database_list")
            return read(*args, **kwargs)
        except (sqlite3.Error, ValueError, TypeError, IndexError, OverflowError) as err:
            raise InputError(f"{path}: cannot be read and may be damaged ({err})") from None

    return wrapped
