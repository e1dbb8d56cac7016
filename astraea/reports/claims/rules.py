"""What rules are made of: the tables that statements are measured on, the verdicts, and the rules that papers share.

A rule is a function of a `Source` and of parameters that the file of statements gives by name; it returns what was
measured, as text, and the verdict, and raises `Missing`. Its docstring says what holds and what holds in direction;
what is neither does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.core.errors import InputError

HOLDS: Final = "holds"
DIRECTION: Final = "holds in direction"
OTHERWISE: Final = "does not hold"
NOT_YET: Final = "not yet"

Judged = tuple[str, str]
"""What was measured, as text, and the verdict."""

RULES: Final[dict[str, Callable[..., Judged]]] = {}
"""Every rule by its name."""


def rule(function: Callable[..., Judged]) -> Callable[..., Judged]:
    """Let statements be judged by a function, under its name."""
    RULES[function.__name__] = function
    return function


class Missing(Exception):
    """A table or a scheduler is not there."""


class Tables:
    """The tables of a folder, and the papers' values by statement."""

    def __init__(self, folder: Path, paper: Mapping[str, float]) -> None:
        self.folder = folder
        self.paper = paper
        self.read = cache(self._read)

    def traces(self, table: str) -> list[str]:
        """Names of the traces that have this table, those of the paper first."""
        names = [p.stem.removeprefix(f"{table}_") for p in self.folder.glob(f"{table}_*.csv")]
        return sorted(names, key=lambda t: (t not in ("venus", "philly"), t != "venus", t))

    def _read(self, name: str) -> pd.DataFrame:
        path = self.folder / name
        if not path.is_file():
            raise Missing(f"{name} is not there")
        return pd.read_csv(path, dtype={"demand": str, "job_id": str, "tenant": str, "scheduler": str})


@dataclass(frozen=True)
class Source:
    """The table of one statement on one trace, and what the paper says."""

    tables: Tables
    table: str
    trace: str
    id: str

    @property
    def paper(self) -> float:
        """The paper's value."""
        return self.tables.paper[self.id]

    @property
    def file(self) -> str:
        """Name of the table's file."""
        return f"{self.table}_{self.trace}.csv"

    def on(self, trace: str, table: str = "") -> Source:
        """The same statement on another trace, or another table."""
        return replace(self, trace=trace, table=table or self.table)

    def __call__(self, *columns: str, **where: Any) -> pd.DataFrame:
        """Rows that have a value in these columns, and in those of `where` this value or one of these.

        Raises `Missing` if the table is not there, and `InputError` if it lacks a column.
        """
        frame = self.tables.read(self.file)
        lost = [c for c in (*where, *columns) if c not in frame]
        if lost:
            raise InputError(f"{self.file}: column {lost[0]!r} is missing; found {', '.join(map(str, frame.columns))}")
        frame = frame.dropna(subset=[*where, *columns], how="any")
        for column, values in where.items():
            frame = frame[frame[column].isin(values if isinstance(values, list) else [values])]
        return frame

    def means(self, column: str, *needed: Any, by: str = "scheduler", **where: Any) -> pd.Series[float]:
        """Mean over seeds or trials of each scheduler, all that are needed among them.

        Of policies, for the most jobs, where their number is varied.
        """
        frame = self(by, column, **where)
        if by == "policy" and "jobs" in frame:
            frame = frame[frame["jobs"] == frame["jobs"].max()]
        return self.having(frame.groupby(by)[column].mean(), *needed)

    def having(self, found: pd.Series[float], *needed: Any) -> pd.Series[float]:
        """Raise `Missing` for a scheduler that is not in the index."""
        kinds = {"policy": "policies"}.get(str(found.index.name), f"{found.index.name}s").replace("_", " ")
        for name in needed:
            if name not in found.index:
                raise Missing(f"{name} is not among the {kinds} of {self.file}")
        return found


def graded(holds: bool, in_direction: bool = False) -> str:
    """Verdict of two conditions."""
    return HOLDS if holds else DIRECTION if in_direction else OTHERWISE


def equal(source: Source, got: float, unit: str, points: float | None = None) -> Judged:
    """``=``: within `points` of the paper's value, or 10 % of it if none are given.

    In direction: the odds s / (1 - s) of a share in % differ by less than a factor of 2; a ratio is half as much
    (`half_as_much`).
    """
    paper = source.paper
    near = abs(got - paper) <= (0.1 * paper if points is None else points) + 1e-9
    return number(got, unit), graded(near, _odds_alike(got, paper) if unit == "%" else half_as_much(got, paper))


def _odds_alike(a: float, b: float) -> bool:
    """Whether the odds of two shares [%] differ by less than a factor of 2."""
    return a * (100 - b) < 2 * b * (100 - a) and b * (100 - a) < 2 * a * (100 - b)


def half_as_much(ratio: float, paper: float) -> bool:
    """Whether a ratio is on the same side of 1 as the paper's and at least half as far from it, in logarithms."""
    return ratio > 0 and float(np.log(ratio) / np.log(paper)) >= 0.5


