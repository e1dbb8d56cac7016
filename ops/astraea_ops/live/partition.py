"""The partitions between two rounds: their accounts, the running leases, and the nodes that a round assigns.

Several partitions are one pool of GPUs with one set of accounts. A job gets nodes of its own partitions only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from astraea.cluster.engine.state import RUNNING
from astraea.core.units import DAY
from astraea_ops.live.accounts import Accounts
from astraea_ops.live.answers import FINISHED, ON_GPUS, Job, Node, Run
from astraea_ops.live.config import Config
from astraea_ops.live.state import NOBODY, Lease, State, empty_accounts

ACCOUNTING: Final = "the accounting"
"""Subject of notes about Slurm's accounting, where other notes have a job."""

LATE_ENDS: Final = 20.0
"""Time that slurmctld needs after its start to learn of ends: jobs report every 15 s, plus some margin [s]."""


class Snapshot(NamedTuple):
    """The state of Slurm at one moment."""

    now: float  #: seconds since 1970
    jobs: Sequence[Job]
    nodes: Sequence[Node]
    booted: float = 0.0  #: when slurmctld was started, seconds since 1970

    @property
    def is_young(self) -> bool:
        """True if slurmctld was started so recently that it may not know what has ended or still runs."""
        return abs(self.now - self.booted) < LATE_ENDS  # it may have been started since `now`


