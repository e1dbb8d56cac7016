"""The naive twin of the simulator, the oracle for the fast engine.

It is `astraea.textbook` with the parts that the textbook leaves out (`reference_state`), the other policies, and the
refinements of ASTRAEA. It shares no code with the engine, on purpose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from kai_twin import kai
from reference_state import JobSpec, Twin

from astraea import textbook
from astraea.textbook import HOUR, Exact, Job, exact, key, ratio


def fifo(s: Twin) -> None:
    """One queue; a head that does not fit blocks."""
    for job in s.candidates:
        if job.demand > s.free:
            break
        s.grant(job)


def easy(s: Twin) -> None:
    """FIFO; a later job may start if the first that does not fit could then still start as early, by all limits."""
    waiting = list(s.candidates)
    while waiting and waiting[0].demand <= s.free:
        s.grant(waiting.pop(0))
    if not waiting:
        return
    head, *later = waiting

    def start_of_head() -> Exact | float:
        jobs = s.running() + s.picks

        def free_at(time: Exact | float) -> int:
            return s.free + sum(job.demand for job in jobs if s.expected_end(job) <= time)

        return min(time for time in map(s.expected_end, jobs) if free_at(time) >= head.demand)

    promised = start_of_head()
    for job in later:
        if job.demand <= s.free and promised < math.inf:
            s.grant(job)
            if start_of_head() > promised:
                s.free += s.picks.pop().demand


def yarn_cs(s: Twin) -> None:
    """Static quota: one queue per tenant inside floor(quota); a head that does not fit blocks."""
    for t, jobs in s.queues().items():
        for job in jobs:
            if s.gpus_of(t) + job.demand > math.floor(s.tenants[t].quota):
                break
            s.grant(job)


def tiresias_l(
    s: Twin, threshold: float = 18000, queues: int = 2, growth: float = 10, promote: float = 0, immediate: bool = False
) -> None:
    """Queues by attained service, FIFO inside a queue; a job that waits too long goes back to the first queue."""
    for job in s.candidates:
        patience = exact(promote) * (job.held - s.promoted_at[job])
        waits_again = job.status == "pending" and job.leases > 0
        if promote and waits_again and s.now - job.waiting_since >= patience:
            s.promoted_at[job] = job.held

    thresholds = [exact(threshold) * exact(growth) ** k for k in range(queues - 1)]

    def level(job: Job) -> int:
        return sum(job.demand * (job.held - s.promoted_at[job]) >= limit for limit in thresholds)

    for job in sorted(s.candidates, key=lambda job: (level(job), job.index)):
        if immediate:
            s.make_room(job, [k for k in s.running() if level(k) > level(job)])
        if job.demand <= s.free:
            s.grant(job)


def astraea(s: Twin, renewal_bonus: float = 0, deadline_bonus: float = 0) -> None:
    """Algorithms 1 and 2 with §6.1.1: the tenant furthest below its quota, then its job with the least rho."""
    if not (renewal_bonus or deadline_bonus or s.refused):
        s.picks = textbook.astraea(s)
        return

    def job_order(job: Job) -> tuple[bool, int, int]:
        if job.leases == 0:
            return False, 0, job.index
        reward = -ratio(job.attained, job.fair)
        if job.status == "asking":
            reward += exact(renewal_bonus) * job.leases
        if s.now <= s.deadline(job):
            reward += exact(deadline_bonus)
        return True, key(-reward), job.index

    by_tenant(s, lambda t: (key(rho_tenant(s, t)), t), job_order, closed=tuple(job.tenant for job in s.refused))


def rho_tenant(s: Twin, t: int, hour: int = 0) -> Exact:
    """Fairness of a tenant since a whole hour, with what it got in this round in full (Eq. 12 with Eq. 16)."""
    assert s.lease is not None
    granted = sum(job.demand for job in s.started + s.picks if job.tenant == t)
    attained = s.tenants[t].attained - s.hours[hour][t][0]
    return ratio(attained + granted * s.lease, s.tenants[t].quota * (s.now - hour * HOUR + s.lease))


def astraea_with_rules(
    s: Twin, tenant_window: float = 0, idle_guard: float = 0, starvation: float = 0, early_lease: float = 0
) -> None:
    """ASTRAEA with rules of the authors' program: tenants over a window, idle ones first, waiting jobs first, room."""
    hour = max(0, s.now - exact(tenant_window)) // HOUR if tenant_window else 0

    def tenant_order(t: int) -> tuple[bool, int, int]:
        is_idle = bool(idle_guard) and key(ratio(s.gpus_of(t), s.tenants[t].quota)) < key(exact(idle_guard))
        return not is_idle, key(rho_tenant(s, t, hour)), t

    def job_order(job: Job) -> tuple[int, int, int]:
        if starvation and job.status == "pending" and s.now - job.waiting_since >= exact(starvation):
            return 0, 0, job.index
        return (1, 0, job.index) if job.leases == 0 else (2, key(ratio(job.attained, job.fair)), job.index)

    def make_room(job: Job) -> None:
        """A new job may take GPUs from young renewed leases of its tenant."""
        if job.leases == 0 and early_lease:
            renewed = [j for j in s.running() if j.tenant == job.tenant and j.renewed]
            s.make_room(job, [j for j in renewed if s.now - j.lease_start < exact(early_lease)])

    by_tenant(s, tenant_order, job_order, make_room, tuple(job.tenant for job in s.refused))


