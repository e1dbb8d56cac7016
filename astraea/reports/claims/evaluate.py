"""The papers' statements against the tables behind the figures: `evaluate(folder)` simulates nothing.

What is checked on which table stands in the TOML file of each paper, and what holds, or holds in direction, in the
docstring of its rule; everything else does not hold. "Not yet" is a statement of whose tables or schedulers something
is not there: one about all seven schedulers that is true of those that are there is still "not yet"; if it is false of
them, that is said.

A statement about ``venus`` with a value is checked on traces of Venus (whose name has "venus" in it), one about
``philly`` on traces of Philly; orderings, monotone trends, shapes and bounds on every trace of the folder.
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pandas as pd

from astraea.core.errors import InputError
from astraea.core.files import project_root
from astraea.reports.claims import rules, wang2023, ye2022
from astraea.reports.claims.judging import Judged, Missing, Source, Verdict, reader

COLUMNS: Final = ("id", "where", "trace", "statement", "paper", "measured", "verdict", "note")
_EVERYWHERE: Final = ("ordering", "monotone", "shape", "<=", "exists")
_VERDICTS: Final = dict(zip(Verdict, ("hold", "hold in direction", "do not hold", "not yet"), strict=True))
_PAPERS: Final = {"ye.": "ASTRAEA", "gavel.": "Gavel", "wang.": "the other Astraea", "themis.": "Themis"}
"""How the identifiers of a paper's statements begin."""

RULES: Final[dict[str, Callable[..., Judged]]] = {
    name: function
    for module in (rules, ye2022, wang2023)
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__ and not name.startswith("_")
}
"""Every rule by its name."""


class Statement(NamedTuple):
    """How a statement is checked: the rule, the rows of which table, and on which trace, if not on each there is."""

    judge: Callable[[Source], Judged]
    table: str
    on: str
    where: Mapping[str, Any]


def read_statements(path: Path) -> dict[str, Statement]:
    """Statements of one paper, by identifier.

    Raises
    ------
    InputError
        If a statement names a rule that does not exist, or does not give a rule what it takes.
    """
    entries = tomllib.loads(path.read_text(encoding="utf-8"))
    return {id: _statement(f"{path.name}, {id}", **entry) for id, entry in entries.items()}


def _statement(place: str, rule: str = "", table: str = "", on: str = "", where: Any = None, **given: Any) -> Statement:
    if rule not in RULES:
        raise InputError(f"{place}: there is no rule {rule!r}; there are: {', '.join(sorted(RULES))}")
    if not table:
        raise InputError(f"{place}: the table is missing")
    signature = inspect.signature(RULES[rule])
    try:
        signature.bind(None, **given)
    except TypeError as err:
        takes = ", ".join([*signature.parameters][1:]) or "nothing"
        raise InputError(f"{place}: rule {rule}: {err}; it takes: {takes}") from None
    return Statement(partial(RULES[rule], **given), table, on, where or {})


STATEMENTS: Final[Mapping[str, Statement]] = {
    id: statement
    for paper in ("ye2022", "narayanan2020", "wang2023", "mahajan2020")
    for id, statement in read_statements(Path(__file__).with_name(f"{paper}.toml")).items()
}
"""Every statement that is checked; one that is not here is "not yet"."""


def read_claims() -> pd.DataFrame:
    """Every statement of the papers: the rows of `data/claims.csv`, all columns as text.

    Raises
    ------
    InputError
        If there is no checkout: the table is no part of the installed package.
    """
    return _read("data/claims.csv")


def evaluate(folder: str | Path) -> pd.DataFrame:
    """Measure every statement on the tables behind the figures.

    Parameters
    ----------
    folder : path
        With the files ``<id>_<trace>.csv``.

    Returns
    -------
    DataFrame, columns `COLUMNS`, all text
        One row per statement and trace that it was checked on, in the order of `claims.csv`.

    Raises
    ------
    InputError
        If a table lacks a column that it must have.
    """
    claims = read_claims()
    papers = {i: float(v) for i, v in zip(claims["id"], claims["value"], strict=True) if v}
    folder = Path(folder)
    read = reader(folder)
    rows = []
    for claim in claims.to_dict("records"):
        id, relation = claim["id"], claim["relation"]
        paper = f"{claim['value']} {claim['unit']}".strip() if relation != "<=" else f"≤ {claim['value']}"
        paper = f"{relation} {paper}" if relation in ("<", ">", "up to") else paper
        where, statement = f"{claim['source'].split()[0]} {claim['where']}", f"{claim['subject']}: {claim['metric']}"
        for trace in _traces(folder, id, claim["trace"], relation):
            measured, verdict, missing = "", Verdict.NOT_YET, ""
            if id in STATEMENTS:
                judge, table, on, rows_of = STATEMENTS[id]
                try:
                    measured, verdict = judge(Source(read, papers, table, on or trace, id, rows_of))
                except Missing as err:
                    missing = str(err)
            rows.append((id, where, trace, statement, paper or relation, measured, str(verdict), missing))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def with_reasons(table: pd.DataFrame) -> pd.DataFrame:
    """Add to the table of `evaluate` what is known of why a statement does not hold, or of where it ends to hold.

    The notes, the rows of `data/claim_notes.csv`, were found at the evaluation's size, so they belong into its gallery
    and not beside the small outputs of the notebooks.

    Raises
    ------
    InputError
        If a note is about a statement that does not exist.
    """
    found = _read("data/claim_notes.csv")
    unknown = sorted(set(found["id"]) - set(read_claims()["id"]))
    if unknown:
        raise InputError(f"data/claim_notes.csv: there is no statement {unknown[0]!r} in claims.csv")
    notes = found.set_index(["id", "trace"])["note"].to_dict()
    reasons = [
        notes.get((id, trace), "" if verdict == Verdict.HOLDS else note)
        for id, trace, verdict, note in zip(table["id"], table["trace"], table["verdict"], table["note"], strict=True)
    ]
    return table.assign(note=reasons)


def _read(name: str) -> pd.DataFrame:
    return pd.read_csv(project_root(name) / name, dtype=str, keep_default_na=False)


def _traces(folder: Path, id: str, trace: str, relation: str) -> list[str]:
    """Traces of the folder that a statement is checked on; the statement's own if there is none."""
    if id not in STATEMENTS or STATEMENTS[id].on:
        return [trace]
    table = STATEMENTS[id].table
    there = sorted(path.stem.removeprefix(f"{table}_") for path in folder.glob(f"{table}_*.csv"))
    if relation not in _EVERYWHERE and trace != "both":
        there = [t for t in there if trace in t]
    own = [t for t in ("venus", "philly") if t in there]
    return [*own, *(t for t in there if t not in own)] or (["venus", "philly"] if trace == "both" else [trace])


def counts(table: pd.DataFrame) -> list[str]:
    """How many statements of each paper got which verdict, in sentences; none for a paper of which nothing is there."""
    sentences = []
    for prefix, paper in _PAPERS.items():
        mine = table[table["id"].str.startswith(prefix)]
        found = mine["verdict"].value_counts()
        if set(found.index) - {Verdict.NOT_YET}:
            parts = ", ".join(f"{found[verdict]} {words}" for verdict, words in _VERDICTS.items() if verdict in found)
            sentences.append(f"{paper}: {len(mine)} checks of {mine['id'].nunique()} statements, {parts}.")
    return sentences