class Partition:
    """Accounts and leases of one cluster of `gpus` [GPU], at `now` [s since 1970].

    They continue from `state`; without one they begin `Config.history` days ago. `history` takes a time [s since 1970]
    and returns the partition's runs since then, from Slurm's accounting.
    """

    def __init__(
        self, config: Config, gpus: int, now: float, state: State | None, history: Callable[[float], list[Run]]
    ) -> None:
        self.config, self.history = config, history
        self.names = config.partition.split(",")
        state = state or State(math.floor(now - config.history * DAY), empty_accounts(config.policy), {})
        self.epoch = state.epoch
        self.accounts = Accounts(config.policy, config.interval, gpus, config.weights, state.accounts)
        running = set(self.accounts.ids(RUNNING))
        self.leases = {id: lease for id, lease in state.leases.items() if id in running}
        self.serial = state.serial  #: of the lease that was recorded last
        self.gpus = gpus
        self.unseen = self.epoch + self.accounts.now  #: jobs may have come and gone since then; infinite if not [s]
        self.booted = 0.0  #: when slurmctld was started, at the last round
        self.ended = dict(state.ended)  #: jobs that have ended, and when Slurm first said so ...
        self.seen = dict(self.ended)  #: ... and last
        self.stopped = dict(state.stopped)  #: ended leases of jobs that may still hold their GPUs
        self.guessed: dict[str, Lease] = {}  #: ended leases whose end must still be looked up in the accounting
        self.stuck: dict[str, tuple[int, float]] = {}  #: jobs that could not start: how often, skipped until [s]
        self.told: set[str] = set()
        self.kept: dict[str, str] = {}  #: jobs that get no lease at this round under any policy, and why
        self.now = now
        left = [lease for id, lease in state.leases.items() if id not in self.leases]
        self.over = [lease._replace(over=now, outcome="lost") for lease in left]  #: leases over since the last round
        self.notes: list[str] = []  #: what happened at this round, in sentences

    def state(self) -> State:
        """Return all that is kept."""
        accounts, leases = self.accounts.state(), dict(self.leases)
        return State(self.epoch, accounts, leases, self.serial, dict(self.ended), dict(self.kept), dict(self.stopped))

    def has(self, job: Job) -> bool:
        """Return whether a job belongs to these partitions, or may come to."""
        return not set(self.names).isdisjoint(job.partitions)

    def tenant(self, job: Job | Run) -> str:
        """Return the tenant of a job."""
        return tenant_of(job, self.config)

    def has_share(self, job: Job | Run) -> bool:
        """Return whether the tenant of a job has a weight, or all tenants are equal."""
        return not self.config.weights or self.tenant(job) in self.config.weights

    def note_once(self, about: str, sentence: str) -> None:
        """Add a note once if it stays true for many rounds."""
        if about not in self.told:
            self.told.add(about)
            self.notes.append(sentence)

    def note_interactive(self, job: Job) -> None:
        """Note once that a job with a lease is never stopped, if srun or salloc started it."""
        if not job.is_batch:
            why = "is interactive (srun or salloc): it is never stopped"
            self.note_once(f"interactive {job.id}", f"job {job.id} {why}")

    def open(self, job: Job, *, is_renewal: bool) -> Lease:
        """Record a lease that was granted at this round."""
        row = self.accounts.row(job.id)
        self.serial += 1
        lease = Lease(
            job.id, int(row.leases), self.tenant(job), int(row.demand), self.epoch + float(row.submit_time), self.now,
            self.epoch + float(row.lease_end), self.now if is_renewal else 0.0, 0.0, "running", is_renewal,
            job.restarts, self.serial, not job.is_batch,
        )  # fmt: skip
        self.leases[job.id] = lease
        return lease

    def was_killed(self, job: Job, booted: float) -> bool:
        """Return whether a stopped job failed only because slurmctld, started at `booted` [s], forgot to requeue it."""
        lease = self.stopped.get(job.id)
        is_its_last = lease is not None and lease.ends < booted and 0 < job.start < lease.over
        return job.state == "FAILED" and job.requeues and is_its_last

    def charge_stopped(self, jobs: Mapping[str, Job], runs: Mapping[str, Sequence[Run]], booted: float) -> None:
        """Charge jobs that have lost their lease for as long as they hold their GPUs; `booted` is as in `Snapshot`."""
        # a slurmctld that was restarted may have forgotten that they were stopped; the runs of the accounting show it
        for id, lease in list(self.stopped.items()):
            job = jobs.get(id)
            if job is not None and id in self.accounts and job.state not in (*ON_GPUS, *FINISHED):
                continue  # slurmctld may still forget that it was stopped
            is_on = job is not None and job.state in ON_GPUS and id not in self.leases
            is_its_last = job is not None and id in self.accounts and 0 < job.start < lease.over
            if job is None or not is_its_last or not (is_on or job.state in FINISHED):
                del self.stopped[id]
                continue
            ends = [run.end for run in runs.get(id, ()) if run.start == job.start and lease.granted < run.end <= booted]
            until = min([self.now, *ends, *[job.end] * (not is_on)])
            if until > lease.over or ends:
                self.accounts.charge(id, lease.over - self.epoch, until - self.epoch)
                self.stopped[id] = lease._replace(over=until)
                self.over.append(self.stopped[id])
            if ends and is_on:  # if it has failed, it may still have to be requeued
                del self.stopped[id]

    def close(self, id: str, time: float, outcome: str) -> None:
        """Record the end of a lease."""
        self.over.append(self.leases.pop(id)._replace(over=time, outcome=outcome))


def tenant_of(job: Job | Run, config: Config) -> str:
    """Return the tenant of a job; names that no trace can have all become one tenant."""
    name = str(getattr(job, config.tenant)).strip()
    return "(none)" if name in ("", NOBODY) else name


def is_deferred(job: Job, now: float) -> bool:
    """Return whether a job depends on others or has a later begin time of its own, not one that a requeue set."""
    if job.state in ("REQUEUE_HOLD", "SPECIAL_EXIT"):  # it has failed, and Slurm holds it for its user
        return True
    return job.depends or (job.eligible > now and job.restarts == 0)


class Places:
    """Free GPUs of the usable nodes: those that no job of `holders` has."""

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
        """Give a job nodes of one of its partitions; return whether it fits."""
        wanted = {*job.wanted} if self.known.issuperset(job.wanted) else set()  # Slurm may write names differently
        return any(
            self._put(job, [n for n in self.names.get(partition, ()) if n not in job.unwanted], wanted)
            for partition in job.partitions
        )

    def _put(self, job: Job, names: Sequence[str], wanted: set[str]) -> bool:
        """Give a job the nodes it wants, then the fullest of these nodes that fit; the emptiest if it may be spread."""
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
