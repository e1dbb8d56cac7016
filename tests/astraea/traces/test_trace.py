"""The trace itself: checks, order, windows and weights."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_samples import write_csv

from astraea.cluster.cluster import Cluster
from astraea.cluster.observed import observed
from astraea.core.errors import InputError
from astraea.core.files import write_atomically
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
        table(), name="t", weights=weights, excluded_jobs=aside, origin=pd.Timestamp("2020-04-01 00:00:07")
    )
    return made.window(200.0, 600.0)


@given(seed=st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_order_is_submit_time_then_number(seed: int) -> None:
    jobs = table(30).assign(submit_time=lambda t: t["submit_time"] // 700)
    turned = Trace.from_frame(jobs.sample(frac=1, random_state=seed))
    assert turned.digest == Trace.from_frame(jobs).digest
    assert turned.job_id.tolist() == [str(i) for i in range(30)]


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
    """Else they would be shown as if they had waited as long at a load that never was."""
    trace = Trace.from_frame(table().assign(queueing_delay=5.0, demand=1))
    assert observed(trace, Cluster(1)).jobs["first_start_time"].tolist() == (trace.submit_time + 5.0).tolist()
    for other in (trace.scale_load(2.0), trace.in_rounds(60.0)):
        assert np.isnan(other.queueing_delay).all() and other.recorded is None
        with pytest.raises(InputError, match="the log does not tell when job '0' started"):
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


def test_own_columns_tell_format_and_unit(tmp_path: Path) -> None:
    """A CSV file with all columns of a trace is read in seconds, and every value is what it was."""
    whole = Trace.from_frame(table(), name="t", weights={"north": 3.0, "south": 1 / 3, "idle": 2.0})
    write_csv(whole, tmp_path / "t.csv")
    again = read_trace(tmp_path / "t.csv", weights=dict(zip(whole.tenants, whole.tenant_weight, strict=True)))
    pd.testing.assert_frame_equal(again.frame, whole.frame, check_exact=True)
    assert again.digest == whole.digest


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
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_in_rounds_each_job_comes_at_the_round_that_sees_it() -> None:
    frame = pd.DataFrame({"job_id": ["b", "a", "c"], "tenant": "t", "demand": 1, "submit_time": [0.0, 0.5, 10.0],
                          "duration": 5.0})  # fmt: skip
    trace = Trace.from_frame(frame, name="three")
    found = trace.in_rounds(10.0)
    assert found.submit_time.tolist() == [0.0, 10.0, 10.0]
    assert found.job_id.tolist() == ["b", "a", "c"]  # in the order of submission, not of their names
    assert found.name == "three, in rounds of 10 s" and found.digest != trace.digest
    with pytest.raises(InputError, match="three: the time between rounds must be"):
        trace.in_rounds(0.0)
