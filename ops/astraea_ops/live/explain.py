"""One job in the coordinator's state: why it waits, what it is owed, when to expect a lease. Slurm is not queried.

The forecast plays the next rounds with the policy itself. Running times are unknown, so in it no job ends and none
arrives: in reality, jobs that end bring a lease forward, and jobs that arrive may delay it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

import numpy as np

from astraea.cluster.engine.events import ENDS
from astraea.cluster.engine.state import PENDING, RUNNING
from astraea.core.errors import InputError
from astraea.core.text import escaped, printable
from astraea.core.units import DAY
from astraea_ops.live import engine as live
from astraea_ops.live.accounts import Accounts, Event
from astraea_ops.live.changes import LATER
from astraea_ops.live.config import Config
from astraea_ops.live.ledger import leases_of, open_to_read, read_state
from astraea_ops.live.state import Balance, Lease, State
from astraea_ops.live.status import LATE

MOST_REFUSED: Final = 30
"""Number of times that the policy is asked again which free GPUs it would grant that the last round did not."""

AHEAD: Final = DAY
"""Longest forecast [s]."""

MOST_ROUNDS: Final = 10_000
"""Most rounds that a forecast plays."""

MOST_ENDS: Final = 1_000
"""Most jobs that a forecast lets end."""


class JobAhead(NamedTuple):
    """A waiting job that gets a lease before the explained job."""

    job: str
    tenant: str
    gpus: int


class Explanation(NamedTuple):
    """A job at the last round; times are seconds since 1970, None if unknown."""

    job: str
    tenant: str
    gpus: int
    state: str  #: ``waits``, ``runs`` or ``ended``
    time: float  #: of the last round
    age: float  #: of the last round [s]
    is_late: bool
    since: float | None  #: start of its wait or lease, or its end
    free: int  #: GPUs of the cluster that no job holds
    cluster: int  #: GPUs available for leases
    policy: str
    kept: str  #: why Slurm could not start it at the last round, empty if the policy did not pick it
    of_job: Balance | None  #: its GPU-time [GPU-h], None if it has ended
    of_tenant: Balance  #: GPU-time of its tenant [GPU-h]
    quota: float  #: of its tenant [GPU]
    held: int  #: by its tenant [GPU]
    leases: tuple[Lease, ...]  #: all its leases; the last one may be running
    lease_end: float | None  #: end of the running lease, None without one, or if it lasts until the job ends
    lost: float | None  #: expected loss of its GPUs, None if its lease is renewed or lasts until it ends
    granted: float | None  #: expected start of its next lease, or renewal of the running one
    ahead: tuple[JobAhead, ...]  #: waiting jobs that get a lease before `granted`
    renewals: int  #: leases of other jobs that are renewed before `granted`
    comes: bool  #: true if the forecast reached `granted`
    must_end: int  #: jobs that must end before `granted`, because no lease ends by itself
    until: float  #: end of the forecast


class ForecastRound(NamedTuple):
    """A future round at which leases change, its jobs in the order of the policy."""

    time: float  #: [s] from second 0 of the accounts
    ended: int  #: jobs that had to end for this round, the longest-running first; if not 0, `time` has no meaning
    granted: list[str]  #: waiting jobs that get GPUs
    renewed: list[str]
    lost: list[str]  #: jobs that lose their GPUs


def explain(config: Config, job: str, now: float | None = None) -> Explanation:
    """Explain a job at `now` [s since 1970], by default the time of this call; `InputError` if it is not known."""
    with open_to_read(config.state) as db:
        state, leases = read_state(db), leases_of(db, job)
    if state is None:
        raise InputError(f"{config.state}: no round has been written yet")
    now = time.time() if now is None else now
    accounts = accounts_after(config, state)
    if job in accounts:
        member = accounts.job(job)
        tenant, gpus = member.tenant, member.demand
    elif leases:
        tenant, gpus = leases[-1].tenant, leases[-1].demand
    else:
        raise InputError(_unknown(job, config, state))
    last = state.epoch + accounts.now
    if tenant not in accounts.trace.tenants:
        raise InputError(f"job {printable(job)}: its tenant {printable(tenant)} is not in [weights] any more")
    row = accounts.view.tenant[accounts.trace.tenants.index(tenant)]
    found = Explanation(
        job=job, tenant=tenant, gpus=gpus, state="ended", time=last, age=now - last,
        is_late=now - last > LATE * config.interval,
        since=leases[-1].over if leases and leases[-1].outcome == "ended" else None,
        free=int(accounts.view.free), cluster=accounts.gpus - accounts.withheld, policy=config.policy.name, kept="",
        of_job=None,
        of_tenant=accounts.balance(tenant).in_hours, quota=float(row.quota), held=int(row.held),
        leases=tuple(leases), lease_end=None, lost=None, granted=None, ahead=(), renewals=0, comes=False,
        must_end=0, until=last,
    )  # fmt: skip
    return _forecast(found, config, state, accounts, now) if job in accounts else found


def accounts_after(config: Config, state: State) -> Accounts:
    """Return the accounts after the last round, as the coordinator has them."""
    saved = state.accounts
    clock = saved.clock[0]
    accounts = Accounts(config.policy, config.interval, int(clock.gpus), config.weights, saved)
    held = int(saved.job["demand"][saved.job["status"] == RUNNING].sum())
    accounts.withhold(int(clock.gpus) - held - int(clock.free))
    accounts.view.free = clock.free
    return accounts


def _forecast(found: Explanation, config: Config, state: State, accounts: Accounts, now: float) -> Explanation:
    """Add what a waiting or running job can expect."""
    job, row, number = found.job, accounts.row(found.job), round(accounts.now / config.interval)
    runs = row.status == RUNNING
    found = found._replace(
        of_job=accounts.balance_of_job(job).in_hours, state="runs" if runs else "waits",
        since=state.epoch + float(row.lease_start if runs else row.waiting_since),
        lease_end=state.epoch + float(row.lease_end) if runs and row.lease_end < math.inf else None,
    )  # fmt: skip
    if runs and found.lease_end is None:
        return found
    later = [id for id, why in state.kept.items() if why == LATER]
    refused = {id: why for id, why in state.kept.items() if why != LATER and id in accounts}
    accounts.hear((), number)
    for _ in range(MOST_REFUSED):  # a job that the policy grants again was refused at the last round
        again = accounts.choose([*refused, *(id for id in later if id in accounts)])
        refused |= dict.fromkeys(again, "no nodes have its GPUs free, though the policy picks it")
        for id in again:
            accounts.refuse(id)
    if job in later:
        return found._replace(kept=LATER)
    found = found._replace(kept=refused.get(job, ""))
    first = max(number, int((now - state.epoch) / config.interval)) + 1
    ahead: dict[str, JobAhead] = {}
    renewals, lost = 0, None
    future = accounts_after(config, state)
    for one in rounds_ahead(future, first, later, refused):
        at = None if one.ended else state.epoch + one.time
        found = found._replace(must_end=one.ended)
        is_next = job in (*one.granted, *one.renewed)
        for id in one.granted[: one.granted.index(job)] if job in one.granted else one.granted:
            ahead.setdefault(id, JobAhead(id, accounts.job(id).tenant, accounts.job(id).demand))
        if is_next:
            ahead = ahead if lost or not runs else {}  # no job is ahead of one that keeps running
            found = found._replace(granted=at, comes=True)
            break
        renewals += len(one.renewed)
        lost = at if job in one.lost else lost
    return found._replace(lost=lost, ahead=tuple(ahead.values()), renewals=renewals, until=state.epoch + future.now)


def rounds_ahead(
    accounts: Accounts, first: int, later: Collection[str] = (), refused: Collection[str] = ()
) -> Iterator[ForecastRound]:
    """Play the rounds from number `first` on; `accounts`, in their state after a round, are consumed.

    Jobs in `later` get no lease. Jobs in `refused` get none until a lease ends, because no nodes are free for them
    before. Gangs are not placed on nodes. The forecast ends after `AHEAD`, `MOST_ROUNDS` or `MOST_ENDS`, or when
    nothing can change.
    """
    usable = accounts.gpus - accounts.withheld
    aside = [id for id in accounts.ids(PENDING) if id in later or accounts.job(id).demand > usable]
    for_now = [id for id in accounts.ids(PENDING) if id in refused and id not in aside]
    last = first + int(AHEAD / accounts.interval)
    number, ended = first, 0
    for _ in range(MOST_ROUNDS):
        events: list[Event] = []
        if ended:
            running = np.flatnonzero(accounts.view.job.status == RUNNING)
            if not len(running):
                return
            longest = running[np.argmin(accounts.view.job.launch[running])]
            events = [Event(accounts.now, ENDS, accounts.admitted[longest].id)]
        accounts.hear(events, number)
        if ended or accounts.view.n_expired > 0:
            for_now = []
        granted = accounts.choose(aside + for_now)
        expired, revoked = accounts.leaving()
        renewed = accounts.carry_out()
        if granted or renewed or expired or revoked:
            yield ForecastRound(accounts.now, ended, granted, renewed, [*expired, *revoked])
        following = 0 if ended else live.next_round(accounts.view, accounts.private)
        ended += following == 0
        number = following or number + 1
        if ended > MOST_ENDS or (number > last and not ended):
            return


def _unknown(job: str, config: Config, state: State) -> str:
    """Return why a job is not in the accounts."""
    if job in state.kept:
        return f"job {printable(job)} has no lease and gets none now: {escaped(state.kept[job])}"
    tasks = [id for id in (*(one.id for one in state.accounts.admitted), *state.kept) if id.startswith(f"{job}_")]
    if tasks:
        return f"job {printable(job)} is an array: name one of its {len(tasks)} tasks, such as {tasks[0]}"
    return (
        f"job {printable(job)} is unknown to the coordinator of partition {config.partition}: it came after the last "
        "round, belongs to another partition, or has ended without a lease"
    )
