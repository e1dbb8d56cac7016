"""Status from the coordinator's state: tenants, leases, waiting jobs, and whose lease ends next. Slurm is not queried.

All numbers are those of the last round, except its age and the time left of leases, which are as of now.

Source: Prometheus, Exposition formats, text format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from astraea.cluster.engine.state import PENDING
from astraea.core.errors import InputError
from astraea.core.text import printable
from astraea.core.units import HOUR
from astraea.core.wording import labels_text
from astraea_ops.live.accounts import Accounts
from astraea_ops.live.config import Config
from astraea_ops.live.ledger import counts, open_to_read, read_state
from astraea_ops.live.state import NOBODY

LATE: Final = 3
"""Number of missed rounds after which the coordinator counts as absent."""

FIRST: Final = 10
"""Number of waiting jobs that are listed."""

METRICS: Final = {
    "astraea_info": ("gauge", "Always 1; the labels give the partition and its policy."),
    "astraea_gpus": ("gauge", "GPUs of the partition, including those that cannot be used now."),
    "astraea_free_gpus": ("gauge", "GPUs available for leases: on nodes that are up, and held by no job."),
    "astraea_leases": ("gauge", "Running leases."),
    "astraea_last_round_timestamp_seconds": ("gauge", "Time of the last round, seconds since 1970."),
    "astraea_round_seconds": ("gauge", "Duration of the last round, including its commands to Slurm."),
    "astraea_rounds_total": ("counter", "Number of rounds."),
    "astraea_rounds_seconds_total": ("counter", "Total duration of all rounds."),
    "astraea_rounds_failed_total": ("counter", "Rounds that failed because of an error in the coordinator."),
    "astraea_tenant_weight": ("gauge", "Share of the tenant."),
    "astraea_tenant_quota_gpus": ("gauge", "Current quota of the tenant."),
    "astraea_tenant_held_gpus": ("gauge", "GPUs that the tenant holds under leases."),
    "astraea_tenant_waiting_gpus": ("gauge", "GPUs that the tenant's waiting jobs ask for."),
    "astraea_tenant_waiting_jobs": ("gauge", "Waiting jobs of the tenant."),
    "astraea_tenant_longest_wait_seconds": ("gauge", "Longest wait among the tenant's waiting jobs, 0 if none."),
    "astraea_tenant_attained_gpu_seconds": ("gauge", "GPU-time of the tenant; falls if a lease is refunded."),
    "astraea_tenant_owed_gpu_seconds": ("gauge", "GPU-time owed to the tenant over the same time."),
}
"""Type and meaning of each metric for Prometheus."""


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
    is_interactive: bool  #: true for a job of srun or salloc


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
    """Read the state at `now` [s since 1970], by default the time of this call; `InputError` if there is none."""
    with open_to_read(config.state) as db:
        state, counted_rounds = read_state(db), counts(db)
    if state is None:
        raise InputError(f"{config.state}: no round has been written yet")
    now = time.time() if now is None else now
    saved = state.accounts
    accounts = Accounts(config.policy, config.interval, int(saved.clock[0].gpus), config.weights, saved)
    waiting = [accounts.job(id) for id in accounts.ids(PENDING)]
    tenants = []
    for t, name in enumerate(accounts.trace.tenants):
        row, balance = accounts.view.tenant[t], accounts.balance(name)
        demands = [member.demand for member in waiting if member.tenant == name]
        if name != NOBODY:
            tenants.append(TenantStanding(
                name, float(row.weight), float(row.quota), int(row.held), sum(demands), len(demands),
                *balance.in_hours, balance.rho,
            ))  # fmt: skip
    leases = [RunningLease(x.job, x.tenant, x.demand, x.number, x.ends - now, bool(x.is_interactive))
              for x in state.leases.values()]  # fmt: skip
    round_time = state.epoch + accounts.now
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
            WaitingJob(member.id, member.tenant, member.demand, accounts.balance_of_job(member.id).rho,
                       round_time - state.epoch - float(accounts.row(member.id).waiting_since))
            for member in sorted(waiting, key=lambda member: member.submit_time)
        ),
        **counted_rounds,
    )  # fmt: skip


def as_text(found: Status, most: int | None = None) -> str:
    """Format the status as tables, with the first `most` leases, or all of them."""
    held = sum(tenant.held for tenant in found.tenants)
    parameters = ", ".join(f"{k} {v:g}" if isinstance(v, float) else f"{k} {v}" for k, v in found.parameters.items())
    lines = [
        f"partition {found.partition}: {held} of {found.gpus} GPUs under leases",
        f"policy {found.policy}{f': {parameters}' if parameters else ''}",
        f"last round {moment(found.time)}, {found.age:.0f} s ago; accounts since {moment(found.since)}",
    ]
    if found.is_late:
        lines.append(f"WARNING: no round for {found.age:.0f} s; is the coordinator running?")
    if found.failed:
        lines.append(f"WARNING: {found.failed} round{'' if found.failed == 1 else 's'} failed, the last at "
                     f"{moment(found.failed_at)}: {printable(found.failure)}; see the log")  # fmt: skip
    lines += ["", *_table(
        ("tenant", "weight", "quota [GPU]", "held [GPU]", "waiting [GPU]", "waiting [jobs]", "attained [GPU-h]",
         "owed [GPU-h]", "rho"),
        [(*x[:1], f"{x.weight:g}", f"{x.quota:.4g}", x.held, x.waiting, x.waiting_jobs, f"{x.attained:.2f}",
          f"{x.owed:.2f}", _ratio(x.rho)) for x in found.tenants],
    )]  # fmt: skip
    leases, waiting = found.leases[:most], found.waiting[:FIRST]
    lines += ["", _heading(found.leases, leases, "lease", "the next to end first"), *_table(
        ("job", "tenant", "GPUs", "lease", "time left [s]"),
        [(x.job, x.tenant, x.gpus, x.lease, _left(x)) for x in leases],
    )]  # fmt: skip
    lines += ["", _heading(found.waiting, waiting, "waiting job", "by submission"), *_table(
        ("job", "tenant", "GPUs", "rho", "waited [s]"),
        [(x.job, x.tenant, x.gpus, _ratio(x.rho), f"{x.waited:.0f}") for x in waiting],
    )]  # fmt: skip
    return "\n".join(lines)


def as_record(found: Any) -> Any:
    """Return a status or an explanation for a program: None for values that are infinite or undefined."""
    if isinstance(found, tuple):
        fields: Any = getattr(found, "_asdict", dict)()
        return {k: as_record(v) for k, v in fields.items()} if fields else [as_record(v) for v in found]
    return None if isinstance(found, float) and not math.isfinite(found) else found


def as_prometheus(found: Status) -> str:
    """Format the status for the textfile collector of Prometheus; every sample has the label `partition`."""
    whole = {"partition": found.partition}
    rows: dict[str, list[tuple[dict[str, str], float]]] = {
        "astraea_info": [(whole | {"policy": found.policy}, 1)],
        "astraea_gpus": [(whole, found.gpus)],
        "astraea_free_gpus": [(whole, found.free)],
        "astraea_leases": [(whole, len(found.leases))],
        "astraea_last_round_timestamp_seconds": [(whole, found.time)],
        "astraea_round_seconds": [(whole, found.round_seconds)],
        "astraea_rounds_total": [(whole, found.rounds)],
        "astraea_rounds_seconds_total": [(whole, found.rounds_seconds)],
        "astraea_rounds_failed_total": [(whole, found.failed)],
    }
    waited: dict[str, float] = {}
    for job in found.waiting:
        waited[job.tenant] = max(job.waited, waited.get(job.tenant, 0.0))
    for x in found.tenants:
        values = {
            "weight": x.weight, "quota_gpus": x.quota, "held_gpus": x.held, "waiting_gpus": x.waiting,
            "waiting_jobs": x.waiting_jobs, "longest_wait_seconds": waited.get(x.tenant, 0.0),
            "attained_gpu_seconds": x.attained * HOUR, "owed_gpu_seconds": x.owed * HOUR,
        }  # fmt: skip
        for name, value in values.items():
            rows.setdefault(f"astraea_tenant_{name}", []).append((whole | {"tenant": x.tenant}, value))
    lines: list[str] = []
    for name, (kind, meaning) in METRICS.items():
        lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{labels_text(labels)} {float(value)!r}" for labels, value in rows.get(name, ())]
    return "\n".join(lines) + "\n"


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


def _left(lease: RunningLease) -> str:
    if lease.left < math.inf:
        return f"{lease.left:.0f}"
    return "to its end (interactive)" if lease.is_interactive else "to its end"


def _ratio(rho: float) -> str:
    return "-" if math.isnan(rho) else f"{rho:.2f}"


def _heading(rows: Sequence[Any], listed: Sequence[Any], what: str, order: str) -> str:
    """Return how many rows there are, in which order, and how many of them are listed."""
    if not rows:
        return f"no {what}s"
    first = f" (the first {len(listed)})" if len(listed) < len(rows) else ""
    return f"{len(rows)} {what}{'' if len(rows) == 1 else 's'}, {order}{first}"


def moment(seconds: float | None) -> str:
    """Format seconds since 1970 as local time; "?" if None."""
    return "?" if seconds is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
