"""The major claims of the papers, one by one: run the smallest experiment that decides each, and judge what comes out.

The claims are those of `data/major_claims.toml`. The rules of `papers.claims` judge the statements of `data/claims.csv`
that each is made of, on the tables of `papers.running.smallest_experiments`.
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pandas as pd

from astraea.core.checks import one_of
from papers import ROOT
from papers.charts.files import save_table
from papers.claims.evaluate import evaluate
from papers.judging import Verdict
from papers.running import smallest_experiments


class Reproduced(NamedTuple):
    """The verdict on a claim."""

    holds: bool  # whether each statement is within its tolerance
    table: pd.DataFrame  # a row per statement; columns id, statement, paper, tolerance, got, verdict
    minutes: float  # how long it took [min]


@cache
def major_claims() -> Mapping[str, dict[str, Any]]:
    """Return every major claim by its name, ``C1`` and so on, as the file has it."""
    return tomllib.loads((ROOT / "data" / "major_claims.toml").read_text(encoding="utf-8"))


def reproduce(name: str) -> Reproduced:
    """Run the experiment of a claim and judge its statements; `InputError` if there is no such claim."""
    claim = major_claims()[one_of(name, tuple(major_claims()), "claim")]
    begun = time.perf_counter()
    with TemporaryDirectory(prefix="astraea-") as folder:
        for file, table in getattr(smallest_experiments, claim["experiment"])().items():
            id, _, trace = file.partition("_")
            save_table(table, id, trace, folder)
        judged = _judged(claim["checks"], Path(folder))
    holds = bool(judged["verdict"].isin([Verdict.HOLDS, Verdict.OF_THOSE]).all())
    return Reproduced(holds, judged, (time.perf_counter() - begun) / 60)


def as_text(name: str, found: Reproduced) -> str:
    """Write the verdict on a claim as `python -m papers reproduce` prints it."""
    claim = major_claims()[name]
    lines = [f"{name}: {claim['claim']}", f"    {claim['where']}; more of it in notebook {claim['notebook']}"]
    for row in found.table.to_dict("records"):
        lines += [
            f"  {row['statement']} ({row['id']})",
            f"    expected  {row['paper']} (tolerance: {row['tolerance']})",
            f"    got       {row['got']}: {row['verdict']}",
        ]
    verdict = "reproduced" if found.holds else "NOT reproduced"
    return "\n".join([*lines, f"{name} is {verdict}, in {found.minutes:.1f} min", ""])


def _judged(checks: list[dict[str, str]], folder: Path) -> pd.DataFrame:
    """The statements of a claim on the tables of a folder, in the order of the claim and then of the readings."""
    found = evaluate(folder).rename(columns={"measured": "got"})
    tolerances = pd.DataFrame(checks)[["id", "tolerance"]]
    table = tolerances.merge(found, on="id", how="left")
    table["statement"] += table["reading"].map(lambda reading: f", {reading}" if reading else "")
    return table[["id", "statement", "paper", "tolerance", "got", "verdict"]]
