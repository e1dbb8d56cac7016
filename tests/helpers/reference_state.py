"""The state of the naive twin, `reference`: the textbook's, with placements, sensitivity and common leases."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from astraea import textbook
from astraea.textbook import Exact, Job, Nodes, exact, ratio


class JobSpec(NamedTuple):
    """Request of a job; its place in the list is its index, in order of `(submit, job_id)`."""

    tenant: int
    demand: int
    submit: float | Fraction
    duration: float | Fraction
    weight: float | Fraction = 1
    sensitivity: float | Fraction = 1
    deadline: float | Fraction | None = None
    time_limit: float | Fraction | None = None


@dataclass
class Stride:
    """Gandiva_fair's memory of a tenant."""

    raised: Exact = 0  # by how much its pass was raised
    left_waiting: bool = False
    # virtual time, GPU-seconds attained and tickets of its jobs when these last changed
    virtual: Exact = 0
    attained_then: Exact = 0
    tickets: Exact = 0


class Twin(textbook.Simulation):
    """The state of the textbook, with what other policies need; they write `picks` and what they remember."""

    def __init__(self, jobs: Sequence[JobSpec], placement: str, synchronous: bool, **options: Any) -> None:
        super().__init__([textbook.JobSpec(*job[:5]) for job in jobs], **options)
        self.specs = jobs
        self.placement = placement
        self.synchronous = synchronous  # leases end together; only jobs that lose their GPUs pay for a checkpoint
        self.picks: list[Job] = []  # jobs that get a lease at this round, in order
        self.started: list[Job] = []  # jobs whose lease began when the policy chose before, in this round
        self.refused: list[Job] = []  # jobs that were granted in this round and could not be placed
        self.revoked: list[Job] = []  # running jobs that the policy takes GPUs from in this round
        self.promoted_at: dict[Job, Exact] = defaultdict(int)  # `held` at the last promotion (Tiresias)
        self.first_pass: dict[Job, Exact] = {}  # when the job came (Gandiva_fair)
        self.strides = [Stride() for _ in self.tenants]

    def deadline(self, job: Job) -> Exact | float:
        deadline = self.specs[job.index].deadline
        return -math.inf if deadline is None else exact(deadline)

    def expected_end(self, job: Job) -> Exact | float:
        """Return when a job that runs, or starts now, reaches its time limit; never without one."""
        limit = self.specs[job.index].time_limit
        start = job.lease_start if job.status == "running" else self.now
        return math.inf if limit is None else start + exact(limit)

    def queues(self) -> dict[int, list[Job]]:
        return {t: [job for job in self.candidates if job.tenant == t] for t in range(len(self.tenants))}

    def running(self) -> list[Job]:
        """Jobs under running leases, without those revoked in this round."""
        return [job for job in self.jobs if job.status == "running" and job not in self.revoked]

    def gpus_of(self, tenant: int) -> int:
        """GPUs that a tenant holds and has been granted in this round."""
        return sum(job.demand for job in self.running() + self.picks if job.tenant == tenant)

    def grant(self, job: Job) -> None:
        self.picks.append(job)
        self.free -= job.demand

    def make_room(self, job: Job, among: list[Job]) -> None:
        """Revoke leases until a job fits, the youngest first; none if all of these are not enough."""
        among = sorted(set(among) - set(self.started), key=lambda j: (j.lease_start, j.index))
        if self.free + sum(j.demand for j in among) >= job.demand:
            while self.free < job.demand:
                self.revoked.append(among.pop())
                self.free += self.revoked[-1].demand

    def contention_since(self, begin: Exact) -> Exact:
        """Integral of the number of active jobs from then until now."""
        lives = [(job.submit, job.end_time if job.end_time is not None else self.now) for job in self.jobs
                 if job.active or job.status == "ended"]  # fmt: skip
        return sum(max(0, end - max(submit, begin)) for submit, end in lives)

    def speed(self, job: Job) -> Exact:
        """Slower on more nodes than the gang needs, if the job is sensitive."""
        fewest = -(-job.demand // self.gpus_per_node)
        return exact(self.specs[job.index].sensitivity) if len(job.nodes) > fewest else 1

    def begin_lease(self, job: Job, renewed: bool) -> None:
        """Make sensitive jobs slow where they are spread; let synchronous leases end at multiples of their term."""
        super().begin_lease(job, renewed)
        job.finish = self.now + job.cold + ratio(job.duration - job.progress, self.speed(job))
        if self.lease is not None:
            job.lease_end = self.now + self.lease - (self.now % self.lease if self.synchronous else 0)
            if job.finish > job.lease_end:
                job.finish = None

    def end_lease(self, job: Job) -> None:
        """Charge a checkpoint, but no synchronous job before it is known which jobs lose their GPUs."""
        job.held += job.lease_end - job.lease_start
        job.progress += self.speed(job) * (job.lease_end - job.lease_start - job.cold)
        job.status = "asking"
        if not self.synchronous:
            self.save(job)

    def save(self, job: Job) -> None:
        """Charge a checkpoint at the end of the lease, at most the length of the lease."""
        cost = min(self.checkpoint, job.lease_end - job.lease_start)
        job.progress -= self.speed(job) * cost
        job.overhead += cost

    def preempt(self, job: Job) -> None:
        """A revoked job loses what it did in this lease."""
        if job.status == "running":
            job.overhead += self.now - job.lease_start - job.cold
        elif self.synchronous:
            self.save(job)
        super().preempt(job)

    def round(self, policy: Callable[[textbook.Simulation], list[Job]]) -> None:
        """Let the policy choose again, without the first gang that cannot be placed, as long as there is one."""
        self.started, self.refused = [], []
        super().round(policy)
        while missed := [job for job in self.picks if job.status == "pending"]:
            self.refused.append(missed[0])
            self.started += [job for job in self.picks if job.status == "running"]
            self.candidates = [job for job in self.jobs if job.status == "pending" and job not in self.refused]
            self.free = self.gpus - sum(job.demand for job in self.jobs if job.status == "running")
            if not self.candidates:
                break
            self.carry_out(policy(self))

    def carry_out(self, picks: list[Job]) -> None:
        """Do as the textbook does; after a gang that cannot be placed, undo all decisions except renewals."""
        for job in self.candidates:
            if job.status == "asking" and job not in picks:
                self.preempt(job)
        self.misses = False
        for job in picks:
            if job.status == "asking":
                self.begin_lease(job, renewed=True)
            elif (nodes := self.place(job.demand)) is not None:
                for node, gpus in nodes:
                    self.free_on[node] -= gpus
                job.nodes = nodes
                self.begin_lease(job, renewed=False)

    def place(self, demand: int) -> Nodes | None:
        """Choose nodes for a gang; None if it has to wait (only under "strict", because the free GPUs suffice)."""
        if self.misses:
            return None
        if self.placement == "spread":
            taken = [0] * len(self.free_on)
            for _ in range(demand):
                taken[max(range(len(taken)), key=lambda node: (self.free_on[node] - taken[node], -node))] += 1
            return tuple((node, gpus) for node, gpus in enumerate(taken) if gpus)
        nodes = textbook.place(self.free_on, self.gpus_per_node, demand)
        is_tight = len(nodes) == -(-demand // self.gpus_per_node)
        self.misses = self.placement == "strict" and not is_tight
        return None if self.misses else nodes
