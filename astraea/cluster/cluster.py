"""The cluster: nodes with GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from astraea.core.checks import whole_number


@dataclass(frozen=True)
class Cluster:
    """`nodes` identical machines with `gpus_per_node` GPUs each."""

    nodes: int
    gpus_per_node: int = 8

    def __post_init__(self) -> None:
        for name in ("nodes", "gpus_per_node"):
            object.__setattr__(self, name, whole_number(getattr(self, name), f"cluster: {name}", 1, 1_000_000))

    @property
    def gpus(self) -> int:
        """All GPUs [GPU]."""
        return self.nodes * self.gpus_per_node
