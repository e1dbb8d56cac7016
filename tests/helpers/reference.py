"""The naive twin of the simulator: the oracle that the fast engine is compared with.

It is `astraea.textbook` with what the textbook leaves out: the other policies, refinements of ASTRAEA, placements,
placement sensitivity and leases that end together. It shares no code with the engine, on purpose. Each policy returns
the jobs of this round's grants, in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from reference_state import JobSpec, Twin

from astraea import textbook
from astraea.textbook import HOUR, Exact, Job, exact, key, ratio


def fifo(s: Twin) -> list[Job]:
    """One queue; a head that does not fit blocks."""
    picks, free = [], s.free
    for job in s.candidates:
        if job.demand > free:
            break
        picks.append(job)
        free -= job.demand
    return picks


def yarn_cs(s: Twin) -> list[Job]:
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


def tiresias_l(
    s: Twin, threshold: float = 18000, queues: int = 2, growth: float = 10, promote: float = 0, immediate: bool = False
) -> list[Job]:
    """Queues by attained service, FIFO inside a queue; a job that waits too long goes back to the first queue."""
    for job in s.candidates:
        patience = exact(promote) * (job.held - s.promoted_at[job])
        waits_again = job.status == "pending" and job.leases > 0
        if promote and waits_again and s.now - job.waiting_since >= patience:
            s.promoted_at[job] = job.held

    thresholds = [exact(threshold) * exact(growth) ** k for k in range(queues - 1)]

    def level(job: Job) -> int:
        return sum(job.demand * (job.held - s.promoted_at[job]) >= limit for limit in thresholds)

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
    s: Twin,
    tenant_window: float = 0,
    idle_guard: float = 0,
    starvation: float = 0,
    early_lease: float = 0,
    renewal_bonus: float = 0,
    deadline_bonus: float = 0,
) -> list[Job]:
    """Algorithms 1 and 2 with §6.1.1: the tenant furthest below its quota, then its job with the least rho."""
    refinements = (tenant_window, idle_guard, starvation, early_lease, renewal_bonus, deadline_bonus)
    if not any(refinements):
        return textbook.astraea(s)
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
        if s.now <= s.deadline(job):
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


def max_min(s: Twin) -> list[Job]:
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


def finish_time_fairness(s: Twin) -> list[Job]:
    """The largest T_shared / T_isolated first, with the true remaining time."""

    def unfairness(job: Job) -> Exact:
        waited = s.now - job.submit
        contenders = ratio(s.contention_since(job.submit), waited) if waited else sum(k.active for k in s.jobs)
        isolated = job.duration * contenders
        return ratio(waited + job.duration - job.progress, isolated)

    picks, free = [], s.free
    for job in sorted(s.candidates, key=lambda job: (-key(unfairness(job)), job.index)):
        if job.demand <= free:
            picks.append(job)
            free -= job.demand
    return picks


def allox(s: Twin, alpha: float = 0.3) -> list[Job]:
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


def gandiva_fair(s: Twin, others_fill: bool = False, quanta: bool = False) -> list[Job]:
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
        passes[t] = ratio(given, tenant.quota * term) + s.strides[t].raised
    kept = [passes[t] for t, tenant in enumerate(s.tenants) if s.strides[t].left_waiting]
    least = (min(kept) if kept else max(passes.values())) - 1
    for t, tenant in enumerate(s.tenants):
        if queue[t] and not s.strides[t].left_waiting and passes[t] < least:
            s.strides[t].raised += least - passes[t]
            passes[t] = least
        virtual = s.strides[t].virtual
        if s.strides[t].tickets:
            virtual += ratio(tenant.attained - s.strides[t].attained_then, s.strides[t].tickets * term)
        for job in queue[t]:
            if job not in s.first_pass:
                s.first_pass[job] = virtual
        tickets = sum(job.weight for job in s.jobs if job.tenant == t and job.active)
        if tickets != s.strides[t].tickets:
            s.strides[t].virtual, s.strides[t].attained_then, s.strides[t].tickets = virtual, tenant.attained, tickets

    def job_order(job: Job) -> tuple[int, int]:
        return key(s.first_pass[job] + ratio(job.attained, job.weight * term)), job.index

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
    for t in queue:
        s.strides[t].left_waiting = bool(queue[t])
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
    placement: str = "consolidated",
    **options: Any,
) -> dict[str, Any]:
    """Run a policy by name; the result is that of `textbook.simulate`, and so are the options."""
    chosen = params or {}
    s = Twin(
        jobs, nodes, gpus_per_node, tenant_weights, None if policy in WITHOUT_PREEMPTION else lease_term,
        placement=placement, synchronous=policy == "gandiva-fair" and bool(chosen.get("quanta")), **options,
    )  # fmt: skip

    def decide(_: textbook.Simulation) -> list[Job]:
        s.revoked = []
        picks = POLICIES[policy](s, **chosen)
        for job in s.revoked:
            s.preempt(job)
        return picks

    return s.run(decide)
