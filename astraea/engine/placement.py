"""Which nodes a gang gets ([Ye2022] §6.1.3: consolidated, on as few nodes as possible).

consolidated
    Whole nodes first, then the fullest node that still fits the rest; where no such nodes are free, the emptiest
    nodes one after the other until the rest fits on one, which is the fullest that holds it.
strict
    As consolidated, but the gang waits rather than spread over more nodes than it must.
spread
    GPU by GPU from the node with most free GPUs.
random
    GPU by GPU, every free GPU equally likely.

Ties go to the node with the lowest index.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from astraea.engine.state import Private
from astraea.jit import compiled

PLACEMENTS: Final = ("consolidated", "strict", "spread", "random")
STRICT: Final = 1
SPREAD: Final = 2
RANDOM: Final = 3


@compiled
def place(x: Private, j: int, gpus: int) -> int:
    """Give job `j` its gang; how many nodes it spans, or 0 if it has to wait."""
    kind = x.engine[0].placement
    if kind == SPREAD or kind == RANDOM:
        for _ in range(gpus):
            take(x, j, emptiest(x) if kind == SPREAD else drawn(x), 1)
        return count_nodes(x, j)
    per_node = x.engine[0].gpus_per_node
    whole, rest = gpus // per_node, gpus % per_node
    empty = 0
    for node in range(len(x.node_free)):
        empty += x.node_free[node] == per_node
    # the rest may go to an empty node only if one is left beside the whole ones
    partner = -1
    if rest > 0:
        partner = fullest_that_fits(x, rest, per_node if empty > whole else per_node - 1)
    if empty >= whole and (rest == 0 or partner >= 0):
        if rest > 0 and x.node_free[partner] < per_node:
            take(x, j, partner, rest)
            rest = 0
        node = 0
        while whole > 0:
            if x.node_free[node] == per_node:
                take(x, j, node, per_node)
                whole -= 1
            node += 1
        if rest > 0:
            take(x, j, fullest_that_fits(x, rest, per_node), rest)
        return count_nodes(x, j)
    if kind == STRICT:
        return 0
    left = gpus
    while left > 0:
        node = emptiest(x)
        if left <= x.node_free[node]:
            node = fullest_that_fits(x, left, per_node)
        part = min(left, x.node_free[node])
        take(x, j, node, part)
        left -= part
    return count_nodes(x, j)


@compiled
def fullest_that_fits(x: Private, gpus: int, most: int) -> int:
    """Node with the fewest free GPUs that is still at least `gpus` and at most `most`; -1 if there is none."""
    best, best_free = -1, most + 1
    for node in range(len(x.node_free)):
        free = x.node_free[node]
        if gpus <= free < best_free:
            best, best_free = node, free
            if free == gpus:
                break
    return best


@compiled
def emptiest(x: Private) -> int:
    """Node with most free GPUs."""
    best = 0
    for node in range(1, len(x.node_free)):
        if x.node_free[node] > x.node_free[best]:
            best = node
    return best


@compiled
def drawn(x: Private) -> int:
    """Node of a free GPU drawn at random (splitmix64, so that every platform draws the same)."""
    x.engine[0].random += np.uint64(0x9E3779B97F4A7C15)
    z = x.engine[0].random
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    total = np.uint64(x.node_free.sum())
    ticket = np.int64(z % total)
    node = 0
    while ticket >= x.node_free[node]:
        ticket -= x.node_free[node]
        node += 1
    return node


@compiled
def take(x: Private, j: int, node: int, gpus: int) -> None:
    """Add `gpus` of `node` to what job `j` holds."""
    x.node_free[node] -= gpus
    piece = x.job[j].first_piece
    while piece >= 0:
        if x.piece[piece].node == node:
            x.piece[piece].gpus += gpus
            return
        piece = x.piece[piece].next
    piece = x.engine[0].free_piece
    x.engine[0].free_piece = x.piece[piece].next
    x.piece[piece].node = node
    x.piece[piece].gpus = gpus
    x.piece[piece].next = x.job[j].first_piece
    x.job[j].first_piece = piece


@compiled
def give_back(x: Private, j: int) -> None:
    """Free everything that job `j` holds."""
    piece = x.job[j].first_piece
    while piece >= 0:
        x.node_free[x.piece[piece].node] += x.piece[piece].gpus
        following = x.piece[piece].next
        x.piece[piece].next = x.engine[0].free_piece
        x.engine[0].free_piece = piece
        piece = following
    x.job[j].first_piece = -1


@compiled
def count_nodes(x: Private, j: int) -> int:
    """Nodes that job `j` holds GPUs of."""
    nodes, piece = 0, x.job[j].first_piece
    while piece >= 0:
        nodes += 1
        piece = x.piece[piece].next
    return nodes
