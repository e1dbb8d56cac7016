"""Published values and verdicts, as a notebook shows them beside its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pandas as pd

from astraea.core.errors import InputError
from papers import ROOT
from papers.claims.checks import SAME
from papers.claims.evaluate import LEGEND, MARKS, evaluate, in_full, read_claims
from papers.claims.notes import with_reasons
from papers.frames import Frames, frames
from papers.judging import Verdict

_SHORT: Final = 12
"""Characters of a measured value that fits beside its sign."""


def verdicts(folder: str | Path, about: str, trace: str | None = None, scale: str = "small") -> Frames:
    """Judge the statements whose identifiers match `about`, a regular expression, on the tables of a folder.

    With a `trace`, only those judged on it. At the scale ``small``, the verdicts on the committed figures come first,
    where there are any, and a switch leads to those on this run.
    """

    def of_trace(table: pd.DataFrame) -> pd.DataFrame:
        return table[table["trace"] == trace] if trace is not None else table

    shown = {f"this run, SCALE={scale}": of_trace(evaluate(folder, about))}
    if scale == "small" and len(committed := of_trace(with_reasons(evaluate(ROOT / "figures", about)))):
        shown = {"at the paper's scale": committed} | shown
    return frames("verdicts", shown, lambda part: (narrow(part), LEGEND), lambda part: "")


def narrow(found: pd.DataFrame) -> pd.DataFrame:
    """Arrange the rows of `evaluate` in four narrow columns of text: statement, paper, ours, reason.

    `ours` is the verdict's sign, a short measured value, and the reading. `reason` is the measured value where it is
    long, or what the note says. A statement is written once, in the first of its rows; it is the index.
    """
    rows = []
    for row in found.to_dict("records"):
        is_short = len(row["measured"]) <= _SHORT
        ours = f"{MARKS[Verdict(row['verdict'])]} {row['measured'] if is_short else ''}".strip()
        reading = f" ({row['reading']})" if row["reading"] else ""
        paper, ours = (text.replace(" ", "\N{NO-BREAK SPACE}") for text in (row["paper"], ours))
        rows.append((row["statement"], paper, ours + reading, row["note"] if is_short else in_full(row["measured"])))
    table = pd.DataFrame(rows, columns=["statement", "paper", "ours", "reason"])
    said = ["statement", "paper"]
    table[said] = table[said].mask((table[said] == table[said].shift()).all(axis=1), "")
    return table.set_index("statement")


def published(id: str) -> float:
    """Value that a paper prints, in the unit of its statement; `InputError` if `data/claims.csv` has none."""
    value = read_claims().set_index("id")["value"].get(id)
    if not value:
        raise InputError(f"data/claims.csv: {id!r} is no statement with a published value")
    return float(value)


def published_of(family: str, trace: str) -> dict[str, float]:
    """Values of `data/claims.csv` by what follows `family` in their identifiers: ``published_of("ye.f10", "venus")``.

    Times are in s, shares in [0, 1]; schedulers are named as in `astraea policies`. There is nothing about a trace that
    the values are not about: those on Venus say nothing about Philly.
    """
    claims = read_claims()
    of_trace = claims["trace"].map(lambda name: trace in SAME.get(name, (name,)))
    rows = claims[claims["id"].str.startswith(f"{family}.") & of_trace & (claims["value"] != "")]
    values = rows["value"].astype(float) * rows["unit"].map({"%": 0.01}).astype(float).fillna(1.0)
    return dict(zip(rows["id"].str.removeprefix(f"{family}.").str.replace("_", "-"), values, strict=True))
