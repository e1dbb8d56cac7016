"""A tenant that asks for more than it needs: its jobs, and what changes for it and for all others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from listed_jobs import listed

from astraea.cluster.cluster import Cluster
from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError
from papers.ye2022.over_claiming import over_claimed, own_and_others, typical_tenant


def three_tenants() -> Any:
    """GPU-time: a 400, b 1,600 and c 8,000 GPU-s; d has no job."""
    jobs = [("1", "a", 4, 0.0, 100.0), ("2", "b", 2, 0.0, 400.0), ("3", "b", 4, 0.0, 200.0), ("4", "c", 8, 0.0, 1000.0)]
    return listed(*jobs, name="three", weights=dict.fromkeys("abcd", 1.0))


def test_jobs_of_one_tenant_ask_for_more() -> None:
    honest = three_tenants()
    over = over_claimed(honest, "b", Cluster(3, 8))  # a quota of 6: job 3 would need 8
    assert over.demand.tolist() == [4, 4, 4, 8]
    assert over.duration.tolist() == [100.0, 250.0, 200.0, 1000.0]
    assert over_claimed(honest, "b", Cluster(4, 8)).demand.tolist() == [4, 4, 8, 8]
    with pytest.raises(InputError, match="no tenant is called 'e', expected one of a, b, c, d"):
        over_claimed(honest, "e", Cluster(3, 8))


def test_the_typical_tenant_is_the_median_by_gpu_time() -> None:
    assert typical_tenant(three_tenants()) == "b"  # the median of those with jobs
    assert typical_tenant(three_tenants().head(3)) == "a"  # of two, the lower


def test_gains_by_hand() -> None:
    """There is room for all: a tenant that over-claims is done sooner, and no other is later."""
    cluster, parts = Cluster(4, 8), []
    for trace in (three_tenants(), over_claimed(three_tenants(), "b", Cluster(4, 8))):
        jobs = simulate(trace, cluster, "fifo").jobs
        parts.append(pd.concat([jobs.assign(scheduler=name, seed=seed) for name in ("x", "y") for seed in (0, 1)]))
    found = own_and_others(*parts, {0: "b", 1: "nobody"})
    assert found[["scheduler", "seed", "tenant"]].to_numpy().tolist() == [
        ["x", 0, "b"], ["x", 1, "nobody"], ["y", 0, "b"], ["y", 1, "nobody"],
    ]  # fmt: skip
    mine = found[found["tenant"] == "b"]
    assert mine["own_running"].tolist() == mine["own_jct"].tolist() == [0.625] * 2
    assert mine["own_service"].tolist() == pytest.approx([1.25] * 2)  # 1 / 0.8
    assert mine["others_jct"].tolist() == [1.0] * 2
    rest = found[found["tenant"] == "nobody"]
    assert rest["own_jct"].isna().all() and np.isfinite(rest["others_jct"]).all()
