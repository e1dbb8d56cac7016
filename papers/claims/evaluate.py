"""The papers' statements against the tables behind the figures: `evaluate(folder)` simulates nothing.

`claims.toml` of each paper says which table a statement is checked on. The docstring of its rule defines "holds" and
"holds in direction"; anything else does not hold. A statement is "not yet" judged while something is missing from its
tables. One about all seven schedulers that is true of fewer "holds of those there"; if it is false of them, it fails.

A statement with a value about Venus or Philly is checked on that trace only, synthetic or whole and real (`SAME`);
orderings, monotone trends, shapes and bounds on every trace of the folder. One whose table has several readings of the
evaluation (its column `reading`) is judged in each of them that has the schedulers in question.
"""

from __future__ import annotations

import inspect
import math
import re
import tomllib
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pandas as pd

from astraea.core.errors import InputError
from astraea.core.wording import listed
from astraea.traces.named import FETCHED
from astraea.traces.synthetic import SYNTHETIC
from papers import ROOT, rules
from papers.gavel import rules as gavel
from papers.judging import Absent, Judged, Missing, Source, Verdict, reader
from papers.market import rules as market
from papers.market import workload as markets
from papers.ye2022 import readings as clusters
from papers.ye2022 import rules as ye2022

COLUMNS: Final = (
    "id", "where", "trace", "reading", "kind", "statement", "paper", "measured", "value", "verdict", "note",
)  # fmt: skip
SAME: Final = {"venus": ("venus", "helios-venus"), "philly": ("philly", "philly-two-weeks")}
"""Traces that a value about Venus, or about Philly, is compared with."""

KINDS: Final = {
    "result": "results",
    "given": "what the synthetic traces are made to have",
    "example": "worked examples",
    "construction": "true by construction",
}
"""Kinds of statement, in words: of all but results, it says little that they hold."""

MARKS: Final = dict(zip(Verdict, ("✓", "(✓)", "≈", "✗", "–"), strict=True))
"""The sign of each verdict."""

WORDS: Final = {
    Verdict.HOLDS: ("holds", "hold"),
    Verdict.OF_THOSE: ("holds for those tested", "hold for those tested"),
    Verdict.DIRECTION: ("holds in direction", "hold in direction"),
    Verdict.OTHERWISE: ("does not hold", "do not hold"),
    Verdict.NOT_YET: ("is not decided yet", "are not decided yet"),
}
"""Each verdict as a reader sees it, of one check and of several."""

LEGEND: Final = ", ".join(f"{MARKS[verdict]} {one}" for verdict, (one, _) in WORDS.items())
"""The signs, explained."""

READINGS: Final = (*clusters.READINGS, *markets.READINGS)
"""Those of [Ye2022] and of [Wang2023]."""

REPEATED: Final = "repeated"
"""Kind of a check that is not counted, as it follows from others: the column `repeats` of `claims.csv` says which."""

_EVERYWHERE: Final = ("ordering", "monotone", "shape", "<=", "close to", "exists")
_PAPERS: Final = {"ye.": "ASTRAEA", "gavel.": "Gavel", "wang.": "the market", "themis.": "Themis"}
"""The papers, by the beginning of their statements' identifiers."""

_IN_FULL: Final = {
    r"\((\d+ of \d+) there\)": r"(\1 tested)",
    r"flat to (.+?), less than (\d+) % above": r"up to \1 at most \2 % above",
    r"a larger class lies above a smaller one by at most (\S+) points": (
        r"at any running time, at most \1 points more of the larger gangs have finished than of the smaller ones"
    ),
    r"sizes at which somebody waits and the two differ": "sizes at which jobs wait and the two differ",
}

RULES: Final[dict[str, Callable[..., Judged]]] = {
    name: function
    for module in (rules, ye2022, gavel, market)
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__ and not name.startswith("_")
}
"""Every rule by its name."""


class Statement(NamedTuple):
    """A check of a statement: the rule, the table and its rows, and the trace, if it is not each there is."""

    judge: partial[Judged]
    table: str
    on: str
    where: Mapping[str, Any]

    @property
    def has_many(self) -> bool:
        """Return true if it is about several printed values at once."""
        return self.judge.func is rules.printed_values

    def source(
        self, read: Callable[[str], pd.DataFrame], papers: Mapping[str, float], trace: str, id: str, reading: str = ""
    ) -> Source:
        """Return the rows on a trace, of one reading if it is named; `papers` are as of `published_values`."""
        where = {**self.where, "reading": reading} if reading else self.where
        return Source(read, papers, self.table, self.on or trace, id, where)


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
    path = ROOT / "data" / "claims.csv"
    return _as_text(path, path.stat().st_mtime_ns).copy()


def published_values() -> dict[str, float]:
    """Values that the papers print, by the identifiers of their statements, in the statements' units."""
    printed = read_claims().query("value != ''")
    return dict(zip(printed["id"], printed["value"].astype(float), strict=True))


