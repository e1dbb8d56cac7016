"""Jobs of Fig 14: large gangs run unless a scheduler has static quotas, also in workers."""

from __future__ import annotations

import math

import joblib
import numpy as np
import pandas as pd

import astraea
from astraea.cluster.cluster import Cluster
from astraea.traces.trace import Trace
from papers.ye2022.readings import IN_PROGRAM
from papers.ye2022.sizes import beyond_quotas, fitting, without_quotas

CLUSTER = Cluster(2)
"""16 GPUs, 8 for each of the two tenants."""


def jobs() -> Trace:
    """Gangs of 8, 12 and 20 GPUs; one within its tenant's quota, one above it, and one above the cluster."""
    columns = {"job_id": list("abc"), "tenant": list("xyx"), "demand": [8, 12, 20], "submit_time": 0.0}
    return Trace.from_frame(pd.DataFrame({**columns, "duration": 50.0}))


def test_jobs_beyond_a_quota_or_the_cluster_are_found() -> None:
    assert beyond_quotas(jobs(), CLUSTER).tolist() == [False, True, True]


def test_only_static_quotas_keep_large_gangs_away() -> None:
    named = without_quotas({"astraea": IN_PROGRAM["astraea"], "yarn-cs": IN_PROGRAM["yarn-cs"]})
    assert [p.largest(p.parameters) for p in named.values()] == [math.inf, 1.0]
    assert fitting(jobs(), CLUSTER, [named["astraea"]]).job_id.tolist() == ["a", "b"]
    assert fitting(jobs(), CLUSTER, named.values()).job_id.tolist() == ["a"]


def test_a_sweep_runs_large_gangs_in_workers_under_the_usual_name(tmp_path) -> None:  # type: ignore[no-untyped-def]
    trace = fitting(jobs(), CLUSTER, without_quotas({"astraea": astraea.get_policy("astraea")}).values())
    with joblib.parallel_config("loky", n_jobs=2):
        policies = without_quotas({name: astraea.get_policy(name) for name in ("astraea", "tiresias-l")})
        runs = astraea.sweep(trace, CLUSTER, policies, cache=tmp_path, progress=False)
    assert runs.summary["scheduler"].tolist() == ["astraea", "tiresias-l"]
    assert np.all(runs.summary["jobs"] == 2)
    assert np.all(runs.summary["excluded jobs"] == 0)
