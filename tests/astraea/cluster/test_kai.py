"""KAI's division, order and reclaim, against KAI's own test cases and against a naive twin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import kai_cases
import pytest
from places import ROOT

FOLDER = ROOT.parent / "shared" / "reference" / "kai"
CASES = kai_cases.cases_of(FOLDER)
DISAGREE: dict[str, str] = {}
"""Cases in which we say something else than KAI, and why."""


@pytest.mark.parametrize("name", CASES or ["none"])
def test_case_of_kai(name: str, shared: Path) -> None:
    case = CASES[name]
    expected: Any = case.get("expected", case.get("expected_order"))
    assert (kai_cases.answer(case) == expected) is (name not in DISAGREE), case["name"]


def test_there_are_as_many_cases_as_the_readme_says(shared: Path) -> None:
    assert len(CASES) == 199
    assert sum(len(json.loads(file.read_text())) for file in FOLDER.glob("*.json")) == 199
