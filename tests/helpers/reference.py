"""The naive twin of the simulator: the oracle that the fast engine is compared with.

Every round is executed, every quantity is exact (`int` or `Fraction`), nothing is cached between rounds except the
fair shares, which change only at arrivals and completions. It shares no code with the package, on purpose.

Equation numbers are those of [Ye2022]; the time in all comments is in seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

Exact = int | Fraction
Nodes = tuple[tuple[int, int], ...]
"""Where a gang runs: (node, GPUs on it), in node order."""

HOUR = 3600


class JobSpec(NamedTuple):
    """What a job asks for; its place in the list is its index, in order of `(submit, job_id)`."""

    tenant: int
    demand: int
    submit: float | Fraction
    duration: float | Fraction
    weight: float | Fraction = 1
    sensitivity: float | Fraction = 1
    deadline: float | Fraction | None = None


class Grant(NamedTuple):
    """One lease given."""

    time: Fraction
    job: int
    renewed: bool
    nodes: Nodes


def exact(value: float | Fraction) -> Exact:
    """Return the number without rounding; a float stands for the decimal number that it prints as (0.2 is 1/5)."""
    number = value if isinstance(value, int | Fraction) else Fraction(str(value))
    return int(number) if number.denominator == 1 else number


def ratio(a: Exact, b: Exact) -> Exact:
    """Return a / b exactly."""
    return exact(Fraction(a, b))


def key(value: Exact) -> int:
    """Return the value in whole steps of 2^-30, halves upwards: what policies compare."""
    return math.floor(value * 2**30 + Fraction(1, 2))


@dataclass(eq=False)
class Job:
    """A job and everything that happened to it."""

    index: int
    tenant: int
    demand: int
    submit: Exact
    duration: Exact
    weight: Exact
    sensitivity: Exact
    deadline: Exact | None
    #: aside | future | pending | running (under a lease) | asking (its lease has ended, it wants the next) | ended
    status: str = "future"
    # the lease it is under
    nodes: Nodes = ()
    lease_start: Exact = 0
    lease_end: Exact = 0
    renewed: bool = False
    cold: Exact = 0
    speed: Exact = 1
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
    count_at_submit: Exact = 0  # what the integral of the number of active jobs was when it came
    promoted_at: Exact = 0  # `held` at its last promotion (Tiresias)
    first_pass: Exact | None = None  # when it came (Gandiva_fair)

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
    # Gandiva_fair: by how much its pass was raised, whether jobs were left waiting; virtual time, GPU-seconds attained
    # and tickets of its jobs when these last changed
    raised: Exact = 0
    left_waiting: bool = False
    virtual: Exact = 0
    attained_then: Exact = 0
    tickets: Exact = 0


@dataclass
class Simulation:
    """The whole state; policies read it, and write `revoked` (and what they keep of a job or a tenant)."""

    jobs: list[Job]
    tenants: list[Tenant]
    gpus_per_node: int
    free_on: list[int]  # free GPUs of each node
    lease: Exact | None  # None: for ever
    checkpoint: Exact
    restart: Exact
    placement: str
    synchronous: bool = False  # leases end together; only those that lose their GPUs pay for a checkpoint
    now: Exact = 0
    active_count: int = 0
    count_integral: Exact = 0  # integral of active_count over [0, now]
    hours: list[list[tuple[Exact, Exact]]] = field(default_factory=list)
    grants: list[Grant] = field(default_factory=list)
    candidates: list[Job] = field(default_factory=list)  # of this round, in job order
    free: int = 0  # GPUs that are not under a running lease in this round
    revoked: list[Job] = field(default_factory=list)  # running jobs that the policy takes GPUs from in this round

    @property
    def gpus(self) -> int:
        """All GPUs of the cluster."""
        return len(self.free_on) * self.gpus_per_node

    def running_gpus(self, tenant: int) -> int:
        """GPUs of a tenant under running leases, without those revoked in this round."""
        running = [job for job in self.jobs if job.status == "running" and job not in self.revoked]
        return sum(job.demand for job in running if job.tenant == tenant)

    # -- time and integrals --------------------------------------------------------------------------------------

    def happen(self) -> None:
        """Let arrivals and completions of this instant happen, and work out the fair shares that follow."""
        changed = False
        for job in self.jobs:
            if job.status == "future" and job.submit <= self.now:
                job.status, job.waiting_since, job.count_at_submit = "pending", job.submit, self.count_integral
                changed = True
            elif job.status == "running" and job.finish == self.now:
                self.release(job)
                job.status, job.end_time, job.progress = "ended", self.now, job.duration
                changed = True
        if not changed:
            return
        self.active_count = sum(job.active for job in self.jobs)
        for index, tenant in enumerate(self.tenants):
            active = [job for job in self.jobs if job.tenant == index and job.active]
            tenant.share = min(sum(job.demand for job in active), tenant.quota)  # Eqs. 7 and 8
            weights = sum(job.weight for job in active)
            for job in active:
                job.share = min(job.demand, ratio(tenant.share * job.weight, weights))  # Eq. 13 inside Eq. 14

    def advance(self, until: Exact) -> None:
        """Move the clock, in pieces inside which nothing changes; keep what each tenant had at each whole hour."""
        while self.now < until:
            changes = [until, HOUR * len(self.hours)]
            changes += [job.submit for job in self.jobs if job.status == "future"]
            changes += [job.finish for job in self.jobs if job.status == "running" and job.finish is not None]
            then = min(changes)
            piece = then - self.now
            self.count_integral += self.active_count * piece
            for tenant in self.tenants:
                tenant.fair += tenant.share * piece
            for job in self.jobs:
                if job.active:
                    job.fair += job.share * piece
                if job.status == "running":
                    self.tenants[job.tenant].attained += job.demand * piece
            self.now = then
            if self.now == HOUR * len(self.hours):
                self.hours.append([(tenant.attained, tenant.fair) for tenant in self.tenants])
            self.happen()

    # -- leases --------------------------------------------------------------------------------------------------

    def begin_lease(self, job: Job, renewed: bool) -> None:
        """Start a lease now, on `job.nodes`."""
        job.status, job.renewed, job.lease_start = "running", renewed, self.now
        job.cold = self.restart if job.preemptions and not renewed else 0
        job.overhead += job.cold
        fewest = -(-job.demand // self.gpus_per_node)
        job.speed = job.sensitivity if len(job.nodes) > fewest else 1
        job.finish = self.now + job.cold + ratio(job.duration - job.progress, job.speed)
        if self.lease is not None:
            job.lease_end = self.now + self.lease - (self.now % self.lease if self.synchronous else 0)
            if job.finish > job.lease_end:
                job.finish = None
        if job.first_start is None:
            job.first_start = self.now
        job.leases += 1
        self.grants.append(Grant(Fraction(self.now), job.index, renewed, job.nodes))

    def end_lease(self, job: Job) -> None:
        """The lease is over: the job keeps its GPUs until the round has decided."""
        job.held += job.lease_end - job.lease_start
        job.progress += job.speed * (job.lease_end - job.lease_start - job.cold)
        if not self.synchronous:
            self.save(job)
        job.status = "asking"

    def save(self, job: Job) -> None:
        """Charge a checkpoint at the end of the lease; it costs no more than the lease."""
        cost = min(self.checkpoint, job.lease_end - job.lease_start)
        job.progress -= job.speed * cost
        job.overhead += cost

    def release(self, job: Job) -> None:
        """Give the GPUs back; time under a lease that is cut short counts as held."""
        if job.status == "running":
            job.held += self.now - job.lease_start
        for node, gpus in job.nodes:
            self.free_on[node] += gpus
        job.nodes = ()

    def preempt(self, job: Job) -> None:
        """Take the GPUs of a job that was not renewed, or of a revoked one, which loses what it did in this lease."""
        if job.status == "running":
            job.overhead += self.now - job.lease_start - job.cold
        elif self.synchronous:
            self.save(job)
        self.release(job)
        job.preemptions += 1
        job.status, job.waiting_since = "pending", self.now

    def round(self, policy: Callable[..., list[Job]], params: dict[str, Any]) -> None:
        """Hold one scheduling round, now."""
        for job in self.jobs:
            if job.status == "running" and self.lease is not None and job.lease_end == self.now:
                self.end_lease(job)
        self.candidates = [job for job in self.jobs if job.status in ("pending", "asking")]
        self.free = self.gpus - sum(job.demand for job in self.jobs if job.status == "running")
        self.revoked = []
        picks = policy(self, **params)
        for job in self.jobs:
            if job in self.revoked or (job.status == "asking" and job not in picks):
                self.preempt(job)
        for job in picks:
            if job.status == "asking":
                self.begin_lease(job, renewed=True)
                continue
            nodes = place(self.free_on, self.gpus_per_node, job.demand, self.placement)
            if nodes is None:
                continue  # withdrawn: it stays pending
            for node, gpus in nodes:
                self.free_on[node] -= gpus
            job.nodes = nodes
            self.begin_lease(job, renewed=False)


# -- placement ---------------------------------------------------------------------------------------------------


def place(free_on: Sequence[int], gpus_per_node: int, demand: int, placement: str) -> Nodes | None:
    """Choose nodes for a gang; None if it has to wait (only "strict", as the free GPUs are known to suffice)."""
    assert demand <= sum(free_on), "the policy gave away more GPUs than there are"
    free = dict(enumerate(free_on))  # what is still to be had of each node
    taken: dict[int, int] = {}

    def take(node: int, gpus: int) -> None:
        free[node] -= gpus
        taken[node] = taken.get(node, 0) + gpus

    def emptiest() -> int:
        return max(free, key=lambda node: (free[node], -node))

    def tightest(gpus: int, among: list[int]) -> int | None:
        return min((node for node in among if free[node] >= gpus), key=lambda node: (free[node], node), default=None)

    if placement == "spread":
        for _ in range(demand):
            take(emptiest(), 1)
        return tuple(sorted(taken.items()))

    whole, rest = divmod(demand, gpus_per_node)
    empty = [node for node in free if free[node] == gpus_per_node]
    last = tightest(rest, [node for node in free if node not in empty[:whole]]) if rest else None
    if len(empty) >= whole and (rest == 0 or last is not None):
        for node in empty[:whole]:
            take(node, gpus_per_node)
        if last is not None:
            take(last, rest)
    elif placement == "strict":
        return None
    else:
        rest = demand
        while rest > free[emptiest()]:
            node = emptiest()
            rest -= free[node]
            take(node, free[node])
        last = tightest(rest, list(free))
        assert last is not None
        take(last, rest)
    return tuple(sorted(taken.items()))


# -- policies: each returns the jobs of this round's grants, in order ----------------------------------------------


def fifo(s: Simulation) -> list[Job]:
    """One queue; a head that does not fit blocks."""
    picks, free = [], s.free
    for job in s.candidates:
        if job.demand > free:
            break
        picks.append(job)
        free -= job.demand
    return picks


def yarn_cs(s: Simulation) -> list[Job]:
    """Static quota: one queue per tenant inside floor(quota); a head that does not fit blocks."""
    picks: list[Job] = []
    for index, tenant in enumerate(s.tenants):
        room = math.floor(tenant.quota) - s.running_gpus(index)
        for job in s.candidates:
            if job.tenant != index:
                continue
            if job.demand > room:
                break
            picks.append(job)
            room -= job.demand
    return picks


def fill(s: Simulation, queue: list[Job]) -> list[Job]:
    """Grant what fits, in order; pass over what does not."""
    picks, free = [], s.free
    for job in queue:
        if job.demand <= free:
            picks.append(job)
            free -= job.demand
    return picks


def tiresias_l(
    s: Simulation, thresholds: Sequence[float] = (18000,), promote: float = 0, immediate: bool = False
) -> list[Job]:
    """Queues by attained service, FIFO inside a queue; a job that waits too long goes back to the first queue."""
    for job in s.candidates:
        patience = exact(promote) * (job.held - job.promoted_at)
        waits_again = job.status == "pending" and job.leases > 0
        if promote and waits_again and s.now - job.waiting_since >= patience:
            job.promoted_at = job.held

    def level(job: Job) -> int:
        return sum(job.demand * (job.held - job.promoted_at) >= exact(limit) for limit in thresholds)

    picks: list[Job] = []
    free = s.free
    for job in sorted(s.candidates, key=lambda job: (level(job), job.index)):
        behind = [k for k in s.jobs if k.status == "running" and k not in s.revoked and level(k) > level(job)]
        behind.sort(key=lambda k: (k.lease_start, k.index))
        if immediate and free + sum(k.demand for k in behind) >= job.demand:
            while free < job.demand:
                s.revoked.append(behind.pop())
                free += s.revoked[-1].demand
        if job.demand <= free:
            picks.append(job)
            free -= job.demand
    return picks


def astraea(
    s: Simulation,
    tenant_window: float = 0,
    idle_guard: float = 0,
    starvation: float = 0,
    early_lease: float = 0,
    renewal_bonus: float = 0,
    deadline_bonus: float = 0,
) -> list[Job]:
    """Algorithms 1 and 2 with §6.1.1: the tenant furthest below its quota, then its job with the least rho."""
    assert s.lease is not None
    lease = s.lease
    hour = max(0, s.now - exact(tenant_window)) // HOUR if tenant_window else 0
    picks: list[Job] = []
    free = s.free
    queue = {t: [job for job in s.candidates if job.tenant == t] for t in range(len(s.tenants))}
    granted = dict.fromkeys(queue, 0)  # GPUs given to each tenant in this round

    def tenant_order(t: int) -> tuple[bool, int, int]:
        quota = s.tenants[t].quota
        alloc = s.tenants[t].attained - s.hours[hour][t][0]
        fairness = ratio(alloc + granted[t] * lease, quota * (s.now - hour * HOUR + lease))
        below = bool(idle_guard) and key(ratio(s.running_gpus(t) + granted[t], quota)) < key(exact(idle_guard))
        return not below, key(fairness), t

    def job_order(job: Job) -> tuple[int, int, int]:
        if starvation and job.status == "pending" and s.now - job.waiting_since >= exact(starvation):
            return 0, 0, job.index
        if job.leases == 0:
            return 1, 0, job.index
        reward = -ratio(job.attained, job.fair)
        if job.status == "asking":
            reward += exact(renewal_bonus) * job.leases
        if job.deadline is not None and s.now <= job.deadline:
            reward += exact(deadline_bonus)
        return 2, key(-reward), job.index

    def young(t: int) -> list[Job]:
        """Return the running jobs that a new job of the tenant may take GPUs from, the youngest lease first."""
        renewed = [j for j in s.jobs if j.tenant == t and j.status == "running" and j.renewed and j not in s.revoked]
        short = [j for j in renewed if s.now - j.lease_start < exact(early_lease)]
        return sorted(short, key=lambda j: (-j.lease_start, -j.index))

    while any(queue.values()):
        t = min((t for t in queue if queue[t]), key=tenant_order)  # phase 1
        job = min(queue[t], key=job_order)  # phase 2
        if job.leases == 0 and early_lease and free + sum(j.demand for j in young(t)) >= job.demand:
            while free < job.demand:
                victim = young(t)[0]
                s.revoked.append(victim)
                free += victim.demand
        if job.demand <= free:
            picks.append(job)
            queue[t].remove(job)
            granted[t] += job.demand
            free -= job.demand
        else:
            queue[t] = []  # Algorithm 1, line 16: closed for this round
    return picks


def max_min(s: Simulation) -> list[Job]:
    """Instantaneous max-min: the tenant with the fewest GPUs for its weight, FIFO inside."""
    picks: list[Job] = []
    free = s.free
    queue = {t: [job for job in s.candidates if job.tenant == t] for t in range(len(s.tenants))}
    gpus = {t: s.running_gpus(t) for t in queue}
    while any(queue.values()):
        t = min((t for t in queue if queue[t]), key=lambda t: (key(ratio(gpus[t], s.tenants[t].weight)), t))
        job = queue[t].pop(0)
        if job.demand <= free:
            picks.append(job)
            gpus[t] += job.demand
            free -= job.demand
        else:
            queue[t] = []
    return picks


def finish_time_fairness(s: Simulation) -> list[Job]:
    """The largest T_shared / T_isolated first, with the true remaining time."""

    def unfairness(job: Job) -> Exact:
        waited = s.now - job.submit
        contenders = ratio(s.count_integral - job.count_at_submit, waited) if waited else s.active_count
        isolated = job.duration * contenders
        return ratio(waited + job.duration - job.progress, isolated)

    return fill(s, sorted(s.candidates, key=lambda job: (-key(unfairness(job)), job.index)))


def allox(s: Simulation, alpha: float = 0.3) -> list[Job]:
    """The least true GPU-time left among the tenants that hold the least; twice as many while none of theirs fits."""
    picks: list[Job] = []
    while True:
        left = [job for job in s.candidates if job not in picks]
        free = s.free - sum(job.demand for job in picks)
        if not any(job.demand <= free for job in left):
            return picks

        def progress(t: int) -> tuple[int, int]:
            holds = s.running_gpus(t) + sum(job.demand for job in picks if job.tenant == t)
            return key(ratio(holds, s.tenants[t].quota)), t

        tenants = sorted({job.tenant for job in left}, key=progress)
        part = max(exact(alpha), Fraction(1, len(tenants)))
        while True:
            eligible = tenants[: math.ceil(part * len(tenants))]
            fitting = [job for job in left if job.tenant in eligible and job.demand <= free]
            if fitting:
                picks.append(min(fitting, key=lambda job: (key(job.demand * (job.duration - job.progress)), job.index)))
                break
            part *= 2


def gandiva_fair(s: Simulation, others_fill: bool = False, quanta: bool = False) -> list[Job]:
    """Stride among tenants, then among the jobs of one; inside a quantum new jobs only."""
    assert s.lease is not None
    term = s.lease
    if not s.candidates:
        return []
    part = 1 - ratio(s.now % term, term) if quanta else 1
    queue = {t: [job for job in s.candidates if job.tenant == t] for t in range(len(s.tenants))}
    passes = {}
    for t, tenant in enumerate(s.tenants):
        running = [job for job in s.jobs if job.status == "running" and job.tenant == t]
        given = tenant.attained + sum(job.demand * (job.lease_end - s.now) for job in running)
        passes[t] = ratio(given, tenant.quota * term) + tenant.raised
    kept = [passes[t] for t, tenant in enumerate(s.tenants) if tenant.left_waiting]
    least = (min(kept) if kept else max(passes.values())) - 1
    for t, tenant in enumerate(s.tenants):
        if queue[t] and not tenant.left_waiting and passes[t] < least:
            tenant.raised += least - passes[t]
            passes[t] = least
        virtual = tenant.virtual
        if tenant.tickets:
            virtual += ratio(tenant.attained - tenant.attained_then, tenant.tickets * term)
        for job in queue[t]:
            if job.first_pass is None:
                job.first_pass = virtual
        tickets = sum(job.weight for job in s.jobs if job.tenant == t and job.active)
        if tickets != tenant.tickets:
            tenant.virtual, tenant.attained_then, tenant.tickets = virtual, tenant.attained, tickets

    def job_order(job: Job) -> tuple[int, int]:
        assert job.first_pass is not None
        return key(job.first_pass + ratio(job.attained, job.weight * term)), job.index

    picks: list[Job] = []
    free = s.free
    served = {t for t in queue if queue[t]}
    while served and any(job.demand <= free for jobs in queue.values() for job in jobs):
        t = min(served, key=lambda t: (key(passes[t]), t))
        jobs = [job for job in queue[t] if part == 1 or job.leases == 0]
        jobs = [job for job in jobs if job.demand <= free or not others_fill]
        job = min(jobs, key=job_order, default=None)
        if job is None:
            served.remove(t)
            continue
        if job.demand > free:
            break  # GPUs are kept for it
        picks.append(job)
        free -= job.demand
        queue[t].remove(job)
        passes[t] += ratio(part * job.demand, s.tenants[t].quota)
        if not queue[t]:
            served.remove(t)
    for t, tenant in enumerate(s.tenants):
        tenant.left_waiting = bool(queue[t])
    return picks


POLICIES: dict[str, Callable[..., list[Job]]] = {
    "fifo": fifo,
    "yarn-cs": yarn_cs,
    "tiresias-l": tiresias_l,
    "astraea": astraea,
    "max-min": max_min,
    "finish-time-fairness": finish_time_fairness,
    "allox": allox,
    "allox-under-leases": allox,
    "gandiva-fair": gandiva_fair,
}
WITHOUT_PREEMPTION = ("fifo", "yarn-cs", "allox")


def simulate(
    jobs: Sequence[JobSpec],
    nodes: int,
    gpus_per_node: int,
    tenant_weights: Sequence[float | Fraction],
    policy: str,
    params: dict[str, Any] | None = None,
    lease_term: float = 900,
    checkpoint_overhead: float = 5,
    restart_overhead: float = 20,
    interval: float = 10,
    placement: str = "consolidated",
) -> dict[str, Any]:
    """Run every round until all jobs have ended.

    Returns
    -------
    dict
        Lists with one entry per job: `first_start`, `end_time` (both None for a job set aside), `attained` and `fair`
        [GPU-s], `overhead` [s], `leases`, `preemptions`. `excluded_jobs`: indices of jobs that could never run.
        `grants`: `Grant`s in order of time, then of selection. `timeline[h][t]`: (attained, fair) of tenant t over
        [0, h hours], from hour 0 to the first whole hour at or after the last end. All numbers are Fractions.
    """
    if placement not in ("consolidated", "strict", "spread"):
        raise ValueError(f"placement must be consolidated, strict or spread, got {placement!r}")
    if any(a.submit > b.submit for a, b in pairwise(jobs)):
        raise ValueError("jobs must be in order of submission")
    every = exact(interval)
    checkpoint, restart = exact(checkpoint_overhead), exact(restart_overhead)
    lease = None if policy in WITHOUT_PREEMPTION else math.ceil(ratio(exact(lease_term), every)) * every
    if lease is not None and lease <= checkpoint + restart:
        raise ValueError(f"a lease of {lease} s leaves no time for progress")
    gpus = nodes * gpus_per_node
    weights = [exact(weight) for weight in tenant_weights]
    tenants = [Tenant(weight, ratio(gpus * weight, sum(weights))) for weight in weights]
    s = Simulation(
        [make_job(index, spec) for index, spec in enumerate(jobs)],
        tenants, gpus_per_node, [gpus_per_node] * nodes, lease, checkpoint, restart, placement,
        synchronous=policy == "gandiva-fair" and bool((params or {}).get("quanta")),
    )  # fmt: skip
    for job in s.jobs:
        if job.demand > gpus or job.demand > math.floor(tenants[job.tenant].quota):
            job.status = "aside"
    s.hours.append([(0, 0)] * len(tenants))
    s.happen()
    while True:
        s.round(POLICIES[policy], params or {})
        if all(job.status in ("ended", "aside") for job in s.jobs):
            break
        s.advance(s.now + every)
    s.advance(HOUR * -(-max((job.end_time for job in s.jobs if job.end_time is not None), default=0) // HOUR))

    def column(name: str) -> list[Fraction | None]:
        values = [getattr(job, name) for job in s.jobs]
        return [None if value is None else Fraction(value) for value in values]

    names = ("first_start", "end_time", "attained", "fair", "overhead", "leases", "preemptions")
    return {name: column(name) for name in names} | {
        "excluded_jobs": [job.index for job in s.jobs if job.status == "aside"],
        "grants": s.grants,
        "timeline": [[(Fraction(attained), Fraction(fair)) for attained, fair in hour] for hour in s.hours],
    }


def make_job(index: int, spec: JobSpec) -> Job:
    """Return the job in exact numbers; a deadline that is not finite is none."""
    deadline = None if spec.deadline is None or not math.isfinite(spec.deadline) else exact(spec.deadline)
    return Job(
        index, int(spec.tenant), int(spec.demand), exact(spec.submit), exact(spec.duration), exact(spec.weight),
        exact(spec.sensitivity), deadline,
    )  # fmt: skip
