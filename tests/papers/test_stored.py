"""Stored tables: the committed one where it was made with the same parameters, a new one otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from papers import stored as module
from papers.stored import RECORD, stored

TABLE = pd.DataFrame({"scheduler": ["fifo", "astraea"], "demand": ["1", ">8"], "share": [1 / 3, 0.5]})


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A folder of committed tables with one that was made with two seeds, and one of this run."""
    committed, own = tmp_path / "committed", tmp_path / "own"
    monkeypatch.setattr(module, "COMMITTED", committed)
    monkeypatch.delenv("ASTRAEA_ANEW", raising=False)
    monkeypatch.setenv("ASTRAEA_FIGURES", str(committed))
    stored("t", {"seeds": 2, "terms": (300, 900)}, lambda: TABLE)
    monkeypatch.setenv("ASTRAEA_FIGURES", str(own))
    return committed, own


def never() -> pd.DataFrame:
    raise AssertionError("computed")


def test_the_committed_table_is_the_answer_to_its_own_parameters(folders: tuple[Path, Path]) -> None:
    found = stored("t", {"terms": [300, 900], "seeds": 2}, never)
    assert found["share"].tolist() == [0.333333, 0.5] and found["demand"].tolist() == ["1", ">8"]
    assert not folders[1].exists()


def test_other_parameters_are_computed_and_said(folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    new = TABLE.assign(share=[2 / 3, 1.0])
    found = stored("t", {"seeds": 5, "terms": (300, 900)}, lambda: new)
    assert found["share"].tolist() == [0.666667, 1.0]  # as it is read back, with six digits
    assert capsys.readouterr().err == "t: the committed table has another seeds; computing\n"
    assert json.loads((folders[1] / RECORD).read_text()) == {"t": {"seeds": 5, "terms": [300, 900]}}
    assert stored("t", {"seeds": 2, "terms": [300, 900]}, never)["share"].tolist() == [0.333333, 0.5]


def test_everything_is_computed_anew_if_asked(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASTRAEA_ANEW", "1")
    stored("t", {"seeds": 2, "terms": [300, 900]}, lambda: TABLE)
    assert (folders[1] / "t.csv").read_bytes() == (folders[0] / "t.csv").read_bytes()
    stored("s", {}, lambda: TABLE)  # a second one keeps the record of the first
    assert [*json.loads((folders[1] / RECORD).read_text())] == ["s", "t"]


def test_the_committed_table_stands_in_for_data_that_are_not_there(
    folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASTRAEA_ANEW", "1")
    found = stored("t", {"seeds": 9}, never, needs=[tmp_path / "log.csv"])
    assert len(found) == 2 and capsys.readouterr().err == "t: the committed table, because log.csv is not there\n"
    with pytest.raises(AssertionError, match="computed"):
        stored("u", {}, never, needs=[tmp_path / "log.csv"])
