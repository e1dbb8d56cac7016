"""Building blocks of rules: the tables that statements are measured on, verdicts, and values as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd

from astraea.core.errors import InputError


class Verdict(StrEnum):
    """Verdict on a statement, the best first."""

    HOLDS = "holds"
    OF_THOSE = "holds of those there"
    DIRECTION = "holds in direction"
    OTHERWISE = "does not hold"
    NOT_YET = "not yet"


Measured = tuple[str, Verdict, float]
"""The measurement as text, the verdict, and the value to compare with the paper's, in its unit."""

Judged = tuple[str, Verdict] | Measured
"""The same, without a value where the paper has none or several."""

NEAR: Final = 1.1
CLOSE: Final = 1.05
"""Largest factors between two values that are near each other, and that are close."""

Found = TypeVar("Found", "pd.Series[float]", pd.DataFrame)


class Missing(Exception):
    """A table, or something in it, is missing."""


class Absent(Missing):
    """A scheduler, or a value of another column, is missing from a table."""


def reader(folder: Path) -> Callable[[str], pd.DataFrame]:
    """Return a function that reads a table of a folder by the name of its file, each once; it raises `Missing`."""

    @cache
    def read(name: str) -> pd.DataFrame:
        if not (folder / name).is_file():
            raise Missing(f"{name} is not there")
        return pd.read_csv(folder / name, dtype={"demand": str, "job_id": str, "tenant": str, "scheduler": str})

    return read


@dataclass(frozen=True)
class Source:
    """The rows of one statement on one trace, and what the papers say, by statement.

    `where` gives the value, or a list of values, that columns have in these rows.
    """

    read: Callable[[str], pd.DataFrame]
    papers: Mapping[str, float]
    table: str
    trace: str
    id: str
    where: Mapping[str, Any]

    @property
    def paper(self) -> float:
        """The paper's value."""
        return self.papers[self.id]

    @property
    def readings(self) -> list[str]:
        """Readings that the table has, in its order; one without a name if it does not tell."""
        try:
            frame = self.read(self.file)
        except Missing:
            return [""]
        return frame["reading"].drop_duplicates().to_list() if "reading" in frame else [""]

    @property
    def file(self) -> str:
        """Name of the table's file."""
        return f"{self.table}_{self.trace}.csv"

    def __call__(self, *columns: str) -> pd.DataFrame:
        """Rows that have a value in these columns.

        Raises `Missing` if the table or such a row is not there, and `InputError` if the table lacks a column.
        """
        frame = self.read(self.file)
        needed = [*self.where, *columns]
        lost = [c for c in needed if c not in frame]
        if lost:
            raise InputError(f"{self.file}: column {lost[0]!r} is missing; found {', '.join(map(str, frame.columns))}")
        frame = frame.dropna(subset=needed)
        for column, value in self.where.items():
            frame = frame[frame[column].isin(value if isinstance(value, list) else [value])]
            if frame.empty:
                raise self.lacks(value, column)
        return frame

    def means(self, column: str, *needed: Any, by: str = "scheduler") -> pd.Series[float]:
        """Mean over seeds or trials of each scheduler, all that are needed among them.

        Of policies, for the most jobs, where their number is varied.
        """
        frame = self(by, column)
        if by == "policy" and "jobs" in frame:
            frame = frame[frame["jobs"] == frame["jobs"].max()]
        return self.having(frame.groupby(by)[column].mean(), *needed)

    def wide(self, column: str, *needed: Any, index: list[str], by: str = "scheduler") -> pd.DataFrame:
        """Mean over seeds or trials: a row per value of `index`, ascending, and a column per scheduler."""
        frame = self(by, *index, column)
        return self.having(frame.pivot_table(index=index, columns=by, values=column), *needed)

    def having(self, found: Found, *needed: Any) -> Found:
        """Raise `Missing` for a scheduler that is not among the names of a series, or of the columns of a table."""
        names = found.columns if isinstance(found, pd.DataFrame) else found.index
        for name in needed:
            if name not in names:
                raise self.lacks(name, str(names.name))
        return found

    def lacks(self, name: Any, kind: str) -> Absent:
        """Return the error for a scheduler, or another value of a column, that the table does not have."""
        kinds = f"{kind.removesuffix('y')}ies" if kind.endswith("y") else f"{kind}s"
        return Absent(f"{name} is not among the {kinds.replace('_', ' ')} of {self.file}")


