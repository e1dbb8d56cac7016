"""Changes in Slurm since the last round: jobs that came, started, lost their GPUs or ended, for the accounts.

A job that Slurm started by itself, before it was seen, is adopted: its lease begins at its start. Jobs that came and
went unseen are looked up in Slurm's accounting. If that does not answer, the round goes on without it, and the next
one asks again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from astraea.cluster.engine.events import ARRIVES, ENDS, STARTS, STOPS
from astraea.cluster.engine.state import PENDING, RUNNING
from astraea_ops.live.accounts import Event
from astraea_ops.live.answers import FINISHED, ON_GPUS, Job, Run, SlurmError
from astraea_ops.live.partition import ACCOUNTING, Partition, Places, Snapshot, is_deferred
from astraea_ops.live.state import AdmittedJob, Lease
from astraea_ops.slurm.words import ENDED

CANNOT_START: Final = ("AccountNotAllowed", "Assoc", "BadConstraints", "BurstBuffer", "Dependency", "Invalid", "Max",
                       "JobArrayTaskLimit", "Licenses", "Partition", "QOS", "ReqNodeNotAvail", "Reservation")
"""First words of the reasons for which Slurm does not start a released job."""

SETTLES: Final = 10.0
"""Time after which a job that still waits although enough GPUs are free must need something else [s]."""

LATER: Final = "it depends on another job, or is to begin later"


class Changes:
    """New jobs and events of one round; leases and notes of the partition, and `ours`, change with them."""

    def __init__(self, partition: Partition, ours: dict[str, Job], snapshot: Snapshot) -> None:
        self.partition, self.accounts, self.epoch = partition, partition.accounts, partition.epoch
        self.snapshot, self.now = snapshot, snapshot.now
        self.newcomers: list[AdmittedJob] = []
        self.events: list[Event] = []  #: of all jobs
        self.resized: set[str] = set()  #: jobs whose size has changed: they end, and come anew at the next round
        self.not_started: list[Lease] = []  #: leases that ended before Slurm started the job; they are not charged
        self.late: list[tuple[str, int, float, float]] = []  #: GPU-time before this round learned only now, by tenant
        shown = {job.id for job in snapshot.jobs}
        gone = [id for s in (PENDING, RUNNING) for id in self.accounts.ids(s) if id not in ours]
        come = [job for job in ours.values() if self._comes(job)]
        lost = [id for id in self.accounts.ids(RUNNING) if id in ours and self._is_lost(ours[id])]
        ran = any(job.restarts > 0 for job in come)  # before it was seen
        since = min(self.partition.unseen, self.epoch + self.accounts.now)
        looks_back = self.partition.unseen < math.inf
        is_new = snapshot.booted != partition.booted or (snapshot.is_young and partition.stopped)
        self.runs = runs = self._runs(since) if looks_back or gone or lost or ran or is_new else {}
        for id in gone:
            if id in shown:
                self.partition.notes.append(f"job {id} has left the partition and counts as ended")
            self._vanished(id, runs.get(id, ()), is_there=id in shown)
        for status, happened in ((PENDING, self._waited), (RUNNING, self._ran)):
            for id in self.accounts.ids(status):
                if id in ours and self._has_ended_before(ours[id], runs.get(id, ())):
                    del ours[id]
                elif id in ours and not self._is_resized(ours[id]):
                    happened(ours[id], runs.get(id, ()))
        for job in come:
            self._arrived(job, runs.pop(job.id, []))
        if looks_back and self.partition.unseen == math.inf:
            for id in sorted(runs.keys() - ours.keys() - set(self.accounts.place)):
                self._came_and_went(runs[id], since)
        self._enlarge_cluster()

    def _runs(self, since: float) -> dict[str, list[Run]]:
        """Ask the accounting for all runs that did not end before `since` [s since 1970]; return them by job."""
        found: dict[str, list[Run]] = {}
        try:
            for run in self.partition.history(since):
                found.setdefault(run.id, []).append(run)
        except SlurmError as err:
            self.partition.unseen = since
            why = f"{ACCOUNTING} does not answer ({err}): later rounds ask again for jobs that ended unseen"
            self.partition.note_once(ACCOUNTING, why)
            return {}
        for id, lease in self.partition.guessed.items():
            end = max((run.end for run in found.get(id, ())), default=0.0)
            if lease.granted < end < lease.over:  # it was charged until it was no longer seen
                self.late.append((lease.tenant, -lease.demand, end, lease.over))
                self.partition.over.append(lease._replace(over=end))
        self.partition.guessed.clear()
        self.partition.unseen = math.inf
        self.partition.told.discard(ACCOUNTING)
        return found

    def _vanished(self, id: str, runs: Sequence[Run], *, is_there: bool) -> None:
        """End a job that is no longer shown, or no longer in the partition."""
        ended = [run for run in runs if run.end > 0]
        lease = self.partition.leases.get(id)
        if lease and lease.started == 0 and ended and ended[-1].end > lease.granted:
            self._began(lease, ended[-1].start)
        self._ended(id, max((run.end for run in ended), default=self.now))
        if lease and not ended:
            self.partition.guessed[id] = self.partition.over[-1]
        if is_there:
            del self.partition.ended[id]

    def _has_ended_before(self, job: Job, runs: Sequence[Run]) -> bool:
        """End a job whose end slurmctld forgot when it was restarted; return whether it is such a job."""
        lease = self.partition.leases.get(job.id)
        if lease is None or job.state in FINISHED:
            return False
        ends = [run.end for run in runs if run.state in ENDED and lease.granted < run.end <= self.snapshot.booted]
        if ends:
            self._ended(job.id, max(ends))
            self.partition.ended[job.id] = max(ends)
        return bool(ends)

    def _is_resized(self, job: Job) -> bool:
        """End a job whose size has changed, so that it comes anew; return whether it has changed."""
        before = self.accounts.job(job.id).demand
        lease = self.partition.leases.get(job.id)
        is_settled = job.state == "RUNNING" and lease is not None if job.state in ON_GPUS else job.state not in FINISHED
        if job.demand == before or not is_settled:
            return False
        if lease and job.state not in ON_GPUS and job.restarts > lease.restarts:
            return False  # it was requeued: first it loses its lease
        self.partition.notes.append(f"job {job.id} changed from {before} to {job.demand} GPUs: it counts as a new job")
        self.resized.add(job.id)
        self._add(self.now, ENDS, job.id)
        if lease and lease.started == 0 and job.state not in ON_GPUS:
            self.not_started.append(lease)
            self.partition.close(job.id, self.partition.now, "not started")
        elif lease:
            self.partition.close(job.id, self.partition.now, "resized")
        return True

    def _waited(self, job: Job, runs: Sequence[Run]) -> None:
        lost = self.epoch + float(self.accounts.row(job.id).waiting_since)
        started_since = job.start > 0 and job.start >= lost and job.state != "COMPLETING"
        if job.state in FINISHED and not self.partition.was_killed(job, self.snapshot.booted):
            if started_since and job.end > job.start:  # a job cancelled while it waits starts and ends at once
                self._adopted(job)
            self._ended(job.id, job.end)
        elif job.state in ON_GPUS and (started_since or not job.requeues):
            self._adopted(job)

    def _ran(self, job: Job, runs: Sequence[Run]) -> None:
        lease = self.partition.leases[job.id]
        if self._is_lost(job):
            is_requeued = job.restarts > lease.restarts
            why = f"Slurm requeued it ({job.reason})" if is_requeued else "slurmctld was restarted and has forgotten it"
            self.partition.notes.append(f"job {job.id} lost its lease: {why}")
            run = next((run for run in reversed(runs) if run.end > lease.granted), None)
            if run and lease.started == 0:
                self._began(lease, min(run.start, run.end))
            over = run.end if run else math.inf if is_requeued else max(self.snapshot.booted, lease.started)
            end = min(over, self.partition.now)
            self._add(end, STOPS, job.id)
            self.partition.close(job.id, end, "lost")
        elif job.state in (*FINISHED, "RUNNING"):
            if lease.started == 0 and (job.state == "RUNNING" or job.start >= lease.granted - 1):
                self._began(lease, min(job.start, job.end) if job.state in FINISHED else job.start)
            if job.state in FINISHED:
                self._ended(job.id, job.end)
        elif job.state not in ON_GPUS and lease.started == 0 and (why := self._cannot_start(job, lease)):
            self.partition.notes.append(f"withdraw lease {lease.number} of job {job.id}: {why}")
            self._add(self.partition.now, STOPS, job.id)
            self.not_started.append(lease)
            self.partition.close(job.id, self.partition.now, "not started")

    def _began(self, lease: Lease, start: float) -> None:
        """Record when a lease began, as Slurm says; if that is after this round, the next round records it."""
        if start <= self.partition.now:
            self.accounts.begin(lease.job, max(start, lease.granted) - self.epoch)
            self.partition.leases[lease.job] = lease._replace(started=start)
            self.partition.stuck.pop(lease.job, None)

    def _is_lost(self, job: Job) -> bool:
        """Return whether Slurm requeued a job that has a lease, or slurmctld forgot its start in a restart."""
        lease, waits = self.partition.leases[job.id], job.state not in (*ON_GPUS, *FINISHED)
        is_forgotten = waits and 0 < lease.started < self.snapshot.booted + 1
        return is_forgotten or ((waits or job.state == "COMPLETING") and job.restarts > lease.restarts)

    def _cannot_start(self, job: Job, lease: Lease) -> str:
        """Return why Slurm will not start a released job; empty if it may."""
        if is_deferred(job, self.now):
            return "it waits for another job or for its begin time"
        waits = self.now - max(lease.granted, job.eligible)
        is_free = job.reason == "Resources" and waits >= max(SETTLES, 2 * self.partition.config.interval) and (
            Places(self.snapshot.nodes, [one for one in self.snapshot.jobs if one.state in ON_GPUS]).put(job)
        )  # fmt: skip
        if not is_free and not job.reason.startswith(CANNOT_START):
            return ""
        times, _ = self.partition.stuck.get(job.id, (0, 0.0))
        rounds = min(4 * 2**times, 32)
        self.partition.stuck[job.id] = times + 1, self.partition.now + rounds * self.partition.config.interval
        why = "GPUs are free, but not everything else it asks for" if is_free else "Slurm does not start it"
        return f"{why} ({job.reason}); it is skipped for {rounds} rounds"

    def _comes(self, job: Job) -> bool:
        """Return whether a job is new, or comes again under its id, and could get a lease or has had GPUs meanwhile."""
        if job.id in self.accounts and (self.accounts.is_active(job.id) or job.state in (*FINISHED, "COMPLETING")):
            return False
        if job.state in FINISHED:
            return job.start > 0 and job.end > self.epoch + self.accounts.now and job.end > job.start
        if job.state not in ON_GPUS and is_deferred(job, self.now):
            self.partition.kept[job.id] = LATER
            return False
        if job.state in ON_GPUS and job.id in self.accounts:  # resized while it ran: stopping it would not shrink it
            return job.demand > 0
        tenant = self.partition.tenant(job)
        quota = self.accounts.quota(tenant)
        largest = self.accounts.policy.largest(self.accounts.policy.parameters)  # may be infinite
        most = math.floor(min(largest * quota + 1e-9, self.accounts.gpus))
        if job.demand > most:
            why = f"it asks for {job.demand} GPUs, but its tenant {tenant} has a quota of {quota:.4g}"
            self.partition.kept[job.id] = f"it will never run: {why}"
            self.partition.note_once(job.id, f"job {job.id} will never run: {why}")
        return job.demand <= most

    def _arrived(self, job: Job, runs: Sequence[Run]) -> None:
        has_begun = job.start > 0 and job.state in ("RUNNING", *FINISHED)
        is_again = job.id in self.accounts  # an earlier job with this id has ended: no time is counted twice
        runs = [run for run in runs if not is_again or run.start > self.epoch + self.accounts.now]
        before = [min(run.submit, run.start or run.submit) for run in runs]
        came = min([max(job.submit, job.eligible), *before, *[job.start] * has_begun, self.now])
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

    def _came_and_went(self, runs: Sequence[Run], since: float) -> None:
        """Record a job that came and went unseen after `since` [s since 1970]."""
        seen = self.partition.seen.get(runs[0].id, self.partition.ended.get(runs[0].id, 0.0))
        known = [run for run in runs if seen < run.start < run.end and run.demand > 0]
        if not known or not self.partition.has_share(known[-1]):
            return
        last = known[-1]
        came = min(min(run.submit, run.start) for run in known)  # if the clock was set back, the start may be first
        self.newcomers.append(self._newcomer(last, came))
        self._add(came, ARRIVES, last.id)
        for run in known:
            self._add(run.start, STARTS, run.id, math.inf)
            self._add(run.end, ENDS if run is last else STOPS, run.id)
            start, end = max(run.start, since), min(run.end, self.epoch + self.accounts.now)
            if start < end:  # rounds have passed since the accounting failed to answer
                self.late.append((self.partition.tenant(run), run.demand, start, end))

    def _enlarge_cluster(self) -> None:
        """Count as many GPUs as were ever in use at once since the last round, if there are fewer now."""
        demand = {m.id: m.demand for m in (*self.accounts.admitted, *self.newcomers)}
        held = most = sum(demand[id] for id in self.accounts.ids(RUNNING))
        for event in sorted(self.events):
            if event.kind != ARRIVES:
                held += demand[event.id] * (1 if event.kind == STARTS else -1)
                most = max(most, held)
        if most > self.accounts.gpus:
            self.accounts.resize(most)

    def _adopted(self, job: Job) -> None:
        """Give a lease to a job that Slurm started by itself; if it has run for longer, the lease begins now."""
        term = self.accounts.policy.lease_term
        start = min(job.start, self.now)  # Slurm's clock may be ahead, or ours set back
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
            self.partition.serial, not job.is_batch,
        )  # fmt: skip
        self.partition.note_interactive(job)

    def _ended(self, id: str, end: float) -> None:
        self._add(end, ENDS, id)
        self.partition.ended[id] = self.now
        if id in self.partition.leases:
            self.partition.close(id, end, "ended")

    def _newcomer(self, job: Job | Run, submit: float) -> AdmittedJob:
        tenant = self.partition.tenant(job)
        return AdmittedJob(job.id, tenant, job.user or tenant, job.demand, max(0.0, submit - self.epoch))

    def _add(self, time: float, kind: int, id: str, lease_end: float = 0.0) -> None:
        self.events.append(Event(time - self.epoch, kind, id, lease_end))
