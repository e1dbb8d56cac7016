"""Estimated running times: errors by hand, what is left of a job, and workloads with a past."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from histories import busy
from trace_samples import write_csv

from astraea.core.errors import InputError
from astraea.estimation.estimates import Estimates
from astraea.traces.trace import Trace
from papers.ye2022.running_times import (
    accuracy,
    joint_density,
    median_remaining,
    observed_remaining,
    survival,
    with_past,
)


def four() -> Trace:
    """Four jobs of 1, 4, 2 and 1 GPUs that run for 10 to 10,000 s."""
    jobs = {"job_id": range(4), "tenant": ["t"] * 4, "demand": [1, 4, 2, 1], "submit_time": [0, 10, 50, 90]}
    return Trace.from_frame(pd.DataFrame({**jobs, "duration": [10, 100, 1000, 10_000]}))


def around(medians: list[float], factor: float = 3.0) -> Estimates:
    """Estimates whose band reaches from the median over `factor` to the median times `factor`."""
    m = np.array(medians, dtype=float)
    return Estimates.through(m / factor, m, m * factor)


def test_accuracy_by_hand() -> None:
    trace = four()
    table = accuracy({"true": around([10, 100, 1000, 10_000]), "same": around([100] * 4, 2.0),
                      "back": around([10_000, 1000, 100, 10])}, trace)  # fmt: skip
    assert table.index.tolist() == ["true", "same", "back"]
    same = table.loc["same"]
    assert same["median APE"] == pytest.approx((90 + 99) / 2)
    assert same["mean APE"] == pytest.approx((900 + 0 + 90 + 99) / 4)
    assert same["log-MAE"] == pytest.approx(np.log(10) * (1 + 0 + 1 + 2) / 4)
    assert same["band"] == pytest.approx(np.log(4))
    assert (same["below"], same["above"], same["coverage"]) == (25, 50, 25)
    # GPU-times 10, 400, 2,000, 10,000; a constant ranks 1, 4, 2 and 1 GPUs: 1.5, 4, 3, 1.5
    assert table["rank correlation"].tolist() == pytest.approx(
        [1, np.corrcoef([1, 2, 3, 4], [1.5, 4, 3, 1.5])[0, 1], -1]
    )
    assert table["slope"].tolist() == pytest.approx([1, 0, -1], abs=1e-12)
    alone = accuracy({"one": around([5])}, trace.head(1))
    assert np.isnan(alone.loc["one", ["rank correlation", "slope"]].astype(float)).all()


def test_joint_density_counts_every_job_once() -> None:
    trace = busy()
    cells = joint_density({"truth": Estimates(trace.duration, *np.zeros((2, len(trace)))),
                           "ten": around([10.0] * len(trace))}, trace)  # fmt: skip
    assert cells.groupby("estimator")["share"].sum().tolist() == pytest.approx([1, 1])
    truth = cells[cells["estimator"] == "truth"]
    assert (truth["truth"] == truth["estimate"]).all()
    assert set(cells.loc[cells["estimator"] == "ten", "estimate"]) == {10.0}
    low = joint_density({"it": around([11, 150, 999, 9999])}, four())
    assert low["truth"].tolist() == pytest.approx([10, 100, 1000, 10_000])
    assert low["estimate"].tolist() == pytest.approx([10, 10 ** (13 / 6), 10 ** (17 / 6), 10 ** (23 / 6)])


def test_what_a_job_needs_more_with_spread_and_without() -> None:
    wide = Estimates.through([10], [100], [5000])
    assert survival(wide, [0, 10, 100, 5000]) == pytest.approx([1, 0.9, 0.5, 0.1])
    certain = Estimates(np.array([100.0]), np.zeros(1), np.zeros(1))
    assert survival(certain, [40, 100, 170]).tolist() == [1, 0.5, 0]
    assert median_remaining(certain, [0, 40, 100, 170]).tolist() == [100, 60, 0, 0]


def test_observed_remaining_by_hand() -> None:
    durations = np.r_[np.full(30, 10.0), np.full(50, 100.0), np.full(49, 400.0)]
    found = observed_remaining(durations, [0, 10, 50, 100])
    assert found[:3].tolist() == [100, 90, 50]
    assert np.isnan(found[3])  # 49 are not enough


def written(folder: Path, n: int, duration: float = 60.0) -> str:
    """Write a log of `n` jobs, one every 100 s, without a history."""
    k = np.arange(n)
    jobs = {"job_id": k, "tenant": [f"t{i % 3}" for i in k], "demand": 1 + k % 2, "submit_time": 100.0 * k}
    jobs["duration"] = duration * np.random.default_rng(1).lognormal(0, 1, n)
    return write_csv(Trace.from_frame(pd.DataFrame(jobs)), folder / f"mine{n}.csv")


def test_a_log_without_a_history_is_cut(tmp_path: Path) -> None:
    path = written(tmp_path, 901)
    trace, cluster = with_past(path)
    assert trace.job_id.tolist() == [str(k) for k in range(300, 901)]
    assert trace.history is not None
    assert trace.history.job_id.tolist() == [str(k) for k in range(300)]
    assert with_past(path, "small")[1].nodes == 1
    loaded = with_past(path, load=2.0)[0]
    assert loaded.history is not None and loaded.span < trace.span and cluster.gpus > 0
    # a longer one: the small scale keeps the whole history and takes the first jobs of the window
    small = with_past(written(tmp_path, 3001), "small")[0]
    assert len(small) == 1500
    assert small.history is not None and len(small.history) == 1000


def test_a_synthetic_trace_has_its_own_past() -> None:
    trace, _ = with_past("venus", "small", 1)
    assert trace.history is not None and trace.submit_time[0] < 3600


@pytest.mark.parametrize(("n", "duration", "ended"), [(3, 60.0, 0), (90, 60.0, 29), (601, 1e7, 0)])
def test_a_short_history_is_refused(tmp_path: Path, n: int, duration: float, ended: int) -> None:
    expected = rf"at least 200 jobs that had ended by second 0 of mine{n}, and its history has {ended}$"
    with pytest.raises(InputError, match=expected):
        with_past(written(tmp_path, n, duration))
