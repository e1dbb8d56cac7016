"""State that is kept from one round to the next and from one coordinator to the next, and the tables of its file.

The version of the tables is a digest of their columns.
"""

from __future__ import annotations

import hashlib
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.cluster.engine.records import CLOCK, JOB, PRIVATE_JOB, SHARE, TENANT, TIMELINE, Records, records
from astraea.cluster.policy import Policy
from astraea.core.errors import InputError
from astraea.core.units import DAY, HOUR
from astraea.traces.columns import MAX_TIME
from astraea.traces.trace import Trace

MONTH: Final = 31 * DAY
"""Period for which hours are kept, unless a parameter of the policy is longer [s]."""

NOBODY: Final = "(nobody)"
"""Tenant of a cluster that no job has come to yet."""

DERIVED: Final = {
    "tenant": ("quota", "whole_quota", "weight", "first_class", "end_class", "held", "granted", "started", "refused",
               "revoked"),
    "job": ("tenant", "fair_class", "first_piece"),
    "clock": ("interval", "interval_top", "interval_bottom", "gpus", "gpus_per_node", "free", "free_piece",
              "n_running", "decay", "lease_end", "n_rows", "every_hour"),
}  # fmt: skip
"""Fields that follow from others or from the configuration."""


class AdmittedJob(NamedTuple):
    """A job as known when it comes; second 0 is that of the accounts."""

    id: str
    tenant: str
    user: str
    demand: int
    submit_time: float


class AccountsState(NamedTuple):
    """All that must be kept to continue later: rows of the simulator's records, with names of jobs and tenants."""

    clock: Records  #: (1,) of `CLOCK`
    admitted: tuple[AdmittedJob, ...]
    job: Records  #: (n,) of `JOB`
    private: Records  #: (n,) of `PRIVATE_JOB`
    memory: list[Any]  #: (n,) values of the policy's records
    tenants: tuple[str, ...]
    tenant: Records  #: (T,) of `TENANT`
    tenant_memory: list[Any]  #: (T,) values of the policy's records
    share_tenant: tuple[str, ...]
    share: Records  #: (classes,) of `SHARE`
    timeline: Records  #: (hours, T) of `TIMELINE`


def empty_accounts(policy: Policy) -> AccountsState:
    """Return accounts in which nothing has happened."""
    return AccountsState(
        records(CLOCK), (), records(JOB, 0), records(PRIVATE_JOB, 0), [],
        (), records(TENANT, 0), [], (), records(SHARE, 0), records(TIMELINE, (0, 0)),
    )  # fmt: skip


class Balance(NamedTuple):
    """GPU-time of a job or a tenant up to the last round [GPU-s]."""

    attained: float
    owed: float

    @property
    def rho(self) -> float:
        """Attained over owed; NaN if nothing was owed."""
        return self.attained / self.owed if self.owed > 0 else math.nan

    @property
    def in_hours(self) -> Balance:
        """The same in GPU-h."""
        return Balance(self.attained / HOUR, self.owed / HOUR)


class Lease(NamedTuple):
    """A lease; times are seconds since 1970, 0 if not reached."""

    job: str
    number: int  #: among the leases of this job, from 1
    tenant: str
    demand: int  #: [GPU]
    submitted: float
    granted: float
    ends: float  #: infinite if the policy does not preempt
    started: float  #: start of the job on its GPUs
    over: float  #: end of the lease: the job ended or lost its GPUs, or the next lease began
    outcome: str
    """``running``, ``renewed``, ``not renewed``, ``not started``, ``revoked``, ``resized``, ``ended`` or ``lost``"""
    is_renewal: bool
    restarts: int  #: of the job, when it was granted
    serial: int  #: among all leases of this file, from 1, because Slurm reuses job ids
    is_interactive: bool  #: of a job of srun or salloc, which is never stopped


class State(NamedTuple):
    """The coordinator's knowledge at the end of a round."""

    epoch: float  #: second 0 of the accounts, in seconds since 1970
    accounts: AccountsState
    leases: dict[str, Lease]  #: running leases, by job
    serial: int = 0  #: of the lease that was recorded last
    ended: Mapping[str, float] = MappingProxyType({})  #: jobs that ended lately, and when Slurm said so
    kept: Mapping[str, str] = MappingProxyType({})  #: jobs that get no lease now under any policy, and why
    stopped: Mapping[str, Lease] = MappingProxyType({})  #: leases of jobs that lost them within an hour


def trace_of(admitted: Sequence[AdmittedJob], tenants: Iterable[str], weights: Mapping[str, float]) -> Trace:
    """Return the jobs as a trace for the simulator, with unknown running times; `tenants` came earlier."""
    names = {*tenants, *(m.tenant for m in admitted)} - {NOBODY}
    shares = dict(weights) or dict.fromkeys(sorted(names) or [NOBODY], 1.0)
    nobody = AdmittedJob("-", next(iter(shares)), "-", 1, 0.0)  # a trace needs a job
    first = min((m.submit_time for m in admitted), default=0.0)  # so that tables do not grow with the accounts' age
    table = [*(m._replace(submit_time=m.submit_time - first) for m in admitted), nobody]
    jobs = pd.DataFrame(table, columns=list(AdmittedJob._fields)).rename(columns={"id": "job_id"})
    trace = Trace.from_frame(jobs.assign(duration=MAX_TIME), name="the cluster", weights=shares)
    return trace._take(np.flatnonzero(trace.job_id != "-"))


def hours_stored(policy: Policy) -> int:
    """Return how many of the last hours a policy may ask for."""
    times = [value for value in policy.parameters.values() if math.isfinite(value)]
    return math.ceil(max([MONTH, *times]) / HOUR) + 2


def rows_of(memory: Records, dtype: np.dtype[Any], rows: Iterable[int]) -> list[Any]:
    """Return values of some of the records that a policy keeps, without its types; a list for each record."""
    records = memory.view(dtype) if dtype.names else None
    return [[] if records is None else [np.asarray(value).tolist() for value in records[row]] for row in rows]


def write_rows(memory: Records, dtype: np.dtype[Any], rows: Sequence[int], values: Sequence[Any]) -> None:
    """Write records that a policy keeps, unless a policy that keeps other ones has left these values."""
    for row, found in zip(rows, values, strict=True):
        if dtype.names and len(found) == len(dtype.names):
            memory.view(dtype)[row] = tuple(found)


OF_JOB: Final = tuple(dict.fromkeys((*(JOB.names or ()), *(PRIVATE_JOB.names or ()))))
"""Columns of a job that are fields of the simulator's records."""

COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "clock": ("id", "epoch", "serial", *(CLOCK.names or ())),
    "job": ("id", "owner", "user", "memory", *OF_JOB),
    "tenant": ("name", "memory", *(TENANT.names or ())),
    "share": ("tenant", *(SHARE.names or ())),
    "hour": ("hour", "tenant", *(TIMELINE.names or ())),
    "lease": Lease._fields,
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
