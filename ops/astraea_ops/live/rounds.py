"""One round: what happened in Slurm, the policy's choices, and the actions that make Slurm match them.

Leases are granted in the accounts first. The actions are then the difference between the accounts and what Slurm shows,
so they are the same if the coordinator was killed in between, or a command failed:

=============  ==========================  =========================================
in accounts    in Slurm                    to do
=============  ==========================  =========================================
has a lease    waits, held                 release it
no lease       has GPUs                    requeue it, held
no lease       waits, not held             hold it
has ended      waits, not held             hold it for good: slurmctld forgot its end
=============  ==========================  =========================================

A hold in this partition says nothing about what a user wants. A user who wants a job to wait gives it a begin time or a
dependency.

A job keeps the tenant with which it was admitted, even if its account, user or QOS change. A job whose size changes
counts as a new one from the next round on; if it runs, it keeps its GPUs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from astraea.cluster.engine.state import PENDING, RUNNING
from astraea.core.units import DAY
from astraea.core.wording import counted
from astraea_ops.live.answers import FINISHED, ON_GPUS, Job
from astraea_ops.live.changes import LATER, Changes
from astraea_ops.live.partition import ACCOUNTING, Partition, Places, Snapshot, is_deferred
from astraea_ops.live.state import Lease, State

RELEASE, REQUEUE, HOLD = "release", "requeue", "hold"

MOST_CHOICES: Final = 30
"""Most times that the policy chooses in one round, when some of its grants do not fit on nodes."""


class Action(NamedTuple):
    """Something to do with a job, and why; `rank` orders releases."""

    what: str
    job: Job
    why: str
    rank: int = 0
    is_again: bool = False  #: true if the job should have been released at an earlier round


class RoundResult(NamedTuple):
    """The outcome of a round."""

    state: State
    over: tuple[Lease, ...]  #: leases that have ended since the last round
    actions: tuple[Action, ...]
    notes: tuple[str, ...]  #: what else happened, in sentences


class Rounds(Partition):
    """The rounds of one cluster."""

    def play(self, snapshot: Snapshot) -> RoundResult:
        """Hold a round."""
        accounts = self.accounts
        number = int((snapshot.now - self.epoch) / self.config.interval + 1e-6)
        number = max(number, round(accounts.now / self.config.interval))  # a clock that was set back waits
        self.now = self.epoch + number * self.config.interval
        gpus = sum(node.gpus for node in snapshot.nodes)
        if gpus != self.gpus:
            self.notes.append(f"the partition changed from {self.gpus} to {gpus} GPUs")
            self.gpus = gpus
        if gpus != accounts.gpus:
            accounts.resize(gpus)
        self.kept = {}
        shown = {job.id for job in snapshot.jobs}
        self.told = {about for about in self.told if about.rpartition(" ")[2] in shown or about == ACCOUNTING}
        self.stuck = {id: since for id, since in self.stuck.items() if id in shown}
        recent = min(snapshot.now - DAY, self.unseen)
        self.ended = {id: end for id, end in self.ended.items() if id in shown or end > recent}
        self.seen = {id: seen for id, seen in self.seen.items() if id in self.ended}
        forgotten = [job for job in snapshot.jobs if self._is_forgotten(job, snapshot)]
        ours = {job.id: self._as_admitted(job) for job in snapshot.jobs if job not in forgotten and self._is_ours(job)}
        changes = Changes(self, ours, snapshot)
        if changes.newcomers:
            accounts.admit(changes.newcomers)
        accounts.hear(changes.events, number)
        for lease in changes.not_started:
            accounts.charge(lease.job, accounts.now, lease.granted - self.epoch)
        for tenant, gpus, since, until in changes.late:
            accounts.correct(tenant, gpus, since - self.epoch, until - self.epoch, is_owed=since < until)
        self.charge_stopped(ours, changes.runs, snapshot.booted)
        accounts.withhold(self._unavailable(snapshot))
        granted = self._choose(ours, snapshot)
        expired, revoked = accounts.leaving()
        renewed = accounts.carry_out()
        actions: list[Action] = []
        for id in expired:
            actions += self._stopped(ours[id], "is over and was not renewed", "not renewed")
        for id in revoked:
            actions += self._stopped(ours[id], "is revoked by the policy", "revoked")
        for id in renewed:
            last = self.leases[id]
            if last.started == 0:
                accounts.charge(id, accounts.now, last.granted - self.epoch)
            self.close(id, self.now, "renewed" if last.started else "not started")
            lease = self.open(ours[id], is_renewal=last.started > 0)
            self.notes.append(f"renew job {id} of {lease.tenant}, {lease.demand} GPUs: lease {lease.number}; "
                              f"{self._standing(ours[id])}")  # fmt: skip
        actions += [self._granted(ours[id]) for id in granted]
        done = {action.job.id for action in actions} | {id for id in changes.resized if ours[id].state in ON_GPUS}
        self.booted = snapshot.booted
        actions += [action for job in ours.values() if job.id not in done for action in self._corrections(job)]
        actions += [action for job in forgotten for action in self._kept_ended(job)]
        over, notes, self.over, self.notes = self.over, self.notes, [], []
        return RoundResult(self.state(), tuple(over), tuple(actions), tuple(notes))

    def _as_admitted(self, job: Job) -> Job:
        """Return the job with the tenant that it was admitted with."""
        if not self.accounts.is_active(job.id):
            return job
        tenant: dict[str, Any] = {self.config.tenant: self.accounts.job(job.id).tenant}
        return job._replace(**tenant)

    def _is_ours(self, job: Job) -> bool:
        """Return whether a job can get leases; jobs of other partitions are ignored, the rest get a note."""
        if not self.has(job):
            return False
        if self.accounts.is_active(job.id):
            return True
        why = (
            "it asks for no GPU" if job.demand == 0
            else "it is a part of a heterogeneous job" if job.is_part
            else "" if self.has_share(job) else f"its tenant {self.tenant(job)!r} is not in [weights]"
        )  # fmt: skip
        if why and job.state not in FINISHED:
            self.kept[job.id] = f"it is left to Slurm, because {why}"
            self.note_once(job.id, f"job {job.id} is left to Slurm: {why}")
        return not why

    def _is_forgotten(self, job: Job, snapshot: Snapshot) -> bool:
        """Return whether a job has ended and slurmctld forgot that when it was restarted."""
        if job.id not in self.ended or not self.has(job):
            return False
        if job.state in FINISHED:
            self.seen[job.id] = snapshot.now
            return False
        seen = self.seen.get(job.id, self.ended[job.id])
        is_another = job.restarts == 0 and job.submit > seen  # Slurm reuses ids when it has used all
        if snapshot.booted > seen and not is_another:
            why = "has ended, but slurmctld was restarted and forgot that: it is held; to run it again, submit it again"
            self.note_once(f"forgotten {job.id}", f"job {job.id} {why}")
            return True
        del self.ended[job.id]  # it was requeued on purpose
        return False

    def _kept_ended(self, job: Job) -> list[Action]:
        """Return the action that keeps an ended job from running again."""
        why = "it has ended, but slurmctld has forgotten that"
        if job.state in ON_GPUS:  # otherwise it holds its GPUs until Slurm asks the node
            return [Action(REQUEUE, job, why)] if job.requeues and job.state != "COMPLETING" else []
        return [] if job.held else [Action(HOLD, job, why)]

    def _choose(self, ours: Mapping[str, Job], snapshot: Snapshot) -> list[str]:
        """Let the policy choose, again if some grants do not fit on nodes; return the grants that fit."""
        accounts = self.accounts
        waiting = accounts.ids(PENDING)
        usable = accounts.gpus - accounts.withheld
        doubtful = {id for id in waiting if snapshot.is_young and accounts.row(id).leases > 0}
        aside = doubtful | {
            id for id in waiting
            if (job := ours[id]).state in (*ON_GPUS, *FINISHED) or is_deferred(job, snapshot.now) or job.demand > usable
            or job.demand != accounts.job(id).demand or self.stuck.get(id, (0, 0.0))[1] > self.now
        }  # fmt: skip
        self.kept |= {id: "Slurm did not start it under its last lease" for id in aside & self.stuck.keys()}
        self.kept |= dict.fromkeys(doubtful, "slurmctld was restarted and may not know yet that it has ended or runs")
        self.kept |= {id: LATER for id in waiting if is_deferred(ours[id], snapshot.now)}
        for _ in range(MOST_CHOICES):
            found, refused = self._placed(accounts.choose(list(aside)), waiting, ours, snapshot)
            if not refused:
                break
            alike = {_shape(ours[id]): self.kept[id] for id in refused}
            others = {id: shape for id in waiting if (shape := _shape(ours[id])) in alike and id not in found}
            self.kept |= {id: alike[shape] for id, shape in others.items()}
            aside |= others.keys()
        for id in refused:
            accounts.refuse(id)
        return found

    def _placed(
        self, granted: Collection[str], waiting: Collection[str], ours: Mapping[str, Job], snapshot: Snapshot
    ) -> tuple[list[str], list[str]]:
        """Give nodes to the grants of waiting jobs; return those that fit, and the others."""
        accounts = self.accounts
        expired, revoked = accounts.leaving()
        for id in [id for id in revoked if not ours[id].requeues]:
            accounts.keep(id)
            revoked.remove(id)
        leaving = {*expired, *revoked, *waiting}
        places = Places(snapshot.nodes, [
            job for job in snapshot.jobs if job.state in ON_GPUS and not (self.has(job) and job.id in leaving)
        ])  # fmt: skip
        tasks = Counter(ours[id].array for id in accounts.ids(RUNNING) if id in ours)
        for id in accounts.ids(RUNNING):
            if id in ours and ours[id].state not in ON_GPUS:
                places.put(ours[id])
        found, refused = [], []
        for id in granted:
            job = ours[id]
            if job.array and job.at_once and tasks[job.array] >= job.at_once:
                self.kept[id] = f"its array already runs {counted(job.at_once, 'task')} at once, its limit"
                refused.append(id)
            elif not places.put(job):
                count = -(-job.demand // job.per_node) if job.per_node else 0
                why = (
                    f"its {job.demand} GPUs are not free on nodes that can be used" if count == 0
                    else f"no node has {job.per_node} GPUs free" if count == 1
                    else f"no {count} nodes have {job.per_node} GPUs free"
                )  # fmt: skip
                self.kept[id] = why
                waits = f"job {id} of {self.tenant(job)} was picked but has to wait: {why}"
                self.note_once(f"no nodes for {id}", waits)
                refused.append(id)
            else:
                tasks[job.array] += 1
                found.append(id)
        return found, refused

    def _granted(self, job: Job) -> Action:
        self.told.discard(f"no nodes for {job.id}")
        if not job.requeues:
            self.accounts.never_ends(job.id)
        self.note_interactive(job)
        lease = self.open(job, is_renewal=False)
        until = "" if lease.ends < math.inf else " until the job ends"
        why = f"granted lease {lease.number}{until}; {self._standing(job)}"
        return Action(RELEASE, job, why, int(self.accounts.row(job.id).launch))

    def _standing(self, job: Job) -> str:
        """Return how a job and its tenant compare with their fair shares, the numbers that most policies use."""
        tenant = self.tenant(job)
        standing = ((tenant, self.accounts.balance(tenant).rho), ("the job", self.accounts.balance_of_job(job.id).rho))
        return ", ".join(
            f"{who} {'was owed nothing yet' if math.isnan(rho) else f'has had {rho:.0%} of its fair share'}"
            for who, rho in standing
        )

    def _stopped(self, job: Job, why: str, outcome: str) -> list[Action]:
        """End a lease; return an action unless the job is about to end anyway."""
        lease = self.leases[job.id]
        if lease.started == 0 and job.state not in ON_GPUS:
            outcome, why = "not started", f"{why}; Slurm had not started it ({job.reason})"
            self.accounts.charge(job.id, self.accounts.now, lease.granted - self.epoch)
        self.close(job.id, self.now, outcome)
        self.stopped[job.id] = self.over[-1]
        if job.state == "COMPLETING":
            return []
        why = f"lease {lease.number} {why}; {self._standing(job)}"
        return [Action(REQUEUE if job.state in ON_GPUS else HOLD, job, why)]

    def _corrections(self, job: Job) -> list[Action]:
        """Return the actions that make Slurm agree with the accounts."""
        has_lease = job.id in self.leases
        if self.accounts.is_active(job.id) and self.was_killed(job, self.booted):
            return [Action(REQUEUE, job, "it was stopped, but slurmctld forgot to requeue it")]
        if job.state in FINISHED or job.state == "COMPLETING":
            return []
        if job.state in ON_GPUS:
            if has_lease or not job.requeues:
                return []
            return [Action(REQUEUE, job, "it has GPUs, but no lease")]
        is_late = job.restarts > 0 and job.eligible > self.now + 2  # it was requeued: Slurm delays it for a while
        if has_lease and (job.held or is_late):
            rank = int(self.accounts.row(job.id).launch)
            return [Action(RELEASE, job, "it has a lease, but Slurm still holds it", rank, is_again=True)]
        if not has_lease and not job.held:
            return [Action(HOLD, job, "it waits for a lease")]
        return []

    def _unavailable(self, snapshot: Snapshot) -> int:
        """Return the number of the partition's GPUs that are not available for leases [GPU]."""
        with_lease: Counter[str] = Counter()
        others: Counter[str] = Counter()
        for job in snapshot.jobs:
            if job.state in ON_GPUS:
                if not (self.has(job) and self.accounts.is_active(job.id)):
                    others.update(job.on_nodes)
                elif job.id in self.leases:
                    with_lease.update(job.on_nodes)
        gone = self.accounts.gpus - self.gpus  # still held, although the partition has fewer now
        return gone + sum(others[n.name] if n.is_usable else n.gpus - with_lease[n.name] for n in snapshot.nodes)


def _shape(job: Job) -> tuple[object, ...]:
    """Return all that a job's placement depends on; tasks of an array also depend on each other."""
    return job.per_node, job.demand, job.partition, job.wanted, job.unwanted, job.array if job.at_once else ""
