"""Verdicts on statements: beside what the paper says, in a sentence, and counted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import pandas as pd

from astraea.traces.synthetic import SYNTHETIC
from papers.claims.evaluate import MARKS, READINGS, STATEMENTS, WORDS, counted, in_words, read_claims
from papers.claims.resampling import DRAWS, SURE
from papers.gallery.captions import PAPERS
from papers.judging import Verdict

STEADY: Final = 0.95
"""Share of resamples from which on a result counts as the same in nearly all."""

FEW: Final = 3
"""Seeds, trials or weeks up to which resamples say little."""

_WITH_VALUE: Final = ("=", "<", ">", "<=", "up to", "close to", "shape")


def side_by_side(claims: pd.DataFrame, more: Sequence[str] = ()) -> pd.DataFrame:
    """A row for each statement and trace: what was measured with its verdict, in each reading that there is.

    The column `notes` lists the notes of the readings.
    """
    rows = []
    readings = set(claims["reading"])
    headings = [reading or "measured" for reading in (*READINGS, "") if reading in readings]
    for _, mine in claims.groupby(["id", "trace"], sort=False):
        row = mine.iloc[0][[*more, "trace", "statement", "paper"]].to_dict() | dict.fromkeys(headings, "")
        found = mine.to_dict("records")
        for each in found:
            judged = Verdict(each["verdict"])
            verdict = f"{MARKS[judged]} {WORDS[judged][0]}{_sure(each.get('same'))}"
            row[each["reading"] or "measured"] = f"{verdict}: {each['measured']}".removesuffix(": ")
        notes = {each["note"]: each["reading"] for each in reversed(found) if each["note"]}
        row["notes"] = [f"*{reading}:* {note}" if len(found) > 1 else note for note, reading in reversed(notes.items())]
        rows.append(row)
    return pd.DataFrame(rows)


def _sure(same: float | None) -> str:
    """Write the share of resamples with the same verdict, in brackets; it is not rounded up to 100 %."""
    if same is None or math.isnan(same):
        return ""
    return f" ({math.floor(100 * same + 1e-9)} %{'' if same >= SURE else ', not sure'})"


def how_sure(claims: pd.DataFrame) -> str:
    """Explain the percentages behind verdicts, and why some have none; `claims` are of `with_probability`."""
    drawn, others = (claims.loc[some, "resampled"] for some in (claims["same"].notna(), claims["same"].isna()))
    if drawn.empty:
        return ""
    others = others[others != ""]
    whys = ", ".join(f"{why} ({many})" for why, many in others.value_counts().items())
    few = drawn.str.extractall(r"(\d+) ")[0].astype(int).min() <= FEW
    chance = " From only two or three it may give the same verdict by chance." if few else ""
    shown = f"Of the {len(drawn) + len(others)} verdicts shown, with those of repeated statements and of examples,"
    return (
        f"The percentage in brackets is the share of {DRAWS:,} resamples that give the same verdict; "
        f"below {100 * SURE:.0f} % the verdict is *not sure*. "
        f"A resample draws with replacement from the {_drawn(drawn)}.{chance}"
    ) + (f" {shown} {len(others)} cannot be resampled: {whys}." if whys else "")


def _drawn(words: pd.Series[str]) -> str:
    """Name each kind that is drawn: ``seeds (2 or 5) or trials (3)`` of "5 seeds, 2 seeds" and "3 trials"."""
    parts = words.str.split(", ").explode().str.split(" ", n=1)
    many = parts.str[0].astype(int).groupby(parts.str[1]).unique()
    numbers = {what: [f"{n}" for n in sorted(some)] for what, some in many.items()}
    return _either([f"{what} ({_either(some)})" for what, some in numbers.items()])


def _either(words: Sequence[str]) -> str:
    """Join alternatives: ``2, 3 or 5``."""
    return " or ".join(word for word in (", ".join(words[:-1]), words[-1]) if word)


def steady(claims: pd.DataFrame) -> str:
    """Count, in a sentence, the results that are the same in nearly all resamples of `with_probability`."""
    some = counted(claims)
    results = some.loc[some["kind"] == "result", "same"].dropna()
    if results.empty:
        return ""
    return (
        f"Of {len(results)} results that can be resampled, {(results >= STEADY).sum()} are the same "
        f"in at least {100 * STEADY:.0f} % of resamples, and {(results < SURE).sum()} are not sure."
    )


def summary(claims: pd.DataFrame) -> str:
    """Count, in a sentence, the verdicts on all results, each counted once."""
    some = counted(claims)
    results = some.loc[some["kind"] == "result", "verdict"]
    return f"Of {len(results)} checks that can fail, {in_words(results)}." if len(results) else ""


def with_footnotes(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Replace notes by numbers; return the table, and the notes as a numbered list."""
    notes = list(dict.fromkeys(note for some in table["notes"] for note in some))
    numbers = [", ".join(str(notes.index(note) + 1) for note in some) for some in table["notes"]]
    shown = table.drop(columns="notes")
    return (shown.assign(note=numbers) if notes else shown), [f"{k}. {note}" for k, note in enumerate(notes, 1)]


