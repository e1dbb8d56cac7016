"""Arrivals of jobs: in rounds, and how bursty they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from astraea.core.errors import InputError
from astraea.traces.describe import burstiness
from astraea.traces.trace import Trace


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


def test_burstiness_of_venus(shared: Path) -> None:
    """The real arrival process of Venus: Fano factor 39, autocorrelation 0.48 and 0.24."""
    bins = pd.read_csv(shared / "data" / "venus" / "cluster_throughput.csv", parse_dates=["time"]).set_index("time")
    found = burstiness(bins["submit_gpu_job"].resample("h").sum().to_numpy(dtype=np.float64))
    assert found["fano"] == pytest.approx(39, abs=0.5)
    assert found["lag_1h"] == pytest.approx(0.48, abs=0.005)
    assert found["lag_24h"] == pytest.approx(0.24, abs=0.005)
