"""The papers' statements against the tables behind the figures: `evaluate(folder)` simulates nothing.

What is checked on which table stands in the TOML file of each paper, and what holds, or holds in direction, in the
docstring of its rule; everything else does not hold. "Not yet" is a statement of whose tables or schedulers something
is not there: one about all seven schedulers that is true of those that are there is still "not yet"; if it is false of
them, that is said.

A statement about ``venus`` with a value is checked on traces of Venus (whose name has "venus" in it), one about
``philly`` on traces of Philly; orderings, monotone trends, shapes and bounds on every trace of the folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pandas as pd

from astraea.core.errors import InputError
from astraea.core.files import project_root
from astraea.reports.claims.rules import DIRECTION, HOLDS, NOT_YET, OTHERWISE, Missing, Source, Tables
from astraea.reports.claims.statements import STATEMENTS

VERDICTS: Final = (HOLDS, DIRECTION, OTHERWISE, NOT_YET)
COLUMNS: Final = ("id", "where", "trace", "statement", "paper", "measured", "verdict", "note")
_EVERYWHERE: Final = ("ordering", "monotone", "shape", "<=", "exists")


def read_claims(folder: str | Path | None = None) -> pd.DataFrame:
    """Every statement of the papers: the rows of `data/claims.csv`, all columns as text.

    Raises
    ------
    InputError
        If the table is not there: it is part of a checkout, not of the installed package.
    """
    path = _data(folder) / "claims.csv"
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def read_notes(folder: str | Path | None = None) -> dict[tuple[str, str], str]:
    """Why a statement does not hold, by (id, trace): the rows of `data/claim_notes.csv`.

    Raises
    ------
    InputError
        If a note is about a statement that does not exist.
    """
    path = _data(folder) / "claim_notes.csv"
    if not path.is_file():
        return {}
    notes = pd.read_csv(path, dtype=str, keep_default_na=False)
    unknown = sorted(set(notes["id"]) - set(read_claims(folder)["id"]))
    if unknown:
        raise InputError(f"{path}: there is no statement {unknown[0]!r} in claims.csv")
    return {(row.id, row.trace): row.note for row in notes.itertuples()}  # type: ignore[misc]


def evaluate(folder: str | Path, data: str | Path | None = None) -> pd.DataFrame:
    """Measure every statement on the tables behind the figures.

    Parameters
    ----------
    folder : path
        With the files ``<id>_<trace>.csv``.
    data : path, optional
        Folder of `claims.csv` and `claim_notes.csv`; that of the checkout if not given.

    Returns
    -------
    DataFrame, columns `COLUMNS`, all text
        One row per statement and trace that it was checked on, in the order of `claims.csv`.

    Raises
    ------
    InputError
        If a table lacks a column that it must have.
    """
    claims = read_claims(data)
    tables = Tables(Path(folder), {i: float(v) for i, v in zip(claims["id"], claims["value"], strict=True) if v})
    rows = []
    for claim in claims.to_dict("records"):
        id, relation = claim["id"], claim["relation"]
        paper = f"{claim['value']} {claim['unit']}".strip() if relation != "<=" else f"≤ {claim['value']}"
        paper = f"{relation} {paper}" if relation in ("<", ">", "up to") else paper
        shown = {
            "id": id,
            "where": f"{claim['source'].split()[0]} {claim['where']}",
            "statement": f"{claim['subject']}: {claim['metric']}",
            "paper": paper or relation,
        }
        for trace in _traces(tables, id, claim["trace"], relation):
            measured, verdict, missing = "", NOT_YET, ""
            if id in STATEMENTS:
                judge, table, on = STATEMENTS[id]
                try:
                    measured, verdict = judge(Source(tables, table, on or trace, id))
                except Missing as err:
                    missing = str(err)
            rows.append({**shown, "trace": trace, "measured": measured, "verdict": verdict, "note": missing})
    return pd.DataFrame(rows, columns=list(COLUMNS))


def with_reasons(table: pd.DataFrame, data: str | Path | None = None) -> pd.DataFrame:
    """Add to the table of `evaluate` what is known of why a statement does not hold, or of where it ends to hold.

    The notes were found at the evaluation's size, so they belong into its gallery and not beside the small outputs of
    the notebooks.
    """
    notes = read_notes(data)
    reasons = [
        notes.get((id, trace), "" if verdict == HOLDS else note)
        for id, trace, verdict, note in zip(table["id"], table["trace"], table["verdict"], table["note"], strict=True)
    ]
    return table.assign(note=reasons)


def _traces(tables: Tables, id: str, trace: str, relation: str) -> list[str]:
    """Traces of the folder that a statement is checked on; the statement's own if there is none."""
    if id not in STATEMENTS or STATEMENTS[id].on:
        return [trace]
    there = tables.traces(STATEMENTS[id].table)
    if relation not in _EVERYWHERE and trace != "both":
        there = [t for t in there if trace in t]
    return there or (["venus", "philly"] if trace == "both" else [trace])


def _data(folder: str | Path | None) -> Path:
    return Path(folder) if folder is not None else project_root("data/claims.csv") / "data"


PAPERS: Final = {"ye.": "ASTRAEA", "gavel.": "Gavel", "wang.": "the other Astraea", "themis.": "Themis"}
"""How the identifiers of a paper's statements begin."""


def counts(table: pd.DataFrame) -> list[str]:
    """How many statements of each paper got which verdict, in sentences; none for a paper of which nothing is there."""
    words = {HOLDS: "hold", DIRECTION: "hold in direction", OTHERWISE: "do not hold", NOT_YET: "not yet"}
    sentences = []
    for prefix, paper in PAPERS.items():
        mine = table[table["id"].str.startswith(prefix)]
        found = mine["verdict"].value_counts()
        if set(found.index) - {NOT_YET}:
            parts = ", ".join(f"{found[v]} {words[v]}" for v in VERDICTS if v in found)
            sentences.append(f"{paper}: {len(mine)} checks of {mine['id'].nunique()} statements, {parts}.")
    return sentences
