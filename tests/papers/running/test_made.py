"""Committed figures of real workloads: what they were made from is known, and is what there is now."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest
from listed_jobs import listed
from places import ROOT
from trace_samples import write_csv

from astraea.core.errors import InputError
from papers.running.figures import code, write_record
from papers.ye2022.evaluation import load_workload

FIGURES = ROOT / "figures"
RECORDS = [json.loads(path.read_text()) for path in sorted(FIGURES.glob("made_*.json"))]


def test_every_committed_figure_of_a_real_workload_is_in_a_record() -> None:
    traces = {record["trace"] for record in RECORDS}
    assert traces == {"w2", "chrslo", "philly-vcs"}
    there = {p.name for trace in traces for p in FIGURES.glob(f"*_{trace}.*") if p.suffix != ".json"}
    recorded = {name for record in RECORDS for name in record["files"]}
    assert {name for name in there if not name.startswith("verification")} == recorded


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["trace"])
def test_committed_figures_are_up_to_date(record: dict[str, str | dict[str, str]]) -> None:
    assert record["code"] == code(ROOT), f"made by older code; run {record['command']}"
    files = record["files"]
    assert isinstance(files, dict)
    assert {name: sha256((FIGURES / name).read_bytes()).hexdigest() for name in files} == files
    try:
        trace = load_workload(str(record["trace"]))[0]
    except InputError:
        return  # the data is not here
    assert trace.digest == record["trace_sha256"]


def test_what_is_recorded(tmp_path: Path) -> None:
    log = write_csv(listed(("1", "a", 1, 0.0, 60.0)), tmp_path / "log.csv")
    path = tmp_path / "made_log.json"
    write_record(path, ROOT, log, {"fig13_log.csv": "8"})
    assert json.loads(path.read_text()) == {
        "command": "make real", "trace": log, "trace_sha256": load_workload(log)[0].digest, "code": code(ROOT),
        "files": {"fig13_log.csv": "8"},
    }  # fmt: skip
