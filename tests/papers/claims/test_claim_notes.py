"""What does not hold as measured has a cause in its note, and a command or a figure that shows it and exists."""

from __future__ import annotations

import dataclasses
import re
import shlex
from functools import cache
from itertools import pairwise

import pandas as pd
import pytest
from places import ROOT

from astraea.cluster.policies import POLICIES
from astraea.cluster.settings import Settings
from papers.claims.evaluate import evaluate, read_claims, with_reasons
from papers.judging import Verdict
from papers.ye2022.readings import MEASURED

FIGURES = ROOT / "figures"


@cache
def notes() -> dict[tuple[str, str], str]:
    found = with_reasons(evaluate(FIGURES))
    open_ones = found[
        (found["reading"] == MEASURED) & found["id"].str.startswith("ye.") & (found["verdict"] != Verdict.HOLDS)
    ]
    return {(row["id"], row["trace"]): row["note"] for row in open_ones.to_dict("records")}


def test_every_note_is_about_a_statement() -> None:
    noted = pd.read_csv(ROOT / "data" / "claim_notes.csv")["id"]
    assert set(noted) <= set(read_claims()["id"])


def test_every_one_names_a_command() -> None:
    without = [key for key, note in notes().items() if not re.search(r"`(make|astraea) [^`]+`", note)]
    assert notes() and not without


@pytest.mark.parametrize("command", sorted({c for note in notes().values() for c in re.findall(r"`([^`]+)`", note)}))
def test_what_is_named_exists(command: str) -> None:
    program, *words = shlex.split(command)
    if program == "make":
        target, *given = words
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        for notebook in (value.removeprefix("ONLY=") for value in given if value.startswith("ONLY=")):
            assert (ROOT / "notebooks" / f"{notebook}.ipynb").is_file()
    elif program == "astraea" or program.startswith("--"):
        options = list(pairwise(words))
        chosen = [value for option, value in options if option in ("--policy", "--policies")]
        known = {f.name for f in dataclasses.fields(Settings)}
        known |= {name for p in POLICIES.values() if not chosen or p.name in chosen for name in p.parameters}
        assert set(chosen) <= set(POLICIES)
        options += [(program, words[0])] if program != "astraea" else []
        assert {value.partition("=")[0] for option, value in options if option == "--param"} <= known
        assert program != "astraea" or words[0] in ("simulate", "sweep")
    else:
        assert list(FIGURES.glob(f"{program}_*.csv"))
