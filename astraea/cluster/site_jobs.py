"""Requests of a trace's jobs, in the terms of a site's own configuration."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.cluster.site import Partition, Site
from astraea.core.arrays import FloatArray, IntArray, TextArray
from astraea.core.units import DAY, MINUTE
from astraea.traces.slurm_words import GPU
from astraea.traces.trace import Trace

_TEXT: Final = ("account", "user", "partition", "qos", "constraint", "gpu_type", "node_list")


class Jobs:
    """Requests of a trace's jobs, and their partitions as far as the site knows them."""

    def __init__(self, site: Site, trace: Trace) -> None:
        assert trace.details is not None
        details = trace.details
        self.n = len(trace)
        self.text: dict[str, TextArray] = {name: details[name].astype(str).to_numpy(dtype=object) for name in _TEXT}
        nodes = details["nodes"].to_numpy(dtype=np.float64)
        self.nodes: IntArray = np.where(nodes >= 1, nodes, 0).astype(np.int64)
        self.demand: FloatArray = trace.demand.astype(np.float64)
        many = np.maximum(self.nodes, 1)
        self.tres: dict[str, FloatArray] = {
            "cpu": np.nan_to_num(details["cpus"].to_numpy(dtype=np.float64), nan=0.0),
            "mem": np.nan_to_num(details["memory"].to_numpy(dtype=np.float64), nan=0.0),
            "node": many.astype(np.float64),
            "jobs": np.ones(self.n),
            GPU: np.nan_to_num(details["gpus"].to_numpy(dtype=np.float64), nan=0.0),
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
        codes = pd.MultiIndex.from_arrays(columns) if len(columns) > 1 else pd.Index(columns[0])
        kind = codes.factorize()[0].astype(np.int64)
        first = np.unique(kind, return_index=True)[1]
        return kind, first.astype(np.int64)
