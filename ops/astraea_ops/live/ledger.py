"""The coordinator's memory: accounts and leases in a SQLite file, one transaction a round.

Tables `job`, `tenant`, `share`, `hour` and `clock` have the fields of the simulator's records as columns, so that they
are read back exactly. Table `lease` contains every lease ever granted, for people and for studies. Table `hour` has the
hours that a policy may still ask for, `kept` the jobs that get no lease now under any policy, and `ended` the jobs
that ended lately. Table `failure` contains the failed rounds, and `round` the number of rounds.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

from astraea.cluster.engine.records import CLOCK, JOB, PRIVATE_JOB, SHARE, TENANT, TIMELINE
from astraea.core.errors import InputError
from astraea.core.units import HOUR
from astraea_ops.live.state import KEYS, OF_JOB, AccountsState, AdmittedJob, Lease, State, check, prepare, transaction

_COME_AND_GO: Final = ("job", "tenant", "share", "kept", "ended")
"""Tables whose rows can disappear: jobs end, and with them classes of shares and reasons."""


class Ledger:
    """The file of the state; `InputError` if it cannot be opened, or is not such a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._written: dict[str, dict[Any, Sequence[Any]]] = {}
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(_private(path))
            self._db = sqlite3.connect(path, timeout=10, isolation_level=None)
            try:
                prepare(self._db, path)
                self._db.execute("pragma synchronous = full")
            except BaseException:
                self._db.close()
                raise
        except (OSError, sqlite3.Error) as err:
            raise InputError(f"{path}: cannot be used as the state ({err})") from None

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def read(self) -> State | None:
        """Return the last round that was written, None if there is none; `InputError` if the file is damaged."""
        with _reading(self.path):
            found = read_state(self._db)
        if found is not None:
            self._written = _rows(found, 0)
        return found

    def write(self, state: State, over: Iterable[Lease] = ()) -> None:
        """Write changed rows and leases that are over in one transaction; an `sqlite3.Error` changes nothing."""
        wanted = _rows(state, max((hour for hour, _ in self._written.get("hour", ())), default=0))
        with transaction(self._db):
            for name, rows in wanted.items():
                before = self._written.get(name, {})
                changed = [row for key, row in rows.items() if before.get(key) != row]
                gone = [key for key in before if key not in rows] if name in _COME_AND_GO else []
                where = " and ".join(f"{key} = ?" for key in KEYS[name])
                self._db.executemany(f"delete from {name} where {where}", gone)
                if name == "tenant":  # a tenant that comes again begins anew
                    self._db.executemany("delete from hour where tenant = ?", gone)
                self._put(name, changed)
            self._put("lease", list(over))
            self._db.execute("delete from hour where hour < ?", (_first_hour(state.accounts),))
        self._written = wanted

    def count_failure(self, time: float, what: str) -> None:
        """Count a failed round, at `time` [s since 1970], and keep the last reason."""
        self._db.execute(
            "insert into failure values (0, 1, ?, ?) on conflict (id) do update "
            "set rounds = rounds + 1, time = excluded.time, what = excluded.what", (time, what),
        )  # fmt: skip

    def count_round(self, seconds: float) -> None:
        """Count a round and the time that it took [s]."""
        self._db.execute(
            "insert into round values (0, 1, ?, ?) on conflict (id) do update "
            "set rounds = rounds + 1, seconds = seconds + excluded.seconds, last = excluded.last", (seconds, seconds),
        )  # fmt: skip

    def _put(self, name: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            self._db.executemany(f"insert or replace into {name} values ({marks})", rows)


def lock(path: Path) -> Any:
    """Lock the state until this process ends; if another coordinator has it, `InputError` names its process id."""
    name = path.with_name(path.name + ".lock")
    try:
        name.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.fdopen(_private(name, os.O_APPEND), "a+", encoding="ascii")
    except OSError as err:
        raise InputError(f"{name}: cannot be written ({err.strerror})") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.seek(0)
        other = file.read().strip()
        file.close()
        raise InputError(f"{path}: in use by another coordinator (process {other})") from None
    with suppress(OSError):  # a disk that is full: the lock holds without the number
        os.ftruncate(file.fileno(), 0)
        os.write(file.fileno(), str(os.getpid()).encode())
    return file


def _private(path: Path, flags: int = 0) -> int:
    """Open a file for reading and writing; a new one is for its owner only, whatever the umask."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | flags, stat.S_IRUSR | stat.S_IWUSR)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Raise `InputError` in place of the errors that a damaged file causes."""
    try:
        yield
    except (sqlite3.Error, ValueError, TypeError, IndexError, OverflowError) as err:
        raise InputError(f"{path}: cannot be read and may be damaged ({err})") from None


@contextmanager
def open_to_read(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the file read-only, as of one moment; `InputError` if it does not exist, or is damaged."""
    if not path.is_file():
        raise InputError(f"{path}: there is no state yet; has the coordinator run?")
    is_written = path.with_name(f"{path.name}-wal").exists()  # if not, SQLite would create files
    uri = f"{path.absolute().as_uri()}?{'mode=ro' if is_written else 'immutable=1'}"
    with _reading(path), closing(sqlite3.connect(uri, uri=True, timeout=10)) as db:
        db.execute("begin")
        check(db, path)
        yield db


def read_state(db: sqlite3.Connection) -> State | None:
    """Return the last round in the file; None if there is none."""
    rows = _all(db, "clock")
    if not rows:
        return None
    (_, epoch, serial, *clock) = rows[0]
    jobs, tenants, shares, hours = (_all(db, name) for name in ("job", "tenant", "share", "hour"))
    names = tuple(row[0] for row in tenants)
    fields = [dict(zip(OF_JOB, row[4:], strict=True)) for row in jobs]
    job, private = (
        _table(dtype, [[values[name] for name in dtype.names or ()] for values in fields])
        for dtype in (JOB, PRIVATE_JOB)
    )
    first = min((row[0] for row in hours), default=0)
    n_hours = 1 + max((row[0] for row in hours), default=-1)
    timeline = np.zeros((n_hours - first, len(names)), TIMELINE).view(np.recarray)
    place = {name: t for t, name in enumerate(names)}
    for hour, name, *values in hours:
        if name in place:  # otherwise no job had come yet, or the tenant no longer has a weight
            timeline[hour - first, place[name]] = tuple(values)
    saved = AccountsState(
        clock=_table(CLOCK, [clock]),
        admitted=tuple(
            AdmittedJob._make((*row[:3], values["demand"], values["submit_time"]))
            for row, values in zip(jobs, fields, strict=True)
        ),
        job=job,
        private=private,
        memory=[json.loads(row[3]) for row in jobs],
        tenants=names,
        tenant=_table(TENANT, [row[2:] for row in tenants]),
        tenant_memory=[json.loads(row[1]) for row in tenants],
        share_tenant=tuple(row[0] for row in shares),
        share=_table(SHARE, [row[1:] for row in shares]),
        timeline=timeline,
    )
    running = [Lease(*row) for row in db.execute("select * from lease where outcome = 'running'")]
    last = epoch + float(saved.clock[0].now)
    stopped = db.execute("select * from lease where outcome in ('not renewed', 'revoked') and over >= ? "
                         "order by serial", (last - HOUR,))  # fmt: skip
    return State(epoch, saved, {lease.job: lease for lease in running}, serial, dict(_all(db, "ended")),
                 dict(_all(db, "kept")), {lease.job: lease for lease in map(Lease._make, stopped)})  # fmt: skip


def counts(db: sqlite3.Connection) -> dict[str, Any]:
    """Return the numbers of failed rounds and of all rounds, with times [s] and the last reason, as in `Status`."""
    (_, failed, failed_at, failure), *_ = *_all(db, "failure"), (0, 0, 0.0, "")
    (_, rounds, seconds, last), *_ = *_all(db, "round"), (0, 0, 0.0, 0.0)
    return {"failed": failed, "failed_at": failed_at, "failure": failure,
            "rounds": rounds, "rounds_seconds": seconds, "round_seconds": last}  # fmt: skip


def leases_of(db: sqlite3.Connection, job: str) -> list[Lease]:
    """Return every lease of the last job with this id, in the order in which they were granted."""
    found = [Lease(*row) for row in db.execute("select * from lease where job = ? order by serial", (job,))]
    return [lease for lease in found if lease.submitted == found[-1].submitted]


def _first_hour(saved: AccountsState) -> int:
    """Return the number of the first stored hour."""
    return int(saved.clock[0].n_hours) - len(saved.timeline)


def _rows(state: State, since: int) -> dict[str, dict[Any, Sequence[Any]]]:
    """Return all rows of a state, by table and key; of the hours only those from `since` on, which may have changed."""
    b = state.accounts
    fields = {name: table[name] for table in (b.private, b.job) for name in table.dtype.names}
    columns = list(zip(*(_values(fields[name]) for name in OF_JOB), strict=True))
    since = max(since, _first_hour(b))
    return {
        "clock": {(0,): (0, state.epoch, state.serial, *b.clock[0].tolist())},
        "job": {
            (m.id,): (m.id, m.tenant, m.user, json.dumps(b.memory[k]), *columns[k]) for k, m in enumerate(b.admitted)
        },
        "tenant": {
            (name,): (name, json.dumps(b.tenant_memory[t]), *b.tenant[t].tolist()) for t, name in enumerate(b.tenants)
        },
        "share": {(w, *row[:2]): (w, *row) for w, row in zip(b.share_tenant, b.share.tolist(), strict=True)},
        "hour": {
            (since + h, name): (since + h, name, *hour[t])
            for h, hour in enumerate(b.timeline[since - _first_hour(b):].tolist()) for t, name in enumerate(b.tenants)
        },
        "kept": {(job,): (job, why) for job, why in state.kept.items()},
        "ended": {(job,): (job, time) for job, time in state.ended.items()},
        "lease": {(lease.serial,): tuple(lease) for lease in state.leases.values()},
    }  # fmt: skip


def _all(db: sqlite3.Connection, name: str) -> list[tuple[Any, ...]]:
    is_there = db.execute("select 1 from sqlite_master where name = ?", (name,)).fetchone()
    return list(db.execute(f"select * from {name}")) if is_there else []  # nothing has been written to the file yet


def _table(dtype: np.dtype[Any], rows: Sequence[Sequence[Any]]) -> Any:
    return np.array([tuple(row) for row in rows], dtype).view(np.recarray)  # SQLite stores no NaN; None becomes one


def _values(column: Any) -> list[Any]:
    return [None if value != value else value for value in column.tolist()]  # because NaN differs from itself
