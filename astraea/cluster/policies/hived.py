"""HiveD: guaranteed jobs in the cells of their tenant, spot jobs beyond (Zhao et al., OSDI 2020; [Ye2022] §6.1.5).

A job that fits into the free cells of its tenant is guaranteed: it gets whole nodes. For the rest it gets a cell of the
next power of two, split off the smallest free cell that is large enough (`hived_cells`). It keeps them to its end, so
it needs no checkpoints and pays for none. Any other job is a spot job: it runs on idle GPUs, whoever owns them. When a
guaranteed job needs the place, the spot job is revoked, back to its last checkpoint. Jobs of a tenant, and all spot
jobs, are served in order of submission; a job that does not fit is skipped. A job that can never fit into its tenant's
cells (5 GPUs with a quota of 7 = 4 + 2 + 1) is always a spot job.

Departures: cells are bound to GPUs permanently, while the original binds a virtual cell when it is used. Nodes are
alike, so only revocations can differ, and among equal cells the one that needs the fewest revocations is taken. Every
job first asks for a guarantee; in the original its user decides. A spot job remains one until it ends or loses its
GPUs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from astraea.cluster.engine.state import EXPIRED, PENDING, WHILE_ONE_WAITS, View
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
from astraea.core.compilation import inlined

# kept per job: its role, and the first GPU of a guaranteed job's last cell
ROLE, CELL = range(2)

# roles; EVICTED: a spot job that is not renewed in this round
SPOT, GUARANTEED, EVICTED = range(3)

# kept with the first tenant about the last round: how many jobs it left on GPUs, and how many it left waiting
LEFT, WAITED = range(2)


class Parameters(NamedTuple):
    """Parameters of HiveD.

    lease_term : s, time from one checkpoint of a spot job to the next
    """

    lease_term: float = 900.0


@policy("hived", Parameters, revisit=lambda _: WHILE_ONE_WAITS, memory=(2, 2), alike=True)
def hived(s: View) -> None:
    """HiveD's virtual clusters with guaranteed and spot jobs (Zhao et al., OSDI 2020; [Ye2022] §6.1.5)."""
    renew(s, GUARANTEED)
    if may_start(s):
        cells = lay_out(s)
        for jobs in (running(s), renewals(s)):
            for j in jobs:
                if s.memory[ROLE, j] == GUARANTEED:
                    mark_job(s, cells, j, int(s.memory[CELL, j]))
        for t in range(len(s.tenant)):
            start_guaranteed(s, cells, t)
    renew(s, SPOT)  # jobs whose place no guaranteed job needs
    if may_start(s):
        for j in all_candidates(s):
            if s.job[j].status == PENDING and is_open(s, j) and fits(s, j):
                s.memory[ROLE, j] = SPOT
                grant(s, j)
    s.tenant_memory[LEFT, 0] = len(running(s)) + s.clock[0].n_granted - s.clock[0].n_revoked
    s.tenant_memory[WAITED, 0] = len(all_candidates(s)) - s.clock[0].n_granted
    for j in renewals(s):
        s.tenant_memory[WAITED, 0] -= is_open(s, j)  # an evicted job may start again in the next round


@inlined
def renew(s: View, role: int) -> None:
    """Grant every renewal of a role."""
    for j in renewals(s):
        if s.memory[ROLE, j] == role:
            grant(s, j)


@inlined
def may_start(s: View) -> bool:
    """Return whether a job is waiting and one has come, ended or been preempted since the last round."""
    held, waiting = len(running(s)) + len(renewals(s)), len(all_candidates(s)) - len(renewals(s))
    return waiting > 0 and (s.tenant_memory[LEFT, 0] != held or s.tenant_memory[WAITED, 0] != waiting)


@inlined
def start_guaranteed(s: View, cells: Cells, t: int) -> None:
    """Start every waiting job of tenant `t` that fits into its free cells, in order of submission."""
    per_node, most = s.clock[0].gpus_per_node, cells.left[t]
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
        for i, first in enumerate(firsts):
            make_room(s, cells, first // per_node, min(s.job[j].demand - i * per_node, per_node))
        s.memory[ROLE, j], s.memory[CELL, j] = GUARANTEED, firsts[-1]
        grant(s, j)
        spare_checkpoints(s, j)
        for i, first in enumerate(firsts):
            place_on(s, j, first // per_node, min(s.job[j].demand - i * per_node, per_node))


@inlined
def make_room(s: View, cells: Cells, node: int, gpus: int) -> None:
    """Remove spot jobs from a node until it has enough idle GPUs, and give these to a guaranteed job."""
    while cells.idle[node] < gpus:
        j = victim(s, node, gpus - cells.idle[node])
        if s.job[j].status == EXPIRED:
            s.memory[ROLE, j] = EVICTED
        else:
            revoke(s, j)
        piece = s.job[j].first_piece
        while piece >= 0:
            cells.idle[s.piece[piece].node] += s.piece[piece].gpus
            piece = s.piece[piece].next
    cells.idle[node] -= gpus


@inlined
def victim(s: View, node: int, wanting: int) -> int:
    """Return the smallest spot gang with the missing GPUs on a node; if there is none, the one with the most there.

    Ties go to the one with the latest checkpoint, then to the one submitted last.
    """
    best, best_key = NO_JOB, (np.inf, np.inf, np.inf, np.inf)
    for jobs in (running(s), renewals(s)):
        for j in jobs:
            held = spot_gpus(s, j, node)
            if held > 0:
                lost = 0.0 if s.job[j].status == EXPIRED else s.clock[0].now - s.job[j].lease_start
                key = (float(max(0, wanting - held)), float(s.job[j].demand), lost, float(-j))
                if key < best_key:
                    best, best_key = j, key
    return best


@inlined
def spot_gpus(s: View, j: int, node: int) -> int:
    """Return the GPUs of a node that job `j` holds as a spot job and has not lost in this round."""
    piece = s.job[j].first_piece if s.memory[ROLE, j] == SPOT and is_open(s, j) else -1
    while piece >= 0:
        if s.piece[piece].node == node:
            return s.piece[piece].gpus
        piece = s.piece[piece].next
    return 0
