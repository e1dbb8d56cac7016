"""The coordinator's memory: accounts and leases in a SQLite file, one transaction a round.

Tables `job`, `tenant`, `share`, `hour` and `clock` have the fields of the simulation's records as columns, so that they
are read again to the last bit. Table `lease` has every lease that was ever granted, for people and for studies.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from astraea.cluster.engine.records import CLOCK, JOB, PRIVATE_JOB, SHARE, TENANT, TIMELINE
from astraea.core.errors import InputError
from astraea.live.accounts import Books, Member

VERSION: Final = 1
"""Of the tables; of another one nothing is read."""

_OF_JOB: Final = tuple(dict.fromkeys((*(JOB.names or ()), *(PRIVATE_JOB.names or ()))))


class Lease(NamedTuple):
    """A lease; times are seconds since 1970, 0 if it has not come to that."""

    job: str
    number: int  #: among the leases of this job, from 1
    tenant: str
    demand: int  #: [GPU]
    submitted: float
    granted: float
    ends: float  #: infinite if the policy does not preempt
    started: float  #: when the job was first seen on its GPUs
    over: float  #: when it was over: the job had ended, or lost its GPUs, or the next lease began
    outcome: str  #: ``running``, ``renewed``, ``not renewed``, ``not started``, ``revoked``, ``ended``, ``lost``
    is_renewal: bool
    restarts: int  #: of the job, when it was granted


class State(NamedTuple):
    """What the coordinator knows at the end of a round."""

    epoch: float  #: second 0 of the accounts, in seconds since 1970
    books: Books
    leases: dict[str, Lease]  #: that run, by job


class Ledger:
    """The file.

    Parameters
    ----------
    path : Path

    Raises
    ------
    InputError
        If it cannot be opened, or is not such a file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._written: dict[str, dict[Any, Sequence[Any]]] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=10, isolation_level=None)
            if _check_version(self._db, path) == 0:
                self._db.execute("pragma journal_mode = wal")
                with self._db:
                    self._db.execute("begin immediate")
                    for name, columns in _TABLES.items():
                        self._db.execute(f"create table {name} ({columns})")
                    self._db.execute(f"pragma user_version = {VERSION}")
            self._db.execute("pragma synchronous = full")
        except (OSError, sqlite3.Error) as err:
            raise InputError(f"{path}: cannot be used as the state ({err})") from None

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def read(self) -> State | None:
        """The last round that was written; None if there is none.

        Raises
        ------
        InputError
            If the file is damaged.
        """
        try:
            found = read_state(self._db)
        except sqlite3.Error as err:
            raise InputError(f"{self.path}: cannot be read ({err})") from None
        if found is not None:
            self._written = _rows(found, 0)
        return found

    def write(self, state: State, over: Iterable[Lease] = ()) -> None:
        """Write a round: the rows that changed, in one transaction.

        Parameters
        ----------
        state : State
        over : iterable of Lease
            That are over since the last one.

        Raises
        ------
        sqlite3.Error
            If it cannot be written; then the file is as before, and the next call writes all that is missing.
        """
        hours = max((hour for hour, _ in self._written.get("hour", ())), default=0)
        wanted = _rows(state, hours)
        finished = [tuple(lease) for lease in over]
        self._db.execute("begin immediate")
        try:
            for name, rows in wanted.items():
                before = self._written.get(name, {})
                changed = [row for key, row in rows.items() if before.get(key) != row]
                gone = [key for key in before if key not in rows] if name in _COME_AND_GO else []
                keys = _KEYS[name]
                where = " and ".join(f"{key} = ?" for key in keys)
                self._db.executemany(f"delete from {name} where {where}", gone)
                if changed:
                    marks = ", ".join("?" * len(changed[0]))
                    self._db.executemany(f"insert or replace into {name} values ({marks})", changed)
            if finished:
                marks = ", ".join("?" * len(finished[0]))
                self._db.executemany(f"insert or replace into lease values ({marks})", finished)
            self._db.execute("commit")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("rollback")
            raise
        self._written = wanted


