"""`astraea reproduce` as a user sees it: the list of claims, what came out, and what did not."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest

from astraea.cli.main import main
from astraea.reports import smallest_experiments
from astraea.reports.reproduce import major_claims


def test_claims_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce"]) == 0
    assert re.findall(r"^(C\d)  ", capsys.readouterr().out, re.M) == list(major_claims())
    assert main(["reproduce", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["C1"]["checks"][0]["id"] == "ye.f6.b.job1"


def test_what_came_out_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "C1", "C3", "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert "    expected  33.333 % (tolerance: ± 0.5 points)\n    got       33.3 %: holds\n" in out
    assert re.findall(r"^(C\d) is reproduced, in \d+\.\d min$", out, re.M) == ["C1", "C3"]


def test_what_does_not_come_out_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    tables = smallest_experiments.six_gpus()
    grants = tables["fig06_example"]
    swapped = grants.assign(job_id=grants["job_id"].replace({"Job1": "Job2", "Job2": "Job1"}))
    monkeypatch.setattr(smallest_experiments, "six_gpus", lambda: {"fig06_example": swapped})
    assert main(["reproduce", "C1", "--jobs", "1", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["C1"]
    assert not found["holds"] and found["table"][0]["verdict"] == "does not hold"
    monkeypatch.setattr(smallest_experiments, "six_gpus", lambda: {"other_example": pd.DataFrame({"x": [1]})})
    assert main(["reproduce", "C1", "--jobs", "1"]) == 1
    assert "C1 is NOT reproduced" in capsys.readouterr().out


def test_an_unknown_claim_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "C1", "C9"]) == 2
    assert capsys.readouterr() == ("", "astraea: claim must be one of C1, C2, C3, C4, C5, C6, C7, C8, got 'C9'\n")