def evaluate(folder: str | Path, about: str = "") -> pd.DataFrame:
    """Measure the statements on the tables behind the figures, the files ``<id>_<trace>.csv`` of a folder.

    `about` is a regular expression that identifiers begin with. A row is for a statement, a trace and a reading, in the
    order of `claims.csv`. The columns are `COLUMNS`, all text but `value`: our value in the unit of the paper's, or
    not a number. `InputError` if a table lacks a column.
    """
    claims = read_claims()
    chosen = claims[claims["id"].str.match(about)]
    folder = Path(folder)
    read, papers = reader(folder), published_values()
    rows = []
    tables = sorted(path.stem for path in folder.glob("*_*.csv"))
    for claim in chosen.to_dict("records"):
        id, relation = claim["id"], claim["relation"]
        paper = f"{claim['value']} {claim['unit']}".strip() if relation != "<=" else f"≤ {claim['value']}"
        paper = f"{relation} {paper}" if relation in ("<", ">", "up to", "close to") else paper
        where, statement = f"{claim['source'].split()[0]} {claim['where']}", f"{claim['subject']}: {claim['metric']}"
        for trace in _traces(tables, id, claim["trace"], relation):
            for k, (reading, measured, value, verdict, missing) in enumerate(_judged(id, read, papers, trace)):
                kind, ours = _kind(claim, trace, k), (measured, value, str(verdict), missing)
                rows.append((id, where, trace, reading, kind, statement, paper or relation, *ours))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _kind(claim: Mapping[Hashable, str], trace: str, reading: int) -> str:
    """Kind of a check; `reading` counts from 0. A statement that repeats itself is the same in each reading."""
    if claim["repeats"] and (claim["repeats"] != claim["id"] or reading > 0):
        return REPEATED
    return "result" if claim["kind"] == "given" and trace not in SYNTHETIC else claim["kind"]


def _judged(
    id: str, read: Callable[[str], pd.DataFrame], papers: Mapping[str, float], trace: str
) -> list[tuple[str, str, float, Verdict, str]]:
    """Reading, what was measured, as text and as a number, verdict, and what is missing."""
    if id not in STATEMENTS:
        return [("", "", math.nan, Verdict.NOT_YET, "")]
    statement = STATEMENTS[id]
    found, missing = [], ""
    for reading in statement.source(read, papers, trace, id).readings:
        try:
            measured, verdict, *value = statement.judge(statement.source(read, papers, trace, id, reading))
            found.append((reading, measured, value[0] if value else math.nan, verdict, ""))
        except Absent as err:
            missing = str(err)  # in this reading there is no such scheduler
        except Missing as err:
            found.append((reading, "", math.nan, Verdict.NOT_YET, str(err)))
    return found or [("", "", math.nan, Verdict.NOT_YET, missing)]


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


def counted(table: pd.DataFrame) -> pd.DataFrame:
    """Checks of the table of `evaluate` that count: none that repeats another, and each once for one log.

    Workloads that are cut from one log (`w2`, `chrslo` and `philly-vcs` are Philly's) are one check with the worst of
    their verdicts; what is not yet there counts if nothing of the statement is.
    """
    table = table[table["kind"] != REPEATED].reset_index(drop=True)
    log = table["trace"].map(lambda trace: "philly's" if FETCHED.get(trace, "").startswith("philly-") else trace)
    keys = table[["id", "reading"]].assign(log=log, rank=table["verdict"].map([*Verdict].index))
    there = table["verdict"] != Verdict.NOT_YET
    keys = keys[there | ~there.groupby([keys["id"], keys["log"]]).transform("any")]
    worst = keys.sort_values("rank", kind="stable").drop_duplicates(["id", "log", "reading"], keep="last").index
    return table.loc[worst.sort_values()]


def in_words(verdicts: pd.Series[str]) -> str:
    """Count verdicts, the best first: ``3 hold and 1 does not hold``."""
    found = verdicts.value_counts()
    return listed(f"{found[v]} {words[int(found[v] > 1)]}" for v, words in WORDS.items() if v in found)


def in_full(measured: str) -> str:
    """Write out what the rules put tersely: how many schedulers were tested, where a curve is flat, and the like."""
    for terse, full in _IN_FULL.items():
        measured = re.sub(terse, full, measured)
    return measured


def counts(table: pd.DataFrame) -> list[str]:
    """Count the verdicts on each paper, in sentences; none for a paper of which nothing is there.

    Each reading is counted for itself, and apart from results what else there is of `KINDS`; checks are those of
    `counted`.
    """
    sentences = []
    table = counted(table)
    for prefix, paper in _PAPERS.items():
        mine = table[table["id"].str.startswith(prefix)]
        which = mine["kind"].map(KINDS).where(mine["kind"] != "result", mine["reading"])
        for name in sorted(which.unique(), key=lambda name: (name in KINDS.values(), name != "")):
            some = mine[which == name]
            if (some["verdict"] != Verdict.NOT_YET).any():
                checks = f"{len(some)} checks of {some['id'].nunique()} statements"
                sentences.append(f"{paper}{name and f', {name}'}: of {checks}, {in_words(some['verdict'])}.")
    return sentences
