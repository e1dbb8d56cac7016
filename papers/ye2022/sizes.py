"""The same jobs on smaller and larger clusters ([Ye2022] §6.5, Fig 14).

The engine sets a gang aside that is larger than the whole quota of its tenant, because it never runs under static
quotas, and compared schedulers run the same jobs. Quotas shrink with the cluster. At 60 % of the nodes, this would
remove an eighth of the GPU-time of Venus. Without static quotas in the comparison, these jobs can run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.policy import Policy
from astraea.cluster.simulation import split_off_impossible
from astraea.core.arrays import BoolArray
from astraea.traces.trace import Trace

STATIC: Final = ("yarn-cs",)
"""Schedulers with static quotas."""


def without_quotas(policies: Mapping[str, Policy]) -> dict[str, Policy]:
    """Return the policies, by name, such that they run every gang that fits the cluster.

    A policy with static quotas stays as it is. Beside one, none runs a gang larger than its tenant's quota.
    """
    return {name: p if p.name in STATIC else replace(p, largest=_any_gang) for name, p in policies.items()}


def fitting(trace: Trace, smallest: Cluster, policies: Iterable[Policy]) -> Trace:
    """Return the jobs that every policy can run on the smallest cluster of a comparison."""
    return split_off_impossible(trace, smallest, min(p.largest(p.parameters) for p in policies))[0]


def beyond_quotas(trace: Trace, cluster: Cluster) -> BoolArray:
    """Return the jobs whose gang is larger than the whole quota of their tenant on a cluster, shape (n,)."""
    apart = split_off_impossible(trace, cluster)[1]
    return np.asarray(pd.Index(trace.job_id).isin(apart["job_id"]))


def _any_gang(_: Mapping[str, float]) -> float:
    return math.inf
