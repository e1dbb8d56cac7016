"""One tenant before and after a change: what is measured, and how it is compared."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from astraea.cluster.cluster import Cluster
from astraea.cluster.simulate import simulate
from astraea.traces.trace import Trace
from papers.ye2022 import evaluation
from papers.ye2022.evaluation import few_seeds
from papers.ye2022.one_tenant import (
    changes,
    hourly_service,
    hours,
    own_and_others,
    pairs,
    tenant_figures,
)


def two_tenants(duration: float = 9000.0) -> Trace:
    """a holds 4 GPUs from 0 on, b 2 from 3600 on."""
    rows = [("1", "a", 4, 0.0, duration), ("2", "b", 2, 3600.0, 1800.0)]
    jobs = pd.DataFrame(rows, columns=["job_id", "tenant", "demand", "submit_time", "duration"])
    return Trace.from_frame(jobs, name="two", weights={"a": 1.0, "b": 1.0})


def test_service_of_every_hour() -> None:
    result = simulate(two_tenants(), Cluster(1, 8), "fifo")  # ends at 9000 s: two whole hours
    service = hourly_service(result)
    assert service["attained"].index.tolist() == [0, 1]
    assert service["attained"]["a"].tolist() == [4 * 3600.0, 4 * 3600.0]
    assert service["attained"]["b"].tolist() == [0.0, 2 * 1800.0]
    assert service["fair"]["b"].tolist() == pytest.approx([0.0, 2 * 1800.0])
    later = hours(service["attained"], 1, 3)
    assert later.tolist() == [[4 * 3600.0, 2 * 1800.0], [0.0, 0.0], [0.0, 0.0]]


def test_own_and_others_by_hand() -> None:
    index = pd.DataFrame({"scheduler": "fifo", "seed": 0, "tenant": "a", "run": ["before", "after"]})
    results = [simulate(two_tenants(d), Cluster(1, 8), "fifo") for d in (9000.0, 4500.0)]
    table = index.assign(by_tenant=[tenant_figures(r)["by_tenant"] for r in results])
    figures = own_and_others(table)
    assert figures["own_running"].tolist() == figures["own_jct"].tolist() == [9000.0, 4500.0]
    assert figures["others_jct"].tolist() == [1800.0, 1800.0]
    changed = changes(figures.iloc[::-1]).iloc[0]  # in any order
    assert changed["own_jct"] == changed["own_service"] == 0.5
    assert changed["others_jct"] == 1
    alone = own_and_others(table.assign(tenant="nobody"))
    assert alone["own_jct"].isna().all()
    assert np.isfinite(alone["others_jct"]).all()


def test_pairs_are_within_scheduler_and_seed() -> None:
    table = pd.DataFrame(
        {
            "scheduler": ["fifo", "hived", "hived", "fifo"],
            "seed": 1,
            "tenant": "a",
            "run": ["before", "before", "after", "after"],
            "x": [1, 2, 20, 10],
        }
    )
    before, after = pairs(table)
    assert (after["x"] / before["x"]).tolist() == [10.0, 10.0]


def test_large_traces_have_one_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert few_seeds("venus", "small", 3, 1) == (0, 1)
    assert few_seeds("venus", "paper", 3, 1) == (0, 1, 2)
    assert few_seeds("venus", "full", 3, 1) == (0, 1, 2, 3, 4)
    monkeypatch.setattr(evaluation, "LARGE", 11_000)
    assert few_seeds("venus", "paper", 3, 1) == (0,)
