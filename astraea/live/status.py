"""Status from the coordinator's state: tenants, leases, waiting jobs, and whose lease ends next. Slurm is not queried.

All numbers are those of the last round, except its age and the time left of leases, which are as of now.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Any, Final, NamedTuple

from astraea.cluster.engine import accounting
from astraea.cluster.engine.state import PENDING
from astraea.core.errors import InputError
from astraea.core.text import printable
from astraea.core.units import HOUR
from astraea.live.accounts import Accounts
from astraea.live.config import Config
from astraea.live.ledger import failures, open_to_read, read_state, rounds_had
from astraea.live.state import NOBODY

LATE: Final = 3
"""Number of missed rounds after which the coordinator counts as absent."""

FIRST: Final = 10
"""Number of waiting jobs that are listed."""


class TenantStanding(NamedTuple):
    """A tenant at the last round."""

    tenant: str
    weight: float
    quota: float  #: [GPU]
    held: int  #: [GPU]
    waiting: int  #: demand of its waiting jobs [GPU]
    waiting_jobs: int
    attained: float  #: since the accounts began [GPU-h]
    owed: float  #: in the same time [GPU-h]
    rho: float  #: attained over owed, NaN if it was owed nothing


class RunningLease(NamedTuple):
    """A job that has a lease."""

    job: str
    tenant: str
    gpus: int
    lease: int  #: its number among the job's leases, from 1
    left: float  #: time until it ends [s], below 0 if a round is late; infinite if it lasts until the job ends


class WaitingJob(NamedTuple):
    """A job that waits for a lease."""

    job: str
    tenant: str
    gpus: int
    rho: float  #: GPU-time over fair GPU-time, NaN if it was owed nothing yet
    waited: float  #: time since it came or lost its last lease [s]


class Status(NamedTuple):
    """The state of the partition at the last round."""

    time: float  #: of the last round, seconds since 1970
    age: float  #: [s]
    is_late: bool
    partition: str
    policy: str
    parameters: dict[str, Any]
    gpus: int
    free: int  #: available for leases
    since: float  #: second 0 of the accounts, seconds since 1970
    tenants: tuple[TenantStanding, ...]
    leases: tuple[RunningLease, ...]  #: the next to end first
    waiting: tuple[WaitingJob, ...]  #: in order of submission
    failed: int  #: rounds that failed by an error in the coordinator, since the state was begun
    failed_at: float  #: time of the last failed round, seconds since 1970, 0 if there is none
    failure: str  #: its error
    rounds: int  #: number of rounds since the state was begun
    rounds_seconds: float  #: their total duration [s]
    round_seconds: float  #: duration of the last round [s]


def status(config: Config, now: float | None = None) -> Status:
    """Read the state at `now` [s since 1970], by default the time of this call.

    `InputError` if there is no state, if it is empty, or if it cannot be read.
    """
    with closing(open_to_read(config.state)) as db:
        state, failed, had = read_state(db), failures(db), rounds_had(db)
    if state is None:
        raise InputError(f"{config.state}: no round has been written yet")
    now = time.time() if now is None else now
    saved = state.accounts
    accounts = Accounts(config.policy, config.interval, int(saved.clock[0].gpus), config.weights, saved)
    view, last = accounts.view, accounts.now
    waiting = [accounts.job(id) for id in accounts.ids(PENDING)]
    tenants = []
    for t, name in enumerate(accounts.trace.tenants):
        row = view.tenant[t]
        demands = [member.demand for member in waiting if member.tenant == name]
        attained, owed = (f(view, t, last) / HOUR for f in (accounting.tenant_alloc, accounting.tenant_fair))
        if name != NOBODY:
            tenants.append(TenantStanding(
                name, float(row.weight), float(row.quota), int(row.held), sum(demands), len(demands), float(attained),
                float(owed), accounts.rho(name),
            ))  # fmt: skip
    leases = [RunningLease(x.job, x.tenant, x.demand, x.number, x.ends - now) for x in state.leases.values()]
    round_time = state.epoch + last
    return Status(
        time=round_time,
        age=now - round_time,
        is_late=now - round_time > LATE * config.interval,
        partition=config.partition,
        policy=config.policy.name,
        parameters=dict(config.policy.as_text),
        gpus=int(saved.clock[0].gpus),
        free=int(saved.clock[0].free),
        since=state.epoch,
        tenants=tuple(tenants),
        leases=tuple(sorted(leases, key=lambda lease: lease.left)),
        waiting=tuple(
            WaitingJob(member.id, member.tenant, member.demand, float(accounts.rho_of_job(member.id)),
                       round_time - state.epoch - float(accounts.row(member.id).waiting_since))
            for member in sorted(waiting, key=lambda member: member.submit_time)
        ),
        failed=failed[0],
        failed_at=failed[1],
        failure=failed[2],
        rounds=had[0],
        rounds_seconds=had[1],
        round_seconds=had[2],
    )  # fmt: skip


def as_text(found: Status, most: int | None = None) -> str:
    """Format the status as tables, with the first `most` leases, or all of them."""
    held = sum(tenant.held for tenant in found.tenants)
    parameters = ", ".join(f"{k} {v:g}" if isinstance(v, float) else f"{k} {v}" for k, v in found.parameters.items())
    lines = [
        f"partition {found.partition}: {held} of {found.gpus} GPUs under leases",
        f"policy {found.policy}{f': {parameters}' if parameters else ''}",
        f"last round {_moment(found.time)}, {found.age:.0f} s ago; accounts since {_moment(found.since)}",
    ]
    if found.is_late:
        lines.append(f"WARNING: no round for {found.age:.0f} s; is the coordinator running?")
    if found.failed:
        lines.append(f"WARNING: {found.failed} round{'' if found.failed == 1 else 's'} failed, the last at "
                     f"{_moment(found.failed_at)}: {printable(found.failure)}; see the log")  # fmt: skip
    lines += ["", *_table(
        ("tenant", "weight", "quota [GPU]", "held [GPU]", "waiting [GPU]", "waiting [jobs]", "attained [GPU-h]",
         "owed [GPU-h]", "rho"),
        [(*x[:1], f"{x.weight:g}", f"{x.quota:.4g}", x.held, x.waiting, x.waiting_jobs, f"{x.attained:.2f}",
          f"{x.owed:.2f}", _ratio(x.rho)) for x in found.tenants],
    )]  # fmt: skip
    leases, waiting = found.leases[:most], found.waiting[:FIRST]
    lines += ["", _heading(found.leases, leases, "lease", "the next to end first"), *_table(
        ("job", "tenant", "GPUs", "lease", "time left [s]"),
        [(x.job, x.tenant, x.gpus, x.lease, f"{x.left:.0f}" if x.left < math.inf else "to its end") for x in leases],
    )]  # fmt: skip
    lines += ["", _heading(found.waiting, waiting, "waiting job", "by submission"), *_table(
        ("job", "tenant", "GPUs", "rho", "waited [s]"),
        [(x.job, x.tenant, x.gpus, _ratio(x.rho), f"{x.waited:.0f}") for x in waiting],
    )]  # fmt: skip
    return "\n".join(lines)


def as_records(found: Status) -> dict[str, Any]:
    """Return the status for a program: Slurm's names; None for values that are infinite or undefined."""
    lists = {name: [_record(row) for row in getattr(found, name)] for name in ("tenants", "leases", "waiting")}
    return _record(found) | lists


def _record(row: Any) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row._asdict().items()}


def _table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """Format columns as wide as needed; job and tenant to the left, numbers to the right."""
    cells = [[printable(value) for value in row] for row in rows]
    if not cells:
        return []
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    is_name = [name in ("job", "tenant") for name in header]
    return [
        "  ".join(c.ljust(w) if left else c.rjust(w) for c, w, left in zip(row, widths, is_name, strict=True)).rstrip()
        for row in (header, *cells)
    ]


def _ratio(rho: float) -> str:
    return "-" if math.isnan(rho) else f"{rho:.2f}"


def _heading(rows: Sequence[Any], listed: Sequence[Any], what: str, order: str) -> str:
    """Return how many rows there are, in which order, and how many of them are listed."""
    if not rows:
        return f"no {what}s"
    first = f" (the first {len(listed)})" if len(listed) < len(rows) else ""
    return f"{len(rows)} {what}{'' if len(rows) == 1 else 's'}, {order}{first}"


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
