"""Placement of gangs on nodes ([Ye2022] §6.1.3: consolidated, on as few nodes as possible).

consolidated
    The emptiest nodes one after the other until the rest fits on one node, which is then the fullest that holds it.
    These are the fewest nodes on which the gang fits now.
strict
    Like consolidated, but the gang waits if it would be on more nodes than in an empty cluster.
spread
    GPU by GPU from the node with most free GPUs.
random
    GPU by GPU, every free GPU equally likely.

Ties go to the node with the lowest index.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from astraea.cluster.engine.state import I, Private, View
from astraea.core.compilation import inlined
from astraea.core.random import STEP, splitmix64

PLACEMENTS: Final = ("consolidated", "strict", "spread", "random")
STRICT, SPREAD, RANDOM = range(1, 4)


@inlined
def plan(free: I, gpus: int) -> I:
    """Return the GPUs of a consolidated gang on each node, shape (nodes,); empty if it does not fit.

    `free`, shape (nodes,), are the GPUs that the gang may use on each node.
    """
    if free.sum() < gpus:
        return free[:0].copy()
    parts, left = np.zeros(len(free), np.int64), gpus
    while left > 0:
        emptiest, fullest, most, least = 0, -1, 0, 0
        for node in range(len(free)):
            open_gpus = free[node] - parts[node]
            if open_gpus > most:
                emptiest, most = node, open_gpus
            if open_gpus >= left and (fullest < 0 or open_gpus < least):
                fullest, least = node, open_gpus
        if fullest >= 0:
            parts[fullest] += left
            return parts
        parts[emptiest] += most
        left -= most
    return parts


@inlined
def plan_one_by_one(x: Private, free: I, gpus: int) -> I:
    """Return the same for a gang whose GPUs are chosen one by one: spread, or at random."""
    if free.sum() < gpus:
        return free[:0].copy()
    left = free.copy()
    for _ in range(gpus):
        left[int(np.argmax(left)) if x.placement == SPREAD else drawn(x, left)] -= 1
    return free - left


@inlined
def usable(s: View, free: I, j: int) -> I:
    """Return the free GPUs of the nodes on which job `j` may run, and 0 for other nodes, shape (nodes,)."""
    return free * s.rules.allowed[s.rules.kind[j]]


@inlined
def place(s: View, x: Private, j: int) -> bool:
    """Give job `j` its gang; return false if it has to wait."""
    free = usable(s, s.node_free, j) if x.restricted else s.node_free
    if x.placement >= SPREAD:
        parts = plan_one_by_one(x, free, s.job[j].demand)
    else:
        parts = plan(free, s.job[j].demand)
    if len(parts) == 0 or (x.placement == STRICT and is_spread(s, parts, j)):
        return False
    for node in range(len(parts)):
        if parts[node] > 0:
            take(s, j, node, parts[node])
    return True


@inlined
def is_spread(s: View, parts: I, j: int) -> bool:
    """Return whether the gang of job `j` would be on more nodes than it must be."""
    return np.count_nonzero(parts) > s.rules.nodes[j]


@inlined
def free_gpus(s: View) -> int:
    """Return the GPUs under no running lease: those that no job holds, and those of jobs that ask for renewal."""
    gpus = s.node_free.sum()
    for k in range(s.n_expired):
        gpus += s.job[s.expired[k]].demand
    return gpus


@inlined
def drawn(x: Private, free: I) -> int:
    """Return the node of a free GPU drawn at random (splitmix64, the same on every platform)."""
    number = splitmix64(x.engine.random)[0]
    np.add(x.engine.random, STEP, x.engine.random)
    ticket, node = np.int64(number % np.uint64(free.sum())), 0
    while ticket >= free[node]:
        ticket -= free[node]
        node += 1
    return node


@inlined
def take(s: View, j: int, node: int, gpus: int) -> None:
    """Add `gpus` of `node` to the GPUs that job `j` holds."""
    s.node_free[node] -= gpus
    piece = s.job[j].first_piece
    while piece >= 0:
        if s.piece[piece].node == node:
            s.piece[piece].gpus += gpus
            return
        piece = s.piece[piece].next
    piece = s.free_piece
    s.free_piece = s.piece[piece].next
    s.piece[piece].node = node
    s.piece[piece].gpus = gpus
    s.piece[piece].next = s.job[j].first_piece
    s.job[j].first_piece = piece


@inlined
def give_back(s: View, j: int) -> None:
    """Free everything that job `j` holds."""
    piece = s.job[j].first_piece
    while piece >= 0:
        s.node_free[s.piece[piece].node] += s.piece[piece].gpus
        following = s.piece[piece].next
        s.piece[piece].next = s.free_piece
        s.free_piece = piece
        piece = following
    s.job[j].first_piece = -1


@inlined
def count_nodes(s: View, j: int) -> int:
    """Return the number of nodes on which job `j` holds GPUs."""
    nodes, piece = 0, s.job[j].first_piece
    while piece >= 0:
        nodes += 1
        piece = s.piece[piece].next
    return nodes
