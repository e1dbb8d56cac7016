"""Jobs of Gavel: what a workload must be, its traces in both forms, and the generators' distributions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from gavel_small import hours, workload

from astraea.core.errors import InputError
from astraea.traces.trace import Trace
from papers.gavel.generators import continuous, cost, from_trace, hierarchical, static
from papers.gavel.throughputs.table import Throughputs
from papers.gavel.workload import Workload, read_workload

COMPACT = Throughputs.compact()
COLUMNS = ("job_id", "job_type", "scale_factor", "total_steps", "arrival_time", "weight", "slo", "entity")
SEVEN = (
    "A3C\tcmd\t-n\t1\t720\t50.5\t1\n"
    "LM (batch size 5)\tcmd\t-n\t1\t1000\t3\t2\n"
    "A3C\tcmd\t-n\t1\t10\t4\t2\n"
    "LM (batch size 5)\tcmd\t-n\t1\t1000\t5\t0\n"
    "CycleGAN\tcmd\t-n\t1\t44\t50.5\t1\n"
)
TEN = (
    "A3C\tcmd\twd\t-n\t1\t720\t1\t1\t-1.000000\t0\n"
    "CycleGAN\tcmd\twd\t-n\t1\t44\t1\t5\t1.2\t7\n"
)  # fmt: skip


def read(tmp_path: Path, text: str, throughputs: Throughputs = COMPACT) -> Workload:
    path = tmp_path / "a.trace"
    path.write_text(text)
    return read_workload(path, throughputs)


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("job_id", ("a", "b", "a"), ', job a: job_id must be unique, got "a"'),
        ("job_id", (), ": there is no job in it"),
        ("job_type", ("A3C",), ": job_type must have 3 values, one a job, got (1,)"),
        ("scale_factor", [1, 0, 1], ", job j1: scale_factor must be a whole number of GPUs from 1 to 1000000, got 0"),
        ("scale_factor", [1, 1.5, 1], ", job j1: scale_factor must be a whole number of GPUs from 1 to"),
        ("total_steps", [1, 1, 0], ", job j2: total_steps must be a number of steps above 0 and at most 1e+15, got 0"),
        ("total_steps", [1, np.nan, 1], ", job j1: total_steps must be"),
        ("arrival_time", [-1, 0, 0], ", job j0: arrival_time must be a time of at least 0 and at most 1e+10 s, got -1"),
        ("arrival_time", [0, 2, 1], ", job j2: arrival_time must be no earlier than that of the job before, got 1"),
        ("weight", [1, 0, np.inf], ", job j1: weight must be a number above 0, got 0 (and 1 more like it)"),
        ("slo", [1, -3, 1], ", job j1: slo must be a time above 0, or inf for none, got -3"),
        ("slo", [1, np.nan, 1], ", job j1: slo must be a time above 0, or inf for none, got nan"),
        ("entity", [0, 2, 0], ", job j1: entity must be an entity from 0 to 1, got 2"),
        ("entity_weight", [1.0, -1.0], ", entity 1: its weight must be a number above 0, got -1.0"),
    ],
)
def test_bad_columns(column: str, value: Any, says: str) -> None:
    columns = {"entity": np.array([0, 1, 0]), "entity_weight": np.array([1.0, 2.0])}
    jobs = workload([("A3C", 1, 10, 0), ("A3C", 1, 20, 5), ("LM (batch size 5)", 4, 30, 5)], **columns)
    with pytest.raises(InputError) as caught:
        replace(jobs, **{column: value})
    assert str(caught.value).startswith(f"small{says}")


def test_seven_columns(tmp_path: Path) -> None:
    w = read(tmp_path, SEVEN)
    assert w.name == "a"
    assert w.job_id == ("1", "0", "4")  # by arrival, then in the order of the file
    assert w.job_type == ("LM (batch size 5)", "A3C", "CycleGAN")
    assert w.arrival_time.tolist() == [3, 50.5, 50.5]
    assert w.scale_factor.tolist() == [2, 1, 1]
    assert w.total_steps.tolist() == [1000, 720, 44]
    assert w.weight.tolist() == [1, 1, 1]
    assert np.isinf(w.slo).all()
    assert w.entity_weight.tolist() == [1]
    assert w.excluded_jobs.to_dict("list") == {
        "job_id": ["2", "3"],
        "reason": ["its job type was not measured with that scale factor", "asks for 0 GPUs"],
    }


def test_ten_columns(tmp_path: Path) -> None:
    w = read(tmp_path, TEN)
    assert w.weight.tolist() == [1, 5]
    assert w.slo == pytest.approx([np.inf, 1.2 * 10])  # 44 steps at 4.4 steps/s on a V100
    assert w.excluded_jobs.empty
    solo = COMPACT.solo.copy()
    solo[:, COMPACT.kind("CycleGAN", 1), 0] = 0  # V100s cannot run it
    assert read(tmp_path, TEN, replace(COMPACT, solo=solo)).slo[1] == pytest.approx(1.2 * 44 / 2.4)
    solo[:, COMPACT.kind("CycleGAN", 1)] = 0
    aside = read(tmp_path, TEN, replace(COMPACT, solo=solo)).excluded_jobs
    assert aside["reason"].tolist() == ["its job type runs on no accelerator with that scale factor"]


def test_nothing_left(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none of the 1 rows is a job that can be simulated \(1 asks for 0 GPUs\)"):
        read(tmp_path, "A3C\tcmd\t-n\t1\t10\t4\t0\n")


def differ(a: Workload, b: Workload) -> list[str]:
    """Columns in which two workloads differ."""
    return [c for c in COLUMNS if not np.array_equal(np.asarray(getattr(a, c)), np.asarray(getattr(b, c)))]


def test_distributions() -> None:
    n = 20_000
    large = continuous(n, 4.0, COMPACT, multiple=True, seed=7, priorities=True)
    shares = [(large.scale_factor == size).sum() / n for size in (1, 2, 4, 8)]
    assert shares == pytest.approx([0.70, 0.10, 0.15, 0.05], abs=0.012)
    minutes = hours(large) * 60
    assert 10**1.5 <= minutes.min() < 35
    assert 9_800 < minutes.max() <= 10**4 * (1 + 1e-9)
    assert (minutes <= 1000).mean() == pytest.approx(0.8, abs=0.01)
    assert np.log10(minutes[minutes <= 1000]).mean() == pytest.approx(2.25, abs=0.015)
    assert np.log10(minutes[minutes > 1000]).mean() == pytest.approx(3.5, abs=0.02)
    assert (large.weight == 5).mean() == pytest.approx(0.2, abs=0.01)
    assert set(large.weight) == {1.0, 5.0}
    kinds = np.array(large.job_type)
    for gang, many in ((large.scale_factor == 1, 26), (large.scale_factor > 1, 19)):  # equally likely
        shares = pd.Series(kinds[gang]).value_counts(normalize=True).to_numpy()
        assert shares == pytest.approx(np.full(many, 1 / many), abs=0.012)
    gaps = np.diff(large.arrival_time)
    assert large.arrival_time[0] == 0
    assert gaps.mean() == pytest.approx(900, rel=0.03)
    assert gaps.std() == pytest.approx(900, rel=0.05)


def test_draws_do_not_disturb_each_other() -> None:
    base = continuous(300, 4.0, COMPACT, multiple=True, seed=3)
    assert differ(base, continuous(300, 4.0, COMPACT, multiple=True, seed=3)) == []
    faster = continuous(300, 8.0, COMPACT, multiple=True, seed=3)
    assert differ(base, faster) == ["arrival_time"]
    np.testing.assert_allclose(faster.arrival_time * 2, base.arrival_time)
    assert differ(base, continuous(300, 4.0, COMPACT, multiple=True, seed=3, priorities=True)) == ["weight"]
    assert differ(base, static(300, COMPACT, multiple=True, seed=3)) == ["arrival_time"]
    single = continuous(300, 4.0, COMPACT, multiple=False, seed=3)
    assert differ(base, single) == ["job_type", "scale_factor", "total_steps"]
    np.testing.assert_allclose(hours(single), hours(base))
    assert differ(base, continuous(500, 4.0, COMPACT, multiple=True, seed=3).first(300)) == []
    assert (base.name, single.name) == ("continuous-multiple", "continuous-single")
    assert set(single.scale_factor) == set(base.weight) == {1}
    other = differ(base, continuous(300, 4.0, COMPACT, multiple=True, seed=4))
    assert other == ["job_type", "scale_factor", "total_steps", "arrival_time"]


def test_cost() -> None:
    w = cost(0.5, COMPACT, seed=1)
    assert len(w) == 500
    assert set(w.job_type) == {"ResNet-50 (batch size 64)", "A3C"}
    assert set(np.round(hours(w) / 24, 9)) == {0.5, 1, 2, 4, 8}
    many = cost(0.5, COMPACT, seed=1, jobs=20_000)
    factors, counts = np.unique(np.round(many.slo / 3600 / hours(many), 9), return_counts=True)
    assert factors.tolist() == [1.2, 2, 10]
    assert counts / len(many) == pytest.approx(np.full(3, 1 / 3), abs=0.012)
    assert differ(w, cost(1.0, COMPACT, seed=1)) == ["arrival_time"]


def test_hierarchical() -> None:
    w = hierarchical(COMPACT, seed=2)
    assert len(w) == 18
    assert w.arrival_time[:3].tolist() == [0, 1440, 2880]
    assert w.entity.tolist() == [0] * 6 + [1] * 6 + [2] * 6
    assert w.entity_weight.tolist() == [1, 2, 3]
    assert set(w.scale_factor) == {1}
    assert w.job_type != hierarchical(COMPACT, seed=3).job_type


def test_from_trace() -> None:
    rows = [
        ("a", "y", 1, 0.0, 100.0, 1.0, np.nan),
        ("b", "x", 3, 1.0, 100.0, 1.0, np.nan),
        ("c", "x", 4, 2.0, 200.0, 2.0, 502.0),
        ("d", "y", 8, 3.0, 300.0, 1.0, np.nan),
    ]
    columns = ["job_id", "tenant", "demand", "submit_time", "duration", "weight", "deadline"]
    jobs = pd.DataFrame(rows, columns=columns)
    trace = Trace.from_frame(jobs, name="t", weights={"x": 3.0, "y": 1.0})
    w = from_trace(trace, COMPACT, seed=5)
    assert w.job_id == ("a", "c", "d")
    assert w.excluded_jobs.to_dict("list") == {
        "job_id": ["b"],
        "reason": ["no job type was measured on that many GPUs"],
    }
    assert hours(w) * 3600 == pytest.approx([100, 200, 300])
    assert w.slo.tolist() == [np.inf, 500, np.inf]
    assert w.weight.tolist() == [1, 2, 1]
    assert w.entity.tolist() == [1, 0, 1]
    assert w.entity_weight.tolist() == [3, 1]
    with pytest.raises(InputError, match="t: no job asks for a number of GPUs that the throughputs were measured on"):
        from_trace(Trace.from_frame(jobs.iloc[[1]], name="t"), COMPACT, seed=5)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: static(0, COMPACT, multiple=False, seed=0), "the number of jobs must be a whole number of at least 1"),
        (lambda: cost(float("nan"), COMPACT, seed=0), "rate_per_hour must be a number above 0, got nan"),
        (lambda: cost(1.0, COMPACT, seed=-1), "the seed must be a whole number of at least 0, got -1"),
    ],
)
def test_bad_parameters(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(InputError, match=f"^{says}"):
        call()
