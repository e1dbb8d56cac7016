"""Confidence in verdicts: the same rule on tables whose seeds, trials or weeks are resampled with replacement.

Each seed, or trial, of a table stands for those that might have been. A recorded log has one run; its weeks of
submission are drawn instead, on the tables that those of `WEEKS` allow to put together again. Tables of one trace are
drawn alike. A backlog carries over from week to week, so that weeks are less independent than seeds.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import multinomial

from papers.claims.checks import STATEMENTS
from papers.claims.evaluate import read_claims
from papers.claims.frozen import code, rules_hash
from papers.judging import Judged, Missing, Source, Verdict, reader

DRAWS: Final = 1000
"""Resamples of a statement; where no more can be told apart, each of them is judged once and counts as it is likely."""

SURE: Final = 0.9
"""Below this share of resamples a verdict is marked."""

FEWEST_WEEKS: Final = 3
"""Least length of a log that is resampled."""

NAME: Final = "probabilities.csv"
"""File of a folder that keeps what was found, with a digest of what it was found from."""

_KEY: Final = ["id", "trace", "reading"]
WEEKS: Final = {
    **dict.fromkeys(("table10", "table11", "table12", "fig13"), "weeks"),
    "fig09": "fig09-weeks", "fig14": "fig14-weeks",
}  # fmt: skip
"""Figures that have a row for each run, and the figure with their weeks, of one run each on a recorded log."""

_OF_A_WEEK: Final = ("figure", "week", "mean", "n")

Counts = NDArray[np.int64]
"""Number of times that each part of a table is drawn."""


class Parts(NamedTuple):
    """A table in parts, and what it would be if each of them had come so often."""

    many: int
    what: str
    drawn: Callable[[Counts], pd.DataFrame]


def rows_of(frame: pd.DataFrame, column: str) -> Parts:
    """Split a table into seeds or trials; each copy of one gets its own number, and rows without one stay once."""
    codes, numbers = pd.factorize(frame[column], sort=True)

    def drawn(counts: Counts) -> pd.DataFrame:
        times = np.where(codes < 0, 1, counts[codes])
        rows = np.repeat(np.arange(len(frame)), times)
        copies = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
        labels = np.where(codes[rows] < 0, np.nan, codes[rows] + len(numbers) * copies)
        return frame.take(rows).set_axis(pd.RangeIndex(len(rows))).assign(**{column: labels})

    return Parts(len(numbers), f"{column}s", drawn)


def weeks_of(frame: pd.DataFrame, weeks: pd.DataFrame) -> Parts:
    """Split a table with a row per run into weeks, as `tables.weekly_figures` and `weekly_jobs` have them.

    Runs are told apart by the columns that the weeks have beside these.
    """
    of_a_run = [column for column in weeks if column not in _OF_A_WEEK]
    sums = weeks.assign(total=(weeks["mean"] * weeks["n"]).fillna(0.0))
    wide = sums.pivot_table(
        index=["figure", *of_a_run], columns="week", values=["total", "n"], aggfunc="sum", fill_value=0
    )
    runs = pd.MultiIndex.from_frame(frame[of_a_run])
    figures = [name for name in wide.index.unique("figure") if name in frame]
    mine = {name: wide.loc[name].reindex(runs) for name in figures}
    totals = {name: (part["total"].to_numpy(), part["n"].to_numpy()) for name, part in mine.items()}

    def drawn(counts: Counts) -> pd.DataFrame:
        with np.errstate(invalid="ignore"):
            means = {name: (total @ counts) / (n @ counts) for name, (total, n) in totals.items()}
        return frame[[*of_a_run, "seed"]].assign(**means)

    return Parts(weeks["week"].nunique(), "weeks of submission", drawn)


def parts_of(name: str, frame: pd.DataFrame, read: Callable[[str], pd.DataFrame]) -> Parts | str:
    """Return the parts of a table, or why it has none."""
    for column in ("seed", "trial"):
        if column in frame and (parts := rows_of(frame, column)).many > 1:
            return parts
    table, _, trace = name.removesuffix(".csv").partition("_")
    if table in WEEKS:
        with contextlib.suppress(Missing):
            weeks = read(f"{WEEKS[table]}_{trace}.csv")
            many = weeks["week"].nunique()
            return weeks_of(frame, weeks) if many >= FEWEST_WEEKS else f"a log of {many} week{'s' if many > 1 else ''}"
    return "one run" if {"seed", "trial"} & set(frame) else "neither seeds nor trials"


def draws(many: Sequence[int], name: str) -> Iterator[tuple[float, list[Counts]]]:
    """Yield a probability and how often each part of each group is drawn; `many` are the parts of each group.

    These are all draws that can be told apart, if they are at most `DRAWS`; else `DRAWS` from a generator that a name
    seeds.
    """
    if math.prod(math.comb(2 * n - 1, n) for n in many) <= DRAWS:
        for some in itertools.product(*(_all(n) for n in many)):
            yield math.prod(p for p, _ in some), [counts for _, counts in some]
    else:
        rng = np.random.default_rng(int(sha256(name.encode()).hexdigest()[:16], 16))
        for counts in zip(*(rng.multinomial(n, np.full(n, 1 / n), DRAWS) for n in many), strict=True):
            yield 1 / DRAWS, list(counts)


@cache
def _all(n: int) -> list[tuple[float, Counts]]:
    counts = np.array([np.bincount(c, minlength=n) for c in itertools.combinations_with_replacement(range(n), n)])
    return list(zip(multinomial(n, np.full(n, 1 / n)).pmf(counts).tolist(), counts, strict=True))


def probability(judge: Callable[[Source], Judged], source: Source) -> tuple[float, str]:
    """Return the share of resamples with the same verdict, and what was drawn; NaN, and why, without resamples."""
    verdict, tables = _judged(judge, source)
    parts = {name: parts_of(name, frame, source.read) for name, frame in tables.items()}
    drawn = {name: found for name, found in parts.items() if isinstance(found, Parts)}
    if not drawn:
        return math.nan, str(next(iter(parts.values())))
    alike = {name: (name.partition("_")[2], found.many, found.what) for name, found in drawn.items()}
    groups = list(dict.fromkeys(alike.values()))
    same = 0.0
    for weight, counts in draws([many for _, many, _ in groups], source.id):
        redrawn = {name: found.drawn(counts[groups.index(alike[name])]) for name, found in drawn.items()}
        same += weight * (_judged(judge, replace(source, read=(tables | redrawn).__getitem__))[0] == verdict)
    return round(same, 6), ", ".join(dict.fromkeys(f"{many} {what}" for _, many, what in groups))


def _judged(judge: Callable[[Source], Judged], source: Source) -> tuple[Verdict, dict[str, pd.DataFrame]]:
    """Return the verdict and the rows that it was read from, by table."""
    tables = {}

    def read(name: str) -> pd.DataFrame:
        if name not in tables:
            frame = source.read(name)
            for column, value in source.where.items():
                if column in frame:
                    frame = frame[frame[column].isin(value if isinstance(value, list) else [value])]
            tables[name] = frame
        return tables[name]

    try:
        return judge(replace(source, read=read))[1], tables
    except Missing:
        return Verdict.NOT_YET, tables


def with_probability(claims: pd.DataFrame, folder: str | Path) -> pd.DataFrame:
    """Add to the table of `evaluate` the share of resamples with the same verdict, and what was resampled.

    `same` is in [0, 1], and NaN where `resampled` says why nothing was; `digest` tells what both were found from. What
    the file `NAME` of the folder has of the same rules and tables is taken from there.
    """
    folder = Path(folder)
    read, papers, known = reader(folder), _published(), _known(folder / NAME)
    rules = rules_hash() + code(Path(__file__).read_text(encoding="utf-8"))
    found = []
    for row in claims.to_dict("records"):
        if row["verdict"] == Verdict.NOT_YET:
            found.append((math.nan, "", ""))
            continue
        judge, table, on, where = STATEMENTS[row["id"]]
        where = {**where, "reading": row["reading"]} if row["reading"] else where
        source = Source(read, papers, table, on or row["trace"], row["id"], where)
        digest = _digest(rules, row, [folder / name for name in _judged(judge, source)[1]])
        found.append(known.get(digest) or (*probability(judge, source), digest))
    return claims.assign(**pd.DataFrame(found, claims.index, ["same", "resampled", "digest"]))


def as_csv(claims: pd.DataFrame) -> str:
    """Return the text of the file `NAME` for claims with their probability."""
    some = claims.loc[claims["digest"] != "", [*_KEY, "verdict", "same", "resampled", "digest"]]
    return str(some.to_csv(index=False, float_format="%.6g", lineterminator="\n"))


def _published() -> dict[str, float]:
    claims = read_claims()
    return {i: float(v) for i, v in zip(claims["id"], claims["value"], strict=True) if v}


def _known(path: Path) -> dict[str, tuple[float, str, str]]:
    if not path.is_file():
        return {}
    rows = pd.read_csv(path, dtype={"digest": str}).to_dict("records")
    return {row["digest"]: (row["same"], row["resampled"], row["digest"]) for row in rows}


def _digest(rules: str, row: Mapping[Any, Any], tables: Sequence[Path]) -> str:
    """Digest what a probability is found from: rules, statement, tables, and the weeks of their traces."""
    split = [(path, *path.name.partition("_")[::2]) for path in tables]
    weeks = {path.with_name(f"{WEEKS[table]}_{trace}") for path, table, trace in split if table in WEEKS}
    files = [path for path in (*sorted(tables), *sorted(weeks)) if path.is_file()]
    digests = [sha256(path.read_bytes()).hexdigest() for path in files]
    return sha256(" ".join([rules, *(row[key] for key in _KEY), *digests]).encode()).hexdigest()[:12]
