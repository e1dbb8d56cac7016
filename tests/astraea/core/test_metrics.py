"""Every metric against values worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from astraea.cluster.cluster import Cluster
from astraea.cluster.simulate import simulate
from astraea.core import metrics
from astraea.core.errors import InputError
from astraea.core.intervals import mean_interval
from astraea.core.result import Result
from astraea.traces.trace import Trace


def result(jobs: dict[str, Any] | None = None, timeline: dict[str, Any] | None = None) -> Result:
    """A result on 10 GPUs with these columns; the others do not matter."""
    filler = {"jct": [1.0], "duration": [1.0], "demand": [1]}
    aside = {"job_id": ["x", "y"], "tenant": ["a", "a"], "demand": [20, 30], "duration": [1.5, 2.0], "reason": ["", ""]}
    return Result(
        jobs=pd.DataFrame(jobs or filler),
        excluded_jobs=pd.DataFrame(aside),
        timeline=pd.DataFrame(timeline or {"time": [], "tenant": [], "attained_service": [], "fair_service": []}),
        provenance={"policy": "by hand", "nodes": 5, "gpus_per_node": 2},
    )


def hours(attained: dict[str, list[float]], fair: dict[str, list[float]]) -> dict[str, Any]:
    """A timeline of cumulated GPU-hours at every hour, by tenant."""
    n = len(next(iter(attained.values())))
    return {
        "time": np.repeat(np.arange(n) * 3600.0, len(attained)),
        "tenant": list(attained) * n,
        "attained_service": np.array(list(attained.values())).T.ravel() * 3600,
        "fair_service": np.array(list(fair.values())).T.ravel() * 3600,
    }


def test_sharing_loss_is_strictly_below_its_threshold() -> None:
    r = result({"rho_job": [0.95, np.nextafter(0.95, 0), 1.2, np.nan, 0.0]})
    assert metrics.sharing_loss(r) == 2 / 4  # what is owed nothing is not a case
    assert metrics.sharing_loss(r, threshold=1) == 3 / 4
    assert np.isnan(metrics.sharing_loss(result({"rho_job": [np.nan]})))


def test_tenant_windows_are_differences_of_sums() -> None:
    r = result(
        timeline=hours({"a": [0, 2, 2, 5, 9], "b": [0, 0, 0, 1, 2]}, {"a": [0, 1, 3, 5, 7], "b": [0, 0, 0, 2, 4]})
    )
    w = metrics.tenant_windows(r, window=2 * 3600, step=3600)
    assert w["window_start"].tolist() == [0, 0, 3600, 3600, 7200, 7200]
    assert w["window_end"].tolist() == [7200, 7200, 10800, 10800, 14400, 14400]
    assert w["tenant"].tolist() == ["a", "b"] * 3
    assert (w["attained_service"] / 3600).tolist() == [2, 0, 3, 1, 7, 2]
    assert (w["fair_service"] / 3600).tolist() == [3, 0, 4, 2, 4, 4]
    np.testing.assert_array_equal(w["rho_tenant"], [2 / 3, np.nan, 3 / 4, 1 / 2, 7 / 4, 1 / 2])
    assert metrics.tenant_sharing_loss(r, window=7200) == 4 / 5
    assert metrics.tenant_sharing_loss(r, window=7200, step=7200) == 2 / 3
    assert len(metrics.tenant_windows(r, window=4 * 3600)) == 2
    assert len(metrics.tenant_windows(r, window=5 * 3600)) == 0
    assert np.isnan(metrics.tenant_sharing_loss(r))  # shorter than a day


def test_tenant_sharing_loss_forgives_rounding_and_windows_are_whole_hours() -> None:
    for rho, expected in ((1.0, 0), (1 - 0.9e-9, 0), (1 - 1.1e-9, 1), (0.5, 1), (2.0, 0)):
        r = result(timeline=hours({"a": [0, rho]}, {"a": [0, 1]}))
        assert metrics.tenant_sharing_loss(r, window=3600) == expected
    for name, value in (("window", 1800), ("window", 5000), ("step", 0), ("step", -3600), ("window", np.nan)):
        with pytest.raises(InputError, match=f"{name} must be a whole number of hours"):
            metrics.tenant_windows(r, **{name: value})


def test_metrics_of_a_run_that_one_can_follow() -> None:
    # two tenants with quotas 2 and 2 on 4 GPUs; a0 and a1 fill the cluster (YARN would not let them), b2 waits an hour
    #   a0 2 GPUs  ==      a1 2 GPUs  ==      b2 2 GPUs  .==      one letter is an hour
    h = 3600.0
    jobs = pd.DataFrame(
        {"job_id": [0, 1, 2], "tenant": list("aab"), "demand": 2, "submit_time": [0, 0, h], "duration": [2 * h] * 3}
    )
    r = simulate(Trace.from_frame(jobs), Cluster(1, 4), "fifo")
    assert r.jobs["jct"].tolist() == [2 * h, 2 * h, 3 * h]
    assert metrics.average_jct(r) == 7 / 3 * h
    assert metrics.summary(r)["average_slowdown"] == (1 + 1 + 1.5) / 3
    # a0, a1: 1 GPU each is fair, 2 are held: rho 2; b2: 2 GPUs are fair for 3 h, 2 are held for 2 h
    assert r.jobs["rho_job"].tolist() == [2, 2, 4 / 6]
    assert metrics.sharing_loss(r) == 1 / 3
    assert metrics.summary(r)["utilization"] == 12 / 16
    # a by the hour: 4 of 2, 4 of 2, then nothing owed; b: nothing owed, 0 of 2, 2 of 2, 2 of 2
    w = metrics.tenant_windows(r, window=h)
    assert w["tenant"].tolist() == list("abababab")
    np.testing.assert_array_equal(w["rho_tenant"], [2, np.nan, 2, 0, np.nan, 1, np.nan, 1])
    assert metrics.tenant_sharing_loss(r, window=h) == 1 / 5


def test_summary_has_every_figure() -> None:
    jobs = {
        "jct": [10.0, 30], "slowdown": [1.0, 3], "queueing_delay": [0.0, 20], "rho_job": [0.5, np.nan],
        "demand": [1, 2], "attained_service": [10.0, 20], "end_time": [10.0, 40], "overhead": [0.0, 2],
        "leases": [1, 3], "preemptions": [0, 2], "duration": [10.0, 8],
    }  # fmt: skip
    found = metrics.summary(result(jobs, hours({"a": [0, 1]}, {"a": [0, 1]})))
    assert np.isnan(found.pop("tenant_sharing_loss"))
    assert found == {
        "policy": "by hand", "jobs": 2, "excluded_jobs": 2, "excluded_gpu_time": 90.0, "average_jct": 20.0,
        "median_jct": 20.0, "average_slowdown": 2.0, "average_queueing_delay": 10.0, "sharing_loss": 1.0,
        "undefined_jobs": 1, "makespan": 40.0, "utilization": 30 / 400, "overhead_share": 0.05, "leases": 4,
        "preemptions": 2,
    }  # fmt: skip


def test_mean_interval_is_student_t() -> None:
    frame = pd.DataFrame({"s": ["a"] * 5 + ["b"], "y": [1.0, 2.0, 3.0, 4.0, 5.0, 7.0]})
    a, b = mean_interval(frame, "s", "y").itertuples()
    assert (a.mean, a.n) == (3.0, 5)
    assert a.high - a.mean == pytest.approx(2.7764 * np.sqrt(2.5 / 5), rel=1e-4)  # t table: 4 degrees of freedom
    assert b.mean == 7.0 and np.isnan(b.low) and np.isnan(b.high)


def test_a_summary_is_a_series_with_units_in_its_names() -> None:
    h = 3600.0
    jobs = pd.DataFrame({"tenant": list("aab"), "demand": [2, 2, 9], "submit_time": 0.0, "duration": [2 * h, h, h]})
    r = simulate(Trace.from_frame(jobs), Cluster(1, 4), "fifo")
    assert r.summary.name == "fifo" and r.summary.dtype == float
    assert (r.summary["jobs"], r.summary["excluded jobs"], r.summary["excluded GPU-time [GPU-h]"]) == (2, 1, 9)
    wanted = {"average JCT [s]": 1.5 * h, "makespan [s]": 2 * h, "utilization [%]": 75}
    assert r.summary[[*wanted]].to_dict() == wanted
    assert {*metrics.summary(r)} == {"policy", *metrics.NAMES}
    pd.testing.assert_frame_equal(r.tenants, metrics.tenant_windows(r))