def graded(holds: bool, in_direction: bool = False) -> Verdict:
    """Verdict of two conditions."""
    return Verdict.HOLDS if holds else Verdict.DIRECTION if in_direction else Verdict.OTHERWISE


def equal(source: Source, got: float, unit: str, points: float | None = None) -> Measured:
    """``=``: within `points` of the paper's value, or a factor of 1.1 if none are given; a ratio also in direction.

    In direction: the odds s / (1 - s) of a share in % differ by less than a factor of 2. A ratio is on the paper's side
    of 1, from half as far to twice as far, in logarithms.
    """
    paper = source.paper
    near = is_near(got, paper, NEAR) if points is None else abs(got - paper) <= points + 1e-9
    if unit != "%":
        right = 0.5 <= as_far(got, paper) <= 2
        return number(got, unit), graded(near and right, right), got
    ours, theirs = got * (100 - paper), paper * (100 - got)
    return number(got, unit), graded(near, ours < 2 * theirs and theirs < 2 * ours), got


def is_near(got: float, to: float, factor: float) -> bool:
    """Return true if two positive numbers differ by no more than a factor, whichever is larger."""
    return got > 0 and to > 0 and abs(float(np.log(got / to))) <= np.log(factor) + 1e-9


def as_far(ratio: float, paper: float) -> float:
    """Return a ratio's distance from 1 over that of the paper's, in logarithms; below 0 on the other side of 1."""
    return float(np.log(ratio) / np.log(paper)) if ratio > 0 else -np.inf


def alike(got: float, to: float = 1.0) -> Verdict:
    """``close to``: within a factor of 1.05, whichever is larger. In direction: of 1.1."""
    return graded(is_near(got, to, CLOSE), is_near(got, to, NEAR))


def at_most(got: float, bound: float, *, is_ratio: bool = True) -> Verdict:
    """``<=``: at most the value. In direction: at most twice as far from 1, in logarithms, or from 0 if no ratio."""
    return graded(got <= bound, got <= (bound**2 if is_ratio else 2 * bound))


def reaches(best: float, paper: float) -> Verdict:
    """``up to``: at least the paper's ratio over 1.1, and at most twice as far from 1, in logarithms.

    In direction: at least half as far.
    """
    far = as_far(best, paper)
    return graded(best >= paper / NEAR and far <= 2, far >= 0.5)


def below(ours: Any, theirs: Any) -> Verdict:
    """``ordering``, ``all``, ``>``: each value is below the one beside it; arrays, or a number beside all.

    In direction: none is more than 10 % above. For what is better if larger, the two change places.
    """
    left, right = np.broadcast_arrays(np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float))
    if not left.size:
        raise Missing("there is nothing to compare with")
    return graded(bool((left < right).all()), bool((left <= NEAR * right).all()))


def trend(values: Sequence[float], rising: bool) -> Verdict:
    """``monotone``: every step goes the right way, or is smaller than 1 % of the first value.

    In direction: the last value lies on the right side of the first, and the rank correlation is at least 0.5.
    """
    y = pd.Series(values, dtype=float) * (1 if rising else -1)
    if len(y) < 2:
        raise Missing("there is one point only")
    right = bool(y.iloc[-1] > y.iloc[0])
    steady = right and bool((y.diff().iloc[1:] >= -0.01 * abs(y.iloc[0])).all())
    return graded(steady, right and float(np.corrcoef(y.index, y.rank())[0, 1]) >= 0.5)


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """Verdict of a statement that is made of several."""
    return max(verdicts, key=list(Verdict).index)


def number(x: float, unit: str = "") -> str:
    """Write a value and its unit for a person."""
    return (f"{x:.3g} {unit}" if abs(x) < 100 else f"{x:.0f} {unit}").strip()


def setting(x: float, by: str) -> str:
    """Write for a person the value of f, the length of a lease or a round [s], or a number of things."""
    return f"f = {x:g}" if by == "f" else f"{x:g} {'s' if by in ('lease_term', 'round_length') else by}"


def as_text(x: float, column: str) -> str:
    """Write a value of a table for a person."""
    if column in ("average_jct", "average_pending_time"):
        return f"{x / 3600:.2f} h"
    if column == "average_slowdown":
        return f"{x:.3g}"
    units = {"max_rho": "", "ratio": "", "revenue": "", "gpu_time": "GPU-h"}
    return number(x, units[column]) if column in units else number(100 * x, "%")
