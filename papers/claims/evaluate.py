"""The papers' statements against the tables behind the figures: `evaluate(folder)` simulates nothing.

What is checked on which table stands in `claims.toml` of each paper, and what holds, or holds in direction, in the
docstring of its rule; everything else does not hold. "Not yet" is a statement of whose tables or schedulers something
is not there: one about all seven schedulers that is true of those that are there is still "not yet"; if it is false of
them, that is said.

A statement with a value about Venus or Philly is checked on that trace only, synthetic or whole and real (`SAME`);
orderings, monotone trends, shapes and bounds on every trace of the folder. One whose table has several readings of the
evaluation (its column `reading`) is judged in each of them that has the schedulers in question.
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pandas as pd

from astraea.core.errors import InputError
from astraea.traces.synthetic import SYNTHETIC
from papers import ROOT, rules
from papers.gavel import rules as gavel
from papers.judging import Absent, Judged, Missing, Source, Verdict, reader
from papers.market import readings as markets
from papers.market import rules as market
from papers.ye2022 import readings as clusters
from papers.ye2022 import rules as ye2022

COLUMNS: Final = ("id", "where", "trace", "reading", "statement", "paper", "measured", "verdict", "note")
SAME: Final = {"venus": ("venus", "helios-venus"), "philly": ("philly", "philly-two-weeks")}
"""Names of the traces that a paper's value is about."""

READINGS: Final = (*clusters.READINGS, *markets.READINGS)
"""Those of [Ye2022] and of [Wang2023]."""

GIVEN: Final = ("ye.t1.", "ye.s31.", "ye.f1.", "ye.f2.", "ye.f3.", "ye.f4.")
"""Statements that the synthetic traces are made to satisfy: that they hold says that the generator works."""

_EVERYWHERE: Final = ("ordering", "monotone", "shape", "<=", "exists")
_VERDICTS: Final = dict(zip(Verdict, ("hold", "hold in direction", "do not hold", "not yet"), strict=True))
_PAPERS: Final = {"ye.": "ASTRAEA", "gavel.": "Gavel", "wang.": "the other Astraea", "themis.": "Themis"}
"""How the identifiers of a paper's statements begin."""

RULES: Final[dict[str, Callable[..., Judged]]] = {
    name: function
    for module in (rules, ye2022, gavel, market)
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__ and not name.startswith("_")
}
"""Every rule by its name."""


class Statement(NamedTuple):
    """How a statement is checked: the rule, the rows of which table, and on which trace, if not on each there is."""

    judge: partial[Judged]
    table: str
    on: str
    where: Mapping[str, Any]

    @property
    def has_many(self) -> bool:
        """Whether it is about several printed values at once."""
        return self.judge.func is rules.printed_values


def read_statements(path: Path) -> dict[str, Statement]:
    """Statements of one paper, by identifier, from its `claims.toml`.

    `InputError` if a statement has no table, names a rule that does not exist, or does not give a rule what it takes.
    """
    entries = tomllib.loads(path.read_text(encoding="utf-8"))
    return {id: _statement(f"{path.parent.name}/{path.name}, {id}", **entry) for id, entry in entries.items()}


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
    for paper in ("ye2022", "gavel", "market", "themis")
    for id, statement in read_statements(ROOT / "papers" / paper / "claims.toml").items()
}
"""Every statement that is checked; one that is not here is "not yet"."""


def read_claims() -> pd.DataFrame:
    """Every statement of the papers: the rows of `data/claims.csv`, all columns as text."""
    return _read("data/claims.csv")


