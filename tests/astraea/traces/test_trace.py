"""The trace: checks, order, windows and weights; and the statistics of [Ye2022] §3 on one to count by hand."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astraea.cluster.cluster import Cluster
from astraea.cluster.observed import observed
from astraea.core.errors import InputError
from astraea.core.files import publishing, write_atomically
from astraea.traces.describe import (
    DEMANDS,
    describe,
    describe_text,
    offered_load,
    running_time_table,
    user_shares,
)
from astraea.traces.readers import read_trace
from astraea.traces.trace import Trace


def table(n: int = 6) -> pd.DataFrame:
    """Jobs with a value of their own in every column."""
    k = np.arange(n)
    return pd.DataFrame(
        {
            "job_id": [str(i) for i in k],
            "tenant": np.where(k % 2 == 0, "north", "south"),
            "user": [f"u{i % 3}" for i in k],
            "demand": 1 + k % 8,
            "submit_time": 100.0 * k + 1 / 3,
            "duration": 50.0 + k / 7,
            "weight": 1.0 + k % 2,
            "state": np.where(k % 3 == 0, "failed", "completed"),
            "queueing_delay": np.where(k % 2 == 0, np.nan, 5.0 * k),
            "sensitivity": 1.0 - k / 100,
            "deadline": np.where(k % 2 == 0, 1e4 + k, np.nan),
            "time_limit": np.where(k % 3 == 0, 600.0 + k, np.nan),
        }
    )


@pytest.fixture
def trace() -> Trace:
    """A trace with everything that a trace can have."""
    aside = pd.DataFrame({"job_id": ["x", "y"], "reason": ["asks for 0 GPUs", "ran for 0 s"]}, dtype=object)
    weights = {"north": 3.0, "south": 1 / 3, "idle": 2.0}
    made = Trace.from_frame(
        table(), name="t", weights=weights, excluded_jobs=aside, origin=pd.Timestamp("2020-04-01 00:00:07"),
        details=pd.DataFrame({"account": table()["job_id"], "cpus": np.arange(6.0)}),
    )  # fmt: skip
    return made.window(200.0, 600.0)


@given(seed=st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_order_is_submit_time_then_number(seed: int) -> None:
    jobs = table(30).assign(submit_time=lambda t: t["submit_time"] // 700)
    turned = Trace.from_frame(jobs.sample(frac=1, random_state=seed))
    assert turned.digest == Trace.from_frame(jobs).digest
    assert turned.job_id.tolist() == [str(i) for i in range(30)]


def test_details_go_with_their_jobs(trace: Trace) -> None:
    changed = trace.with_weights({"north": 1.0, "south": 2.0, "idle": 1.0}), trace.head(2), trace.scale_load(2.0)
    for one in (trace, trace.history, *changed):
        assert one is not None and one.details is not None
        assert one.details["account"].tolist() == one.job_id.tolist()
    assert dataclasses.replace(trace, details=None).digest == trace.digest
    turned = Trace.from_frame(table().iloc[::-1], details=pd.DataFrame({"account": table()["job_id"].iloc[::-1]}))
    assert turned.details is not None and turned.details["account"].tolist() == turned.job_id.tolist()


def test_a_changed_frame_changes_no_trace(trace: Trace) -> None:
    before = trace.frame
    changed = trace.frame
    changed["tenant"] = "north"
    changed.loc[0, "demand"] = 99
    with pytest.raises(ValueError, match="read-only"):
        trace.frame["demand"].to_numpy()[0] = 99
    pd.testing.assert_frame_equal(trace.frame, before)
    jobs = dataclasses.replace(trace).frame  # outlives its trace, and can be changed
    jobs.loc[0, "demand"] = 99
    assert jobs.loc[0, "demand"] == 99


def test_jobs_at_other_times_have_no_recorded_waits() -> None:
    """Otherwise they would be shown with waits at a load that never existed."""
    trace = Trace.from_frame(table().assign(queueing_delay=5.0, demand=1))
    assert observed(trace, Cluster(1)).jobs["first_start_time"].tolist() == (trace.submit_time + 5.0).tolist()
    for other in (trace.scale_load(2.0), trace.in_rounds(60.0)):
        assert np.isnan(other.queueing_delay).all() and other.recorded is None
        with pytest.raises(InputError, match="the log has no start of job '0'"):
            observed(other, Cluster(1))


def test_window_resets_the_clock_and_keeps_history(trace: Trace) -> None:
    assert trace.job_id.tolist() == ["2", "3", "4", "5"]
    np.testing.assert_allclose(trace.submit_time, [1 / 3, 100 + 1 / 3, 200 + 1 / 3, 300 + 1 / 3])
    np.testing.assert_allclose(trace.deadline, [9802, np.nan, 9804, np.nan])
    assert trace.origin == pd.Timestamp("2020-04-01 00:03:27")
    assert trace.history is not None
    assert trace.history.job_id.tolist() == ["0", "1"]
    assert trace.history.history is None
    assert Trace.from_frame(table()).window(0, 1000).history is None


def test_window_and_head_refuse_what_is_empty(trace: Trace) -> None:
    for start, end in ((-1, 5), (5, 5), (7, 5), (float("nan"), 5)):
        with pytest.raises(InputError, match="a window needs 0 <= start < end"):
            trace.window(start, end)
    with pytest.raises(InputError, match="no job was submitted"):
        trace.window(1e6, 2e6)
    assert trace.head(2).job_id.tolist() == ["2", "3"]
    assert len(trace.head(99)) == 4
    with pytest.raises(InputError, match="at least 1 job, got 0"):
        trace.head(0)


def test_scale_load(trace: Trace) -> None:
    faster = trace.scale_load(2.0)
    np.testing.assert_allclose(faster.submit_time, trace.submit_time / 2)
    np.testing.assert_array_equal(faster.duration, trace.duration)
    np.testing.assert_allclose(faster.deadline - faster.submit_time, trace.deadline - trace.submit_time)
    with pytest.raises(InputError, match="the load factor must be a number above 0"):
        trace.scale_load(0.0)


def test_with_weights(trace: Trace) -> None:
    other = trace.with_weights({"south": 1.0, "north": 2.0, "idle": 1.0, "alpha": 9.0})
    assert other.tenants == ("alpha", "idle", "north", "south")
    assert other.frame["tenant"].tolist() == trace.frame["tenant"].tolist()
    with pytest.raises(InputError, match="tenant 'idle' has no weight"):
        trace.with_weights({"south": 1.0, "north": 2.0})


def test_digest_sees_everything_that_is_simulated(trace: Trace) -> None:
    jobs = table()
    digests = {Trace.from_frame(jobs).digest}
    for column, value in {
        "job_id": "999", "tenant": "south", "user": "someone", "demand": 7, "submit_time": 0.5, "duration": 50.5,
        "weight": 1.5, "sensitivity": 0.5, "deadline": 7.0, "time_limit": 7.0,
    }.items():  # fmt: skip
        digests.add(Trace.from_frame(jobs.assign(**{column: [value, *jobs[column][1:]]})).digest)
    assert len(digests) == 11
    assert trace.with_weights({"south": 1.0, "north": 2.0, "idle": 1.0}).digest != trace.digest
    assert dataclasses.replace(trace, history=None).digest != trace.digest
    assert Trace.from_frame(jobs).digest.startswith("8e5c1029ea5cf182")  # whatever the versions of libraries


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("demand", "8x", 'row 2: demand must be a whole number of GPUs from 1 to 1000000, got "8x"'),
        ("submit_time", -1.0, "row 2: submit_time must be a time of at least 0"),
        ("duration", np.nan, "row 2: duration must be a time above 0"),
        ("state", "lost", 'row 2: state must be one of completed, cancelled, failed, unknown, got "lost"'),
        ("time_limit", 0.0, "row 2: time_limit must be a time above 0 and at most 1e+10 s, got 0.0"),
        ("job_id", "0", 'row 2: job_id must be unique, got "0"'),
        ("tenant", "", 'row 2: tenant must be a name, got ""'),
    ],
)
def test_bad_tables(column: str, value: object, says: str) -> None:
    jobs = table()
    values: list[object] = jobs[column].tolist()
    values[2] = value
    jobs[column] = pd.Series(values, dtype=object)
    with pytest.raises(InputError) as caught:
        Trace.from_frame(jobs)
    assert says in str(caught.value)


@pytest.mark.parametrize("column, most", [("demand", 1_000_000), ("duration", 1e10), ("submit_time", 1e10)])
def test_the_bound_that_a_sentence_names_is_allowed(column: str, most: float) -> None:
    jobs = table().assign(queueing_delay=np.nan)
    assert Trace.from_frame(jobs.assign(**{column: most})).frame[column].tolist() == [most] * len(jobs)


@pytest.mark.parametrize("has_index", [False, True])
def test_the_table_of_a_trace_is_read_as_the_same_trace(tmp_path: Path, has_index: bool) -> None:
    whole = Trace.from_frame(table(), name="t", weights={"north": 3.0, "south": 1 / 3, "idle": 2.0})
    whole.frame.to_csv(tmp_path / "t.csv", index=has_index)
    again = read_trace(tmp_path / "t.csv", weights=dict(zip(whole.tenants, whole.tenant_weight, strict=True)))
    pd.testing.assert_frame_equal(again.frame, whole.frame, check_exact=True)
    assert again.digest == whole.digest


def test_five_columns_of_a_trace_are_enough(tmp_path: Path) -> None:
    text = "job_id,tenant,demand,submit_time,duration\na,north,2,0,60.5\nb,south,x,1,7\n"
    (tmp_path / "t.csv").write_text(text)
    trace = read_trace(tmp_path / "t.csv")
    assert (trace.demand.tolist(), trace.duration.tolist()) == ([2], [60.5])
    assert trace.unreadable["reason"].tolist() == ["demand is not a whole number of GPUs from 0 to 1000000"]
    assert read_trace(tmp_path / "t.csv", time_unit="min").duration.tolist() == [3630.0]  # what is given wins
    (tmp_path / "t.csv").write_text(text.replace("tenant", "group"))
    with pytest.raises(InputError, match="the columns do not imply the unit"):  # these are names of the user's own
        read_trace(tmp_path / "t.csv", columns={"tenant": "group", "demand": "demand"})


def test_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text("before")
    full = OSError(28, "No space left on device")
    monkeypatch.setattr(Path, "replace", Mock(side_effect=full))
    with pytest.raises(InputError, match=r"t\.csv: cannot be written \(No space left on device\)"):
        write_atomically(path, "half")
    with pytest.raises(InputError, match="cannot be written"):
        write_atomically(path / "below a file.csv", "text")
    assert path.read_text() == "before"
    with pytest.raises(InputError, match="xxx: File name too long"), publishing(tmp_path / "out"):
        Path("x" * 300).exists()
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


@pytest.fixture
def ten() -> Trace:
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


def test_shares_of_jobs_and_of_service(ten: Trace) -> None:
    assert running_time_table(ten).to_dict() == {"10 min": 30.0, "1 h": 40.0, "6 h": 50.0, "1 d": 60.0, "6 d": 80.0}
    value = describe(ten).set_index("statistic")["value"]
    jobs = value[[f"jobs of demand {k}" for k in DEMANDS]]
    assert jobs.tolist() == [40.0, 10.0, 0.0, 10.0, 10.0, 20.0, 10.0]
    total = 16 * 7 * DAY + 60 + 599 + 600 + DAY + 1 + 2 * HOUR + 24 * HOUR + 5 * DAY + 48 * DAY + 8
    service = value[[f"GPU-time of demand {k}" for k in DEMANDS]]
    assert service.sum() == pytest.approx(100)
    assert service["GPU-time of demand 1"] == pytest.approx(100 * (1260 + DAY) / total)
    assert value["GPU-time of demand >=8"] == pytest.approx(100 * (16 * 7 * DAY + 48 * DAY + 8) / total)
    assert offered_load(ten) == pytest.approx(total / (4 * HOUR))
    assert value["hourly arrivals, Fano factor"] == np.var([1, 3, 1, 4]) / np.mean([1, 3, 1, 4])  # of full hours


def test_top_users(ten: Trace) -> None:
    shares = user_shares(ten)
    assert shares["1 %"] == shares["20 %"] == pytest.approx(100 * 16 * 7 * DAY / ten.gpu_time.sum())
    many = Trace.from_frame(
        pd.DataFrame({"job_id": range(100), "tenant": "t", "user": [f"u{i}" for i in range(100)], "demand": 1,
                      "submit_time": 0.0, "duration": np.r_[[1000.0] * 5, [1.0] * 95]})
    )  # fmt: skip
    assert user_shares(many).tolist() == pytest.approx([100000 / 5095, 500000 / 5095, 501500 / 5095])


def test_describe(ten: Trace) -> None:
    table = describe(ten)
    assert list(table.columns) == ["statistic", "value", "unit"]
    assert table["statistic"].is_unique
    value = table.set_index("statistic")["value"]
    expected = {
        "jobs": 10, "tenants": 2, "users": 3, "days": 4 / 24, "GPUs demanded, all jobs": 47, "largest gang": 16,
        "demand, mean": 4.7, "demand, median": 3, "duration, median": 4.5 * HOUR - HOUR,
        "1-GPU jobs running < 1 h": 75, "1-GPU jobs running > 1 d": 25, "recorded waiting, mean": 1200.333333,
        "recorded waiting, median": 1800, "jobs that waited > 30 min": 100 / 3, "excluded": 3,
        "jobs completed": 50, "jobs cancelled": 30, "jobs failed": 20, "jobs unknown": 0,
        "excluded: asks for 0 GPUs": 2, "excluded: ran for 0 s": 1, "jobs of history": 0,
    }  # fmt: skip
    for statistic, number in expected.items():
        assert value[statistic] == pytest.approx(number), statistic
    lines = describe_text(ten).splitlines()
    assert lines[0] == "ten: 10 jobs of 2 tenants in 0.2 days"
    assert lines[1:4] == ["excluded: 3 rows", "         2  asks for 0 GPUs", "         1  ran for 0 s"]
    assert "a                          75.0%         6" in lines


def test_describe_where_nothing_is_known() -> None:
    jobs = {"job_id": ["a"], "tenant": ["t"], "demand": [2], "submit_time": [0.0], "duration": [9.0]}
    one = Trace.from_frame(pd.DataFrame(jobs))
    value = describe(one).set_index("statistic")["value"]
    unknown = ["offered load", "1-GPU jobs running < 1 h", "recorded waiting, mean", "hourly arrivals, Fano factor"]
    assert value[unknown].isna().all()
    assert "excluded: nothing" in describe_text(one)


def test_a_dataframe_needs_four_columns() -> None:
    df = pd.DataFrame({"tenant": ["x", "y"], "demand": [2, 1], "submit_time": [5.0, 0.0], "duration": [60, 90]})
    trace = Trace.from_frame(df)
    assert (trace.name, trace.job_id.tolist(), trace.demand.tolist()) == ("trace", ["1", "0"], [1, 2])
    with pytest.raises(InputError, match=r"^trace, row 1: demand must be a whole number of GPUs from 1 to .*got 0\.5"):
        Trace.from_frame(df.assign(demand=[2, 0.5]))
    with pytest.raises(InputError, match=r"^trace: column 'duration' is missing; found tenant, demand, submit_time"):
        Trace.from_frame(df.drop(columns="duration"))
    with pytest.raises(InputError, match=r"^trace: jobs must be a DataFrame, one row per job, got a dict$"):
        Trace.from_frame(df.to_dict())  # type: ignore[arg-type]
