"""The trace itself: checks, order, windows, weights, and its files."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astraea.core.errors import InputError
from astraea.core.files import write_atomically
from astraea.traces.readers import read_trace
from astraea.traces.trace import Trace, no_excluded_jobs


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


def test_order_is_submit_time_then_number() -> None:
    jobs = table(12).assign(submit_time=0.0)
    assert Trace.from_frame(jobs.sample(frac=1, random_state=0)).job_id.tolist() == [str(i) for i in range(12)]


@given(seed=st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_order_of_rows_does_not_matter(seed: int) -> None:
    jobs = table(30).assign(submit_time=lambda t: t["submit_time"] // 700)
    turned = jobs.sample(frac=1, random_state=seed)
    assert Trace.from_frame(turned).digest == Trace.from_frame(jobs).digest


def test_columns_cannot_be_changed(trace: Trace) -> None:
    for field in dataclasses.fields(trace):
        value = getattr(trace, field.name)
        if isinstance(value, np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                value[0] = value[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        trace.name = "other"  # type: ignore[misc]


def test_window_resets_the_clock_and_keeps_history(trace: Trace) -> None:
    assert trace.job_id.tolist() == ["2", "3", "4", "5"]
    np.testing.assert_allclose(trace.submit_time, [1 / 3, 100 + 1 / 3, 200 + 1 / 3, 300 + 1 / 3])
    np.testing.assert_allclose(trace.deadline, [9802, np.nan, 9804, np.nan])
    assert trace.origin == pd.Timestamp("2020-04-01 00:03:27")
    assert trace.history is not None
    assert trace.history.job_id.tolist() == ["0", "1"]
    assert trace.history.history is None
    assert Trace.from_frame(table()).window(0, 1000).history is None


@pytest.mark.parametrize(("start", "end"), [(-1, 5), (5, 5), (7, 5), (float("nan"), 5)])
def test_window_refuses_wrong_ends(trace: Trace, start: float, end: float) -> None:
    with pytest.raises(InputError, match="a window needs 0 <= start < end"):
        trace.window(start, end)


def test_window_without_a_job(trace: Trace) -> None:
    with pytest.raises(InputError, match="no job was submitted"):
        trace.window(1e6, 2e6)


def test_head(trace: Trace) -> None:
    assert trace.head(2).job_id.tolist() == ["2", "3"]
    assert len(trace.head(99)) == 4
    with pytest.raises(InputError, match="at least 1 job, got 0"):
        trace.head(0)


def test_scale_load(trace: Trace) -> None:
    faster = trace.scale_load(2.0)
    np.testing.assert_allclose(faster.submit_time, trace.submit_time / 2)
    np.testing.assert_array_equal(faster.duration, trace.duration)
    np.testing.assert_allclose(faster.deadline - faster.submit_time, trace.deadline - trace.submit_time)
    for factor in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="must be a number above 0"):
            trace.scale_load(factor)


def test_with_weights(trace: Trace) -> None:
    other = trace.with_weights({"south": 1.0, "north": 2.0, "idle": 1.0, "alpha": 9.0})
    assert other.tenants == ("alpha", "idle", "north", "south")
    assert other.frame["tenant"].tolist() == trace.frame["tenant"].tolist()
    with pytest.raises(InputError, match="tenant 'idle' has no weight"):
        trace.with_weights({"south": 1.0, "north": 2.0})


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("job_id", "999"), ("tenant", "south"), ("user", "someone"), ("demand", 7), ("submit_time", 0.5),
        ("duration", 50.5), ("weight", 1.5), ("sensitivity", 0.5), ("deadline", 7.0),
    ],
)  # fmt: skip
def test_digest_sees_everything_that_is_simulated(column: str, value: object) -> None:
    jobs = table()
    before = Trace.from_frame(jobs).digest
    changed = jobs.assign(**{column: [value, *jobs[column][1:]]})
    assert Trace.from_frame(changed).digest != before
    assert Trace.from_frame(jobs.copy()).digest == before


def test_digest_sees_weights_and_history(trace: Trace) -> None:
    assert trace.with_weights({"south": 1.0, "north": 2.0, "idle": 1.0}).digest != trace.digest
    assert dataclasses.replace(trace, history=None).digest != trace.digest


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("demand", 0, "row 2: demand must be a whole number of GPUs from 1 to 1000000, got 0"),
        ("demand", "8x", 'row 2: demand must be a whole number of GPUs from 1 to 1000000, got "8x"'),
        ("submit_time", -1.0, "row 2: submit_time must be a time of at least 0"),
        ("duration", 0.0, "row 2: duration must be a time above 0"),
        ("duration", np.nan, "row 2: duration must be a time above 0"),
        ("state", "lost", 'row 2: state must be one of completed, cancelled, failed, unknown, got "lost"'),
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


def assert_same(a: Trace | None, b: Trace | None) -> None:
    """Everything equal, bit for bit, history included."""
    assert (a is None) == (b is None)
    if a is None or b is None:
        return
    assert (a.name, a.tenants, a.origin, a.digest) == (b.name, b.tenants, b.origin, b.digest)
    np.testing.assert_array_equal(a.tenant_weight, b.tenant_weight)
    pd.testing.assert_frame_equal(a.frame, b.frame, check_exact=True)
    pd.testing.assert_frame_equal(a.excluded_jobs, b.excluded_jobs)
    assert_same(a.history, b.history)


def test_parquet_keeps_everything(trace: Trace, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    trace.to_parquet(path)
    assert_same(Trace.from_parquet(path), trace)
    assert_same(read_trace(path), trace)
    plain = Trace.from_frame(table())
    plain.to_parquet(path)
    assert_same(Trace.from_parquet(path), plain)
    assert [p.name for p in tmp_path.iterdir()] == ["t.parquet"]


def test_parquet_with_other_weights(trace: Trace, tmp_path: Path) -> None:
    trace.to_parquet(tmp_path / "t.parquet")
    weights = {"south": 1.0, "north": 2.0, "idle": 1.0}
    assert read_trace(tmp_path / "t.parquet", weights=weights).digest == trace.with_weights(weights).digest
    with pytest.raises(InputError, match="weights: there is no share for tenant"):
        read_trace(tmp_path / "t.parquet", weights={"north": 1.0})


def test_damaged_parquet(trace: Trace, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    trace.to_parquet(path)
    whole = path.read_bytes()
    for cut in range(0, len(whole), len(whole) // 40):
        path.write_bytes(whole[:cut])
        with pytest.raises(InputError, match=r"t\.parquet: "):
            Trace.from_parquet(path)
    for at in range(4, len(whole), len(whole) // 60):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            assert_same(Trace.from_parquet(path), trace)  # a byte that is not read
        except InputError as err:
            assert "t.parquet: " in str(err)


def test_parquet_of_others(trace: Trace, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    table().to_parquet(path)
    with pytest.raises(InputError, match=r"not one that Trace\.to_parquet wrote"):
        Trace.from_parquet(path)
    trace.to_parquet(path)
    rows = pq.read_table(path)
    demand = rows.column_names.index("demand")
    changed = rows.set_column(demand, "demand", pa.array(np.full(len(rows), 2)))
    pq.write_table(changed.replace_schema_metadata(rows.schema.metadata), path)
    with pytest.raises(InputError, match="does not match its checksum"):
        Trace.from_parquet(path)
    pq.write_table(rows.drop_columns(["demand"]).replace_schema_metadata(rows.schema.metadata), path)
    with pytest.raises(InputError, match="the file is damaged"):
        Trace.from_parquet(path)
    pq.write_table(rows.replace_schema_metadata({"astraea.traces.trace": '{"version": 99}'}), path)
    with pytest.raises(InputError, match="written by another version"):
        Trace.from_parquet(path)
    with pytest.raises(InputError, match="there is no such file"):
        Trace.from_parquet(tmp_path / "nothing.parquet")


def test_csv_round_trip(trace: Trace, tmp_path: Path) -> None:
    beside = trace.to_csv(tmp_path / "t.csv")
    assert beside == tmp_path / "t.shares.csv"
    for known, unit in ((None, None), ("tiresias-csv", "s")):
        again = read_trace(tmp_path / "t.csv", format=known, time_unit=unit, weights=beside)
        pd.testing.assert_frame_equal(again.frame, trace.frame, check_exact=True)
        assert again.tenants == trace.tenants
        np.testing.assert_array_equal(again.tenant_weight, trace.tenant_weight)
        assert again.digest == dataclasses.replace(trace, history=None).digest
    with pytest.raises(InputError, match=r"must end in \.csv"):
        trace.to_csv(tmp_path / "t.txt")


@given(text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1).map(str.strip).filter(bool))
@settings(max_examples=60, deadline=None)
def test_names_survive_both_files(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("names")
    trace = Trace.from_frame(table(2).assign(job_id=[text, text + "'"], tenant=text, user=text))
    trace.to_parquet(folder / "t.parquet")
    assert_same(Trace.from_parquet(folder / "t.parquet"), trace)
    shares = trace.to_csv(folder / "t.csv")
    assert read_trace(folder / "t.csv", weights=shares).digest == trace.digest


def test_nothing_half_written(trace: Trace, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_text("before")

    def full(file: Path) -> None:
        file.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match=r"t\.parquet: cannot be written \(No space left on device\)"):
        write_atomically(path, full)
    with pytest.raises(InputError, match="cannot be written"):
        trace.to_parquet(path / "below a file.parquet")
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["t.parquet"]


def test_nothing_set_aside_by_default() -> None:
    assert Trace.from_frame(table()).excluded_jobs.equals(no_excluded_jobs())
