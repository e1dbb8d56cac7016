"""A Slurm on which jobs change and nodes and commands fail, with checks after every round."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from live_cluster import Clock, job
from live_leases import all_leases

from astraea.cluster.engine import accounting
from astraea.cluster.engine.state import PENDING, RUNNING
from astraea_ops.live.answers import FINISHED, ON_GPUS, Job, Node, Run, SlurmError
from astraea_ops.live.ledger import open_to_read, read_state
from astraea_ops.live.rounds import Rounds
from astraea_ops.live.slurm import Slurm
from astraea_ops.live.state import NOBODY

MIN_JOB_AGE = 300
"""Time for which a job that has ended is shown [s]."""


class Killed(BaseException):
    """The coordinator was killed at this moment."""


class Unforeseen(Exception):
    """An error that the coordinator does not know."""


class UnsteadySlurm(Slurm):
    """Two nodes of four GPUs; jobs that are not held start as soon as there is room."""

    def __init__(self, clock: Clock) -> None:
        super().__init__("gpu")
        self.clock, self.booted = clock, 0.0
        self.usable = {"n1": True, "n2": True}
        self.size = {"n1": 4, "n2": 4}
        self.all: dict[str, Job] = {}
        self.rank: dict[str, int] = {}
        self.past: list[Run] = []
        self.had: Counter[tuple[str, str, int]] = Counter()  #: since the last check, by id, tenant and size [GPU s]
        self.doubt: Counter[str] = Counter()  #: of it, what the accounts may miss; of every tenant under "" [GPU s]
        self.tenant: dict[str, str] = {}  #: whose a job is: its account when it came
        self.released: set[str] = set()  #: jobs that wait with a lease
        self.left_to_slurm: set[str] = set()  #: jobs that must never be touched
        self.fuse, self.blow = -1, BaseException()  #: moments until a kill or an error; negative is never
        self.ahead = 0.0  #: of the coordinator's clock [s]
        self.is_away, self.refuses = False, False
        self.failures = 0

    @property
    def now(self) -> float:
        """The time on Slurm's machine."""
        return self.clock.now + self.ahead

    # what the coordinator uses

    def moment(self) -> None:
        """Let the coordinator be killed now, if it is time."""
        self.fuse -= 1
        if self.fuse == -1:
            self.failures += 1
            raise self.blow

    def _asked(self, *, command: bool = False) -> None:
        self.moment()
        if self.is_away or (command and self.refuses):
            self.failures += 1
            raise SlurmError("Slurm did not answer")

    def nodes(self) -> list[Node]:
        self._asked()
        return [Node(name, gpus, self.usable[name], ("gpu",)) for name, gpus in self.size.items()]

    def jobs(self) -> list[Job]:
        self._asked()
        return list(self.all.values())

    def runs(self, since: float) -> list[Run]:
        self._asked()
        here = [self._run_of(j, 0.0) for j in self.all.values() if j.state in ON_GPUS and is_counted(j)]
        return sorted((r for r in (*self.past, *here) if r.end == 0 or r.end >= since), key=lambda r: r.start)

    def boot(self) -> float:
        self._asked()
        return self.booted

    def hold(self, id: str) -> None:
        self._change(id, held=True)
        self.released.discard(id)

    def release(self, job: Job, rank: int) -> None:
        self.rank[job.id] = -rank
        self.released.add(job.id)
        self._change(job.id, held=False, **({"eligible": self.now} if job.restarts else {}))

    def requeue(self, id: str, *, is_over: bool = False) -> None:
        self._asked(command=True)
        self._touch(id)
        if self.all[id].state != "RUNNING" and not is_over:
            raise SlurmError(f"job {id} does not run")
        self.stop(id, held=True)
        self.moment()

    def _change(self, id: str, **fields: object) -> None:
        self._asked(command=True)
        self._touch(id)
        if self.all[id].state != "PENDING":
            raise SlurmError(f"job {id} does not wait")
        self.change(id, **fields)
        self.moment()

    def _touch(self, id: str) -> None:
        assert id not in self.left_to_slurm, f"job {id} is Slurm's own"
        assert self.all[id].partition == "gpu", f"job {id} is in another partition"

    # what happens

    def pass_on(self, seconds: int) -> None:
        """Let time pass."""
        for one in self.all.values():
            tenant = self.tenant[one.id]
            if one.state in ON_GPUS and one.partition == "gpu" and one.id not in self.left_to_slurm:
                self.had[one.id, tenant, one.demand] += seconds * one.demand
            elif one.id in self.released:  # the accounts charge it until they know
                self.doubt[tenant] += seconds * one.demand
        self.clock.now += seconds
        for one in list(self.all.values()):
            if one.state in FINISHED and self.now - one.end > MIN_JOB_AGE:
                del self.all[one.id]
        self.start_all()

    def submit(self, id: str, **fields: object) -> None:
        """Take a job, with the id of a forgotten one."""
        self.all[id] = job(id, **({"submit": self.now} | fields))
        self.rank[id] = -10**9
        self.tenant[id] = self.all[id].account

    def belongs_to(self, id: str, tenant: str) -> None:
        """Give a job and its past GPU-time to this tenant."""
        self.tenant[id] = tenant
        for key in [key for key in self.had if key[0] == id]:
            time = self.had.pop(key)
            self.had[id, tenant, key[2]] += time

    def change(self, id: str, **fields: object) -> None:
        """Change what Slurm shows of a job."""
        self.all[id] = self.all[id]._replace(**fields)  # type: ignore[arg-type]

    def end(self, id: str, state: str) -> None:
        """Let a job end, or cancel it."""
        one = self.all[id]
        now = self.now
        start = one.start if one.state in ON_GPUS else now
        if one.state in ON_GPUS:
            self._write_down(one, state)
        self.change(id, state=state, held=False, start=start, end=max(start, now), on_nodes={})
        self.released.discard(id)

    def stop(self, id: str, *, held: bool, wait: int = 120) -> None:
        """Requeue a job that runs."""
        one = self.all[id]
        self._write_down(one, "REQUEUED")
        self.released.discard(id)
        self.change(id, state="PENDING", held=held, start=0.0, on_nodes={}, restarts=one.restarts + 1,
                    eligible=self.now + wait, reason="requeued")  # fmt: skip

    def start_all(self) -> None:
        """Start what has room, in the order of priorities."""
        for one in sorted(self.all.values(), key=lambda j: (-self.rank[j.id], j.submit)):
            if one.state != "PENDING" or one.held or one.depends or one.eligible > self.now:
                continue
            if places := self._places(one):
                self.change(one.id, state="RUNNING", start=self.now, on_nodes=places)
                self.released.discard(one.id)

    def _places(self, one: Job) -> dict[str, int]:
        used: Counter[str] = Counter()
        for other in self.all.values():
            if other.state in ON_GPUS:
                used.update(other.on_nodes)
        free = {n: gpus - used[n] for n, gpus in self.size.items() if self.usable[n]}
        if one.demand == 0:
            return dict.fromkeys(list(free)[:1], 0)
        if one.per_node:
            fit = sorted((n for n in free if free[n] >= one.per_node), key=lambda n: (free[n], n))
            count = -(-one.demand // one.per_node)
            return dict.fromkeys(fit[:count], one.per_node) if len(fit) >= count else {}
        if sum(free.values()) < one.demand:
            return {}
        first = max(free, key=lambda n: free[n])
        taken = min(one.demand, free[first])
        rest = {n: one.demand - taken for n in free if n != first and one.demand > taken}
        return {first: taken} | rest

    def _write_down(self, one: Job, state: str) -> None:
        if is_counted(one):
            self.past.append(self._run_of(one._replace(state=state), max(one.start, self.now)))

    def _run_of(self, one: Job, end: float) -> Run:
        return Run(one.id, one.account, one.user, one.qos, one.state, one.submit, one.start, end, one.demand)


def is_counted(one: Job) -> bool:
    """Return true if sacct shows a job of the partition under its id; a part of another has an id like ``3+0``."""
    return one.partition == "gpu" and not one.is_part


def check_accounts(rounds: Rounds) -> None:
    """The accounts, the leases and the file agree with each other."""
    accounts = rounds.accounts
    assert set(rounds.leases) == set(accounts.ids(RUNNING))
    held = dict.fromkeys(accounts.trace.tenants, 0)
    for lease in rounds.leases.values():
        held[lease.tenant] += lease.demand
        assert lease.granted <= rounds.now < lease.ends
    for t, name in enumerate(accounts.trace.tenants):
        assert accounts.view.tenant[t].held == held[name], name
        assert math.isnan(rho := accounts.balance(name).rho) or 0 <= rho < math.inf
    with open_to_read(rounds.config.state) as db:
        state, leases = read_state(db), all_leases(db)
    assert state is not None
    assert state.leases == rounds.leases
    assert {m.id for m in state.accounts.admitted} == {*accounts.ids(RUNNING), *accounts.ids(PENDING)}
    assert len({lease.serial for lease in leases}) == len(leases)
    open = {lease.job: lease for lease in leases if lease.outcome == "running"}
    assert open == rounds.leases, (open, rounds.leases)


def check_charges(rounds: Rounds, slurm: UnsteadySlurm, before: Mapping[str, float]) -> tuple[dict[str, float], bool]:
    """Check that every tenant was charged for its jobs since the last check, when it had `before` [GPU s].

    The GPU-time that Slurm gave is compared and then reset, except for tenants with a lease that was not started,
    because the lease may be given back. Returns the GPU-time of every tenant [GPU s], and true if one was compared to
    the second.
    """
    accounts, is_exact = rounds.accounts, False
    now = {
        name: float(accounting.tenant_alloc(accounts.view, t, accounts.now))
        for t, name in enumerate(accounts.trace.tenants)
    }
    given: Counter[str] = Counter()
    for (id, tenant, demand), time in slurm.had.items():
        if id in accounts or demand <= accounts.quota(tenant) + 1e-9:  # or the job is refused, and nobody is charged
            given[tenant] += time
    unstarted = {lease.tenant for id, lease in rounds.leases.items() if slurm.all[id].state not in ON_GPUS}
    assert {*before} - {NOBODY} <= {*now}, "a tenant is gone"
    for tenant, had in (dict.fromkeys(given, 0.0) | now).items():  # one that no round saw was charged nothing
        slack = slurm.doubt[tenant] + slurm.doubt[""]
        charged = had - before.get(tenant, 0.0)
        assert abs(charged - given[tenant]) <= slack + 1e-6, f"{tenant}: charged {charged}, had {given[tenant]}"
        is_exact = is_exact or (slack == 0 and given[tenant] > 0)
    found = {t: before.get(t, 0.0) if t in unstarted else now[t] for t in now}
    slurm.had = Counter({key: time for key, time in slurm.had.items() if key[1] in unstarted})
    slurm.doubt = Counter({t: slurm.doubt[t] + slurm.doubt[""] for t in unstarted})
    return found, is_exact


def check_slurm(rounds: Rounds, slurm: UnsteadySlurm, known: dict[str, int], serial: int) -> None:
    """Check that Slurm agrees with the accounts, and that leases after number `serial` promise only existing GPUs."""
    accounts = rounds.accounts
    active = {*accounts.ids(RUNNING), *accounts.ids(PENDING)}
    shown = slurm.all
    for id in active:
        assert id in shown, f"{id} is gone"
        assert shown[id].state not in FINISHED or id in rounds.stopped, f"{id} has ended"
        assert shown[id].partition == "gpu", f"{id} has left"
    waits = {id: j for id, j in shown.items() if j.partition == "gpu" and id not in slurm.left_to_slurm}
    for id, one in waits.items():
        if id in known and known[id] != one.demand:
            continue  # it comes anew at the next round
        if one.state == "PENDING":
            assert one.held == (id not in rounds.leases), f"{id}: held {one.held}"
        elif one.state == "RUNNING" and (id in accounts or one.requeues):  # others cannot be stopped
            assert id in rounds.leases, f"{id} has GPUs without a lease"
    if any(lease.serial > serial and lease.started == 0 for lease in rounds.leases.values()):
        usable = [n for n in slurm.size if slurm.usable[n]]
        here = sum(j.on_nodes.get(n, 0) for j in shown.values() if j.state in ON_GPUS for n in usable)
        promised = sum(lease.demand for id, lease in rounds.leases.items() if shown[id].state not in ON_GPUS)
        assert here + promised <= sum(slurm.size[n] for n in usable)
