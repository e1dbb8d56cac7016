"""`python -m papers` as a user sees it: figures, verdicts, and the major claims."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
import pytest
from places import ROOT

from astraea.cli.main import run
from papers.__main__ import app
from papers.claims.checks import STATEMENTS
from papers.claims.evaluate import read_claims
from papers.running import smallest_experiments
from papers.running.reproduce import major_claims

main = partial(run, app)
CLAIMS = major_claims()
QUICK = ("C1", "C2", "C3")


def test_figures_passes_everything_on(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def make_figures(**options: Any) -> int:
        calls.append((options, joblib.effective_n_jobs(None)))
        return 3

    monkeypatch.setattr("papers.running.figures.make_figures", make_figures)
    assert main(["figures"]) == 3
    assert main(["figures", "--trace", "x", "--scale", "small", "--jobs", "2", "--only", "04"]) == 3
    assert calls[0] == ({"trace": None, "scale": "paper", "only": None, "shown": False}, joblib.cpu_count())
    assert calls[1] == ({"trace": "x", "scale": "small", "only": "04", "shown": False}, 2)


def test_what_is_known_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "--folder", str(tmp_path)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert len(out) > len(read_claims()) and "not yet" in out[1]
    assert main(["reproduce"]) == 0
    assert re.findall(r"^(C\d)  ", capsys.readouterr().out, re.M) == list(CLAIMS)
    assert main(["reproduce", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["C1"]["checks"][0]["id"] == "ye.f6.b.job1"
    assert main(["reproduce", "C1", "C9"]) == 2
    assert capsys.readouterr() == ("", "papers: claim must be one of C1, C2, C3, C4, C5, C6, C7, C8, got 'C9'\n")


@pytest.mark.parametrize("name", CLAIMS)
def test_what_a_claim_is_made_of_exists(name: str) -> None:
    claim = CLAIMS[name]
    assert callable(getattr(smallest_experiments, claim["experiment"]))
    assert all((ROOT / "notebooks" / f"{notebook}.ipynb").is_file() for notebook in claim["notebook"].split(", "))
    assert 0 < claim["minutes"] <= (1 if name in QUICK else 10)
    for check in claim["checks"]:
        given = STATEMENTS[check["id"]].judge.keywords
        if "points" in given:
            assert check["tolerance"] == f"± {given['points']:g} points"


@pytest.mark.parametrize("name", [c if c in QUICK else pytest.param(c, marks=pytest.mark.exhaustive) for c in CLAIMS])
def test_a_claim_is_reproduced(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("astraea.experiments.cache.CACHE", tmp_path)
    assert main(["reproduce", name, "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    expected = [check["expected"] for check in CLAIMS[name]["checks"]]
    assert re.findall(r"^    got       (.+): holds(?: of those there)?$", out, re.M) == expected
    assert re.search(rf"^{name} is reproduced, in \d+\.\d min$", out, re.M)
    assert name != "C1" or "    expected  33.333 % (tolerance: ± 0.5 points)\n    got " in out


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
