"""Committed figures of real workloads: what they were made from is known, and what is out of date is named."""

from __future__ import annotations

import json
from pathlib import Path

from listed_jobs import listed
from places import ROOT
from trace_samples import write_csv

from papers.running import made


def test_committed_figures_are_up_to_date_and_all_in_a_record() -> None:
    records = [json.loads(path.read_text()) for path in (ROOT / "figures").glob("made_*.json")]
    traces = {record["trace"] for record in records}
    assert traces == {"w2", "chrslo", "philly-vcs"}
    assert made.out_of_date(ROOT / "figures", ROOT) == []
    there = {p.name for trace in traces for p in (ROOT / "figures").glob(f"*_{trace}.*") if p.suffix != ".json"}
    recorded = {name for record in records for name in record["files"]}
    assert {name for name in there if not name.startswith("verification")} == recorded


def test_what_is_out_of_date_is_named(tmp_path: Path) -> None:
    log = write_csv(listed(("1", "a", 1, 0.0, 60.0)), tmp_path / "log.csv")
    (tmp_path / "fig13_log.csv").write_text("a\n")
    checksum = "87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7"
    path = made.write(tmp_path, ROOT, log, "make real", {"fig13_log.csv": checksum}, name="log")
    assert made.out_of_date(tmp_path, ROOT) == []
    (tmp_path / "fig13_log.csv").write_text("b\n")
    assert made.out_of_date(tmp_path, ROOT) == ["fig13_log.csv: not the file that make real wrote"]
    (tmp_path / "fig13_log.csv").write_text("a\n")
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"code": "0", "trace_sha256": "0"}))
    assert made.out_of_date(tmp_path, ROOT) == [
        f"figures of {log}: made by older code; run make real",
        f"figures of {log}: made from other jobs; run make real",
    ]
