"""The cluster: nodes with GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from astraea.core.errors import InputError


@dataclass(frozen=True)
class Cluster:
    """`nodes` identical machines with `gpus_per_node` GPUs each."""

    nodes: int
    gpus_per_node: int = 8

    def __post_init__(self) -> None:
        for name in ("nodes", "gpus_per_node"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 1_000_000:
                raise InputError(f"cluster: {name} must be a whole number from 1 to 1000000, got {value!r}")

    @property
    def gpus(self) -> int:
        """All GPUs [GPU]."""
        return self.nodes * self.gpus_per_node
