"""Jobs of Gavel: what a workload must be, and its traces in both forms."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from astraea.core.errors import InputError
from papers.gavel.throughputs.table import Throughputs
from papers.gavel.workload import Workload, read_workload

COMPACT = Throughputs.compact()
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


def workload(**changes: Any) -> Workload:
    columns: dict[str, Any] = {
        "name": "w",
        "job_id": ("a", "b", "c"),
        "job_type": ("A3C", "A3C", "LM (batch size 5)"),
        "scale_factor": [1, 1, 4],
        "total_steps": [10.0, 20.0, 30.0],
        "arrival_time": [0.0, 5.0, 5.0],
        "weight": [1.0, 5.0, 1.0],
        "slo": [np.inf, 60.0, np.inf],
        "entity": [0, 1, 0],
        "entity_weight": [1.0, 2.0],
    }
    return Workload(**{**columns, **changes})


def read(tmp_path: Path, text: str, throughputs: Throughputs = COMPACT) -> Workload:
    path = tmp_path / "a.trace"
    path.write_text(text)
    return read_workload(path, throughputs)


def test_a_workload() -> None:
    w = workload()
    assert len(w) == 3
    assert w.scale_factor.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        w.total_steps[0] = 1
    two = w.first(2)
    assert two.job_id == ("a", "b")
    assert two.entity_weight.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("job_id", ("a", "b", "a"), 'w, job a: job_id must be unique, got "a"'),
        ("job_id", (), "w: there is no job in it"),
        ("job_type", ("A3C",), "w: job_type must have 3 values, one a job, got (1,)"),
        ("scale_factor", [1, 0, 1], "w, job b: scale_factor must be a whole number of GPUs from 1 to 1000000, got 0"),
        ("scale_factor", [1, 1.5, 1], "w, job b: scale_factor must be a whole number of GPUs from 1 to"),
        ("total_steps", [1, 1, 0], "w, job c: total_steps must be a number of steps above 0 and at most 1e+15, got 0"),
        ("total_steps", [1, np.nan, 1], "w, job b: total_steps must be"),
        ("arrival_time", [-1, 0, 0], "w, job a: arrival_time must be a time of at least 0 and at most 1e+10 s, got -1"),
        ("arrival_time", [0, 2, 1], "w, job c: arrival_time must be no earlier than that of the job before, got 1"),
        ("weight", [1, 0, np.inf], "w, job b: weight must be a number above 0, got 0 (and 1 more like it)"),
        ("slo", [1, -3, 1], "w, job b: slo must be a time above 0, or inf for none, got -3"),
        ("slo", [1, np.nan, 1], "w, job b: slo must be a time above 0, or inf for none, got nan"),
        ("entity", [0, 2, 0], "w, job b: entity must be an entity from 0 to 1, got 2"),
        ("entity_weight", [1.0, -1.0], "w, entity 1: its weight must be a number above 0, got -1.0"),
    ],
)
def test_bad_columns(column: str, value: Any, says: str) -> None:
    with pytest.raises(InputError) as caught:
        workload(**{column: value})
    assert str(caught.value).startswith(says)


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


def test_slo_of_a_job_that_v100s_cannot_run(tmp_path: Path) -> None:
    solo = COMPACT.solo.copy()
    solo[:, COMPACT.kind("CycleGAN", 1), 0] = 0
    w = read(tmp_path, TEN, dataclasses.replace(COMPACT, solo=solo))
    assert w.slo[1] == pytest.approx(1.2 * 44 / 2.4)
    solo[:, COMPACT.kind("CycleGAN", 1)] = 0
    w = read(tmp_path, TEN, dataclasses.replace(COMPACT, solo=solo))
    assert w.excluded_jobs["reason"].tolist() == ["its job type runs on no accelerator with that scale factor"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("CycleGAN", "CycleGAM", 'line 2: job_type must be a job type of the compact table, got "CycleGAM"'),
        ("\t44\t", "\t0\t", 'line 2: total_steps must be a number of steps above 0 and at most 1e+15, got "0"'),
        ("\t44\t1\t", "\t44\tx\t", 'line 2: scale_factor must be a whole number of GPUs from 0 to 1000000, got "x"'),
        ("1.2\t7", "1.2\t-7", 'line 2: arrival_time must be a time of at least 0 and at most 1e+10 s, got "-7"'),
        ("5\t1.2", "0\t1.2", 'line 2: priority must be a number above 0, got "0"'),
        ("5\t1.2", "5\t0", 'line 2: SLO must be a multiple of the duration, or below 0 for none, got "0"'),
        ("5\t1.2\t7", "5\t1.2", "line 2: expected 10 columns, got 9"),
        ("\twd", "", "line 1: expected 7 or 10 columns with tabs between, got 9"),
    ],
)
def test_bad_lines(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in TEN
    with pytest.raises(InputError) as caught:
        read(tmp_path, TEN.replace(old, new))
    assert str(caught.value) == f"{tmp_path / 'a.trace'}, {says}"


def test_nothing_left(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none of the 1 rows is a job that can be simulated \(1 asks for 0 GPUs\)"):
        read(tmp_path, "A3C\tcmd\t-n\t1\t10\t4\t0\n")
    with pytest.raises(InputError, match="there is no such file"):
        read_workload(tmp_path / "none.trace", COMPACT)


def test_real_traces(shared: Path) -> None:
    data = shared / "data"
    measured = Throughputs.read(data / "gavel" / "simulation_throughputs.json")
    jobs = {path.name: read_workload(path, measured) for path in sorted((data / "gavel").glob("*/*.trace"))}
    assert {name: len(w) for name, w in jobs.items()}["minimize_makespan.trace"] == 100
    assert all(w.excluded_jobs.empty for w in jobs.values())
    vcs = [read_workload(path, measured) for path in sorted((data / "philly-gavel").glob("*.trace"))]
    assert len(vcs) == 15
    rows = sum(len(w) + len(w.excluded_jobs) for w in vcs)
    assert rows == 15264
    # gangs of 7, 12, 16, 20, 24, 32 and 64 GPUs, and types that train on one GPU only
    reasons = {r for w in vcs for r in w.excluded_jobs["reason"]}
    assert reasons == {"its job type was not measured with that scale factor"}
    reference = read_workload(shared / "reference" / "gavel" / "multi.trace", measured)
    assert len(reference) == 524
