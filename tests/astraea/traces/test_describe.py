"""The statistics of [Ye2022] §3 on traces small enough to count by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from astraea.traces.describe import (
    DEMANDS,
    burstiness,
    describe,
    describe_text,
    offered_load,
    running_time_table,
    user_shares,
)  # fmt: skip
from astraea.traces.trace import Trace

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


@pytest.fixture
def trace() -> Trace:
    """Ten jobs; the limits of Table 1 themselves are not below the limit."""
    jobs = pd.DataFrame(
        {
            "job_id": [str(i) for i in range(10)],
            "tenant": ["a"] * 6 + ["b"] * 4,
            "user": ["big", *["u1"] * 5, *["u2"] * 4],
            "demand": [16, 1, 1, 1, 1, 2, 4, 5, 8, 8],
            "submit_time": [0, HOUR, HOUR, HOUR, 2 * HOUR, 3 * HOUR, 3 * HOUR, 3 * HOUR, 3 * HOUR, 4 * HOUR],
            "duration": [7 * DAY, 60, 599, 10 * MINUTE, DAY + 1, HOUR, 6 * HOUR, DAY, 6 * DAY, 1],
            "state": ["completed"] * 5 + ["cancelled"] * 3 + ["failed"] * 2,
            "queueing_delay": [0, 1801, 1800, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan],
        }
    )
    aside = pd.DataFrame(
        {"job_id": ["x", "y", "z"], "reason": ["ran for 0 s", "asks for 0 GPUs", "asks for 0 GPUs"]}, dtype=object
    )
    return Trace.from_frame(jobs, name="ten", excluded_jobs=aside, weights={"a": 3.0, "b": 1.0})


def test_shares_of_jobs_and_of_service(trace: Trace) -> None:
    assert running_time_table(trace).to_dict() == {"10 min": 30.0, "1 h": 40.0, "6 h": 50.0, "1 d": 60.0, "6 d": 80.0}
    value = describe(trace).set_index("statistic")["value"]
    jobs = value[[f"jobs of demand {k}" for k in DEMANDS]]
    assert jobs.tolist() == [40.0, 10.0, 0.0, 10.0, 10.0, 20.0, 10.0]
    total = 16 * 7 * DAY + 60 + 599 + 600 + DAY + 1 + 2 * HOUR + 24 * HOUR + 5 * DAY + 48 * DAY + 8
    service = value[[f"GPU-time of demand {k}" for k in DEMANDS]]
    assert service.sum() == pytest.approx(100)
    assert service["GPU-time of demand 1"] == pytest.approx(100 * (1260 + DAY) / total)
    assert value["GPU-time of demand >=8"] == pytest.approx(100 * (16 * 7 * DAY + 48 * DAY + 8) / total)
    assert offered_load(trace) == pytest.approx(total / (4 * HOUR))
    assert value["hourly arrivals, Fano factor"] == np.var([1, 3, 1, 4]) / np.mean([1, 3, 1, 4])  # of full hours


def test_top_users(trace: Trace) -> None:
    shares = user_shares(trace)
    assert shares["1 %"] == shares["20 %"] == pytest.approx(100 * 16 * 7 * DAY / trace.gpu_time.sum())
    many = Trace.from_frame(
        pd.DataFrame({"job_id": range(100), "tenant": "t", "user": [f"u{i}" for i in range(100)], "demand": 1,
                      "submit_time": 0.0, "duration": np.r_[[1000.0] * 5, [1.0] * 95]})
    )  # fmt: skip
    assert user_shares(many).tolist() == pytest.approx([100000 / 5095, 500000 / 5095, 501500 / 5095])


def test_burstiness() -> None:
    rng = np.random.default_rng(0)
    poisson = burstiness(rng.poisson(20, 20_000).astype(float))
    assert poisson["fano"] == pytest.approx(1, abs=0.05)
    assert poisson["lag_1h"] == pytest.approx(0, abs=0.03)
    daily = burstiness(np.tile(np.r_[np.zeros(12), np.full(12, 10.0)], 30))
    assert daily["lag_24h"] == pytest.approx(1)
    assert daily["fano"] == pytest.approx(5)
    assert burstiness(np.zeros(0)).isna().all()
    assert np.isnan(burstiness(np.full(50, 3.0))["lag_1h"])


def test_describe(trace: Trace) -> None:
    table = describe(trace)
    assert list(table.columns) == ["statistic", "value", "unit"]
    assert table["statistic"].is_unique
    value = table.set_index("statistic")["value"]
    expected = {
        "jobs": 10, "tenants": 2, "users": 3, "days": 4 / 24, "GPUs demanded, all jobs": 47, "largest gang": 16,
        "demand, mean": 4.7, "demand, median": 3, "duration, median": 4.5 * HOUR - HOUR,
        "1-GPU jobs running < 1 h": 75, "1-GPU jobs running > 1 d": 25, "recorded waiting, mean": 1200.333333,
        "recorded waiting, median": 1800, "jobs that waited > 30 min": 100 / 3, "set aside": 3,
        "jobs completed": 50, "jobs cancelled": 30, "jobs failed": 20, "jobs unknown": 0,
        "set aside: asks for 0 GPUs": 2, "set aside: ran for 0 s": 1, "jobs of history": 0,
    }  # fmt: skip
    for statistic, number in expected.items():
        assert value[statistic] == pytest.approx(number), statistic


def test_describe_where_nothing_is_known() -> None:
    jobs = {"job_id": ["a"], "tenant": ["t"], "demand": [2], "submit_time": [0.0], "duration": [9.0]}
    one = Trace.from_frame(pd.DataFrame(jobs))
    value = describe(one).set_index("statistic")["value"]
    unknown = ["offered load", "1-GPU jobs running < 1 h", "recorded waiting, mean", "hourly arrivals, Fano factor"]
    assert value[unknown].isna().all()
    assert "set aside: nothing" in describe_text(one)


def test_text_counts_reasons(trace: Trace) -> None:
    lines = describe_text(trace).splitlines()
    assert lines[0] == "ten: 10 jobs of 2 tenants in 0.2 days"
    assert lines[1:4] == ["set aside: 3 rows", "         2  asks for 0 GPUs", "         1  ran for 0 s"]
    assert "a                          75.0%         6" in lines
