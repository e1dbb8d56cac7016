"""What happened in Slurm since the last round: jobs that came, started, lost their GPUs or ended, for the accounts.

A job that Slurm started by itself, before it was seen, is adopted: its lease begins when it started. What came and went
while nobody looked is asked of Slurm's accounting.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from astraea.cluster.engine.live import ARRIVES, ENDS, STARTS, STOPS
from astraea.cluster.engine.state import PENDING, RUNNING
from astraea.live.accounts import Event
from astraea.live.answers import FINISHED, ON_GPUS, Job, Run
from astraea.live.partition import Partition
from astraea.live.state import AdmittedJob, Lease

LATER: Final = "it depends on another job, or is to begin later"


class Changes:
    """Members and events of one round; leases and notes of the partition change with what happened.

    `ours` are the jobs that leases are for, by id, and `shown` the ids of all jobs that Slurm shows, also of other
    partitions, at `now` [s since 1970].
    """

    def __init__(self, partition: Partition, ours: Mapping[str, Job], shown: Collection[str], now: float) -> None:
        self.partition, self.accounts, self.epoch, self.now = partition, partition.accounts, partition.epoch, now
        self.newcomers: list[AdmittedJob] = []
        self.events: list[Event] = []  #: what happened to all
        self.resized: set[str] = set()  #: jobs of another size now: they end, and come anew at the next round
        self.not_started: list[Lease] = []  #: leases of resized jobs that Slurm had not started; they are not charged
        gone = [id for s in (PENDING, RUNNING) for id in self.accounts.ids(s) if id not in ours]
        come = [job for job in ours.values() if self._comes(job, now)]
        runs: dict[str, list[Run]] = {}
        if self.partition.looks_back or gone or any(job.restarts > 0 for job in come):  # it ran before it was seen
            for run in self.partition.history(self.epoch + self.accounts.now):
                runs.setdefault(run.id, []).append(run)
        for id in gone:
            ends = [run.end for run in runs.get(id, ()) if run.end > 0]
            if id in shown:
                self.partition.notes.append(f"job {id} has left the partition, and counts as ended")
            self._ended(id, max(ends, default=now))
        for status, happened in ((PENDING, self._waited), (RUNNING, self._ran)):
            for id in self.accounts.ids(status):
                if id in ours and not self._is_resized(ours[id], now):
                    happened(ours[id])
        for job in come:
            self._arrived(job, runs.pop(job.id, []), now)
        if self.partition.looks_back:
            for id in sorted(runs.keys() - ours.keys() - set(self.accounts.place)):
                self._was(runs[id])
        self._enlarge_cluster()

    def _is_resized(self, job: Job, now: float) -> bool:
        """End a job whose size has changed, so that it comes anew; return whether it did."""
        before = self.accounts.job(job.id).demand
        lease = self.partition.leases.get(job.id)
        is_settled = job.state == "RUNNING" and lease is not None if job.state in ON_GPUS else job.state not in FINISHED
        if job.demand == before or not is_settled:
            return False
        if lease and job.state not in ON_GPUS and job.restarts > lease.restarts:
            return False  # it was requeued: first it loses its lease
        self.partition.notes.append(f"job {job.id} has {job.demand} GPUs now, {before} before: it counts as a new job")
        self.resized.add(job.id)
        self._add(now, ENDS, job.id)
        if lease and lease.started == 0 and job.state not in ON_GPUS:
            self.not_started.append(lease)
            self.partition.close(job.id, self.partition.now, "not started")
        elif lease:
            self.partition.close(job.id, self.partition.now, "resized")
        return True

    def _waited(self, job: Job) -> None:
        lost = self.epoch + float(self.accounts.row(job.id).waiting_since)
        started_since = job.start > 0 and job.start >= lost and job.state != "COMPLETING"
        if job.state in FINISHED:
            if started_since and job.end > job.start:  # one that is cancelled as it waits starts and ends at once
                self._add(job.start, STARTS, job.id, math.inf)
            self._ended(job.id, job.end)
        elif job.state in ON_GPUS and started_since:
            self._adopted(job)

    def _ran(self, job: Job) -> None:
        lease = self.partition.leases[job.id]
        if job.state in FINISHED:
            self._ended(job.id, job.end)
        elif job.state == "RUNNING":
            if lease.started == 0 and job.start >= lease.granted - 1:
                self.partition.leases[job.id] = lease._replace(started=job.start)
        elif (job.state not in ON_GPUS or job.state == "COMPLETING") and job.restarts > lease.restarts:
            self.partition.notes.append(f"job {job.id} lost its lease: Slurm requeued it ({job.reason})")
            self._add(self.partition.now, STOPS, job.id)
            self.partition.close(job.id, self.partition.now, "lost")

    def _comes(self, job: Job, now: float) -> bool:
        """Whether a job is new, or comes again under its id, and could get a lease, or has had GPUs meanwhile."""
        if job.id in self.accounts and (self.accounts.is_active(job.id) or job.state in (*FINISHED, "COMPLETING")):
            return False
        if job.state in FINISHED:
            return job.start > 0 and job.end > self.epoch + self.accounts.now and job.end > job.start
        if job.state not in ON_GPUS and is_deferred(job, now):
            self.partition.kept[job.id] = LATER
            return False
        if job.state in ON_GPUS and job.id in self.accounts:  # resized as it ran: to stop it would not make it smaller
            return job.demand > 0
        tenant = self.partition.tenant(job)
        quota = self.accounts.quota(tenant)
        most = min(math.floor(self.accounts.policy.largest(self.accounts.policy.parameters) * quota + 1e-9),
                   self.accounts.gpus)  # fmt: skip
        if job.demand > most:
            why = f"it asks for {job.demand} GPUs, its tenant {tenant} has a quota of {quota:.4g}"
            self.partition.kept[job.id] = f"it will never run: {why}"
            self.partition.note_once(job.id, f"job {job.id} will never run: {why}")
        return job.demand <= most

    def _arrived(self, job: Job, runs: Sequence[Run], now: float) -> None:
        has_begun = job.start > 0 and job.state in ("RUNNING", *FINISHED)
        came = min([max(job.submit, job.eligible), *(run.submit for run in runs), *[job.start] * has_begun, now])
        is_again = job.id in self.accounts  # under this id another one has ended: no time is counted twice
        self.newcomers.append(self._newcomer(job, max(came, self.epoch + self.accounts.now) if is_again else came))
        self._add(came, ARRIVES, job.id)
        for run in runs:
            if 0 < run.start < run.end and not (job.state in FINISHED and run.start >= job.start):
                self._add(run.start, STARTS, job.id, math.inf)
                self._add(run.end, STOPS, job.id)
        if job.state in FINISHED:
            self._add(job.start, STARTS, job.id, math.inf)
            self._add(job.end, ENDS, job.id)
        elif job.state == "RUNNING":
            self._adopted(job)

    def _was(self, runs: Sequence[Run]) -> None:
        """A job that came and went while nobody looked."""
        known = [run for run in runs if 0 < run.start < run.end and run.demand > 0]
        if not known or not self.partition.has_share(known[-1]):
            return
        last = known[-1]
        self.newcomers.append(self._newcomer(last, min(run.submit for run in known)))
        self._add(min(run.submit for run in known), ARRIVES, last.id)
        for run in known:
            self._add(run.start, STARTS, run.id, math.inf)
            self._add(run.end, ENDS if run is last else STOPS, run.id)

    def _enlarge_cluster(self) -> None:
        """Have as many GPUs as were in use at once, should that be more than there are today."""
        demand = {m.id: m.demand for m in (*self.accounts.admitted, *self.newcomers)}
        held = most = sum(demand[id] for id in self.accounts.ids(RUNNING))
        for event in sorted(self.events):
            if event.kind != ARRIVES:
                held += demand[event.id] * (1 if event.kind == STARTS else -1)
                most = max(most, held)
        if most > self.accounts.gpus:
            self.accounts.resize(most)

    def _adopted(self, job: Job) -> None:
        """Slurm started a job by itself; one that has run for longer than a lease gets one from now on."""
        term = self.accounts.policy.lease_term
        start = min(job.start, self.now)  # Slurm's clock may be ahead, or ours was set back
        interval = self.partition.config.interval
        ends = math.ceil(max(0.0, start - self.epoch) / interval) * interval + term
        if self.epoch + ends <= self.partition.now:
            ends = self.partition.now - self.epoch + term
        self._add(job.start, STARTS, job.id, ends if job.requeues else math.inf)
        tenant = self.partition.tenant(job)
        self.partition.notes.append(
            f"job {job.id} of {tenant} was started by Slurm itself, with {job.demand} GPUs: its lease began then"
        )
        ends = self.epoch + ends if job.requeues else math.inf
        number = int(self.accounts.row(job.id).leases) + 1 if job.id in self.accounts else 1
        self.partition.serial += 1
        self.partition.leases[job.id] = Lease(
            job.id, number, tenant, job.demand, job.submit, start, ends, start, 0.0, "running", False, job.restarts,
            self.partition.serial,
        )  # fmt: skip

    def _ended(self, id: str, end: float) -> None:
        self._add(end, ENDS, id)
        if id in self.partition.leases:
            self.partition.close(id, end, "ended")

    def _newcomer(self, job: Job | Run, submit: float) -> AdmittedJob:
        tenant = self.partition.tenant(job)
        return AdmittedJob(job.id, tenant, job.user or tenant, job.demand, max(0.0, submit - self.epoch))

    def _add(self, time: float, kind: int, id: str, lease_end: float = 0.0) -> None:
        self.events.append(Event(time - self.epoch, kind, id, lease_end))


def is_deferred(job: Job, now: float) -> bool:
    """Whether a job depends on others, or is to begin later; the begin of one that was requeued is Slurm's, not its."""
    return job.depends or (job.eligible > now and job.restarts == 0)
