"""The cluster: nodes and their GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from astraea.core.arrays import IntArray
from astraea.core.checks import whole_number
from astraea.core.errors import InputError


@dataclass(frozen=True)
class Cluster:
    """`nodes` machines with `gpus_per_node` GPUs each; if they differ, see `Cluster.of`.

    Attributes
    ----------
    nodes : int
    gpus_per_node : int
        GPUs of a node; of the largest node if they differ [GPU].
    sizes : tuple of int
        GPUs of each node if they differ, else empty [GPU].
    """

    nodes: int
    gpus_per_node: int = 8
    sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("nodes", "gpus_per_node"):
            object.__setattr__(self, name, whole_number(getattr(self, name), f"cluster: {name}", 1, 1_000_000))
        sizes = tuple(whole_number(gpus, f"cluster: GPUs of node {k}", 0) for k, gpus in enumerate(self.sizes))
        if sizes and (len(sizes), max(sizes)) != (self.nodes, self.gpus_per_node):
            raise InputError(
                f"cluster: sizes must be {self.nodes} numbers of GPUs, the largest {self.gpus_per_node}, got {sizes}"
            )
        object.__setattr__(self, "sizes", sizes if len(set(sizes)) > 1 else ())

    @classmethod
    def of(cls, node_gpus: Sequence[int]) -> Cluster:
        """Make a cluster of nodes with different numbers of GPUs; 0 for a node that is down [GPU]."""
        sizes = tuple(node_gpus)
        return cls(len(sizes), max(sizes, default=0), sizes)

    def __str__(self) -> str:
        return f"{self.nodes} x {self.gpus_per_node}" if not self.sizes else f"{self.nodes} nodes with {self.gpus}"

    @property
    def node_gpus(self) -> IntArray:
        """GPUs of each node, shape (nodes,) [GPU]."""
        return np.array(self.sizes or [self.gpus_per_node] * self.nodes, dtype=np.int64)

    @property
    def gpus(self) -> int:
        """All GPUs [GPU]."""
        return sum(self.sizes) if self.sizes else self.nodes * self.gpus_per_node
