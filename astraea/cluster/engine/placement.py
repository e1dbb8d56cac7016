"""Placement of gangs on nodes ([Ye2022] §6.1.3: consolidated, on as few nodes as possible).

consolidated
    Whole nodes first, then the fullest node that still fits the rest. If no such nodes are free, the emptiest nodes
    one after the other until the rest fits on one node, which is then the fullest that holds it.
strict
    Like consolidated, but the gang waits instead of spreading over more nodes than necessary.
spread
    GPU by GPU from the node with most free GPUs.
random
    GPU by GPU, every free GPU equally likely.

Ties go to the node with the lowest index. If nodes differ, or a job may not run on all of them, it gets the emptiest of
its nodes one after the other. The rest goes to the fullest node that holds it, as soon as there is one.
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
def place(s: View, x: Private, j: int, gpus: int) -> bool:
    """Give job `j` its gang; return false if it has to wait."""
    kind = x.placement
    if x.restricted:
        return place_within(s, x, j, gpus)
    if kind == SPREAD or kind == RANDOM:
        for _ in range(gpus):
            take(s, j, int(np.argmax(s.node_free)) if kind == SPREAD else drawn(x, s.node_free), 1)
        return True
    per_node = s.gpus_per_node
    whole, rest = gpus // per_node, gpus % per_node
    empty = 0
    for node in range(len(s.node_free)):
        empty += s.node_free[node] == per_node
    # the rest may go to an empty node only if one remains beside the whole ones
    partner = -1
    if rest > 0:
        partner = fullest_that_fits(s, rest, per_node if empty > whole else per_node - 1)
    if empty >= whole and (rest == 0 or partner >= 0):
        if rest > 0 and s.node_free[partner] < per_node:
            take(s, j, partner, rest)
            rest = 0
        node = 0
        while whole > 0:
            if s.node_free[node] == per_node:
                take(s, j, node, per_node)
                whole -= 1
            node += 1
        if rest > 0:
            take(s, j, fullest_that_fits(s, rest, per_node), rest)
        return True
    if kind == STRICT:
        return False
    left = gpus
    while left > 0:
        node = int(np.argmax(s.node_free))
        if left <= s.node_free[node]:
            node = fullest_that_fits(s, left, per_node)
        part = min(left, s.node_free[node])
        take(s, j, node, part)
        left -= part
    return True


@inlined
def place_within(s: View, x: Private, j: int, gpus: int) -> bool:
    """Give job `j` its gang on the nodes that it may use; return false if it has to wait."""
    free, kind = s.node_free * s.rules.allowed[s.rules.kind[j]], x.placement
    if free.sum() < gpus:
        return False
    parts, left, spans = np.zeros(len(free), np.int64), gpus, 0
    while left > 0:
        node, part = int(np.argmax(free)), 1
        if kind == RANDOM:
            node = drawn(x, free)
        elif kind != SPREAD:
            for other in range(len(free)):
                if left <= free[other] < free[node]:
                    node = other
            part = min(left, free[node])
        spans += parts[node] == 0
        free[node] -= part
        parts[node] += part
        left -= part
    if kind == STRICT and spans > s.rules.nodes[j]:
        return False
    for node in range(len(parts)):
        if parts[node] > 0:
            take(s, j, node, parts[node])
    return True


@inlined
def free_gpus(s: View) -> int:
    """Return the GPUs under no running lease: those that no job holds, and those of jobs that ask for renewal."""
    gpus = s.node_free.sum()
    for k in range(s.n_expired):
        gpus += s.job[s.expired[k]].demand
    return gpus


@inlined
def fullest_that_fits(s: View, gpus: int, most: int) -> int:
    """Return the node with the fewest free GPUs, at least `gpus` and at most `most`; -1 if there is none."""
    best, best_free = -1, most + 1
    for node in range(len(s.node_free)):
        free = s.node_free[node]
        if gpus <= free < best_free:
            best, best_free = node, free
            if free == gpus:
                break
    return best


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
