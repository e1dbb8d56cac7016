"""Measures of a workload and its waits by hand, Fig 4, and published values beside synthetic ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from listed_jobs import listed

from astraea.cluster.cluster import Cluster
from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError
from astraea.core.units import DAY, HOUR
from astraea.traces.synthetic import SYNTHETIC, Recipe
from astraea.traces.trace import Trace
from papers.ye2022.characterize import (
    SMALL_TIME,
    Swap,
    demand_class,
    described_workload,
    pending,
    pending_distributions,
    pending_table,
    production_cluster,
    running_time_distributions,
    shares_by_state,
    tenant_utilization,
    widest_swap,
)
from papers.ye2022.generator import PUBLISHED, accepted, beside_published, described
from papers.ye2022.workloads import load_workload


def make(**columns: list[object]) -> Trace:
    """Jobs of one tenant with these columns."""
    n = max(len(values) for values in columns.values())
    base = {"job_id": [str(i) for i in range(n)], "tenant": "t", "demand": 1, "submit_time": 0.0, "duration": 100.0}
    return Trace.from_frame(pd.DataFrame({**base, **columns}))


def test_what_notebook_01_describes() -> None:
    """The production cluster keeps the ratio to the evaluation's; the small scale the first jobs."""
    assert [production_cluster("venus", Cluster(n)).nodes for n in (100, 50)] == [133, 67]
    assert production_cluster("some/log.csv", Cluster(50, 4)) == Cluster(50, 4)
    whole, _ = load_workload("venus")
    small, cluster = described_workload("venus", "small")
    assert cluster == Cluster(133) and described_workload("venus")[0] is whole
    assert len(small) == (whole.submit_time < SMALL_TIME).sum()


def test_shares_by_state_add_up() -> None:
    states: list[object] = ["completed", "failed", "failed", "completed"]
    trace = make(demand=[1, 1, 8, 16], duration=[100.0, 300.0, 50.0, 50.0], state=states)
    jobs = shares_by_state(trace, service=False).set_index(["demand", "state"])["share"]
    service = shares_by_state(trace, service=True).set_index(["demand", "state"])["share"]
    assert jobs.sum() == service.sum() == pytest.approx(1)
    assert jobs["1", "failed"] == jobs[">8", "completed"] == 0.25
    assert service[">8", "completed"] == 0.5 and service["8", "failed"] == 0.25 and service["1", "completed"] == 0.0625


def test_running_times_have_points_at_the_limits() -> None:
    found = running_time_distributions(make(demand=[1, 1, 1, 16], duration=[10.0, 3600.0, 90_000.0, 10.0]))
    running = found.dropna(subset=["running_time"]).set_index(["demand", "running_time"])["share"]
    assert running["1", 3600.0] == running["1", 86_400.0] == pytest.approx(2 / 3)
    assert running[">8", 600.0] == 1
    service = found.dropna(subset=["service_time"])
    assert service.loc[service["demand"] == ">8", "service_time"].tolist() == [160.0]
    assert list(dict.fromkeys(found["demand"])) == ["1", ">8"]
    assert list(demand_class([1, 2, 3, 4, 7, 8, 9])) == ["1", "2-3", "2-3", "4-7", "4-7", "8", ">8"]


def test_recorded_waiting_goes_before_the_simulated() -> None:
    for trace, source, waited in (
        (make(demand=[1, 4], queueing_delay=[50.0, np.nan]), "recorded", [[50.0, 1.5]]),
        (make(demand=[8, 8]), "simulated", [[0, 1], [100, 2]]),  # one after the other
    ):
        jobs, told = pending(trace, simulate(trace, Cluster(1), "fifo"))
        assert told == source
        assert jobs[["pending_time", "slowdown"]].to_numpy().tolist() == waited


def test_who_waits_long() -> None:
    waited = [1800.0, 1801.0, 0.0, 7200.0]
    jobs = pd.DataFrame({"demand": [1, 1, 2, 8], "pending_time": waited, "slowdown": [5.0, 6.0, 1.0, 2.0]})
    found = pending_table(jobs).set_index("demand")
    assert found["jobs"].to_dict() == {"1": 2, "<4": 3, ">=4": 1}
    assert found["pending_over_30min"].tolist() == pytest.approx([1 / 2, 1 / 3, 1])
    assert found["slowdown_over_5"].tolist() == pytest.approx([1 / 2, 1 / 3, 0])
    assert found.loc["<4", "average_pending_time"] == pytest.approx(1200.333, abs=1e-3)
    points = pending_distributions(jobs)
    assert points[(points["demand"] == "1") & (points["pending_time"] == 1800)]["share"].tolist() == [0.5]


