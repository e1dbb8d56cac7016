"""The partition between two rounds: its accounts, the leases that run, and its nodes, as a round gives them away."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from astraea.cluster.engine.state import RUNNING
from astraea.core.units import DAY
from astraea.live.accounts import Accounts
from astraea.live.answers import Job, Node, Run
from astraea.live.config import Config
from astraea.live.state import NOBODY, Lease, State


class Partition:
    """Accounts and leases of one cluster of `gpus` [GPU], at `now` [s since 1970].

    They go on from `state`; without one they begin `Config.history` days ago. `history` takes a moment [s since 1970]
    and returns the partition's runs since then, from Slurm's accounting.
    """

    def __init__(
        self, config: Config, gpus: int, now: float, state: State | None, history: Callable[[float], list[Run]]
    ) -> None:
        self.config, self.history = config, history
        self.epoch = state.epoch if state else math.floor(now - config.history * DAY)
        saved = state.accounts if state else None
        self.accounts = Accounts(config.policy, config.interval, gpus, config.weights, saved)
        running = set(self.accounts.ids(RUNNING))
        self.leases = {id: lease for id, lease in (state.leases if state else {}).items() if id in running}
        self.serial = state.serial if state else 0  #: of the lease that was written down last
        self.gpus = gpus
        self.looks_back = True  #: whether jobs may have come and gone since the last round
        self.told: set[str] = set()
        self.kept: dict[str, str] = {}  #: jobs that get no lease at this round by any policy, and why
        self.now = now
        left = [lease for id, lease in (state.leases if state else {}).items() if id not in self.leases]
        self.over = [lease._replace(over=now, outcome="lost") for lease in left]  #: leases over since the last round
        self.notes: list[str] = []  #: what happened at this round, in sentences

    def state(self) -> State:
        """What is kept."""
        return State(self.epoch, self.accounts.state(), dict(self.leases), self.serial, kept=dict(self.kept))

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

    def close(self, id: str, time: float, outcome: str) -> None:
        """A lease is over."""
        self.over.append(self.leases.pop(id)._replace(over=time, outcome=outcome))


def tenant_of(job: Job | Run, config: Config) -> str:
    """Tenant of a job; names that no trace can have are one tenant."""
    name = str(getattr(job, config.tenant)).strip()
    return "(none)" if name in ("", NOBODY) else name


class Places:
    """GPUs of the usable nodes that no job holds."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.free = {node.name: node.gpus for node in nodes if node.is_usable}

    def hold(self, job: Job) -> None:
        """Count what a job has."""
        for name, gpus in job.on_nodes.items():
            if name in self.free:
                self.free[name] -= gpus

    def put(self, job: Job) -> bool:
        """Give a job nodes, the fullest that fit, or the emptiest if it may be spread; whether there are any."""
        if job.per_node == 0:
            gpus = job.demand
            if sum(max(0, free) for free in self.free.values()) < gpus:
                return False
            for name in sorted(self.free, key=lambda n: (-self.free[n], n)):
                taken = min(gpus, max(0, self.free[name]))
                self.free[name] -= taken
                gpus -= taken
            return True
        fit = sorted((n for n, free in self.free.items() if free >= job.per_node), key=lambda n: (self.free[n], n))
        count = -(-job.demand // job.per_node)
        if len(fit) < count:
            return False
        for name in fit[:count]:
            self.free[name] -= job.per_node
        return True
