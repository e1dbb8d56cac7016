"""A tree of tenants: queues above them, with quota, limit and priority, as KAI, Slurm and Kueue have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from astraea.core.arrays import FloatArray, IntArray


class Tree(NamedTuple):
    """The k tenants of a trace, in their order, then the queues above them: arrays of shape (Q,).

    Every queue comes before its parent. A quota, or a limit, is about all jobs of a tenant or below a queue.
    """

    parent: IntArray  #: the queue above, -1 for a queue at the top
    share: FloatArray  #: weight among those with the same parent
    quota: FloatArray  #: what is guaranteed [GPU]; infinite is all there is, NaN is by share
    limit: FloatArray  #: most that may be held at once [GPU]; infinite is no limit
    priority: IntArray  #: higher goes first

    @property
    def weight(self) -> FloatArray:
        """Share of the whole cluster, shape (Q,): the product of the shares on the way from the top; 1 in all there."""
        above = np.zeros(len(self.parent) + 1)
        np.add.at(above, self.parent, self.share)  # the last is the top
        weight = self.share / above[self.parent]
        for queue in range(len(weight) - 1, -1, -1):
            if self.parent[queue] >= 0:
                weight[queue] *= weight[self.parent[queue]]
        return weight

    @property
    def least_limit(self) -> FloatArray:
        """Most that each may hold by its own limit and those above it, shape (Q,) [GPU]."""
        limit = self.limit.copy()
        for queue in range(len(limit) - 1, -1, -1):
            if self.parent[queue] >= 0:
                limit[queue] = min(limit[queue], limit[self.parent[queue]])
        return limit


def flat(weight: FloatArray) -> Tree:
    """Tenants without queues above them, with the quotas of their weights, and without limits."""
    n = len(weight)
    return Tree(
        parent=np.full(n, -1),
        share=weight.astype(np.float64),
        quota=np.full(n, np.nan),
        limit=np.full(n, np.inf),
        priority=np.zeros(n, np.int64),
    )


class Shares(dict[str, float]):
    """Weights of tenants, and the tree that they come from."""

    def __init__(self, tenants: Mapping[str, float], tree: Tree) -> None:
        super().__init__(tenants)
        self.tree = tree


def shares_of(rows: Mapping[str, Mapping[str, Any]]) -> Shares:
    """Make the shares of queues by name, each with what `Tree` has, `parent` by name or ""; leaves are the tenants.

    `ValueError` names a queue whose parent is unknown, or that is above itself.
    """
    depth = {name: _depth(rows, name) for name in rows}
    inner = {str(row["parent"]) for row in rows.values()}
    order = sorted(rows, key=lambda name: (name in inner, -depth[name] if name in inner else 0, name))
    place = {name: i for i, name in enumerate(order)} | {"": -1}
    table = {column: np.array([rows[name][column] for name in order]) for column in Tree._fields[1:]}
    tree = Tree(parent=np.array([place[rows[name]["parent"]] for name in order]), **table)
    tenants = [name for name in order if name not in inner]
    return Shares(dict(zip(tenants, tree.weight.tolist(), strict=False)), tree)


def _depth(rows: Mapping[str, Mapping[str, Any]], name: str) -> int:
    """Return how many queues are above one."""
    above: list[str] = []
    while parent := str(rows[name]["parent"]):
        if parent not in rows:
            raise ValueError(f"the parent {parent!r} of {name!r} has no row")
        if parent in above:
            raise ValueError(f"{parent!r} is above itself")
        above.append(parent)
        name = parent
    return len(above)
