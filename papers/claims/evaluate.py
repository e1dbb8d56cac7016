"""The papers' statements against the tables behind the figures: `evaluate(folder)` simulates nothing.

`claims.toml` of each paper says which table a statement is checked on. The docstring of its rule defines "holds" and
"holds in direction"; anything else does not hold. A statement is "not yet" judged while something is missing from its
tables. One about all seven schedulers that is true of fewer "holds of those there"; if it is false of them, it fails.

A statement with a value about Venus or Philly is checked on that trace only, synthetic or whole and real (`SAME`);
orderings, monotone trends, shapes and bounds on every trace of the folder. One whose table has several readings of the
evaluation (its column `reading`) is judged in each of them that has the schedulers in question.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import pandas as pd

from astraea.core.wording import listed
from papers import ROOT
from papers.claims.checks import judged, kind_of, traces_of
from papers.judging import Verdict, reader
from papers.market import workload as markets
from papers.ye2022 import readings as clusters

COLUMNS: Final = (
    "id", "where", "trace", "reading", "kind", "statement", "paper", "measured", "value", "verdict", "note",
)  # fmt: skip
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

_RELATIONS: Final = {"=": "", "<=": "≤"}
_BOUNDS: Final = ("<", "<=", ">", "up to", "close to")
_IN_FULL: Final = {
    r"\((\d+ of \d+) there\)": r"(\1 tested)",
    r"flat to (.+?), less than (\d+) % above": r"at \1 under \2 % above the lowest",
    r"a larger class lies above a smaller one by at most (\S+) points": (
        r"at no running time is the share of larger gangs that have ended over \1 points above that of smaller ones"
    ),
        r"sizes at which somebody waits and the two differ": "sizes at which jobs wait and the two differ",
    r"no ratio: Astraea (\S+), (\S+) ([^\s;]+)": r"no ratio, because \2 earns \3 and Astraea \1",
    r"no ratio: (\S+ to \S+)": r"no ratio, because revenue is \1",
}


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
        where, statement = f"{claim['source'].split()[0]} {claim['where']}", f"{claim['subject']}: {claim['metric']}"
        for trace in traces_of(tables, id, claim["trace"], relation):
            for k, (reading, measured, value, verdict, missing) in enumerate(judged(id, read, papers, trace)):
                kind, ours = kind_of(claim, trace, k), (measured, value, str(verdict), missing)
                rows.append((id, where, trace, reading, kind, statement, _printed(claim), *ours))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _printed(claim: Mapping[Hashable, str]) -> str:
    """Write what a paper prints, with its unit; the relation where the statement is no value."""
    relation = _RELATIONS.get(claim["relation"], claim["relation"])
    if not claim["value"]:
        return relation or "as stated"
    number = f"{claim['value']} {claim['unit']}".strip()
    return f"{relation} {number}".strip() if claim["relation"] in _BOUNDS else number


@cache
def _as_text(path: Path, changed: int) -> pd.DataFrame:
    """A table of text, read once for each of its states."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def in_words(verdicts: pd.Series[str]) -> str:
    """Count verdicts, the best first: ``3 hold and 1 does not hold``."""
    found = verdicts.value_counts()
    return listed(f"{found[v]} {words[int(found[v] > 1)]}" for v, words in WORDS.items() if v in found)


def in_full(measured: str) -> str:
    """Write out what the rules put tersely: how many schedulers were tested, where a curve is flat, and the like."""
    for terse, full in _IN_FULL.items():
        measured = re.sub(terse, full, measured)
    return measured
