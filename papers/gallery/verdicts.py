"""Verdicts on statements: beside what the paper says, in a sentence, and counted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import pandas as pd

from astraea.core.wording import listed
from astraea.traces.synthetic import SYNTHETIC
from papers.claims.checks import REPEATED, STATEMENTS, counted
from papers.claims.evaluate import MARKS, READINGS, WORDS, in_full, in_words, read_claims
from papers.claims.resampling import DRAWS, SURE
from papers.gallery.captions import PAPERS
from papers.judging import Verdict

STEADY: Final = 0.95
"""Share of resamples from which on a result counts as the same in nearly all."""

FEW: Final = 3
"""Seeds, trials or weeks up to which resamples say little."""

WHY_NOT: Final = {
    "neither seeds nor trials": "tables without seeds or trials",
    "one run": "a single run",
}
"""In words, where verdicts come from that are not resampled; other reasons are in words: ``a log of 2 weeks``."""

EXPLAINED: Final = {
    Verdict.OF_THOSE: "*For those tested* means that some schedulers of the statement could not be tested.",
    Verdict.DIRECTION: (
        "*In direction* means that a weaker form of the statement holds: for example the right order without the right "
        "size, or a first place that is missed by at most 10 %."
    ),
}
"""The verdicts that need words."""

OR: Final = " or "
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
            row[each["reading"] or "measured"] = f"{verdict}: {in_full(each['measured'])}".removesuffix(": ")
        notes = {each["note"]: each["reading"] for each in reversed(found) if each["note"]}
        row["notes"] = [f"*{reading}:* {note}" if len(found) > 1 else note for note, reading in reversed(notes.items())]
        rows.append(row)
    return pd.DataFrame(rows)


def _sure(same: float | None) -> str:
    """Write the share of resamples with the same verdict, in brackets; it is not rounded up to 100 %."""
    if same is None or math.isnan(same):
        return ""
    return f" ({math.floor(100 * same + 1e-9)} %{'' if same >= SURE else ', not sure'})"


def explained(claims: pd.DataFrame) -> str:
    """Explain those verdicts that need words."""
    return " ".join(words for verdict, words in EXPLAINED.items() if verdict in {*claims["verdict"]})


def how_sure(claims: pd.DataFrame) -> str:
    """Explain the percentages behind verdicts, and why some have none; `claims` are of `with_probability`."""
    drawn, others = (claims.loc[some, "resampled"] for some in (claims["same"].notna(), claims["same"].isna()))
    if drawn.empty:
        return ""
    others = others[others != ""]
    reasons = others.value_counts()
    counts = [(f"{many} come{'s' if many == 1 else ''}" if len(reasons) > 1 else "they come") for many in reasons]
    whys = [f"{count} from {WHY_NOT.get(why, why)}" for count, why in zip(counts, reasons.index, strict=True)]
    numbers = _drawn(drawn)
    few = {what: [n for n in some if n <= FEW] for what, some in numbers.items()}
    rare = listed((f"{listed(some, OR)} {what}" for what, some in few.items() if some), OR)
    kinds = listed((f"{what} ({listed(some, OR)})" for what, some in numbers.items()), OR)
    sentences = [
        f"The percentage behind a verdict is the share of {DRAWS:,} resamples with the same verdict. Below "
        f"{100 * SURE:.0f} % the verdict is *not sure*.",
        f"A resample draws with replacement from the {kinds}.",
        f"With only {rare}, a high percentage may be luck." if rare else "",
        _shown(claims),
        f"{len(others)} verdicts cannot be resampled: {listed(whys, ', and ')}." if whys else "",
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _drawn(words: pd.Series[str]) -> dict[str, list[int]]:
    """Return how many there are of each kind that is drawn: 2 and 5 of ``seeds`` in "5 seeds, 2 seeds"."""
    parts = words.str.split(", ").explode().str.split(" ", n=1)
    many = parts.str[0].astype(int).groupby(parts.str[1]).unique()
    return {str(what): sorted(some) for what, some in many.items()}


def _shown(claims: pd.DataFrame) -> str:
    """Count the verdicts that are shown, and say why fewer are counted."""
    there, once = (some[some["verdict"] != Verdict.NOT_YET] for some in (claims, counted(claims)))
    repeats = (there["kind"] == REPEATED).sum()
    whys = ["repeated statements are not counted"] if repeats else []
    whys += ["workloads that are cut from one log count once"] if len(there) > len(once) + repeats else []
    fewer = f", of which {len(once)} are counted: {listed(whys, ', and ')}" if whys else ""
    return f"The tables show {len(there)} verdicts{fewer}."


def steady(claims: pd.DataFrame) -> str:
    """Count, in a sentence, the results that are the same in nearly all resamples of `with_probability`."""
    some = counted(claims)
    results = some.loc[some["kind"] == "result", "same"].dropna()
    if results.empty:
        return ""
    return (
        f"Seeds, trials or weeks can be resampled for {len(results)} of the verdicts that can fail. Of these, "
        f"{(results >= STEADY).sum()} stay the same in at least {100 * STEADY:.0f} % of the resamples, and "
        f"{(results < SURE).sum()} in fewer than {100 * SURE:.0f} %."
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
    ended = [note if note.endswith(".") else f"{note}." for note in notes]
    return (shown.assign(note=numbers) if notes else shown), [f"{k}. {note}" for k, note in enumerate(ended, 1)]


def finding(claims: pd.DataFrame) -> str:
    """Sum up the statements on a figure: quote the first with a value in the paper, and count how many hold.

    `claims` are rows of `evaluate` in their order.
    """
    there = claims[claims["verdict"] != Verdict.NOT_YET]
    if there.empty:
        return "nothing is measured yet." if len(claims) else ""
    if (there["kind"] == "example").all():
        return _tally(claims["verdict"])
    relation = read_claims().set_index("id")["relation"]
    printed = there["id"].map(relation).isin(_WITH_VALUE) & ~there["id"].map(lambda id: STATEMENTS[id].has_many)
    row = there[printed].iloc[0] if printed.any() else there.iloc[0]
    mine = there[(there["id"] == row["id"]) & (there["trace"] == row["trace"])]
    if printed.any():
        ours = _each(mine, mine["measured"].map(in_full).str.partition(";")[0])
        said = f"In the paper: {row['paper']}. Here: {ours}"
    else:
        said = _judged(mine)
    tally = f" {_tally(claims['verdict'])}" if len(claims) > len(mine) else ""
    on = f" ({row['trace']})" if row["trace"] in SYNTHETIC or row["reading"] else ""
    return f"“{row['statement']}”{on}. {said}.{tally}"


def _each(mine: pd.DataFrame, words: pd.Series[str]) -> str:
    """Words of each reading, with its name."""
    if len(mine) > 1 and (words == words.iloc[0]).all():
        return f"{words.iloc[0]} in {'both' if len(mine) == 2 else 'all'} readings"
    both = zip(words, mine["reading"], strict=True)
    return listed(f"{word} (*{reading}*)" if reading else word for word, reading in both)


def _judged(mine: pd.DataFrame) -> str:
    """Say whether a statement holds in each of its readings."""
    words = [WORDS[Verdict(verdict)][0] for verdict in mine["verdict"]]
    if len(words) == 2 and words[0] == words[1]:
        return f"This {words[0]} in both readings".replace("not hold in both readings", "not hold in either reading")
    if not mine["reading"].iloc[0]:
        return f"This {words[0]}"
    pairs = enumerate(zip(words, mine["reading"], strict=True))
    return "; ".join(f"{'in' if k else 'In'} the reading *{reading}* {'it' if k else 'this'} {word}"
                     for k, (word, reading) in pairs)  # fmt: skip


def _tally(verdicts: pd.Series[str]) -> str:
    """Count the verdicts of a figure in a sentence."""
    many, found = len(verdicts), verdicts.unique()
    if many == 1:
        return f"The check of this figure {WORDS[Verdict(found[0])][0]}."
    if [*found] == [Verdict.OTHERWISE]:
        return f"{'Neither check' if many == 2 else f'None of the {many} checks'} of this figure holds."
    if len(found) == 1:
        return f"{'Both' if many == 2 else f'All {many}'} checks of this figure {WORDS[Verdict(found[0])][1]}."
    return f"Of the {many} checks of this figure, {in_words(verdicts)}."


def tally(claims: pd.DataFrame, link: Mapping[str, str]) -> pd.DataFrame:
    """Count verdicts: a row for each paper and reading, and the sum; `link` says where the page of a paper is.

    Checks are those of `counted`. `can fail` are results. The others say little if they hold: what a trace is made to
    have, worked examples, and what is true by construction. Their verdicts are in the column behind. In each row the
    verdicts add up to the results.
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


def by_reading(claims: pd.DataFrame) -> pd.DataFrame:
    """Count the verdicts on one paper: a row for each reading as `tally` has it, and the sum of several rows."""
    counts = tally(claims, {})
    counts = counts.loc[:, (counts != 0).any()]
    if len(counts) <= 2:
        return counts.iloc[:1].drop(columns=["paper", "reading"], errors="ignore")
    last = counts.index == len(counts) - 1
    return counts.assign(reading=counts["reading"].mask(last, "**all**")).drop(columns="paper")
