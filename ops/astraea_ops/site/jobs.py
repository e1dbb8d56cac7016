"""Requests of a trace's jobs, in the terms of a site's own configuration."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray, IntArray, TextArray
from astraea.core.units import DAY, MINUTE
from astraea.traces.trace import Trace
from astraea_ops.site.site import Partition, Site
from astraea_ops.slurm.words import GPU

_MOST: Final = 1e12
"""No job asks for more of anything, so a larger number in a log is an error."""

_TEXT: Final = ("account", "user", "partition", "qos", "constraint", "gpu_type", "node_list")


class Jobs:
    """Requests of a trace's jobs on so many nodes, and their partitions as far as the site knows them."""

    def __init__(self, site: Site, trace: Trace, most: int) -> None:
        assert trace.details is not None
        details = trace.details
        self.n = len(trace)
        self.text: dict[str, TextArray] = {name: details[name].astype(str).to_numpy(dtype=object) for name in _TEXT}
        nodes = _amount(details["nodes"])
        #: jobs that ask for more nodes than have the resource: the others have none, or are gone
        self.on_others = nodes > most
        self.nodes: IntArray = np.where(self.on_others, 0, nodes).astype(np.int64)
        self.demand: FloatArray = trace.demand.astype(np.float64)
        self.tres: dict[str, FloatArray] = {
            "cpu": _amount(details["cpus"]),
            "mem": _amount(details["memory"]),
            "node": np.maximum(nodes, 1.0),
            "jobs": np.ones(self.n),
            GPU: _amount(details["gpus"]),
            site.resource: self.demand,
        }
        self.models = sorted({m for text in set(self.text["gpu_type"]) for m in text.split(",") if m})
        for model in self.models:
            self.tres[f"{GPU}:{model}"] = np.where(self.text["gpu_type"] == model, self.tres[GPU], 0.0)
        self.minutes = np.maximum(np.nan_to_num(trace.time_limit, nan=365 * DAY) / MINUTE, 1.0)
        first = next(iter(site.partitions.values()), None)
        known: dict[str, Partition | None] = {"": first}
        for names in set(self.text["partition"]):
            of = [site.partitions[name] for name in names.split(",") if name in site.partitions]
            known.setdefault(names, max(of, key=lambda p: p.tier) if of else None)
        self.partition = [known[names] for names in self.text["partition"]]

    def alike(self, *columns: Any) -> tuple[IntArray, IntArray]:
        """Number jobs by what they have in common; return the number of each job, and the first job of each number."""
        kind = pd.MultiIndex.from_arrays(columns).factorize()[0].astype(np.int64)
        return kind, np.unique(kind, return_index=True)[1].astype(np.int64)


def _amount(column: pd.Series[Any]) -> FloatArray:
    """Return the numbers of a column, 0 for those that are unknown or cannot be right."""
    values = column.to_numpy(dtype=np.float64)
    return np.where((values >= 0) & (values <= _MOST), values, 0.0)
