"""The partitions between two rounds: their accounts, the leases that run, and nodes, as a round gives them away.

Several partitions are one pool of GPUs with one set of accounts. A job gets nodes of its own partitions only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from astraea.cluster.engine.state import RUNNING
from astraea.core.units import DAY
from astraea.live.accounts import Accounts
from astraea.live.answers import FINISHED, ON_GPUS, Job, Node, Run
from astraea.live.config import Config
from astraea.live.state import NOBODY, Lease, State

ACCOUNTING: Final = "the accounting"
"""What is told of it is told of no job."""

LATE_ENDS: Final = 20.0
"""A job that ends while slurmctld is away tells it so every 15 s; some more for the telling [s]."""


class Snapshot(NamedTuple):
    """What Slurm shows at one moment."""

    now: float  #: seconds since 1970
    jobs: Sequence[Job]
    nodes: Sequence[Node]
    booted: float = 0.0  #: when slurmctld was started, seconds since 1970

    @property
    def is_young(self) -> bool:
        """Whether slurmctld was started so lately that it may not know what has ended, or runs still."""
        return abs(self.now - self.booted) < LATE_ENDS  # it may have been started since `now`


class Partition:
    """Accounts and leases of one cluster of `gpus` [GPU], at `now` [s since 1970].

    They go on from `state`; without one they begin `Config.history` days ago. `history` takes a moment [s since 1970]
    and returns the partition's runs since then, from Slurm's accounting.
    """

    def __init__(
        self, config: Config, gpus: int, now: float, state: State | None, history: Callable[[float], list[Run]]
    ) -> None:
        self.config, self.history = config, history
        self.names = config.partition.split(",")
        self.epoch = state.epoch if state else math.floor(now - config.history * DAY)
        saved = state.accounts if state else None
        self.accounts = Accounts(config.policy, config.interval, gpus, config.weights, saved)
        running = set(self.accounts.ids(RUNNING))
        self.leases = {id: lease for id, lease in (state.leases if state else {}).items() if id in running}
        self.serial = state.serial if state else 0  #: of the lease that was written down last
        self.gpus = gpus
        self.unseen = self.epoch + self.accounts.now  #: jobs may have come and gone since then; infinite if not [s]
        self.booted = 0.0  #: when slurmctld was started, at the last round
        self.ended = dict(state.ended) if state else {}  #: jobs that have ended, and when Slurm said so first ...
        self.seen = dict(self.ended)  #: ... and last
        self.stopped = dict(state.stopped) if state else {}  #: leases over now, of jobs that may still have their GPUs
        self.guessed: dict[str, Lease] = {}  #: leases that are over, of which the accounting must tell the end
        self.stuck: dict[str, tuple[int, float]] = {}  #: jobs that could not start: how often, passed over until [s]
        self.told: set[str] = set()
        self.kept: dict[str, str] = {}  #: jobs that get no lease at this round by any policy, and why
        self.now = now
        left = [lease for id, lease in (state.leases if state else {}).items() if id not in self.leases]
        self.over = [lease._replace(over=now, outcome="lost") for lease in left]  #: leases over since the last round
        self.notes: list[str] = []  #: what happened at this round, in sentences

    def state(self) -> State:
        """What is kept."""
        accounts, leases = self.accounts.state(), dict(self.leases)
        return State(self.epoch, accounts, leases, self.serial, dict(self.ended), dict(self.kept), dict(self.stopped))

    def has(self, job: Job) -> bool:
        """Return whether a job is of these partitions, or may become so."""
        return not set(self.names).isdisjoint(job.partitions)

    def look_back(self) -> None:
        """Jobs may come and go from now on until the next round."""
        self.unseen = min(self.unseen, self.epoch + self.accounts.now)

    def tenant(self, job: Job | Run) -> str:
        """Tenant of a job."""
        return tenant_of(job, self.config)

    def has_share(self, job: Job | Run) -> bool:
        """Whether the tenant of a job is one of those that have a weight, or all are equal."""
        return not self.config.weights or self.tenant(job) in self.config.weights

    def note_once(self, about: str, sentence: str) -> None:
        """Say something that stays true for many rounds."""
        if about not in self.told:
            self.told.add(about)
            self.notes.append(sentence)

    def open(self, job: Job, *, is_renewal: bool) -> Lease:
        """Write a lease down that was granted at this round."""
        row = self.accounts.row(job.id)
        self.serial += 1
        lease = Lease(
            job.id, int(row.leases), self.tenant(job), int(row.demand), self.epoch + float(row.submit_time), self.now,
            self.epoch + float(row.lease_end), self.now if is_renewal else 0.0, 0.0, "running", is_renewal,
            job.restarts, self.serial,
        )  # fmt: skip
        self.leases[job.id] = lease
        return lease

    def was_killed(self, job: Job, booted: float) -> bool:
        """Whether a job that was stopped counts as failed: slurmctld, started at `booted` [s], forgot to requeue it."""
        lease = self.stopped.get(job.id)
        return job.state == "FAILED" and job.requeues and lease is not None and booted > lease.ends

    def charge_stopped(self, jobs: Mapping[str, Job], runs: Mapping[str, Sequence[Run]], booted: float) -> None:
        """Charge jobs that have lost their lease for as long as they keep their GPUs.

        A slurmctld that was started since, at `booted` [s since 1970], may have forgotten that they were stopped, which
        the accounting knows, in `runs`.
        """
        for id, lease in list(self.stopped.items()):
            job = jobs.get(id)
            is_on = job is not None and job.state in ON_GPUS and id not in self.leases
            if job is None or id not in self.accounts or job.start > lease.over or not (is_on or job.state in FINISHED):
                del self.stopped[id]
                continue
            ends = [run.end for run in runs.get(id, ()) if run.start == job.start and lease.granted < run.end <= booted]
            until = min([self.now, *ends, *[job.end] * (not is_on)])
            if ends:
                del self.stopped[id]
            if until > lease.over or ends:
                self.accounts.charge(id, lease.over - self.epoch, until - self.epoch)
                self.over.append(lease._replace(over=until))
                self.stopped |= {} if ends else {id: self.over[-1]}

    def close(self, id: str, time: float, outcome: str) -> None:
        """A lease is over."""
        self.over.append(self.leases.pop(id)._replace(over=time, outcome=outcome))


def tenant_of(job: Job | Run, config: Config) -> str:
    """Tenant of a job; names that no trace can have are one tenant."""
    name = str(getattr(job, config.tenant)).strip()
    return "(none)" if name in ("", NOBODY) else name


def is_deferred(job: Job, now: float) -> bool:
    """Whether a job depends on others, or is to begin later; the begin of one that was requeued is Slurm's, not its."""
    if job.state in ("REQUEUE_HOLD", "SPECIAL_EXIT"):  # it has failed, and Slurm keeps it for its user to look
        return True
    return job.depends or (job.eligible > now and job.restarts == 0)


