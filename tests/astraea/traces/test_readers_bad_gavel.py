"""What Gavel's and Philly's readers and share files refuse."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from refused_files import TIME, refused
from trace_samples import ASTRAEA, GAVEL7, GAVEL10, PHILLY, SPEEDS, attempt, philly_job


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("status", "Lost", 'status must be one of Pass, Killed, Failed, got "Lost"'),
        ("vc", None, "vc must be a text"),
        ("vc", "\ud800", "vc must be a text"),
        ("jobid", 7, "jobid must be a text, got"),
        ("jobid", "app_2", 'jobid must be unique, got "app_2"'),
        ("submitted_time", "noon", 'submitted_time must be a time YYYY-MM-DD HH:MM:SS, got "noon"'),
        ("submitted_time", "None", 'submitted_time must be a time YYYY-MM-DD HH:MM:SS, got "None"'),
        ("attempts", "x", "attempts must be a list of objects, got"),
        ("attempts", [3], "attempts must be a list of objects, got"),
        ("attempts", [{"start_time": 3}], "start_time must be a time YYYY-MM-DD HH:MM:SS, got"),
        ("attempts", [{"detail": [{"gpus": 8}]}], "gpus must be a list of GPUs, got"),
        ("attempts", [attempt("2017-10-07 01:00:30", "x")], 'end_time must be a time YYYY-MM-DD HH:MM:SS, got "x"'),
        (
            "attempts",
            [attempt("2017-10-07 01:00:30", "2017-10-07 01:00:29")],
            'end_time must be no earlier than start_time, got "2017-10-07 01:00:29"',
        ),
    ],
)
def test_philly(tmp_path: Path, key: str, value: Any, says: str) -> None:
    jobs = copy.deepcopy(PHILLY[:2])
    jobs.append(philly_job("app_9", attempt("2017-10-07 01:02:00", "2017-10-07 01:03:00")) | {key: value})
    path = tmp_path / "cluster_job_log"
    path.write_text(json.dumps(jobs))
    message = refused(path, format="philly")
    assert message.startswith(f"{path}, job 3 (")
    assert says in message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[{"a": 1},\n{"a" 2}]', "line 2: not JSON"),
        ('{"a": 1}', "line 1: expected a list of jobs, got dict"),
        ("[]", "there is no job in it"),
        ("[1]", "job 1: expected an object with jobid, vc, ..., got"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_philly_files(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "cluster_job_log"
    path.write_text(text)
    assert says in refused(path, format="philly")


@pytest.mark.parametrize(
    ("text", "old", "new", "says"),
    [
        (
            GAVEL7,
            "\t1000\t",
            "\tmany\t",
            'line 1: total_steps must be a number of steps above 0 and at most 1e+15, got "many"',
        ),
        (
            GAVEL7,
            "\t1000\t",
            "\t0\t",
            'line 1: total_steps must be a number of steps above 0 and at most 1e+15, got "0"',
        ),
        (
            GAVEL7,
            "\t1000\t",
            "\t1e14\t",
            "line 1: total_steps must be at most 1e+10 s of work at the measured throughput",
        ),
        (GAVEL7, "50.5\t2", "-1\t2", f'line 2: arrival_time {TIME} "-1"'),
        (
            GAVEL7,
            "50.5\t2",
            "50.5\ttwo",
            'line 2: scale_factor must be a whole number of GPUs from 0 to 1000000, got "two"',
        ),
        (GAVEL7, "\t50.5\t2", "\t50.5", "line 2: expected 7 columns, got 6"),
        (
            GAVEL7,
            "ResNet-50",
            "ResNet-51",
            'line 1: job_type must be a job type of the throughputs table, got "ResNet-51',
        ),
        (GAVEL10, "\t5\t1.2", "\t0\t1.2", 'line 2: priority must be a number above 0, got "0"'),
        (GAVEL10, "\t5\t1.2", "\t5\t0", "line 2: SLO must be a multiple of the duration, or below 0 for none, got"),
        (GAVEL10, "wd\t", "", "line 1: expected 7 or 10 columns with tabs between, got 9"),
    ],
)
def test_gavel(tmp_path: Path, text: str, old: str, new: str, says: str) -> None:
    assert old in text
    path = tmp_path / "a.trace"
    path.write_text(text.replace(old, new))
    table = tmp_path / "simulation_throughputs.json"
    table.write_text(json.dumps(SPEEDS))
    assert refused(path, format="gavel").startswith(f"{path}, {says}")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ("[]", "key 'v100' must hold the throughputs"),
        ('{"v100": {"ResNet": {"null": 1}}}', "got ResNet: 1"),
        ('{"v100": {"(\'A\', 1)": {"null": "fast"}}}', ": fast"),
        ('{"v100": {"(\'A\', 1)": {"null": -1}}}', ": -1"),
    ],
)
def test_gavel_throughputs(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "a.trace"
    path.write_text(GAVEL7)
    table = tmp_path / "simulation_throughputs.json"
    assert "astraea data fetch gavel-throughputs" in refused(path)
    table.write_text(text)
    message = refused(path)
    assert message.startswith(str(table))
    assert says in message


@pytest.mark.parametrize(
    ("shares", "says"),
    [
        ("name,share\nnorth,1\n", "a.csv, line 3: tenant 'south' has no weight; those are named: north"),
        ("name,share\nnorth,1\nsouth,0\n", 'share.csv, line 3: share must be a number above 0, got "0"'),
        ("name,share\nnorth,1\nsouth,x\n", 'share.csv, line 3: share must be a number above 0, got "x"'),
        ("name,share\nnorth,1\nnorth,2\nsouth,2\n", 'share.csv, line 3: name must be unique, got "north"'),
        ("name,share\n,1\n", 'share.csv, line 2: name must be a name, got ""'),
        ("name,share,x\nnorth,1,1\n", "share.csv, line 1: a share file has two columns, tenant and weight; found"),
        ("", "share.csv: the file is empty"),
    ],
)
def test_share_files(tmp_path: Path, shares: str, says: str) -> None:
    (tmp_path / "a.csv").write_text(ASTRAEA)
    (tmp_path / "share.csv").write_text(shares)
    assert says in refused(tmp_path / "a.csv", weights=tmp_path / "share.csv")


def test_unknown_tenant_names_both_sides(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(ASTRAEA)
    message = refused(path, weights={"north": 1.0, "east": 1.0})
    assert message == f"{path}, line 3: tenant 'south' has no weight; those are named: east, north"
    message = refused(path, weights={"north": -1.0})
    assert message == "a: the weight of tenant 'north' must be a number above 0, got -1.0"
