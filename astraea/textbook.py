"""ASTRAEA in plain Python, to be read from top to bottom: the scheduler of [Ye2022] and the cluster that it runs on.

Jobs are gangs of GPUs that belong to tenants. GPUs are granted for one lease at a time. At each round the scheduler
picks the tenant that is furthest below its share of GPU-time, and then the job of that tenant that is furthest below
its own share. Time is in seconds, GPU-time in GPU-seconds; equation and algorithm numbers are those of [Ye2022].

Every number is exact (`int` or `Fraction`), every round is executed, and only the standard library is needed.
This makes the module slow: use it for small workloads. `astraea.simulate` computes the same schedules fast.

>>> from astraea.textbook import JobSpec, simulate
>>> result = simulate([JobSpec(0, 1, 0, 100), JobSpec(0, 1, 0, 30)], nodes=1, gpus_per_node=1, tenant_weights=[1])
>>> [int(time) for time in result["end_time"]]
[100, 130]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

Exact = int | Fraction
Nodes = tuple[tuple[int, int], ...]
"""Nodes of a gang: (node, GPUs on it), in node order."""

HOUR = 3600


# -- the trace -----------------------------------------------------------------------------------------------------


class JobSpec(NamedTuple):
    """A job as submitted; its position in the trace is its index, in order of submission."""

    tenant: int
    demand: int
    submit: float | Fraction
    duration: float | Fraction
    weight: float | Fraction = 1


class Grant(NamedTuple):
    """One granted lease."""

    time: Fraction
    job: int
    renewed: bool
    nodes: Nodes


@dataclass(eq=False)
class Job:
    """A job and its whole history."""

    index: int
    tenant: int
    demand: int
    submit: Exact
    duration: Exact
    weight: Exact
    #: aside | future | pending | running (under a lease) | asking (its lease has ended, it wants the next) | ended
    status: str = "future"
    # the lease it is under
    nodes: Nodes = ()
    lease_start: Exact = 0
    lease_end: Exact = 0
    renewed: bool = False
    cold: Exact = 0  # length of the cold start
    finish: Exact | None = None  # end of the job, if it lies inside the lease
    # history
    first_start: Exact | None = None
    end_time: Exact | None = None
    waiting_since: Exact = 0
    held: Exact = 0  # seconds with GPUs, in leases that are over
    progress: Exact = 0
    overhead: Exact = 0
    leases: int = 0
    preemptions: int = 0
    fair: Exact = 0  # Eq. 14
    share: Exact = 0  # min(demand, Eq. 13) now

    @property
    def active(self) -> bool:
        """Submitted and not ended."""
        return self.status in ("pending", "running", "asking")

    @property
    def attained(self) -> Exact:
        """GPU-seconds held, in leases that are over."""
        return self.demand * self.held


@dataclass
class Tenant:
    """A tenant and its cumulative GPU-seconds."""

    weight: Exact
    quota: Exact  # Eq. 6
    attained: Exact = 0  # Eq. 11
    fair: Exact = 0  # Eq. 9
    share: Exact = 0  # Eq. 8 now


# -- numbers -------------------------------------------------------------------------------------------------------


def exact(value: float | Fraction) -> Exact:
    """Return the number without rounding; a float means the decimal number that it prints as (0.2 is 1/5)."""
    number = value if isinstance(value, int | Fraction) else Fraction(str(value))
    return int(number) if number.denominator == 1 else number


def ratio(a: Exact, b: Exact) -> Exact:
    """Return a / b exactly."""
    return exact(Fraction(a, b))


def key(value: Exact) -> int:
    """Return the value in whole steps of 2^-30, halves upwards: policies compare values at this resolution."""
    return math.floor(value * 2**30 + Fraction(1, 2))


# -- the scheduler -------------------------------------------------------------------------------------------------


def astraea(s: Simulation) -> list[Job]:
    """AllocateJob (Algorithm 1): return the jobs that get a lease at this round, in the order of selection."""
    picks: list[Job] = []
    free = s.free
    waiting = list(s.candidates)
    granted = [0] * len(s.tenants)  # GPUs given to each tenant at this round
    closed: set[int] = set()
    while any(job.demand <= free for job in waiting):  # line 4
        open_tenants = {job.tenant for job in waiting} - closed
        if not open_tenants:
            break
        # Phase 1: the tenant with the smallest rho, the first of equals (line 5; lines 2 and 3 compute rho)
        tenant = min(open_tenants, key=lambda t: (key(rho_tenant(s, t, granted[t])), t))
        # Phase 2: its job with the largest reward (lines 6 and 7)
        job = select_job([job for job in waiting if job.tenant == tenant])
        if job.demand <= free:  # lines 8 to 10
            picks.append(job)
            free -= job.demand  # lines 11 and 12
            waiting.remove(job)  # line 13
            granted[tenant] += job.demand  # lines 14 and 15: the lease counts as if it had been used up
        else:
            closed.add(tenant)  # lines 16 and 17: the tenant is done for this round
    return picks


def rho_tenant(s: Simulation, t: int, granted: int) -> Exact:
    """Return the fairness of a tenant from the beginning to the end of the next lease (Eq. 12 with Eq. 16)."""
    assert s.lease is not None
    tenant = s.tenants[t]
    return ratio(tenant.attained + granted * s.lease, tenant.quota * (s.now + s.lease))


def select_job(jobs: list[Job]) -> Job:
    """SelectJob (Algorithm 2): return the job with the largest reward, the first submitted of equals."""
    return min(jobs, key=lambda job: (job.leases > 0, key(rho_job(job)), job.index))  # new jobs first (§6.1.1)


def rho_job(job: Job) -> Exact:
    """Return the fairness of a job since its submission (Eq. 15), which is 0 before it has run."""
    return ratio(job.attained, job.fair) if job.leases > 0 else 0


# -- placement -----------------------------------------------------------------------------------------------------


def place(free_on: Sequence[int], gpus_per_node: int, demand: int) -> Nodes:
    """Choose few nodes for a gang: whole nodes, and the rest on the fullest node on which it fits."""
    assert demand <= sum(free_on), "the policy gave away more GPUs than there are"
    free = dict(enumerate(free_on))  # what can still be taken of each node
    taken: dict[int, int] = {}

    def take(node: int, gpus: int) -> None:
        free[node] -= gpus
        taken[node] = taken.get(node, 0) + gpus

    def fullest(gpus: int, among: list[int]) -> int | None:
        return min((node for node in among if free[node] >= gpus), key=lambda node: (free[node], node), default=None)

    whole, rest = divmod(demand, gpus_per_node)
    empty = [node for node in free if free[node] == gpus_per_node]
    last = fullest(rest, [node for node in free if node not in empty[:whole]]) if rest else None
    if len(empty) >= whole and (rest == 0 or last is not None):
        for node in empty[:whole]:
            take(node, gpus_per_node)
    else:  # the gang has to be spread: over the emptiest nodes
        rest = demand
        while rest > max(free.values()):
            node = max(free, key=lambda node: (free[node], -node))
            rest -= free[node]
            take(node, free[node])
        last = fullest(rest, list(free))
    if rest:
        assert last is not None
        take(last, rest)
    return tuple(sorted(taken.items()))


# -- the cluster over time -----------------------------------------------------------------------------------------


class Simulation:
    """The whole state: jobs, tenants, nodes and the clock.

    A policy reads `now`, `jobs`, `tenants`, `lease`, and two attributes that each round sets. `candidates` are the jobs
    that wait or ask for renewal, in job order; `free` is the number of GPUs that are not under a running lease.
    """

    def __init__(
        self,
        jobs: Sequence[JobSpec],
        nodes: int,
        gpus_per_node: int,
        tenant_weights: Sequence[float | Fraction],
        lease_term: float | None = 900,
        checkpoint_overhead: float = 5,
        restart_overhead: float = 20,
        interval: float = 10,
    ) -> None:
        if any(a.submit > b.submit for a, b in pairwise(jobs)):
            raise ValueError("jobs must be in order of submission")
        self.every = exact(interval)
        self.checkpoint, self.restart = exact(checkpoint_overhead), exact(restart_overhead)
        self.lease: Exact | None = None  # for ever
        if lease_term is not None:
            self.lease = math.ceil(ratio(exact(lease_term), self.every)) * self.every
            if self.lease <= self.checkpoint + self.restart:
                raise ValueError(f"a lease of {self.lease} s leaves no time for progress")
        self.gpus, self.gpus_per_node = nodes * gpus_per_node, gpus_per_node
        self.free_on = [gpus_per_node] * nodes  # free GPUs of each node
        weights = [exact(weight) for weight in tenant_weights]
        self.tenants = [Tenant(weight, ratio(self.gpus * weight, sum(weights))) for weight in weights]  # Eq. 6
        self.jobs = [
            Job(index, spec.tenant, spec.demand, exact(spec.submit), exact(spec.duration), exact(spec.weight))
            for index, spec in enumerate(jobs)
        ]
        for job in self.jobs:
            if job.demand > math.floor(self.tenants[job.tenant].quota):
                job.status = "aside"  # a static quota could never serve it
        self.now: Exact = 0
        self.hours: list[list[tuple[Exact, Exact]]] = [[(0, 0)] * len(self.tenants)]
        self.grants: list[Grant] = []
        self.candidates: list[Job] = []
        self.free = self.gpus

    # -- time and integrals ----------------------------------------------------------------------------------------

    def happen(self) -> None:
        """Apply the arrivals and completions of this instant, and compute the fair shares that follow."""
        changed = False
        for job in self.jobs:
            if job.status == "future" and job.submit <= self.now:
                job.status, job.waiting_since = "pending", job.submit
                changed = True
            elif job.status == "running" and job.finish == self.now:
                self.release(job)
                job.status, job.end_time, job.progress = "ended", self.now, job.duration
                changed = True
        if not changed:
            return
        for index, tenant in enumerate(self.tenants):
            active = [job for job in self.jobs if job.tenant == index and job.active]
            tenant.share = min(sum(job.demand for job in active), tenant.quota)  # Eqs. 7 and 8
            weights = sum(job.weight for job in active)
            for job in active:
                job.share = min(job.demand, ratio(tenant.share * job.weight, weights))  # Eq. 13 inside Eq. 14

    def advance(self, until: Exact) -> None:
        """Move the clock in pieces within which nothing changes; record each tenant's GPU-time at every whole hour."""
        while self.now < until:
            changes = [until, HOUR * len(self.hours)]
            changes += [job.submit for job in self.jobs if job.status == "future"]
            changes += [job.finish for job in self.jobs if job.status == "running" and job.finish is not None]
            then = min(changes)
            piece = then - self.now
            for tenant in self.tenants:
                tenant.fair += tenant.share * piece  # Eq. 9
            for job in self.jobs:
                if job.active:
                    job.fair += job.share * piece  # Eq. 14
                if job.status == "running":
                    self.tenants[job.tenant].attained += job.demand * piece  # Eq. 11
            self.now = then
            if self.now == HOUR * len(self.hours):
                self.hours.append([(tenant.attained, tenant.fair) for tenant in self.tenants])
            self.happen()

    # -- leases (§5.1) ---------------------------------------------------------------------------------------------

    def begin_lease(self, job: Job, renewed: bool) -> None:
        """Start a lease now on `job.nodes`; a job that was preempted first pays for a cold start."""
        job.status, job.renewed, job.lease_start = "running", renewed, self.now
        job.cold = self.restart if job.preemptions and not renewed else 0
        job.overhead += job.cold
        job.finish = self.now + job.cold + job.duration - job.progress
        if self.lease is not None:
            job.lease_end = self.now + self.lease
            if job.finish > job.lease_end:
                job.finish = None
        if job.first_start is None:
            job.first_start = self.now
        job.leases += 1
        self.grants.append(Grant(Fraction(self.now), job.index, renewed, job.nodes))

    def end_lease(self, job: Job) -> None:
        """End a lease: the job saves its state, which takes time, and keeps its GPUs until the round has decided."""
        job.held += job.lease_end - job.lease_start
        job.progress += job.lease_end - job.lease_start - job.cold - self.checkpoint
        job.overhead += self.checkpoint
        job.status = "asking"

    def release(self, job: Job) -> None:
        """Free the GPUs; time under a lease that is cut short counts as held."""
        if job.status == "running":
            job.held += self.now - job.lease_start
        for node, gpus in job.nodes:
            self.free_on[node] += gpus
        job.nodes = ()

    def preempt(self, job: Job) -> None:
        """Take the GPUs of a job that was not renewed."""
        self.release(job)
        job.preemptions += 1
        job.status, job.waiting_since = "pending", self.now

    # -- rounds ----------------------------------------------------------------------------------------------------

    def round(self, policy: Callable[[Simulation], list[Job]]) -> None:
        """Run one round: jobs whose leases end compete with waiting jobs; losers leave, winners start (§5.1.2)."""
        for job in self.jobs:
            if job.status == "running" and self.lease is not None and job.lease_end == self.now:
                self.end_lease(job)
        self.candidates = [job for job in self.jobs if job.status in ("pending", "asking")]
        self.free = self.gpus - sum(job.demand for job in self.jobs if job.status == "running")
        self.carry_out(policy(self))

    def carry_out(self, picks: list[Job]) -> None:
        """Take the GPUs of jobs that are not renewed, then start and renew leases in the order of selection."""
        for job in self.candidates:
            if job.status == "asking" and job not in picks:
                self.preempt(job)
        for job in picks:
            if job.status == "asking":
                self.begin_lease(job, renewed=True)
                continue
            job.nodes = place(self.free_on, self.gpus_per_node, job.demand)
            for node, gpus in job.nodes:
                self.free_on[node] -= gpus
            self.begin_lease(job, renewed=False)

    def run(self, policy: Callable[[Simulation], list[Job]]) -> dict[str, Any]:
        """Run every round until all jobs have ended, and return what `simulate` returns."""
        self.happen()
        self.round(policy)
        while any(job.status not in ("ended", "aside") for job in self.jobs):
            self.advance(self.now + self.every)
            self.round(policy)
        ends = [job.end_time for job in self.jobs if job.end_time is not None]
        self.advance(HOUR * -(-max(ends, default=0) // HOUR))

        def column(name: str) -> list[Fraction | None]:
            values = [getattr(job, name) for job in self.jobs]
            return [None if value is None else Fraction(value) for value in values]

        names = ("first_start", "end_time", "attained", "fair", "overhead", "leases", "preemptions")
        return {name: column(name) for name in names} | {
            "excluded_jobs": [job.index for job in self.jobs if job.status == "aside"],
            "grants": self.grants,
            "timeline": [[(Fraction(attained), Fraction(fair)) for attained, fair in hour] for hour in self.hours],
        }


def simulate(
    jobs: Sequence[JobSpec],
    nodes: int,
    gpus_per_node: int,
    tenant_weights: Sequence[float | Fraction],
    policy: Callable[[Simulation], list[Job]] = astraea,
    **options: Any,
) -> dict[str, Any]:
    """Run a trace on a cluster under a policy; the options are those of `Simulation`.

    Returns
    -------
    dict
        Lists with one entry per job: `first_start`, `end_time` (both None for an excluded job), `attained` and `fair`
        [GPU-s], `overhead` [s], `leases`, `preemptions`. `excluded_jobs`: indices of jobs that could never run.
        `grants`: `Grant`s in order of time, then of selection. `timeline[h][t]`: (attained, fair) of tenant t over
        [0, h hours], from hour 0 to the first whole hour at or after the last end. All numbers are Fractions.

    Raises
    ------
    ValueError
        If the jobs are not in order of submission, or a lease leaves no time for progress.
    """
    return Simulation(jobs, nodes, gpus_per_node, tenant_weights, **options).run(policy)