def finding(claims: pd.DataFrame) -> str:
    """Sum up the statements on a figure in a line: the first with a value in the paper, and how many hold.

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
        said = _each(mine, mine["verdict"].map(lambda verdict: WORDS[verdict][0]))
    tally = f" {_tally(claims['verdict'])}" if len(claims) > len(mine) else ""
    on = f" ({row['trace']})" if row["trace"] in SYNTHETIC or row["reading"] else ""
    return f"{row['statement']}{on}: {said}.{tally}"


def _each(mine: pd.DataFrame, words: pd.Series[str]) -> str:
    """Words of each reading, with its name."""
    both = zip(words, mine["reading"], strict=True)
    return ", ".join(f"{word} ({reading})" if reading else word for word, reading in both)


def _tally(verdicts: pd.Series[str]) -> str:
    """Count the verdicts in a sentence."""
    if (verdicts == Verdict.HOLDS).all():
        return f"All {len(verdicts)} checks hold."
    return f"Of {len(verdicts)} checks {in_words(verdicts)}."


def tally(claims: pd.DataFrame, link: Mapping[str, str]) -> pd.DataFrame:
    """Count verdicts: a row for each paper and reading, and the sum; `link` says where the page of a paper is.

    Checks are those of `counted`. `can fail` are results; the others of `KINDS` say little if they hold, and their
    verdicts are in the column behind. In each row the verdicts add up to the results.
    """
    claims, rows = counted(claims), []
    for paper in PAPERS:
        mine = claims[claims["id"].str.startswith(paper.prefix)]
        if (mine["verdict"] == Verdict.NOT_YET).all():
            continue
        place = link.get(paper.key)
        name = f"[{paper.title}]({place})" if place else paper.title
        readings = mine["reading"].unique()
        for reading in (*(x for x in READINGS if x in readings), *(x for x in readings if x == "")):
            some = mine[mine["reading"] == reading]
            results = some[some["kind"] == "result"]
            fixed = len(some) - len(results)
            held = (some.loc[some["kind"] != "result", "verdict"] == Verdict.HOLDS).sum()
            rows.append({
                "paper": name, "reading": reading or "alike in both" * (len(readings) > 1), "checks": len(some),
                "cannot fail": fixed, "of them hold": held, "can fail": len(results),
                **{f"{MARKS[v]} {words[1]}": (results["verdict"] == v).sum() for v, words in WORDS.items()},
            })  # fmt: skip
    table = pd.DataFrame(rows)
    if table.empty:
        return table
    total = {"paper": "**all**", "reading": "", **table.drop(columns=["paper", "reading"]).sum().to_dict()}
    return pd.concat([table, pd.DataFrame([total])], ignore_index=True)