class Places:
    """GPUs of the usable nodes that no job of `holders` has."""

    def __init__(self, nodes: Sequence[Node], holders: Iterable[Job]) -> None:
        self.known = {node.name for node in nodes}
        usable = [node for node in nodes if node.is_usable]
        self.free = {node.name: node.gpus for node in usable}
        self.names: dict[str, list[str]] = {}
        for node in usable:
            for partition in node.partitions:
                self.names.setdefault(partition, []).append(node.name)
        for job in holders:
            for name, gpus in job.on_nodes.items():
                if name in self.free:
                    self.free[name] -= gpus

    def put(self, job: Job) -> bool:
        """Give a job nodes of one of its partitions; whether there are any."""
        wanted = {*job.wanted} if self.known.issuperset(job.wanted) else set()  # or Slurm writes names in another way
        return any(
            self._put(job, [n for n in self.names.get(partition, ()) if n not in job.unwanted], wanted)
            for partition in job.partitions
        )

    def _put(self, job: Job, names: Sequence[str], wanted: set[str]) -> bool:
        """Give a job what it wants, then the fullest of these nodes that fit; the emptiest if it may be spread."""
        if job.per_node == 0:
            names = [name for name in names if name in wanted] if wanted else names
            gpus = job.demand
            if sum(max(0, self.free[name]) for name in names) < gpus:
                return False
            for name in sorted(names, key=lambda n: (-self.free[n], n)):
                taken = min(gpus, max(0, self.free[name]))
                self.free[name] -= taken
                gpus -= taken
            return True
        fit = sorted((n for n in names if self.free[n] >= job.per_node), key=lambda n: (self.free[n], n))
        fit.sort(key=lambda n: n not in wanted)
        count = -(-job.demand // job.per_node)
        if len(fit) < count or not wanted.issubset(fit[:count]):
            return False
        for name in fit[:count]:
            self.free[name] -= job.per_node
        return True
