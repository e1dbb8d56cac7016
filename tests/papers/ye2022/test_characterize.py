"""Statistics of a workload and of its waiting, on tables small enough to check by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from astraea.cluster.cluster import Cluster
from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError
from astraea.core.units import DAY, HOUR
from astraea.traces.trace import Trace
from papers.ye2022.characterize import (
    Swap,
    class_label,
    demand_class,
    pending,
    pending_distributions,
    pending_table,
    production_cluster,
    running_time_distributions,
    shares_by_state,
    tenant_utilization,
    widest_swap,
)


def make(**columns: object) -> Trace:
    n = max(len(v) for v in columns.values() if isinstance(v, list))
    base = {"job_id": [str(i) for i in range(n)], "tenant": "t", "demand": 1, "submit_time": 0.0, "duration": 100.0}
    weights = {"t": 1.0, "u": 3.0} if "tenant" in columns else None
    return Trace.from_frame(pd.DataFrame({**base, **columns}), weights=weights)


def use(**by_tenant: list[float]) -> pd.DataFrame:
    days = len(next(iter(by_tenant.values())))
    rows = [(d * DAY, name, by_tenant[name][d]) for d in range(days) for name in by_tenant]
    return pd.DataFrame(rows, columns=["time", "tenant", "utilization"])


def test_classes_have_the_limits_that_their_names_say() -> None:
    classes = demand_class([1, 2, 3, 4, 7, 8, 9, 500])
    assert list(classes) == ["1", "2-3", "2-3", "4-7", "4-7", "8", ">8", ">8"]
    labels = [class_label(str(c)) for c in classes.cat.categories]
    assert labels == ["1 GPU", "2-3 GPUs", "4-7 GPUs", "8 GPUs", "> 8 GPUs"]


def test_the_production_cluster_keeps_the_ratio_of_the_evaluation() -> None:
    assert production_cluster("venus", Cluster(100)) == Cluster(133)
    assert production_cluster("philly", Cluster(210)) == Cluster(311)
    assert production_cluster("venus", Cluster(50)) == Cluster(67)
    assert production_cluster("some/log.csv", Cluster(50, 4)) == Cluster(50, 4)


def test_shares_by_state_add_up() -> None:
    states = ["completed", "failed", "failed", "completed"]
    trace = make(demand=[1, 1, 8, 16], duration=[100.0, 300.0, 50.0, 50.0], state=states)
    jobs = shares_by_state(trace, service=False).set_index(["demand", "state"])["share"]
    service = shares_by_state(trace, service=True).set_index(["demand", "state"])["share"]
    assert jobs.sum() == service.sum() == pytest.approx(1)
    assert jobs["1", "failed"] == jobs[">8", "completed"] == 0.25
    assert service[">8", "completed"] == 0.5 and service["8", "failed"] == 0.25 and service["1", "completed"] == 0.0625
    assert set(jobs.index.get_level_values("state")) == {"completed", "failed"}


def test_running_times_have_points_at_the_limits() -> None:
    trace = make(demand=[1, 1, 1, 16], duration=[10.0, 3600.0, 90_000.0, 10.0])
    table = running_time_distributions(trace)
    running = table.dropna(subset=["running_time"]).set_index(["demand", "running_time"])["share"]
    assert running["1", 3600.0] == pytest.approx(2 / 3)
    assert running["1", 86_400.0] == pytest.approx(2 / 3)
    assert running[">8", 600.0] == 1
    service = table.dropna(subset=["service_time"])
    assert service.loc[service["demand"] == ">8", "service_time"].tolist() == [160.0]
    assert list(dict.fromkeys(table["demand"])) == ["1", ">8"]


def test_recorded_waiting_goes_before_the_simulated() -> None:
    told = make(demand=[1, 4], queueing_delay=[50.0, np.nan])
    jobs, source = pending(told, simulate(told, Cluster(1), "fifo"))
    assert source == "recorded"
    assert jobs[["pending_time", "slowdown"]].to_numpy().tolist() == [[50.0, 1.5]]
    untold = make(demand=[8, 8])
    jobs, source = pending(untold, simulate(untold, Cluster(1), "fifo"))
    assert source == "simulated"
    assert jobs["pending_time"].tolist() == [0, 100]  # the second starts when the first ends
    assert jobs["slowdown"].tolist() == [1, 2]


def test_who_waits_long() -> None:
    waited = [1800.0, 1801.0, 0.0, 7200.0]
    jobs = pd.DataFrame({"demand": [1, 1, 2, 8], "pending_time": waited, "slowdown": [5.0, 6.0, 1.0, 2.0]})
    jobs["demand_class"] = demand_class(jobs["demand"])
    table = pending_table(jobs).set_index("demand")
    assert table["jobs"].to_dict() == {"1": 2, "<4": 3, ">=4": 1}
    assert table["pending_over_30min"].tolist() == pytest.approx([1 / 2, 1 / 3, 1])
    assert table["slowdown_over_5"].tolist() == pytest.approx([1 / 2, 1 / 3, 0])
    assert table.loc["<4", "average_pending_time"] == pytest.approx(1200.333, abs=1e-3)
    points = pending_distributions(jobs)
    at = points[(points["demand"] == "1") & (points["pending_time"] == 1800)]
    assert at["share"].tolist() == [0.5]
    assert points[(points["demand"] == "8") & (points["slowdown"] == 5)]["share"].tolist() == [1]


def test_utilization_is_relative_to_the_tenant_s_own_gpus() -> None:
    # 8 GPUs, quotas 2 and 6; t holds 2 GPUs for 1.5 h, u holds 3 from second 3600 to 7200; submissions end at 3 h
    trace = make(
        tenant=["t", "u", "u"], demand=[2, 3, 1], submit_time=[0.0, 3600.0, 10_800.0], duration=[5400.0, 3600.0, 60.0]
    )
    table = tenant_utilization(trace, simulate(trace, Cluster(1), "yarn-cs"))
    wide = table.pivot_table(index="time", columns="tenant", values="utilization")
    assert wide.index.tolist() == [0, HOUR, 2 * HOUR]
    assert wide["t"].tolist() == [1, 0.5, 0]
    assert wide["u"].tolist() == [0, 0.5, 0]
    with pytest.raises(InputError, match="whole number of hours in seconds, at least 3600, got 5000"):
        tenant_utilization(trace, simulate(trace, Cluster(1), "yarn-cs"), step=5000)


def test_the_widest_swap() -> None:
    daily = use(a=[0.95, 0.1, 0.5, 0.99], b=[0.0, 0.95, 0.6, 0.2], c=[0.5, 0.5, 0.5, 0.5])
    swap = widest_swap(daily)  # day 0 does not count
    assert swap == Swap("a", "b", 1, 3, pytest.approx(0.79), is_full=True)


def test_a_full_swap_goes_before_a_wider_one() -> None:
    daily = use(a=[0, 0.0, 0.88], b=[0, 0.88, 0.0], c=[0, 0.45, 0.95], d=[0, 0.95, 0.45])
    swap = widest_swap(daily)
    assert swap is not None and swap[:2] == ("c", "d") and swap.is_full
    found = widest_swap(use(a=[0, 0.0, 0.88], b=[0, 0.88, 0.0]))
    assert found is not None and found.gap == pytest.approx(0.88) and not found.is_full


def test_no_swap() -> None:
    assert widest_swap(use(a=[0, 0.1, 0.2, 0.3], b=[0, 0.5, 0.6, 0.7])) is None
    assert widest_swap(use(a=[1, 0], b=[0, 1])) is None
