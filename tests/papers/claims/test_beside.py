"""Verdicts in a notebook: its own, and beside them those at the paper's size."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from places import ROOT

from papers.claims.beside import verdicts
from papers.claims.evaluate import evaluate


def test_both_sizes_stand_in_one_row(tmp_path: Path) -> None:
    table = pd.read_csv(ROOT / "figures" / "fig14_venus.csv")
    table.assign(average_jct=1.0).to_csv(tmp_path / "fig14_venus.csv", index=False)
    found = verdicts(tmp_path, r"ye\.f14\.", "venus")
    committed = evaluate(ROOT / "figures")
    committed = committed[committed["id"].str.startswith("ye.f14.") & (committed["trace"] == "venus")]
    assert found.index.tolist() == committed["id"].tolist()
    at_paper = found["at the paper's size"].tolist()
    assert at_paper == (committed["verdict"] + ": " + committed["measured"]).tolist()
    assert (found["here"] != at_paper).any()
    assert "at the paper's size" not in verdicts(tmp_path, r"ye\.f14\.", "venus", "paper")


def test_a_trace_that_no_figure_shows_has_no_second_verdict(tmp_path: Path) -> None:
    (tmp_path / "fig14_mine.csv").write_bytes((ROOT / "figures" / "fig14_venus.csv").read_bytes())
    found = verdicts(tmp_path, r"ye\.f14\.", "mine")
    assert len(found) and set(found["at the paper's size"]) == {""}


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    found = verdicts(tmp_path, r"gavel\.f8")
    assert found["here"].str.startswith("not yet").all()
