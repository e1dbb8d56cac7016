"""Reasons why a statement does not hold, or only in part: the rows of ``data/claim_notes.csv``, filled in.

A note belongs to one statement on one trace in one reading, and has a number of its own from a table.
"""

from __future__ import annotations

import pandas as pd

from astraea.core.errors import InputError
from papers import ROOT
from papers.claims.filled import fill
from papers.judging import Verdict


def read_notes() -> pd.DataFrame:
    """Return the rows of `data/claim_notes.csv` as they are written, all columns as text."""
    return pd.read_csv(ROOT / "data" / "claim_notes.csv", dtype=str, keep_default_na=False)


def with_reasons(table: pd.DataFrame) -> pd.DataFrame:
    """Add to the table of `evaluate` the known reasons why a statement does not hold.

    The notes are about the evaluation's size, so they belong into its gallery and not beside the small outputs of the
    notebooks. `InputError` if one has no number, or asks for one that no table has.
    """
    notes = read_notes().set_index(["id", "trace", "reading"])["note"].to_dict()
    reasons = []
    for row in table.to_dict("records"):
        key = row["id"], row["trace"], row["reading"]
        known = "" if row["verdict"] == Verdict.HOLDS else row["note"]
        reasons.append(filled(*key, notes[key]) if key in notes else known)
    return table.assign(note=reasons)


def filled(id: str, trace: str, reading: str, note: str) -> str:
    """Fill in one note; `InputError` if it cannot be, or has no number that is filled in."""
    place = f"data/claim_notes.csv, {', '.join(word for word in (id, trace, reading) if word)}"
    if "{{" not in note:
        raise InputError(f"{place}: the note has no number that is filled in from a table")
    return fill(note, place, trace=trace, reading=reading)
