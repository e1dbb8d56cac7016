"""HiveD: guaranteed jobs in their tenant's cells, spot jobs on other GPUs (Zhao et al., OSDI 2020; [Ye2022] §6.1.5).

A job that fits into the free cells of its tenant is guaranteed: it gets whole nodes. For the rest it gets a cell of the
next power of two, split off the smallest free cell that is large enough. It keeps them to its end, so it needs no
checkpoints and pays for none. Any other job is a spot job: it runs on idle GPUs, whoever owns them. When a guaranteed
job needs the place, the spot job is revoked, back to its last checkpoint. Jobs of a tenant, and all spot jobs, are
served in order of submission; a job that does not fit is skipped. A job that can never fit into its tenant's cells (5
GPUs with a quota of 7 = 4 + 2 + 1) is always a spot job.

The cells of a tenant add up to its whole quota: as many nodes as it holds, then powers of two, each at most once
(§3.2, §3.3; `hived_cells` lays them out). If the number of GPUs of a node is not a power of two, a cell may be cut at
its end. A cell splits into buddies of half its size, and free buddies merge again. GPU `a` is on node
``a // gpus_per_node``.

Departures: cells are bound to GPUs permanently, while the original binds a virtual cell when it is used. Nodes are
alike, so only revocations can differ, and among equal cells the one that needs the fewest revocations is taken. Every
job first asks for a guarantee; in the original its user decides. A spot job remains one until it ends or loses its
GPUs.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from astraea.cluster.engine.records import record
from astraea.cluster.engine.state import EXPIRED, PENDING, WHILE_ONE_WAITS, View, held_by
from astraea.cluster.policies.hived_cells import Cells, lay_out, mark_job, rounded, take_cells
from astraea.cluster.policy import (
    NO_JOB,
    all_candidates,
    candidates,
    fits,
    grant,
    is_open,
    place_on,
    policy,
    renewals,
    revoke,
    running,
    spare_checkpoints,
)
from astraea.core.compilation import inlined, records_in

JOB_MEMORY: Final = record(
    ("role", int),
    ("cell", int),  # first GPU of a guaranteed job's last cell
)

# roles; EVICTED: a spot job that is not renewed in this round
SPOT, GUARANTEED, EVICTED = range(3)

TENANT_MEMORY: Final = record(  # with the first tenant, about the last round:
    ("left", int),  # jobs that it left on GPUs
    ("waited", int),  # jobs that it left waiting
)


class Parameters(NamedTuple):
    """Parameters of HiveD.

    lease_term : s, time from one checkpoint of a spot job to the next
    """

    lease_term: float = 900.0


@policy(
    "hived",
    Parameters,
    about="Each tenant has fixed cells of GPUs, which are halved and joined as in a buddy allocator. A spot job "
    "uses idle GPUs, and loses them when the owner of the cell needs them.",
    paper="[Zhao2020] §3",
    sees_tenants=True,
    revokes=True,
    revisit=lambda _: WHILE_ONE_WAITS,
    memory=JOB_MEMORY,
    tenant_memory=TENANT_MEMORY,
    alike=True,
)
def hived(s: View) -> None:
    """HiveD's virtual clusters with guaranteed and spot jobs (Zhao et al., OSDI 2020; [Ye2022] §6.1.5)."""
    m = records_in(s.memory, JOB_MEMORY)
    of_tenant = records_in(s.tenant_memory, TENANT_MEMORY)
    renew(s, GUARANTEED)
    if may_start(s):
        cells = lay_out(s)
        for jobs in (running(s), renewals(s)):
            for j in jobs:
                if m[j].role == GUARANTEED:
                    mark_job(s, cells, j, m[j].cell)
        for t in range(len(s.tenant)):
            start_guaranteed(s, cells, t)
    renew(s, SPOT)  # jobs whose place no guaranteed job needs
    if may_start(s):
        for j in all_candidates(s):
            if s.job[j].status == PENDING and is_open(s, j) and fits(s, j):
                m[j].role = SPOT
                grant(s, j)
    of_tenant[0].left = len(running(s)) + s.n_granted - s.n_revoked
    of_tenant[0].waited = len(all_candidates(s)) - s.n_granted
    for j in renewals(s):
        of_tenant[0].waited -= is_open(s, j)  # an evicted job may start again in the next round


@inlined
def renew(s: View, role: int) -> None:
    """Grant every renewal of a role."""
    m = records_in(s.memory, JOB_MEMORY)
    for j in renewals(s):
        if m[j].role == role:
            grant(s, j)


@inlined
def may_start(s: View) -> bool:
    """Return whether a job is waiting and one has come, ended or been preempted since the last round."""
    of_tenant = records_in(s.tenant_memory, TENANT_MEMORY)
    held, waiting = len(running(s)) + len(renewals(s)), len(all_candidates(s)) - len(renewals(s))
    return waiting > 0 and (of_tenant[0].left != held or of_tenant[0].waited != waiting)


@inlined
def start_guaranteed(s: View, cells: Cells, t: int) -> None:
    """Start every waiting job of tenant `t` that fits into its free cells, in order of submission."""
    m = records_in(s.memory, JOB_MEMORY)
    per_node, most = s.gpus_per_node, cells.left[t]
    for j in candidates(s, t):
        if most == 0:
            break
        if s.job[j].status != PENDING or rounded(s, j) > most:
            continue
        firsts = take_cells(s, cells, j)
        if len(firsts) == 0:
            most = rounded(s, j) - 1  # nor do they hold a larger one
            continue
        most = min(most, cells.left[t])
        m[j].role, m[j].cell = GUARANTEED, firsts[-1]
        grant(s, j)
        spare_checkpoints(s, j)
        for i, first in enumerate(firsts):
            gpus = min(s.job[j].demand - i * per_node, per_node)
            make_room(s, cells, first // per_node, gpus)
            place_on(s, j, first // per_node, gpus)


@inlined
def make_room(s: View, cells: Cells, node: int, gpus: int) -> None:
    """Remove spot jobs from a node until it has enough idle GPUs, and give these to a guaranteed job."""
    m = records_in(s.memory, JOB_MEMORY)
    while cells.idle[node] < gpus:
        j = victim(s, node, gpus - cells.idle[node])
        if s.job[j].status == EXPIRED:
            m[j].role = EVICTED
        else:
            revoke(s, j)
        cells.idle[:] += held_by(s, j)
    cells.idle[node] -= gpus


@inlined
def victim(s: View, node: int, wanting: int) -> int:
    """Return the smallest spot gang with the missing GPUs on a node; if there is none, the one with the most there.

    Ties go to the one with the latest checkpoint, then to the one submitted last.
    """
    m = records_in(s.memory, JOB_MEMORY)
    best, best_key = NO_JOB, (np.inf, np.inf, np.inf, np.inf)
    for jobs in (running(s), renewals(s)):
        for j in jobs:
            held = held_by(s, j)[node]
            if held > 0 and m[j].role == SPOT and is_open(s, j):  # not lost in this round
                lost = 0.0 if s.job[j].status == EXPIRED else s.now - s.job[j].lease_start
                key = (float(max(0, wanting - held)), float(s.job[j].demand), lost, float(-j))
                if key < best_key:
                    best, best_key = j, key
    return best
