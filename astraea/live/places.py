"""Whether gangs fit on nodes, in the order in which they are granted; Slurm places them itself."""

from __future__ import annotations

from collections.abc import Sequence

from astraea.live.answers import Job, Node


class Places:
    """GPUs of the usable nodes that no job holds."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.free = {node.name: node.gpus for node in nodes if node.is_usable}

    def hold(self, job: Job) -> None:
        """Count what a job has."""
        for name, gpus in job.on_nodes.items():
            if name in self.free:
                self.free[name] -= gpus

    def put(self, job: Job) -> bool:
        """Give a job nodes, the fullest that fit; whether there are any."""
        if job.per_node == 0:
            return self._anywhere(job.demand)
        fit = sorted((n for n, free in self.free.items() if free >= job.per_node), key=lambda n: (self.free[n], n))
        count = -(-job.demand // job.per_node)
        if len(fit) < count:
            return False
        for name in fit[:count]:
            self.free[name] -= job.per_node
        return True

    def _anywhere(self, gpus: int) -> bool:
        """Give a gang that may be spread any GPUs, of the emptiest nodes first."""
        if sum(max(0, free) for free in self.free.values()) < gpus:
            return False
        for name in sorted(self.free, key=lambda n: (-self.free[n], n)):
            taken = min(gpus, max(0, self.free[name]))
            self.free[name] -= taken
            gpus -= taken
        return True
