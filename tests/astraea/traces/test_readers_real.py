"""The readers on real workloads, where the machine has them; the figures are those of the files' own descriptions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from astraea.traces.describe import burstiness, describe_text
from astraea.traces.readers import read_trace


def test_philly_vcs(shared: Path) -> None:
    trace = read_trace(shared / "data" / "philly-vcs")
    assert len(trace) == 10_879
    assert trace.tenants == ("trace1", "trace2", "trace3", "trace4")
    assert np.bincount(trace.tenant).tolist() == [1494, 5755, 992, 2638]
    assert trace.span == 10_817_570.0  # milliseconds, told by the header
    assert trace.duration.min() == 1.0
    assert len(trace.excluded_jobs) == 0


def test_chronus(shared: Path) -> None:
    trace = read_trace(shared / "data" / "philly-chronus")
    assert len(trace) == 30_940 - 205
    assert trace.excluded_jobs["reason"].tolist() == ["asks for 0 GPUs"] * 205
    assert trace.excluded_jobs["job_id"].iloc[0] == "188"
    assert len(trace.tenants) == 11
    assert trace.span == 20_151 * 60.0
    assert trace.duration.min() == 20 * 60.0
    assert (trace.deadline > trace.submit_time).all()
    text = describe_text(trace)
    assert "30735 jobs of 11 tenants in 14.0 days" in text
    assert "set aside: 205 rows\n       205  asks for 0 GPUs\n" in text
    # the reference input is the same trace in seconds, renumbered, without the jobs of 0 GPUs
    reference = read_trace(shared / "reference" / "chrSLO.input.csv.gz")
    for column in ("submit_time", "demand", "duration", "tenant"):
        ours, theirs = (sorted(zip(t.submit_time, getattr(t, column), strict=True)) for t in (trace, reference))
        assert ours == theirs, column


def test_two_weeks_are_a_window_of_the_virtual_clusters(shared: Path) -> None:
    reference = read_trace(shared / "reference" / "w2.input.csv.gz")
    window = read_trace(shared / "data" / "philly-vcs").window(28 * 86400, 42 * 86400)
    assert len(reference) == len(window) == 2049
    assert reference.tenants == ("vc1", "vc2", "vc3", "vc4")
    np.testing.assert_array_equal(np.bincount(reference.tenant), np.bincount(window.tenant))
    np.testing.assert_allclose(np.sort(reference.duration), np.sort(window.duration), atol=1.0)
    np.testing.assert_allclose(np.sort(reference.submit_time), np.sort(window.submit_time), atol=1.0)
    assert window.history is not None


def test_gavel_older_form(shared: Path) -> None:
    table = shared / "data" / "gavel" / "simulation_throughputs.json"
    trace = read_trace(shared / "data" / "philly-gavel", throughputs=table)
    assert len(trace.tenants) == 15
    assert len(trace) + len(trace.excluded_jobs) == 15_264
    assert trace.excluded_jobs["reason"].unique().tolist() == ["its job type was not measured on that many V100s"]
    # one virtual cluster is in both collections: same arrivals, same gangs
    ours = trace.submit_time[trace.tenant == trace.tenants.index("7f04ca")]
    assert ours.max() == 10_817_570.0


def test_gavel_current_form(shared: Path) -> None:
    folder = shared / "data" / "gavel"
    path = folder / "physical_cluster" / "max_min_fairness.trace"
    trace = read_trace(path, throughputs=folder / "simulation_throughputs.json")
    assert (len(trace), trace.tenants) == (96, ("max_min_fairness",))
    assert np.isnan(trace.deadline).all()


def test_burstiness_of_venus(shared: Path) -> None:
    """The real arrival process of Venus: Fano factor 39, autocorrelation 0.48 and 0.24."""
    bins = pd.read_csv(shared / "data" / "venus" / "cluster_throughput.csv", parse_dates=["time"]).set_index("time")
    found = burstiness(bins["submit_gpu_job"].resample("h").sum().to_numpy(dtype=np.float64))
    assert found["fano"] == pytest.approx(39, abs=0.5)
    assert found["lag_1h"] == pytest.approx(0.48, abs=0.005)
    assert found["lag_24h"] == pytest.approx(0.24, abs=0.005)