def test_utilization_is_relative_to_the_tenant_s_own_gpus() -> None:
    # 8 GPUs, quotas 2 and 6; t holds 2 GPUs for 1.5 h, u holds 3 from second 3600 to 7200; submissions end at 3 h
    jobs = [("0", "t", 2, 0.0, 5400.0), ("1", "u", 3, 3600.0, 3600.0), ("2", "u", 1, 10_800.0, 60.0)]
    trace = listed(*jobs, weights={"t": 1.0, "u": 3.0})
    result = simulate(trace, Cluster(1), "yarn-cs")
    wide = tenant_utilization(trace, result).pivot_table(index="time", columns="tenant", values="utilization")
    assert wide.index.tolist() == [0, HOUR, 2 * HOUR]
    assert wide["t"].tolist() == [1, 0.5, 0] and wide["u"].tolist() == [0, 0.5, 0]
    with pytest.raises(InputError, match="whole number of hours in seconds, at least 3600, got 5000"):
        tenant_utilization(trace, result, step=5000)


NEARLY = {"a": [0, 0.0, 0.88], "b": [0, 0.88, 0.0]}


@pytest.mark.parametrize(
    ("use", "swap"),
    [
        # day 0 does not count
        ({"a": [0.95, 0.1, 0.5, 0.99], "b": [0.0, 0.95, 0.6, 0.2], "c": [0.5] * 4}, Swap("a", "b", 1, 3, 0.79, True)),
        (NEARLY, Swap("a", "b", 1, 2, 0.88, is_full=False)),
        # a full one goes before a wider one
        ({**NEARLY, "c": [0, 0.45, 0.95], "d": [0, 0.95, 0.45]}, Swap("c", "d", 1, 2, 0.5, is_full=True)),
        ({"a": [0, 0.1, 0.2, 0.3], "b": [0, 0.5, 0.6, 0.7]}, None),
        ({"a": [1, 0], "b": [0, 1]}, None),
    ],
)
def test_the_widest_swap(use: dict[str, list[float]], swap: Swap | None) -> None:
    rows = [(d * DAY, name, share) for name, shares in use.items() for d, share in enumerate(shares)]
    found = widest_swap(pd.DataFrame(rows, columns=["time", "tenant", "utilization"]))
    assert (found and found._replace(gap=round(found.gap, 6))) == swap


@pytest.mark.parametrize(
    ("within", "low", "high"),
    [("± 2", 98, 102), ("× 2", 50, 200), ("5 %", 95, 105), ("above", 100, np.inf), ("at least", 100, np.inf)],
)
def test_how_near_is_near_enough(within: str, low: float, high: float) -> None:
    assert accepted(100.0, within) == pytest.approx((low, high))


def test_every_published_statistic_is_measured() -> None:
    # the node is busy with `a` until second 100, with `b` until 150
    trace = listed(("a", "t", 1, 0.0, 100.0), ("b", "t", 8, 0.0, 50.0), ("c", "t", 1, 10.0, 100.0))
    found = described(trace, simulate(trace, Cluster(1), "yarn-cs"))
    assert found["demand, mean [GPU]"] == pytest.approx(10 / 3)
    assert found["GPU-time of jobs of 8 GPUs and more [%]"] == pytest.approx(100 * 400 / 600)
    assert found["8 GPUs over 1 GPU, mean running time"] == 0.5
    assert found["larger gangs that are shorter, at any quantile [%]"] == 100
    assert found["queueing delay, mean [s]"] == pytest.approx((0 + 100 + 140) / 3)
    assert found["busy GPUs, mean"] == pytest.approx(600 / 86_400)
    assert found["jobs with slowdown above 5 [%]"] == 0
    for name in SYNTHETIC:
        published = PUBLISHED[name]
        assert set(published["statistic"]) <= set(found) and published["statistic"].is_unique
        if "why" in published:
            assert set(published["why"].dropna()) <= set(Recipe.load(name).compromises["statistic"])


def test_published_statistics_stand_beside_the_measured() -> None:
    waits = [{"jobs": 11_304.0, "queueing delay, mean [s]": x} for x in (1000.0, 2000.0)] + [{"jobs": 11_304.0}]
    table = beside_published("venus", waits).set_index("statistic")
    row = table.loc["queueing delay, mean [s]"]
    columns = ["published", "within", "mean", "smallest", "largest", "seeds"]
    assert row[columns].to_list() == [1253, "× 2", 1500, 1000, 2000, 2]
    assert row["holds"] and row["why"].startswith("preferred")
    assert table.loc["jobs", "seeds"] == 3
    assert not table.loc["tenants", "holds"]  # nothing was measured
