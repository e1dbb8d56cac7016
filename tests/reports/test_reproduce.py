"""The major claims: what they are made of exists, what is quick comes out as the list says, and what fails is said."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from places import ROOT

from astraea.cli.main import main
from astraea.reports import smallest_experiments
from astraea.reports.claims.evaluate import STATEMENTS, read_claims
from astraea.reports.reproduce import major_claims, reproduce

CLAIMS = major_claims()
QUICK = ("C1", "C2", "C3")


@pytest.mark.parametrize("name", CLAIMS)
def test_what_a_claim_is_made_of_exists(name: str) -> None:
    claim = CLAIMS[name]
    assert callable(getattr(smallest_experiments, claim.experiment))
    assert all((ROOT / "notebooks" / f"{notebook}.ipynb").is_file() for notebook in claim.notebook.split(", "))
    assert {check.id for check in claim.checks} <= set(STATEMENTS) & set(read_claims()["id"])
    assert 0 < claim.minutes <= (1 if name in QUICK else 10)


@pytest.mark.parametrize("name", [c if c in QUICK else pytest.param(c, marks=pytest.mark.slow) for c in CLAIMS])
def test_a_claim_is_reproduced(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("astraea.experiments.cache.CACHE", tmp_path)
    found = reproduce(name)
    assert found.table["got"].tolist() == [check.expected for check in CLAIMS[name].checks]
    assert found.holds


def test_points_are_those_of_the_rules() -> None:
    for check in (check for claim in CLAIMS.values() for check in claim.checks):
        given = STATEMENTS[check.id].judge.keywords
        if "points" in given:
            assert check.tolerance == f"± {given['points']:g} points"


def test_claims_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce"]) == 0
    assert re.findall(r"^(C\d)  ", capsys.readouterr().out, re.M) == list(CLAIMS)
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