def evaluate(folder: str | Path, about: str = "") -> pd.DataFrame:
    """Measure the statements on the tables behind the figures, the files ``<id>_<trace>.csv`` of a folder.

    `about` is a regular expression that identifiers begin with. The columns are `COLUMNS`, all text; a row stands for a
    statement, a trace and a reading, in the order of `claims.csv`. `InputError` if a table lacks a column.
    """
    claims = read_claims()
    chosen = claims[claims["id"].str.match(about)]
    papers = {i: float(v) for i, v in zip(claims["id"], claims["value"], strict=True) if v}
    folder = Path(folder)
    read = reader(folder)
    rows = []
    tables = sorted(path.stem for path in folder.glob("*_*.csv"))
    for claim in chosen.to_dict("records"):
        id, relation = claim["id"], claim["relation"]
        paper = f"{claim['value']} {claim['unit']}".strip() if relation != "<=" else f"≤ {claim['value']}"
        paper = f"{relation} {paper}" if relation in ("<", ">", "up to") else paper
        where, statement = f"{claim['source'].split()[0]} {claim['where']}", f"{claim['subject']}: {claim['metric']}"
        for trace in _traces(tables, id, claim["trace"], relation):
            for reading, measured, verdict, missing in _judged(id, read, papers, trace):
                rows.append((id, where, trace, reading, statement, paper or relation, measured, str(verdict), missing))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _judged(
    id: str, read: Callable[[str], pd.DataFrame], papers: Mapping[str, float], trace: str
) -> list[tuple[str, str, Verdict, str]]:
    """Reading, what was measured, verdict, and what is missing."""
    if id not in STATEMENTS:
        return [("", "", Verdict.NOT_YET, "")]
    judge, table, on, rows_of = STATEMENTS[id]
    source = Source(read, papers, table, on or trace, id, rows_of)
    found, missing = [], ""
    for reading in source.readings:
        chosen = replace(source, where={**rows_of, "reading": reading}) if reading else source
        try:
            found.append((reading, *judge(chosen), ""))
        except Absent as err:
            missing = str(err)  # in this reading there is no such scheduler
        except Missing as err:
            found.append((reading, "", Verdict.NOT_YET, str(err)))
    return found or [("", "", Verdict.NOT_YET, missing)]


def with_reasons(table: pd.DataFrame) -> pd.DataFrame:
    """Add to the table of `evaluate` what is known of why a statement does not hold, or of where it ends to hold.

    The notes, the rows of `data/claim_notes.csv`, were found at the evaluation's size, so they belong into its gallery
    and not beside the small outputs of the notebooks.
    """
    notes = _read("data/claim_notes.csv").set_index(["id", "trace", "reading"])["note"].to_dict()
    reasons = [
        notes.get((row["id"], row["trace"], row["reading"]), "" if row["verdict"] == Verdict.HOLDS else row["note"])
        for row in table.to_dict("records")
    ]
    return table.assign(note=reasons)


def between_readings() -> dict[str, str]:
    """What the two readings of a statement differ by, in a sentence: notes on a reading called ``both``, by id."""
    notes = _read("data/claim_notes.csv")
    both = notes[notes["reading"] == "both"]
    return dict(zip(both["id"], both["note"], strict=True))


def _read(name: str) -> pd.DataFrame:
    path = ROOT / name
    return _as_text(path, path.stat().st_mtime_ns).copy()


@cache
def _as_text(path: Path, changed: int) -> pd.DataFrame:
    """A table of text, read once for each of its states."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def _traces(tables: Sequence[str], id: str, trace: str, relation: str) -> list[str]:
    """Traces of which there are tables that a statement is checked on; the statement's own if there is none."""
    if id not in STATEMENTS or STATEMENTS[id].on:
        return [trace]
    table = STATEMENTS[id].table
    there = [name.removeprefix(f"{table}_") for name in tables if name.startswith(f"{table}_")]
    if relation not in _EVERYWHERE and trace != "both":
        there = [t for t in there if t in SAME.get(trace, (trace,))]
    own = [t for t in ("venus", "philly") if t in there]
    return [*own, *(t for t in there if t not in own)] or (["venus", "philly"] if trace == "both" else [trace])


def counts(table: pd.DataFrame) -> list[str]:
    """How many statements of each paper got which verdict, in sentences; none for a paper of which nothing is there.

    Those that a generator is made to satisfy are counted apart, and each reading for itself.
    """
    sentences = []
    for prefix, paper in _PAPERS.items():
        mine = table[table["id"].str.startswith(prefix)]
        given = mine["id"].str.startswith(GIVEN) & mine["trace"].isin(SYNTHETIC)
        parts = [("", mine[~given & (mine["reading"] == "")])]
        parts += [(f", {reading}", mine[mine["reading"] == reading]) for reading in READINGS]
        parts.append((", what the synthetic traces are made to have", mine[given]))
        for which, some in parts:
            found = some["verdict"].value_counts()
            if set(found.index) - {Verdict.NOT_YET}:
                numbers = ", ".join(f"{found[v]} {words}" for v, words in _VERDICTS.items() if v in found)
                checks = f"{len(some)} checks of {some['id'].nunique()} statements"
                sentences.append(f"{paper}{which}: {checks}, {numbers}.")
    return sentences
