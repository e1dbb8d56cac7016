"""Accounts of a real cluster, in the simulator's own records, and the policy's choices from them."""

from __future__ import annotations

import math
import mmap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine import accounting, decisions
from astraea.cluster.engine.events import HAPPENS
from astraea.cluster.engine.records import CLOCK, JOB, PRIVATE_JOB, TENANT, TIMELINE
from astraea.cluster.engine.state import DONE, PENDING, RUNNING, Private, View, new_state
from astraea.cluster.policy import Policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulation import rounds_of_lease
from astraea.core.compile_errors import compile_errors
from astraea.core.errors import InputError, PolicyError
from astraea.core.units import HOUR
from astraea_ops.live import engine as live
from astraea_ops.live.state import (
    DERIVED,
    NOBODY,
    AccountsState,
    AdmittedJob,
    Balance,
    empty_accounts,
    hours_stored,
    rows_of,
    trace_of,
    write_rows,
)


class Event(NamedTuple):
    """Something that happened to a job between two rounds, at `time` [s]; `kind` as in `engine.live`."""

    time: float
    kind: int
    id: str
    lease_end: float = 0.0


class Accounts:
    """Records of one cluster under one policy, from the beginning or from what was `saved`.

    `interval` is the time between rounds [s]; quotas are shares of `gpus` [GPU]. `weights` names every tenant, or is
    empty if all tenants are equal. `InputError` if the policy cannot run live with this interval.
    """

    def __init__(
        self, policy: Policy, interval: float, gpus: int, weights: Mapping[str, float],
        saved: AccountsState | None = None,
    ) -> None:  # fmt: skip
        if policy.needs_estimates:
            raise InputError(f"policy {policy.name} needs estimates of running times; a live cluster has none")
        settings = Settings(interval=interval, checkpoint_overhead=0, restart_overhead=0)
        self.lease_rounds = rounds_of_lease(policy, settings)
        self.policy = policy.with_parameters(lease_term=self.lease_rounds * interval) if self.lease_rounds else policy
        self.interval, self.gpus, self.weights = interval, max(1, gpus), dict(weights)
        self.withheld = 0
        self.most_hours = hours_stored(policy)
        self.view: View
        self.private: Private
        self._build(saved or empty_accounts(policy), ())

    @property
    def now(self) -> float:
        """Time of the last round [s]."""
        return float(self.view.now)

    def __contains__(self, id: object) -> bool:
        return id in self.place

    def job(self, id: str) -> AdmittedJob:
        """Return a job as it was admitted."""
        return self.admitted[self.place[id]]

    def row(self, id: str) -> Any:
        """Return the record of a job."""
        return self.view.job[self.place[id]]

    def is_active(self, id: str) -> bool:
        """Return whether a job was admitted and has not ended."""
        return id in self.place and self.row(id).status != DONE

    def ids(self, status: int) -> list[str]:
        """Return the jobs with a status, in order of submission."""
        return [self.admitted[j].id for j in np.flatnonzero(self.view.job.status == status)]

    def quota(self, tenant: str) -> float:
        """Return the quota of a tenant, [Ye2022] Eq. 6 [GPU]; of an unknown tenant, the quota that it would have."""
        weights = self.weights or dict.fromkeys({*self.trace.tenants, tenant} - {NOBODY}, 1.0)
        return self.gpus * weights[tenant] / sum(weights.values())

    def balance(self, tenant: str) -> Balance:
        """Return GPU-time and fair GPU-time of a tenant so far, [Ye2022] Eq. 12."""
        t = self.trace.tenants.index(tenant)
        return Balance(*(float(f(self.view, t, self.now)) for f in (accounting.tenant_alloc, accounting.tenant_fair)))

    def balance_of_job(self, id: str) -> Balance:
        """Return GPU-time and fair GPU-time of a job so far, [Ye2022] Eq. 15."""
        row, had = self.row(id), float(self.row(id).attained_service)
        if row.status == RUNNING:
            had += int(row.demand) * (self.now - float(row.lease_start))
        return Balance(had, float(accounting.job_fair(self.view, self.place[id], self.now)))

    def admit(self, newcomers: Sequence[AdmittedJob]) -> None:
        """Make room for new jobs, and drop those that are done."""
        self._build(self.state(), newcomers)

    def resize(self, gpus: int) -> None:
        """Set the number of GPUs from now on; with 0 GPUs shares are undefined, so one is kept and withheld."""
        self.gpus = max(1, gpus)
        self._build(self.state(), ())

    def withhold(self, gpus: int) -> None:
        """Mark this many GPUs of the cluster as unavailable for leases now."""
        self.view.node_free[0] -= gpus - self.withheld  # all GPUs are one pool
        self.withheld = gpus

    def hear(self, events: Sequence[Event], number: int) -> None:
        """Record what happened since the last round, up to round `number`."""
        hours = int(number * self.interval / HOUR) + 2
        if hours > len(self.view.timeline):
            self._build(self.state(), (), hours)
        table = np.zeros(len(events), HAPPENS)
        for e, event in enumerate(sorted(events)):
            time = min(max(event.time, self.now), number * self.interval)
            table[e] = time, event.kind, self.place[event.id], event.lease_end
        live.hear(self.view, self.private, table.view(np.recarray), number)

    def choose(self, aside: Sequence[str]) -> list[str]:
        """Let the policy choose anew, without pending jobs in `aside`; return the pending jobs that it granted."""
        view, memory = self.view, (self.view.memory, self.view.tenant_memory)
        if view.n_granted == view.n_revoked == 0:
            self._noted = [numbers.copy() for numbers in memory]
        for numbers, before in zip(memory, self._noted, strict=True):
            numbers[:] = before
        while view.n_granted:
            live.refuse(view, view.n_granted - 1)
        while view.n_revoked:
            live.keep(view, view.n_revoked - 1)
        excluded = np.array(sorted(self.place[id] for id in aside), np.int64)
        with compile_errors(f"policy {self.policy.name}"):
            call, select = live.compiled_for(self.policy.select, view, self.private)
        good = call(view, self.private, excluded, select)
        if not good or view.n_choices:
            code, j = int(self.private.violation), int(self.private.violator)
            job = f"job {self.admitted[j].id}" if 0 <= j < len(self.admitted) else f"index {j}"
            what = "chose nodes, but in a live cluster Slurm does that"
            if not good:
                what = decisions.BROKEN[code].format(job=job, others=0)
            raise PolicyError(f"policy {self.policy.name}: {what}")
        granted = view.granted[: view.n_granted]
        return [self.admitted[j].id for j in granted if view.job[j].status == PENDING]

    def leaving(self) -> tuple[list[str], list[str]]:
        """Return the jobs that lose their GPUs by this round's choices: at the end of a lease, and before it."""
        view = self.view
        kept = set(view.granted[: view.n_granted].tolist())
        expired = [j for j in view.expired[: view.n_expired].tolist() if j not in kept]
        revoked = view.revoked[: view.n_revoked]
        return [self.admitted[j].id for j in expired], [self.admitted[j].id for j in revoked]

    def refuse(self, id: str) -> None:
        """Undo a grant of this round."""
        live.refuse(self.view, list(self.view.granted[: self.view.n_granted]).index(self.place[id]))

    def keep(self, id: str) -> None:
        """Undo a revocation of this round."""
        live.keep(self.view, list(self.view.revoked[: self.view.n_revoked]).index(self.place[id]))

    def carry_out(self) -> list[str]:
        """Give and take the chosen leases; return the jobs whose leases are renewed."""
        granted = self.view.granted[: self.view.n_granted]
        renewed = [self.admitted[j].id for j in granted if self.view.job[j].status != PENDING]
        live.carry_out(self.view, self.private)
        return renewed

    def charge(self, id: str, since: float, until: float) -> None:
        """Charge a job for its GPUs in a past period [s]; refund it if `until` is before `since`."""
        row, held = self.row(id), until - since
        row.attained_service += row.demand * held
        row.executed += held
        row.progress += held
        self.correct(self.job(id).tenant, int(row.demand), since, until)

    def begin(self, id: str, start: float) -> None:
        """Record that a job has held its GPUs since `start` [s], not since the grant."""
        row = self.row(id)
        self.correct(self.job(id).tenant, int(row.demand), start, float(row.lease_start))
        row.lease_start = start

    def correct(self, tenant: str, gpus: int, since: float, until: float, *, is_owed: bool = False) -> None:
        """Charge a tenant for GPUs in a past period [GPU, s]; with `is_owed`, that GPU-time was owed to it too."""
        row, decay = self.view.tenant[self.trace.tenants.index(tenant)], self.view.decay
        row.attained += gpus * (until - since)
        row.fair += is_owed * min(gpus, row.quota) * (until - since)
        if decay > 0:
            faded = (math.exp(-decay * (row.attained_until - time)) for time in (until, since))
            row.decayed += gpus * (next(faded) - next(faded)) / decay

    def never_ends(self, id: str) -> None:
        """Let the lease of a job that cannot be stopped last until the job ends."""
        live.never_ends(self.view, self.private, self.place[id])

    def state(self) -> AccountsState:
        """Return all that is kept: everything except jobs that are done."""
        keep = np.flatnonzero(self.view.job.status != DONE)
        hours = int(self.view.n_hours)
        first = max(0, hours - self.most_hours)
        return AccountsState(
            clock=self.view.clock.copy(),
            admitted=tuple(self.admitted[j] for j in keep),
            job=self.view.job[keep],
            private=self.private.job[keep],
            memory=rows_of(self.view.memory, self.policy.memory, keep),
            tenants=self.trace.tenants,
            tenant=self.view.tenant.copy(),
            tenant_memory=rows_of(self.view.tenant_memory, self.policy.tenant_memory, range(len(self.view.tenant))),
            share_tenant=tuple(self.trace.tenants[t] for t in self._tenant_of_share()),
            share=self.view.share.copy(),
            timeline=self.view.timeline[first:hours].copy(),
        )

    def _tenant_of_share(self) -> npt.NDArray[np.int64]:
        sizes = self.view.tenant.end_class - self.view.tenant.first_class
        return np.repeat(np.arange(len(sizes)), sizes)

    def _build(self, saved: AccountsState, newcomers: Sequence[AdmittedJob], hours: int = 0) -> None:
        """Rebuild the state from a saved one, with room for new jobs and for `hours` hours."""
        self.gpus = max(self.gpus, int(saved.job["demand"][saved.job["status"] == RUNNING].sum()))  # nodes may be gone
        known = [k for k, m in enumerate(saved.admitted) if not self.weights or m.tenant in self.weights]
        came = {m.id: m for m in (*(saved.admitted[k] for k in known), *newcomers)}
        self.trace = trace_of(list(came.values()), saved.tenants, self.weights)
        self.admitted = [came[id] for id in self.trace.job_id]
        self.place = {id: j for j, id in enumerate(self.trace.job_id)}
        view, self.private = new_state(
            self.trace,
            Cluster(1, self.gpus),
            parameters=self.policy.parameters.values(),
            memory=self.policy.memory,
            tenant_memory=self.policy.tenant_memory,
            association_memory=self.policy.association_memory,
            interval=self.interval,
            decay=math.log(2) / self.policy.half_life,
            lease_rounds=self.lease_rounds,
            synchronous=self.policy.synchronous(self.policy.parameters),
            revisit=self.policy.revisit(self.policy.parameters),
        )
        view.job["submit_time"] = [job.submit_time for job in self.admitted]
        for name in set(CLOCK.names or ()) - set(DERIVED["clock"]):
            view.clock[name] = saved.clock[name]
        old = [k for k, name in enumerate(saved.tenants) if name in self.trace.tenants]
        t = [self.trace.tenants.index(saved.tenants[k]) for k in old]
        for name in set(TENANT.names or ()) - set(DERIVED["tenant"]):
            view.tenant[name][t] = saved.tenant[name][old]
        write_rows(view.tenant_memory, self.policy.tenant_memory, t, [saved.tenant_memory[k] for k in old])
        n_hours = int(saved.clock[0].n_hours)
        shape = max(n_hours, hours) + 64, len(self.trace.tenants)  # a row for every hour since second 0
        pages = mmap.mmap(-1, math.prod(shape) * TIMELINE.itemsize)  # zeros; only written pages take memory
        room = np.frombuffer(pages, TIMELINE).reshape(shape).view(np.recarray)
        gangs = np.zeros(max([self.gpus, *(m.demand for m in self.admitted)]) + 1, np.int64)  # a cluster can shrink
        self.view = view = view._replace(timeline=room, hour=np.arange(len(room)), open_gangs=gangs)
        view.n_rows, view.every_hour = n_hours, 1
        view.timeline[n_hours - len(saved.timeline) : n_hours, t] = saved.timeline[:, old]
        shares = zip(saved.share_tenant, saved.share["demand"].tolist(), saved.share["weight"].tolist(), strict=True)
        row_of = {key: k for k, key in enumerate(shares)}
        for c, owner in enumerate(self._tenant_of_share()):
            share = view.share[c]
            k = row_of.get((self.trace.tenants[owner], int(share.demand), float(share.weight)))
            if k is not None:
                view.share[c] = saved.share[k]
        j = [self.place[saved.admitted[k].id] for k in known]
        for name in set(JOB.names or ()) - set(DERIVED["job"]):
            view.job[name][j] = saved.job[name][known]
        for name in set(PRIVATE_JOB.names or ()) - {"heap_position", "log_of"}:
            self.private.job[name][j] = saved.private[name][known]
        write_rows(view.memory, self.policy.memory, j, [saved.memory[k] for k in known])
        view.tenant.held[:] = np.bincount(
            view.job.tenant, weights=view.job.demand * (view.job.status == RUNNING), minlength=len(view.tenant)
        )
        live.resume(view, self.private)
        same = dict(zip(saved.tenants, saved.tenant["quota"].tolist(), strict=True))
        if saved.tenants and any(same.get(n) != q for n, q in zip(self.trace.tenants, view.tenant.quota, strict=True)):
            for j in np.unique(view.job.tenant, return_index=True)[1]:  # one of each tenant: from now on, the new quota
                accounting.change_active(view, j, 0, self.now)
        withheld, self.withheld = self.withheld, 0
        self.withhold(withheld)
