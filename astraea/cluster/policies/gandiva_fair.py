"""Gandiva_fair: gang-aware stride scheduling with tickets (Chaudhary et al., EuroSys 2020; [Ye2022] §6.1.5).

Every tenant holds tickets, its weight, and divides them among its jobs. Service advances a pass by the stride, GPU-time
over tickets, and the smallest pass goes next: first among tenants, then among the jobs of the tenant. The pass of a
tenant counts leases in full when they are granted; the part that a job does not use because it ends early is refunded.

A gang that does not fit keeps its pass. The original lets others use the GPUs in this quantum; in the next one, when
all jobs stop together, the gang is first. Here leases end one by one by default and the gaps would never add up.
Therefore GPUs are kept for the first gang until enough leases have ended. Of two tenants that always have waiting jobs,
neither gets ahead by more than one gang's lease. With `others_fill` the next job by pass that fits takes those GPUs,
first of the gang's own tenant, and large gangs depend on chance.

With `quanta=common` all jobs stop together, as in the original: leases end at multiples of their term. Then all GPUs
are free, the first gang starts, and with `others_fill` the next jobs by pass take the rest. A job that continues in the
next quantum is not suspended and pays for no checkpoint. Within a quantum new jobs take free GPUs; suspended jobs wait
for the next one, because the rest of this quantum may be shorter than their restart.

Idleness earns no credit. A tenant that left no job waiting starts at most one lease of its quota below the smallest
pass of tenants that did, or below the largest pass of all if there are none. One lease of its quota is what a quantum
of the original gives at once. A new job starts at its tenant's virtual time, GPU-time per ticket so far.

Departures: there is one stride over the whole cluster, while the original has one per server; GPU types are not traded,
as in [Ye2022] (footnote 2).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from astraea.cluster.engine.records import record
from astraea.cluster.engine.state import AT_EVENTS, WHILE_ONE_FITS, F, I, View
from astraea.cluster.policy import (
    NO_JOB,
    all_candidates,
    attained_by_tenant,
    candidates,
    fits,
    grant,
    is_open,
    level,
    policy,
    running,
    some_job_fits,
    unpack,
)
from astraea.core.compilation import inlined, records_in

JOB_MEMORY: Final = record(
    ("start", float),  # its pass when it was submitted [leases of one GPU]
    ("seen", bool),  # true if that is set
)
TENANT_MEMORY: Final = record(
    ("raised", float),  # by how much its pass was raised [leases of its quota]
    ("waits", bool),  # true if jobs were left waiting
    ("tickets", float),  # of its active jobs
    ("virtual", float),  # its virtual time when they last changed [leases of one GPU] ...
    ("attained", float),  # ... and its GPU-time then [GPU-s]
)


class Parameters(NamedTuple):
    """Parameters of Gandiva_fair.

    lease_term : s, length of a lease
    others_fill : other jobs take the free GPUs while the first gang does not fit; otherwise they are kept for it
    quanta : each lease lasts its own term, or all end together at multiples of the term
    """

    lease_term: float = 900.0
    others_fill: float = 0.0
    quanta: float = 0.0


# No pass changes between two events, because a lease is counted when it is granted, but the next quantum comes.
@policy(
    "gandiva-fair",
    Parameters,
    about="Stride scheduling of gangs, with tickets per tenant.",
    paper="[Chaudhary2020]",
    sees_tenants=True,
    revisit=lambda p: WHILE_ONE_FITS if p["quanta"] > 0 else AT_EVENTS,
    synchronous=lambda p: p["quanta"] > 0,
    memory=JOB_MEMORY,
    tenant_memory=TENANT_MEMORY,
    choices={"others_fill": ("no", "yes"), "quanta": ("own", "common")},
)
def gandiva_fair(s: View) -> None:
    """Gang-aware stride (Chaudhary et al., EuroSys 2020; [Ye2022] §6.1.5)."""
    of_tenant = records_in(s.tenant_memory, TENANT_MEMORY)
    if len(all_candidates(s)) == 0:
        return
    p = unpack(Parameters, s.parameters)
    waiting = np.array([len(candidates(s, t)) for t in range(len(s.tenant))])
    tenant_pass = passes(s, p.lease_term)
    part = (s.lease_end - s.now) / p.lease_term  # of a term, that leases of this round last
    start_tenants(s, tenant_pass, waiting)
    start_jobs(s, p.lease_term)
    tenant_pass[waiting == 0] = np.inf
    while some_job_fits(s):
        t = int(np.argmin(level(tenant_pass)))  # ties to the first
        if tenant_pass[t] == np.inf:
            break
        j = select_job(s, t, p, part)
        if j == NO_JOB:
            tenant_pass[t] = np.inf  # none of its jobs may start
            continue
        if not fits(s, j):
            break  # GPUs are kept for it
        grant(s, j)
        waiting[t] -= 1
        tenant_pass[t] += part * s.job[j].demand / s.tenant[t].quota if waiting[t] > 0 else np.inf
    for t in range(len(s.tenant)):
        of_tenant[t].waits = waiting[t] > 0


@inlined
def passes(s: View, lease_term: float) -> F:
    """Return the pass of every tenant [leases of its quota]: GPU-time of its leases up to their ends, over tickets."""
    of_tenant = records_in(s.tenant_memory, TENANT_MEMORY)
    given = s.tenant.attained - s.tenant.held * s.tenant.attained_until  # independent of the time of reading
    for j in running(s):
        given[s.job[j].tenant] += s.job[j].demand * s.job[j].lease_end
    return given / (s.tenant.quota * lease_term) + of_tenant.raised


@inlined
def start_tenants(s: View, tenant_pass: F, waiting: I) -> None:
    """Raise tenants that left no job waiting and have jobs now to one lease of their quota below those that did."""
    of_tenant = records_in(s.tenant_memory, TENANT_MEMORY)
    kept = of_tenant.waits.copy()
    least = (tenant_pass[kept].min() if kept.any() else tenant_pass.max()) - 1
    for t in range(len(s.tenant)):
        if waiting[t] > 0 and not kept[t] and tenant_pass[t] < least:
            of_tenant[t].raised += least - tenant_pass[t]
            tenant_pass[t] = least


@inlined
def start_jobs(s: View, lease_term: float) -> None:
    """Give new jobs the virtual time of their tenant, and advance it at the rate of the current tickets."""
    m = records_in(s.memory, JOB_MEMORY)
    of_tenant = records_in(s.tenant_memory, TENANT_MEMORY)
    for t in range(len(s.tenant)):
        virtual = of_tenant[t].virtual
        attained = attained_by_tenant(s, t, 0.0)
        if of_tenant[t].tickets > 0:
            virtual += (attained - of_tenant[t].attained) / (of_tenant[t].tickets * lease_term)
        for j in candidates(s, t)[::-1]:  # the latest jobs are the last
            if m[j].seen:
                break
            m[j].seen = True
            m[j].start = virtual
        tickets = 0.0
        for c in range(s.tenant[t].first_class, s.tenant[t].end_class):
            tickets += s.share[c].active * s.share[c].weight
        if tickets != of_tenant[t].tickets:
            of_tenant[t].virtual = virtual
            of_tenant[t].attained = attained
            of_tenant[t].tickets = tickets


@inlined
def select_job(s: View, t: int, p: Parameters, part: float) -> int:
    """Return the open candidate of tenant `t` with the smallest pass, ties to the first; if others fill, one that fits.

    Within a common quantum, only new jobs.
    """
    m = records_in(s.memory, JOB_MEMORY)
    best, best_pass = NO_JOB, np.inf
    weight = s.share.weight[s.tenant[t].first_class : s.tenant[t].end_class].mean()  # passes do not depend on its unit
    for j in candidates(s, t):
        may_start = (fits(s, j) or p.others_fill == 0) and (part == 1 or s.job[j].leases == 0)
        attained = s.job[j].attained_service / (s.job[j].weight * p.lease_term)
        job_pass = level((m[j].start + attained) * weight)
        if is_open(s, j) and may_start and job_pass < best_pass:
            best, best_pass = j, job_pass
    return best