def lock(path: Path) -> Any:
    """Take the state for this process; it is free again when the process is gone.

    Raises
    ------
    InputError
        If another coordinator has it; with its process id.
    """
    name = path.with_name(path.name + ".lock")
    try:
        name.parent.mkdir(parents=True, exist_ok=True)
        file = open(name, "a+", encoding="ascii")
    except OSError as err:
        raise InputError(f"{name}: cannot be written ({err.strerror})") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.seek(0)
        other = file.read().strip()
        file.close()
        raise InputError(f"{path}: another coordinator (process {other}) runs with this state") from None
    with suppress(OSError):  # a disk that is full: the lock holds without the number
        os.ftruncate(file.fileno(), 0)
        os.write(file.fileno(), str(os.getpid()).encode())
    return file


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open the file for somebody who looks only; all that is read is of one moment.

    Raises
    ------
    InputError
        If there is none.
    """
    if not path.is_file():
        raise InputError(f"{path}: there is no state yet; has the coordinator run?")
    try:
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=10)
        db.execute("begin")
        _check_version(db, path)
        return db
    except sqlite3.Error as err:
        raise InputError(f"{path}: cannot be read ({err})") from None


def read_state(db: sqlite3.Connection) -> State | None:
    """The last round in the file; None if there is none."""
    rows = _all(db, "clock")
    if not rows:
        return None
    (_, epoch, *clock), *_ = rows
    jobs, tenants, shares, hours = (_all(db, name) for name in ("job", "tenant", "share", "hour"))
    n_job = len(_OF_JOB)
    members = tuple(
        Member(row[0], row[1], row[2], row[4 + _OF_JOB.index("demand")], row[4 + _OF_JOB.index("submit_time")])
        for row in jobs
    )
    names = tuple(row[0] for row in tenants)
    job, private = (np.zeros(len(jobs), dtype).view(np.recarray) for dtype in (JOB, PRIVATE_JOB))
    for k, name in enumerate(_OF_JOB):
        for table in (job, private):
            if name in (table.dtype.names or ()):
                table[name] = [_number(row[4 + k]) for row in jobs]
    n_hours = 1 + max((row[0] for row in hours), default=-1)
    timeline = np.zeros((n_hours, len(names)), TIMELINE).view(np.recarray)
    for hour, name, *values in hours:
        timeline[hour, names.index(name)] = tuple(values)
    books = Books(
        clock=_table(CLOCK, [clock]),
        members=members,
        job=job,
        private=private,
        memory=_columns([row[3] for row in jobs]),
        tenants=names,
        tenant=_table(TENANT, [row[2:] for row in tenants]),
        tenant_memory=_columns([row[1] for row in tenants]),
        share_tenant=tuple(row[0] for row in shares),
        share=_table(SHARE, [row[1:] for row in shares]),
        timeline=timeline,
    )
    assert all(len(row) == 4 + n_job for row in jobs)
    running = [Lease(*row) for row in db.execute("select * from lease where outcome = 'running'")]
    return State(epoch, books, {lease.job: lease for lease in running})


def all_leases(db: sqlite3.Connection) -> list[Lease]:
    """Every lease, in the order in which they were granted."""
    return [Lease(*row) for row in db.execute("select * from lease order by granted, rowid")]


def _check_version(db: sqlite3.Connection, path: Path) -> int:
    (version,) = db.execute("pragma user_version").fetchone()
    if version not in (0, VERSION):
        raise InputError(f"{path}: the state has version {version}, expected {VERSION}; move it away to begin anew")
    return int(version)


def _rows(state: State, since: int) -> dict[str, dict[Any, Sequence[Any]]]:
    """All rows of a state, by table and key; of the hours those that could have changed, from `since` on."""
    b = state.books
    fields = {name: table[name] for table in (b.private, b.job) for name in table.dtype.names}
    columns = list(zip(*(_values(fields[name]) for name in _OF_JOB), strict=True))
    return {
        "clock": {(0,): (0, state.epoch, *b.clock[0].tolist())},
        "job": {
            (m.id,): (m.id, m.tenant, m.user, _text(b.memory[:, k]), *columns[k]) for k, m in enumerate(b.members)
        },
        "tenant": {
            (name,): (name, _text(b.tenant_memory[:, t]), *b.tenant[t].tolist()) for t, name in enumerate(b.tenants)
        },
        "share": {
            (owner, *row[:2]): (owner, *row)
            for owner, row in zip(b.share_tenant, b.share.tolist(), strict=True)
        },
        "hour": {
            (since + h, name): (since + h, name, *hour[t])
            for h, hour in enumerate(b.timeline[since:].tolist()) for t, name in enumerate(b.tenants)
        },
        "lease": {(lease.job, lease.number): tuple(lease) for lease in state.leases.values()},
    }  # fmt: skip


def _all(db: sqlite3.Connection, name: str) -> list[tuple[Any, ...]]:
    try:
        return list(db.execute(f"select * from {name}"))
    except sqlite3.OperationalError:  # a file in which nothing was written yet
        with closing(db.execute("select name from sqlite_master where type = 'table'")) as tables:
            if (name,) in list(tables):
                raise
        return []


def _table(dtype: np.dtype[Any], rows: Sequence[Sequence[Any]]) -> Any:
    made = np.zeros(len(rows), dtype).view(np.recarray)
    for k, name in enumerate(dtype.names or ()):
        made[name] = [_number(row[k]) for row in rows]
    return made


def _number(value: Any) -> Any:
    return np.nan if value is None else value  # SQLite keeps no NaN


def _values(column: Any) -> list[Any]:
    found = column.tolist()
    return [None if v != v else v for v in found] if column.dtype.kind == "f" else found


def _text(values: Any) -> str:
    return json.dumps(values.tolist())


def _columns(texts: Sequence[str]) -> Any:
    return np.array([json.loads(text) for text in texts], np.float64).T if texts else np.zeros((0, 0))


def _names(dtype_names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in dtype_names)


_KEYS: Final = {
    "clock": ("id",), "job": ("id",), "tenant": ("name",), "share": ("tenant", "demand", "weight"),
    "hour": ("hour", "tenant"), "lease": ("job", "number"),
}  # fmt: skip
_COME_AND_GO: Final = ("job", "tenant", "share")
"""Tables whose rows can vanish: jobs end, and classes of shares with them."""
_TABLES: Final = {
    "clock": f"id integer primary key, epoch, {_names(CLOCK.names or ())}",
    "job": f"id text primary key, owner, user, memory, {_names(_OF_JOB)}",
    "tenant": f"name text primary key, memory, {_names(TENANT.names or ())}",
    "share": f"tenant, {_names(SHARE.names or ())}, primary key (tenant, demand, weight)",
    "hour": f"hour, tenant, {_names(TIMELINE.names or ())}, primary key (hour, tenant)",
    "lease": f"{_names(Lease._fields)}, primary key (job, number)",
}