def at_most(got: float, bound: float, base: float = 1.0) -> str:
    """``<=``: at most the value. In direction: the excess over `base` is at most twice the stated one."""
    return graded(got <= bound, got <= 2 * bound - base)


def reaches(best: float, paper: float) -> str:
    """``up to``: at least 90 % of the paper's ratio. In direction: half as much."""
    return graded(best >= 0.9 * paper, half_as_much(best, paper))


def lowest_of(got: pd.Series[float], ours: str, others: Sequence[str]) -> Judged:
    """``ordering``: one has a lower value than each other. In direction: than more than half of them."""
    shown = ", ".join(f"{name} {got[name]:.3g}" for name in (ours, *others))
    return shown, most([bool(got[ours] < got[name]) for name in others])


def most(comparisons: Sequence[bool]) -> str:
    """``ordering``, ``all``, ``>``: all comparisons are as stated. In direction: more than half of them."""
    if not comparisons:
        raise Missing("there is nothing to compare with")
    right = sum(comparisons)
    return graded(right == len(comparisons), right > len(comparisons) / 2)


def trend(values: Sequence[float], rising: bool) -> str:
    """``monotone``: every step goes the right way, or is smaller than 1 % of the first value.

    In direction: the last value lies on the right side of the first, and the rank correlation is at least 0.5.
    """
    y = pd.Series(values, dtype=float) * (1 if rising else -1)
    if len(y) < 2:
        raise Missing("there is one point only")
    right = bool(y.iloc[-1] > y.iloc[0])
    steady = right and bool((y.diff().iloc[1:] >= -0.01 * abs(y.iloc[0])).all())
    return graded(steady, right and float(np.corrcoef(y.index, y.rank())[0, 1]) >= 0.5)


def weakest(verdicts: Sequence[str]) -> str:
    """Verdict of a statement that is made of several."""
    return max(verdicts, key=(HOLDS, DIRECTION, OTHERWISE).index)


@rule
def mean_share(
    source: Source, *, where: Mapping[str, Any], column: str = "share", points: float | None = None
) -> Judged:
    """``=``: a share in some rows, mean over seeds."""
    values = source(column, **where)[column]
    if values.empty:
        raise Missing("a row that is needed is not there")
    return equal(source, 100 * float(values.mean()), "%", points)


@rule
def ratio(source: Source, *, by: str, column: str, of: Any, to: Any, bound: bool = False) -> Judged:
    """``=``, or ``<=`` with `bound`: the mean over seeds of one scheduler, policy or lease term over another's."""
    got = source.means(column, of, to, by=by)
    found = float(got[of] / got[to])
    return (number(found), at_most(found, source.paper)) if bound else equal(source, found, "x")


@rule
def bounded(source: Source, *, column: str, by: Sequence[str], base: float = 1.0, unit: str = "",
            where: Mapping[str, Any] | None = None) -> Judged:  # fmt: skip
    """``<=``: the largest mean over seeds or trials of all settings, against the value and its excess over `base`."""
    got = float(source(*by, column, **(where or {})).groupby(list(by))[column].mean().max())
    return number(got, unit), at_most(got, source.paper, base)


@rule
def monotone(
    source: Source, *, by: str, column: str, rising: bool, every: bool = False, where: Mapping[str, Any] | None = None
) -> Judged:
    """``monotone``: the trend of means over seeds or trials as `by` grows; all of them are shown, or the ends."""
    frame = source(by, column, **(where or {}))
    got = frame[np.isfinite(frame[by])].groupby(by)[column].mean().sort_index()
    verdict = trend(got.tolist(), rising)
    shown = [
        f"{as_text(y, column)} at {'f = ' if by == 'f' else ''}{x:g}{'' if by == 'f' else ' s'}" for x, y in got.items()
    ]
    return ", ".join(shown if every else (shown[0], shown[-1])), verdict


@rule
def no_counter_example(source: Source, *, name: str, what: str) -> Judged:
    """``property``: no random instance has it violated."""
    frame = source("property", "instances", "violations")
    found = frame[frame["property"] == name]
    if found.empty:
        raise Missing(f"{name!r} is not among the properties of {source.file}")
    tried, failed = (int(found[column].iloc[0]) for column in ("instances", "violations"))
    if tried < 1:
        raise Missing("no instance was tried")
    return f"violated in {failed:,} of {tried:,} random {what}", graded(failed == 0)


def number(x: float, unit: str = "") -> str:
    """Write a value and its unit for a person."""
    return (f"{x:.3g} {unit}" if abs(x) < 100 else f"{x:.0f} {unit}").strip()


def as_text(x: float, column: str) -> str:
    """Write a value of a table for a person."""
    if column in ("average_jct", "average_pending_time"):
        return f"{x / 3600:.2f} h"
    if column == "average_slowdown":
        return f"{x:.3g}"
    units = {"max_rho": "", "gpu_time": "GPU-h"}
    return number(x, units[column]) if column in units else number(100 * x, "%")
