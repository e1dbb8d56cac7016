"""The major claims: what they are made of exists, and comes out as the list says."""

from __future__ import annotations

from pathlib import Path

import pytest
from places import ROOT

from papers.claims.evaluate import STATEMENTS, read_claims
from papers.running import smallest_experiments
from papers.running.reproduce import major_claims, reproduce

CLAIMS = major_claims()
QUICK = ("C1", "C2", "C3")


@pytest.mark.parametrize("name", CLAIMS)
def test_what_a_claim_is_made_of_exists(name: str) -> None:
    claim = CLAIMS[name]
    assert callable(getattr(smallest_experiments, claim.experiment))
    assert all((ROOT / "notebooks" / f"{notebook}.ipynb").is_file() for notebook in claim.notebook.split(", "))
    assert {check.id for check in claim.checks} <= set(STATEMENTS) & set(read_claims()["id"])
    assert 0 < claim.minutes <= (1 if name in QUICK else 10)
    for check in claim.checks:
        given = STATEMENTS[check.id].judge.keywords
        if "points" in given:
            assert check.tolerance == f"± {given['points']:g} points"


@pytest.mark.parametrize("name", [c if c in QUICK else pytest.param(c, marks=pytest.mark.exhaustive) for c in CLAIMS])
def test_a_claim_is_reproduced(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("astraea.experiments.cache.CACHE", tmp_path)
    found = reproduce(name)
    assert found.table["got"].tolist() == [check.expected for check in CLAIMS[name].checks]
    assert found.holds