def by_tenant(
    s: Twin,
    tenant_order: Callable[[int], Any],
    job_order: Callable[[Job], Any],
    make_room: Callable[[Job], None] = lambda job: None,
    closed: tuple[int, ...] = (),
) -> None:
    """The first job of the first tenant, until no job waits; a tenant whose job does not fit is closed (line 16)."""
    queue = {t: [] if t in closed else jobs for t, jobs in s.queues().items()}
    while waiting := [t for t in queue if queue[t]]:
        t = min(waiting, key=tenant_order)
        job = min(queue[t], key=job_order)
        make_room(job)
        if job.demand <= s.free:
            s.grant(job)
            queue[t].remove(job)
        else:
            queue[t] = []


def max_min(s: Twin) -> None:
    """Instantaneous max-min: the tenant with the fewest GPUs for its weight, FIFO inside."""
    by_tenant(s, lambda t: (key(ratio(s.gpus_of(t), s.tenants[t].weight)), t), lambda job: job.index)


def finish_time_fairness(s: Twin) -> None:
    """The largest T_shared / T_isolated first, with the true remaining time."""

    def unfairness(job: Job) -> Exact:
        waited = s.now - job.submit
        contenders = ratio(s.contention_since(job.submit), waited) if waited else sum(k.active for k in s.jobs)
        isolated = job.duration * contenders
        return ratio(waited + job.duration - job.progress, isolated)

    for job in sorted(s.candidates, key=lambda job: (-key(unfairness(job)), job.index)):
        if job.demand <= s.free:
            s.grant(job)


def allox(s: Twin, alpha: float = 0.3) -> None:
    """The least true GPU-time left among the tenants that hold the least; twice as many while none of theirs fits."""
    left = list(s.candidates)
    while any(job.demand <= s.free for job in left):
        progress = {job.tenant: key(ratio(s.gpus_of(job.tenant), s.tenants[job.tenant].quota)) for job in left}
        tenants = sorted(progress, key=lambda t: (progress[t], t))
        part = max(exact(alpha), Fraction(1, len(tenants)))
        fitting: list[Job] = []
        while not fitting:
            eligible = tenants[: math.ceil(part * len(tenants))]
            fitting = [job for job in left if job.tenant in eligible and job.demand <= s.free]
            part *= 2
        job = min(fitting, key=lambda job: (key(job.demand * (job.duration - job.progress)), job.index))
        s.grant(job)
        left.remove(job)


def gandiva_fair(s: Twin, others_fill: bool = False, quanta: bool = False) -> None:
    """Stride among tenants, then among the jobs of one; inside a quantum new jobs only."""
    assert s.lease is not None
    term = s.lease
    if not s.candidates:
        return
    part = 1 - ratio(s.now % term, term) if quanta else 1
    queue = s.queues()
    passes = {}
    for t, tenant in enumerate(s.tenants):
        given = tenant.attained + sum(job.demand * (job.lease_end - s.now) for job in s.running() if job.tenant == t)
        passes[t] = ratio(given, tenant.quota * term) + s.strides[t].raised
    kept = [passes[t] for t in queue if s.strides[t].left_waiting]
    least = (min(kept) if kept else max(passes.values())) - 1
    for t, tenant in enumerate(s.tenants):
        stride = s.strides[t]
        if queue[t] and not stride.left_waiting and passes[t] < least:
            stride.raised += least - passes[t]
            passes[t] = least
        virtual = stride.virtual
        if stride.tickets:
            virtual += ratio(tenant.attained - stride.attained_then, stride.tickets * term)
        for job in queue[t]:
            s.first_pass.setdefault(job, virtual)
        tickets = sum(job.weight for job in s.jobs if job.tenant == t and job.active)
        if tickets != stride.tickets:
            stride.virtual, stride.attained_then, stride.tickets = virtual, tenant.attained, tickets

    def job_order(job: Job) -> tuple[int, int]:
        return key(s.first_pass[job] + ratio(job.attained, job.weight * term)), job.index

    served = {t for t in queue if queue[t]}
    while served and any(job.demand <= s.free for jobs in queue.values() for job in jobs):
        t = min(served, key=lambda t: (key(passes[t]), t))
        jobs = [job for job in queue[t] if part == 1 or job.leases == 0]
        jobs = [job for job in jobs if job.demand <= s.free or not others_fill]
        job = min(jobs, key=job_order, default=None)
        if job is None:
            served.remove(t)
            continue
        if job.demand > s.free:
            break  # GPUs are kept for it
        s.grant(job)
        queue[t].remove(job)
        passes[t] += ratio(part * job.demand, s.tenants[t].quota)
        if not queue[t]:
            served.remove(t)
    for t in queue:
        s.strides[t].left_waiting = bool(queue[t])


ALL = (
    fifo, easy, yarn_cs, tiresias_l, astraea, astraea_with_rules, max_min, finish_time_fairness, allox, gandiva_fair,
    kai,
)  # fmt: skip
POLICIES: dict[str, Callable[..., None]] = {f.__name__.replace("_", "-"): f for f in ALL}


def simulate(
    jobs: Sequence[JobSpec], policy: str, params: dict[str, Any], lease_term: float, **options: Any
) -> dict[str, Any]:
    """Run a policy by name; the result is that of `textbook.simulate`, and so are the options."""
    lease = None if policy in ("fifo", "easy", "yarn-cs", "allox") else lease_term
    synchronous = policy == "gandiva-fair" and bool(params.get("quanta"))
    s = Twin(jobs, lease_term=lease, synchronous=synchronous, **options)
    if policy == "kai":  # it has no static quotas
        for job in s.jobs:
            job.status = "future" if job.demand <= s.gpus else "aside"

    def decide(_: textbook.Simulation) -> list[Job]:
        s.picks, s.revoked = [], []
        POLICIES[policy](s, **params)
        for job in s.revoked:
            s.preempt(job)
        return s.picks

    return s.run(decide)
