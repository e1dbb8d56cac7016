"""A tree of tenants: queues above them with quota, limit and priority, as in KAI, Slurm and Kueue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from astraea.core.arrays import FloatArray, IntArray


class Tree(NamedTuple):
    """The k tenants of a trace, in their order, then the queues above them: arrays of shape (Q,).

    Every queue comes before its parent. A quota or limit applies to all jobs of a tenant or below a queue.
    """

    parent: IntArray  #: the queue above, -1 for a queue at the top
    share: FloatArray  #: weight among those with the same parent
    quota: FloatArray  #: guaranteed GPUs [GPU]; infinite means all, NaN means by share
    limit: FloatArray  #: most GPUs that may be held at once [GPU]; infinite means no limit
    priority: IntArray  #: higher goes first

    @property
    def weight(self) -> FloatArray:
        """Share of the whole cluster, shape (Q,): the product of the shares from the top down; the top sums to 1."""
        above = np.zeros(len(self.parent) + 1)
        np.add.at(above, self.parent, self.share)  # the last is the top
        weight = self.share / above[self.parent]
        for queue in range(len(weight) - 1, -1, -1):
            if self.parent[queue] >= 0:
                weight[queue] *= weight[self.parent[queue]]
        return weight

    @property
    def least_limit(self) -> FloatArray:
        """Most GPUs that each may hold under its own limit and those above it, shape (Q,) [GPU]."""
        limit = self.limit.copy()
        for queue in range(len(limit) - 1, -1, -1):
            if self.parent[queue] >= 0:
                limit[queue] = min(limit[queue], limit[self.parent[queue]])
        return limit


def flat(weight: FloatArray) -> Tree:
    """Return tenants without queues above them, with the quotas of their weights and without limits."""
    n = len(weight)
    return Tree(
        parent=np.full(n, -1),
        share=weight.astype(np.float64),
        quota=np.full(n, np.nan),
        limit=np.full(n, np.inf),
        priority=np.zeros(n, np.int64),
    )


class Shares(dict[str, float]):
    """Weights of tenants, and the tree from which they come."""

    def __init__(self, tenants: Mapping[str, float], tree: Tree) -> None:
        super().__init__(tenants)
        self.tree = tree
