"""Cells of `hived`: where its buddy allocator lays out each tenant's cells, and which of them are free ([Zhao2020] §3).

All cells are laid out over the GPUs of the cluster from large to small, so that powers of two leave no gap.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from astraea.cluster.engine.state import I, View
from astraea.core.compilation import inlined

NO_CELL: Final = -1


class Cells(NamedTuple):
    """Locations of the tenants' cells, and which are free."""

    first: I  #: (levels + 1, T) first GPU of a tenant's cell of 2**level GPUs; at the last level, of its whole nodes
    taken: npt.NDArray[np.bool_]  #: (GPUs,) true if the GPU is in a taken cell
    left: I  #: (T,) GPUs in free cells of a tenant
    idle: I  #: (nodes,) GPUs that no job holds


@inlined
def lay_out(s: View) -> Cells:
    """Return the cells of all tenants, all of them free."""
    levels = 0
    while 2**levels < s.gpus_per_node:
        levels += 1
    cells = Cells(
        first=np.zeros((levels + 1, len(s.tenant)), np.int64),
        taken=np.zeros(s.gpus, np.bool_),
        left=s.tenant.whole_quota.copy(),
        idle=s.node_free.copy(),
    )
    a = 0
    for level in range(levels, -1, -1):
        for t in range(len(s.tenant)):
            cells.first[level, t] = a
            a += owned(s, cells, t, level)
    return cells


@inlined
def owned(s: View, cells: Cells, t: int, level: int) -> int:
    """Return the GPUs of tenant `t` in its cell of 2**level GPUs; at the last level, in whole nodes."""
    rest = s.tenant[t].whole_quota % s.gpus_per_node
    return rest & 2**level if level < len(cells.first) - 1 else s.tenant[t].whole_quota - rest


@inlined
def cell_size(gpus: int, per_node: int) -> int:
    """Return the size of the cell for this many GPUs of one node: the next power of two, or the node."""
    size = 1
    while size < gpus:
        size *= 2
    return min(size, per_node)


@inlined
def rounded(s: View, j: int) -> int:
    """Return the GPUs in the cells that hold job `j`: whole nodes, and a cell for the rest."""
    rest = s.job[j].demand % s.gpus_per_node
    return s.job[j].demand - rest + (cell_size(rest, s.gpus_per_node) if rest > 0 else 0)


@inlined
def mark_job(s: View, cells: Cells, j: int, cell: int) -> None:
    """Mark the GPUs of job `j` as taken: whole nodes, and for the rest the cell that begins at GPU `cell`."""
    per_node = s.gpus_per_node
    rest = s.job[j].demand % per_node
    if rest > 0:
        cells.taken[cell : cell + cell_size(rest, per_node)] = True
    piece = s.job[j].first_piece if rest < s.job[j].demand else -1
    while piece >= 0:
        if s.piece[piece].gpus == per_node:
            first = s.piece[piece].node * per_node
            cells.taken[first : first + per_node] = True
        piece = s.piece[piece].next
    cells.left[s.job[j].tenant] -= rounded(s, j)


@inlined
def take_cells(s: View, cells: Cells, j: int) -> I:
    """Take free cells of its tenant for job `j`, one per node, whole nodes first; return their first GPUs.

    Empty, with nothing taken, if the job does not fit into the free cells; then no larger job fits either.
    """
    per_node = s.gpus_per_node
    firsts = np.empty(-(-s.job[j].demand // per_node), np.int64)
    for i in range(len(firsts)):
        gpus = min(s.job[j].demand - i * per_node, per_node)
        firsts[i] = best_cell(s, cells, s.job[j].tenant, gpus)
        if firsts[i] == NO_CELL:
            for k in range(i):
                cells.taken[firsts[k] : firsts[k] + per_node] = False
            return firsts[:0]
        cells.taken[firsts[i] : firsts[i] + cell_size(gpus, per_node)] = True
    cells.left[s.job[j].tenant] -= rounded(s, j)
    return firsts


@inlined
def best_cell(s: View, cells: Cells, t: int, gpus: int) -> int:
    """Return the smallest free cell of tenant `t` that has this many GPUs of a node.

    Ties go to the cell on whose node the fewest GPUs are missing, then to the first.
    """
    per_node = s.gpus_per_node
    size, best, best_key = cell_size(gpus, per_node), NO_CELL, np.inf
    for level in range(len(cells.first)):
        start = cells.first[level, t]
        end = start + owned(s, cells, t, level)
        while start < end:  # node by node
            stop = min(end, (start // per_node + 1) * per_node)
            wanting = max(0, gpus - cells.idle[start // per_node])
            a = start
            while a < stop:
                free = free_cell(cells.taken, start, stop, a)
                key = free * (per_node + 1) + wanting
                if free >= size and key < best_key:
                    best, best_key = a, key
                a += max(free, 1)
            start = stop
    return best


@inlined
def free_cell(taken: npt.NDArray[np.bool_], start: int, stop: int, a: int) -> int:
    """Return the size of the largest free buddy that begins at GPU `a` in a cell from `start` to `stop`; 0 if taken."""
    free = 0
    while a + free < stop and not taken[a + free]:
        free += 1
    if free == stop - start:
        return free
    buddy = 1
    while 2 * buddy <= free and (a - start) % (2 * buddy) == 0:
        buddy *= 2
    return min(buddy, free)
