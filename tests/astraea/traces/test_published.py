"""Public logs of clusters in forms of their own, from samples in these forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from trace_samples import ACME, SPOT_GPU, SUPERCLOUD, write_kestrel

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.core.errors import InputError
from astraea.traces.readers import read_trace, recognise
from astraea.traces.readers.published import HEADERS, KESTREL, READERS
from astraea.traces.trace import Trace
from astraea_ops.audit.audit import audit


def read(folder: Path, text: str, **how: bool) -> Trace:
    (folder / "log.csv").write_text(text)
    return read_trace(folder / "log.csv", **how)


def aside(trace: Trace) -> dict[str, str]:
    table = trace.excluded_jobs
    return dict(zip(table["job_id"], table["reason"], strict=True))


def test_acme(tmp_path: Path) -> None:
    trace = read(tmp_path, ACME)
    assert trace.origin == pd.Timestamp("2023-02-28 16:18:22")  # in UTC, whatever zone a line has
    assert trace.job_id.tolist() == ["57", "58"] and trace.tenants == ("u1", "u2")
    assert trace.demand.tolist() == [8, 16] and trace.state.tolist() == ["failed", "completed"]
    assert trace.submit_time.tolist() == [0, 60] and trace.queueing_delay.tolist() == [32, 60]
    assert trace.duration.tolist() == [117, 3600]  # Kalos' own durations count from the submission
    assert aside(trace) == {
        "59": "asks for 0 GPUs", "60": "never started", "61": "starts before it was submitted",
        "62": "submit_time is not a date with its zone",
    }  # fmt: skip
    with pytest.raises(InputError, match=r'log\.csv, line 7: submit_time must be a date with its zone, got "soon"'):
        read(tmp_path, ACME, strict=True)


def test_supercloud(tmp_path: Path) -> None:
    trace = read(tmp_path, SUPERCLOUD)
    assert trace.origin == pd.Timestamp(1612000000, unit="s")
    assert trace.job_id.tolist() == ["700", "701"] and trace.tenants == ("41", "42")
    assert trace.demand.tolist() == [2, 4] and trace.state.tolist() == ["completed", "cancelled"]
    assert trace.submit_time.tolist() == [0, 50] and trace.queueing_delay.tolist() == [300, 10]
    assert trace.duration.tolist() == [3600, 100]
    np.testing.assert_array_equal(trace.time_limit, [86400, np.nan])
    without = read(tmp_path, SUPERCLOUD.replace(",1440,", ",0,"))
    assert without.job_id.tolist() == ["700", "701"] and np.isnan(without.time_limit).all()
    assert trace.excluded_jobs[["job_id", "reason"]].to_numpy().tolist() == [
        ["700", "is an earlier run of a job that was requeued"], ["702", "never started"], ["703", "asks for 0 GPUs"],
    ]  # fmt: skip


def test_spot_gpus(tmp_path: Path) -> None:
    trace = read(tmp_path, SPOT_GPU)
    assert trace.tenants == ("13", "57") and trace.origin is None
    assert trace.demand.tolist() == [1, 16] and trace.duration.tolist() == [2764799, 41060]
    assert trace.submit_time.tolist() == [0, 9663] and np.isnan(trace.queueing_delay).all()
    assert trace.details is not None
    assert trace.details[["qos", "gpu_type"]].to_numpy().tolist() == [["HP", "A10"], ["Spot", "A100-SXM4-80GB"]]
    assert aside(trace) == {"438": "asks for a part of a GPU", "439": "ran for 0 s"}
    with pytest.raises(InputError, match="the log has no start of job '239'"):
        audit(trace, Cluster(4, 8), get_policy("fifo"))


def test_kestrel(tmp_path: Path) -> None:
    write_kestrel(tmp_path)
    trace = read_trace(tmp_path)
    assert trace.origin == pd.Timestamp("2024-09-01 05:59:50")
    assert trace.job_id.tolist() == ["1", "3", "5"] and trace.tenants == ("acc1", "acc2")
    assert trace.demand.tolist() == [4, 8, 2] and trace.state.tolist() == ["completed", "failed", "cancelled"]
    assert trace.queueing_delay.tolist() == [610, 2400, 1]  # the second one over the end of summer time
    assert trace.duration.tolist() == [3600, 3600, 7]
    np.testing.assert_array_equal(trace.time_limit, [4 * 3600, 3600, np.nan])
    assert aside(trace) == {"2": "asks for 0 GPUs", "4": "never started"}
    assert trace.details is not None
    assert trace.details[["account", "partition", "qos"]].iloc[1].tolist() == ["acc2", "gpu-h100", "high"]
    month = next(tmp_path.rglob("month=11/*.parquet"))
    assert read_trace(month, format="kestrel").job_id.tolist() == ["3", "5"]
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match="not the Parquet files of Kestrel"):
        read_trace(tmp_path)
    pd.DataFrame({"id": ["1"]}).to_parquet(tmp_path / "bad.parquet")
    with pytest.raises(InputError, match="not the Parquet files of Kestrel"):
        read_trace(tmp_path)


@pytest.mark.parametrize("column", KESTREL)
def test_no_cell_of_kestrel_refuses_the_rest(tmp_path: Path, column: str) -> None:
    write_kestrel(tmp_path)
    file = next(tmp_path.rglob("month=8/*.parquet"))
    table = pd.read_parquet(file).astype(object)
    for value in (None, "", "soon", "-1", "nan", "1e999", "9999-12-31 23:59:59+00:00", "\x00", "3"):
        table[column] = pd.Series([value], dtype="str")
        table.to_parquet(file, index=False)
        trace = read_trace(tmp_path)
        assert len(trace) + len(trace.excluded_jobs) == 5 and {"3", "5"} < {*trace.job_id, *aside(trace)}


@pytest.mark.parametrize("form, text", [("acme", ACME), ("supercloud", SUPERCLOUD), ("spot-gpu", SPOT_GPU)])
def test_a_form_is_recognised_and_needs_its_columns(tmp_path: Path, form: str, text: str) -> None:
    assert set(HEADERS) < set(READERS)
    (tmp_path / "log.csv").write_text(text)
    assert recognise(tmp_path / "log.csv") == form
    lacking = HEADERS[form][-1]
    (tmp_path / "log.csv").write_text(text.replace(lacking, "other", 1))
    with pytest.raises(InputError, match=f"column '{lacking}' is missing"):
        read_trace(tmp_path / "log.csv", format=form)


def test_a_log_of_acme_can_be_audited(tmp_path: Path) -> None:
    found = audit(read(tmp_path, ACME), Cluster(8, 8), get_policy("fifo"), ["fifo"])
    assert found.by_month["month"].unique().tolist() == ["2023-02"]
