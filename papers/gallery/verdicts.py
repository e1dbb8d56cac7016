"""Verdicts on statements: beside what the paper says, in a sentence, and counted."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Final

import pandas as pd

from astraea.traces.synthetic import SYNTHETIC
from papers.claims.evaluate import GIVEN, READINGS, STATEMENTS, between_readings, read_claims
from papers.gallery.captions import PAPERS, Paper
from papers.judging import Verdict
from papers.market.readings import READINGS as MARKETS
from papers.ye2022.readings import READINGS as CLUSTERS

MARKS: Final = dict(zip(Verdict, "✓≈✗–", strict=True))
_WORDS: Final = {
    Verdict.HOLDS: ("holds", "hold"),
    Verdict.DIRECTION: ("holds in direction", "hold in direction"),
    Verdict.OTHERWISE: ("does not hold", "do not hold"),
    Verdict.NOT_YET: ("is not there yet", "are not there yet"),
}
_WITH_VALUE: Final = ("=", "<", ">", "<=", "up to", "shape")

GIVEN_KIND: Final = "what the synthetic traces are made to have"
KINDS: Final = (
    GIVEN_KIND,
    "worked examples",
    "properties that are claimed",
    *(f"results {reading}, {which} traces" for reading in CLUSTERS for which in ("synthetic", "real")),
    *(f"results {reading}" for reading in MARKETS),
    "results, whichever the reading",
    "results",
)
"""Kinds of statement, in the order of the page."""


def side_by_side(claims: pd.DataFrame, more: Sequence[str] = ()) -> pd.DataFrame:
    """A row for each statement and trace: what was measured with its verdict, in each reading that there is.

    The column `notes` lists what each reading's note says, and what the difference between the two comes from.
    """
    differences, rows = between_readings(), []
    readings = set(claims["reading"])
    headings = [reading or "measured" for reading in (*READINGS, "") if reading in readings]
    for (id, _), mine in claims.groupby(["id", "trace"], sort=False):
        row = mine.iloc[0][[*more, "trace", "statement", "paper"]].to_dict() | dict.fromkeys(headings, "")
        found = mine.to_dict("records")
        for each in found:
            verdict = f"{MARKS[Verdict(each['verdict'])]} {each['verdict']}"
            row[each["reading"] or "measured"] = f"{verdict}: {each['measured']}".removesuffix(": ")
        notes = {each["note"]: each["reading"] for each in reversed(found) if each["note"]}
        row["notes"] = [f"{reading}: {note}" if len(found) > 1 else note for note, reading in reversed(notes.items())]
        row["notes"] += [differences[str(id)]] if id in differences else []
        rows.append(row)
    return pd.DataFrame(rows)


def with_footnotes(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Put numbers in the place of notes; the table, and the notes as a numbered list."""
    notes = list(dict.fromkeys(note for some in table["notes"] for note in some))
    numbers = [", ".join(str(notes.index(note) + 1) for note in some) for some in table["notes"]]
    shown = table.drop(columns="notes")
    return (shown.assign(note=numbers) if notes else shown), [f"{k}. {note}" for k, note in enumerate(notes, 1)]


def finding(claims: pd.DataFrame) -> str:
    """What came of the statements on a figure, in a line: the first with a value in the paper, and how many hold.

    `claims` are rows of `evaluate` in their order.
    """
    there = claims[claims["verdict"] != Verdict.NOT_YET]
    if there.empty:
        return "nothing is measured yet." if len(claims) else ""
    relation = read_claims().set_index("id")["relation"]
    printed = there["id"].map(relation).isin(_WITH_VALUE) & ~there["id"].map(lambda id: STATEMENTS[id].has_many)
    row = there[printed].iloc[0] if printed.any() else there.iloc[0]
    mine = there[(there["id"] == row["id"]) & (there["trace"] == row["trace"])]
    if printed.any():
        said = f"paper {row['paper']} | here {_each(mine, mine['measured'].str.partition(';')[0])}"
    else:
        said = _each(mine, mine["verdict"])
    tally = f" {_tally(claims['verdict'])}" if len(claims) > len(mine) else ""
    on = f" ({row['trace']})" if row["trace"] in SYNTHETIC or row["reading"] else ""
    return f"{row['statement']}{on}: {said}.{tally}"


def _each(mine: pd.DataFrame, words: pd.Series[str]) -> str:
    """Words of each reading, with its name."""
    return ", ".join(f"{word} {reading}".strip() for word, reading in zip(words, mine["reading"], strict=True))


def _tally(verdicts: pd.Series[str]) -> str:
    """How many checks got which verdict, in a sentence."""
    found = verdicts.value_counts()
    if set(found.index) == {Verdict.HOLDS}:
        return f"All {len(verdicts)} checks hold."
    parts = [f"{found[v]} {words[int(found[v] > 1)]}" for v, words in _WORDS.items() if v in found]
    return f"Of {len(verdicts)} checks {', '.join(parts)}."


def table_of_kinds(claims: pd.DataFrame, link: Mapping[str, str]) -> pd.DataFrame:
    """Papers and kinds of statement with the number of each verdict; `link` says where the page of a paper is."""
    relation = read_claims().set_index("id")["relation"]
    rows = []
    for paper in PAPERS:
        mine = claims[claims["id"].str.startswith(paper.prefix)]
        if (mine["verdict"] == Verdict.NOT_YET).all():
            continue
        kinds = pd.Series([_kind(paper, row, relation[row["id"]]) for row in mine.to_dict("records")], mine.index)
        for kind in KINDS:
            some = mine[kinds == kind]
            if len(some):
                place = link.get("real_traces" if kind.endswith("real traces") else paper.key)
                name = f"[{paper.title}]({place})" if place else paper.title
                numbers = {f"{MARKS[v]} {v}": (some["verdict"] == v).sum() for v in Verdict}
                rows.append({"paper": name, "statements about": kind, "statements": some["id"].nunique(),
                             "checks": len(some), **numbers})  # fmt: skip
    return pd.DataFrame(rows)


def _kind(paper: Paper, row: Mapping[Hashable, str], relation: str) -> str:
    is_real = row["trace"] not in SYNTHETIC
    if row["id"].startswith(GIVEN) and not is_real:
        return GIVEN_KIND
    if row["trace"] == "example":
        return "worked examples"
    if relation == "property":
        return "properties that are claimed"
    if row["reading"] in MARKETS:
        return f"results {row['reading']}"
    if row["reading"]:
        return f"results {row['reading']}, {'real' if is_real else 'synthetic'} traces"
    return "results, whichever the reading" if paper.key == "ye2022" else "results"
