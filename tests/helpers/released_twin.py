"""ASTRAEA's released simulator once more, naively: a loop over ticks of 10 s and lists of jobs, nothing else.

It is written from the rules only, shares no code with the package, and gives the end time, the lease ends and the
preemptions of every job. Lists are walked while jobs are removed from them where that simulator does so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

NODES = 2
RUNS = {"astraea-repaired": "fairness", "tiresias": "2das", "themis": "themis"}
TICK = 10
STARVATION = 6 * 3600


@dataclass(eq=False)
class Job:
    """A job and the simulator's record of it."""

    name: str
    tenant: int
    demand: int
    submit: float
    duration: float
    executed: float = 0.0
    in_lease: float = 0.0
    waited: float = 0.0
    deserved: float = 0.0
    attained: float = 0.0
    fairness: float = 0.0
    unfairness: float = 0.0
    lease_ends: int = 0
    preemptions: int = 0
    has_run: bool = False
    is_delay: bool = False
    end: float = math.nan


@dataclass(eq=False)
class Tenant:
    """A tenant and its accounts: GPU-time used by hour."""

    quota: int
    held: int = 0
    bins: dict[int, float] = field(default_factory=dict)


@dataclass(eq=False)
class Simulator:
    """One run; `jobs` in order of (submission, row)."""

    jobs: list[Job]
    quotas: list[int]
    gpus: int
    order: str = "fairness"
    flawed: bool = False
    lease: float = 900
    delay_threshold: float = 300

    def run(self) -> None:
        """Tick by tick until every job has ended."""
        self.tenants = [Tenant(q) for q in self.quotas]
        self.pending: list[Job] = []  # in the order in which they became so
        self.running: list[Job] = []  # in the order in which they were launched
        self.free, self.now, future = self.gpus, 0, list(self.jobs)
        while future or self.pending or self.running:
            self.grow()
            self.end_jobs_and_leases()
            self.note_delay_jobs()
            while future and future[0].submit <= self.now:
                self.pending.append(future.pop(0))
            if self.pending:
                self.select()
            self.now += TICK

    def grow(self) -> None:
        """Update times, GPU-time that jobs are owed and have attained, and usage of tenants."""
        for job in self.running:
            job.executed += TICK
            job.in_lease += TICK
        for job in self.pending:
            job.waited += TICK
        active = self.running + self.pending
        for job in active:
            count = sum(other.tenant == job.tenant for other in active)
            job.deserved += min(job.demand, self.tenants[job.tenant].quota / count) * TICK
            if job in self.running:
                job.attained = job.demand * job.executed
            job.fairness = job.attained / job.deserved
        for tenant in self.tenants:
            hour = self.now // 3600
            tenant.bins[hour] = tenant.bins.get(hour, 0) + tenant.held * TICK

    def end_jobs_and_leases(self) -> None:
        """Walk the running jobs; the flaw is to remove from the list that is walked."""
        for job in self.running if self.flawed else list(self.running):
            if job.executed >= job.duration:
                job.end = self.now - (job.executed - job.duration)
                self.leave(job)
            elif job.in_lease >= self.lease:
                job.lease_ends += 1
                self.leave(job)
                self.pending.append(job)

    def leave(self, job: Job) -> None:
        self.running.remove(job)
        self.free += job.demand
        self.tenants[job.tenant].held -= job.demand
        job.in_lease = job.waited = 0

    def note_delay_jobs(self) -> None:
        """Running jobs that have little to lose."""
        for job in self.running:
            first = job.lease_ends == 0 and 120 <= job.in_lease < 300
            later = job.lease_ends > 0 and job.in_lease < self.delay_threshold
            job.is_delay = self.delay_threshold > 0 and (first or later)
            if job.is_delay:
                job.fairness = job.demand * (job.executed - job.in_lease) / job.deserved

    def queues(self) -> list[list[Job]]:
        """Queues of tenants: starving jobs by submission, then the others by the order; ties as they became pending."""
        for job in self.pending:
            if job.waited < STARVATION:
                life = self.now - job.submit
                at_share = job.executed * job.fairness + (life - job.executed) + (job.duration - job.executed)
                job.unfairness = life / at_share if job.deserved else 1.0

        def key(job: Job) -> tuple[float, ...]:
            if job.waited >= STARVATION:
                return (0, job.submit)
            figure = {"fairness": job.fairness, "2das": job.executed, "fifo": 0.0, "themis": -job.unfairness}
            return (1, figure[self.order], 0 if self.order == "themis" else job.submit)

        ordered = sorted(self.pending, key=key)
        return [[job for job in ordered if job.tenant == t] for t in range(len(self.tenants))]

    def select(self) -> None:
        """Pass A counts, pass B places."""
        queues = self.queues()
        allowed = self.count([list(queue) for queue in queues])
        for t, queue in enumerate(queues):
            tenant = self.tenants[t]
            for job in queue:
                if not job.has_run and job.preemptions == 0:
                    while tenant.held + job.demand > allowed[t] and (victim := self.victim(t)):
                        self.preempt(victim)
                if tenant.held + job.demand > allowed[t] or job.demand > self.free:
                    break
                self.launch(job)

    def count(self, queues: list[list[Job]]) -> list[int]:
        """GPUs that each tenant may hold."""
        allowed, free, picked = [t.held for t in self.tenants], self.free, [0] * len(self.tenants)
        hours = range(max(0, self.now // 3600 - 24), self.now // 3600)
        used = [sum(t.bins.get(h, 0) for h in hours) for t in self.tenants]
        owed = [t.quota * 3600 * len(hours) for t in self.tenants]
        while free > 0 and (left := [t for t in range(len(queues)) if queues[t]]):
            chosen = min(left, key=lambda t: allowed[t] / self.tenants[t].quota)
            if allowed[chosen] / self.tenants[chosen].quota >= 0.2:

                def served(t: int) -> float:
                    if picked[t]:
                        return (used[t] + picked[t] * self.lease) / (owed[t] + self.tenants[t].quota * self.lease)
                    return used[t] / owed[t] if owed[t] else 1.0

                chosen = min(left, key=served)
            while queues[chosen]:
                job = queues[chosen].pop(0)
                if job.demand <= free:
                    free -= job.demand
                    allowed[chosen] += job.demand
                    picked[chosen] += job.demand
                    break
        return allowed

    def victim(self, t: int) -> Job | None:
        """The next job of a tenant to be preempted for a new one; among equals the first in the order of launch."""
        jobs = [job for job in self.running if job.tenant == t and job.is_delay]
        if self.order == "themis":
            return min(jobs, key=lambda job: job.unfairness, default=None)
        if self.order != "fairness":  # the last of the order; the released simulator has no such rule for these
            kept = self.order == "2das"
            return max(jobs, key=lambda job: (kept * (job.executed - job.in_lease), job.submit), default=None)
        return max(jobs, key=lambda job: (job.fairness, job.submit), default=None)

    def preempt(self, job: Job) -> None:
        """It loses its work in this lease."""
        job.preemptions += 1
        job.executed -= job.in_lease
        job.attained = job.demand * job.executed
        self.leave(job)
        self.pending.append(job)

    def launch(self, job: Job) -> None:
        self.pending.remove(job)
        self.running.append(job)
        self.free -= job.demand
        self.tenants[job.tenant].held += job.demand
        job.has_run, job.is_delay, job.in_lease = True, False, 0


def write_runs(folder: Path, runs: tuple[str, ...] = tuple(RUNS)) -> Path:
    """A folder of reference results: 40 jobs of two tenants on 16 GPUs, and what the twin makes of them."""
    rows = [(k, "uv"[k % 2], [1, 2, 4, 1, 8][k % 5], 40 * k, 300 + 97 * (k * k % 31)) for k in range(40)]
    head = ["job_id", "user", "num_gpu", "submit_time", "duration"]
    jobs = pd.DataFrame(rows, columns=head)
    shown = jobs.assign(iterations=100, model_name="alexnet", interval=1, expect_time=jobs["duration"])
    shown.to_csv(folder / "w.input.csv.gz", index=False)
    for run in runs:
        twins = [Job(str(k), "uv".index(user), *rest) for k, user, *rest in rows]
        threshold = 0 if run == "tiresias" else 300
        Simulator(twins, [8, 8], 16, RUNS[run], run != "astraea-repaired", delay_threshold=threshold).run()
        table = jobs[["job_id", "submit_time", "duration"]].assign(
            end_time=[j.end for j in twins],
            fairness=[round(j.fairness, 4) for j in twins],
            lease_expiry_cnt=[j.lease_ends for j in twins],
            preempt_cnt=[j.preemptions for j in twins],
        )
        table.to_csv(folder / f"w_n{NODES}_{run}.csv.gz", index=False)
    return folder
