"""Committed figures of real workloads: what they were made from is known, and what is out of date is named."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from places import ROOT
from trace_samples import write_csv

from astraea.core.errors import InputError
from astraea.traces.trace import Trace
from papers.running import made
from papers.running.figures import make_figures


def test_committed_figures_are_up_to_date() -> None:
    records = sorted((ROOT / "figures").glob("made_*.json"))
    assert {json.loads(path.read_text())["trace"] for path in records} == {"w2", "chrslo", "philly-vcs"}
    assert made.out_of_date(ROOT / "figures", ROOT) == []


def test_every_committed_figure_of_a_real_workload_is_in_a_record() -> None:
    listed = {
        name for path in (ROOT / "figures").glob("made_*.json") for name in json.loads(path.read_text())["files"]
    }
    traces = ("w2", "chrslo", "philly-vcs")
    there = {p.name for trace in traces for p in (ROOT / "figures").glob(f"*_{trace}.*") if p.suffix != ".json"}
    assert {name for name in there if not name.startswith("verification")} == listed


def test_what_is_out_of_date_is_named(tmp_path: Path) -> None:
    job = pd.DataFrame({"job_id": ["1"], "tenant": "a", "demand": 1, "submit_time": 0.0, "duration": 60.0})
    log = write_csv(Trace.from_frame(job), tmp_path / "log.csv")
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


def test_only_a_named_trace_is_put_beside_the_synthetic_ones() -> None:
    for trace, scale in ((None, "paper"), ("w2", "small")):
        with pytest.raises(InputError, match="only figures of a named trace, and not at the scale small"):
            make_figures(trace, scale, shown=True)
