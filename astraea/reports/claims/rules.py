"""What rules are made of: the tables that statements are measured on, the verdicts, and the rules that papers share.

A rule is a function of a `Source` and of parameters that the file of statements gives by name; it returns what was
measured, as text, and the verdict, and raises `Missing`. Its docstring says what holds and what holds in direction;
what is neither does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd

from astraea.core.errors import InputError

HOLDS: Final = "holds"
DIRECTION: Final = "holds in direction"
OTHERWISE: Final = "does not hold"
NOT_YET: Final = "not yet"

Judged = tuple[str, str]
"""What was measured, as text, and the verdict."""

Found = TypeVar("Found", "pd.Series[float]", pd.DataFrame)

RULES: Final[dict[str, Callable[..., Judged]]] = {}
"""Every rule by its name."""


def rule(function: Callable[..., Judged]) -> Callable[..., Judged]:
    """Let statements be judged by a function, under its name."""
    RULES[function.__name__] = function
    return function


class Missing(Exception):
    """A table or a scheduler is not there."""


def reader(folder: Path) -> Callable[[str], pd.DataFrame]:
    """What reads a table of a folder by the name of its file, each once; it raises `Missing` for one not there."""

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

    def lacks(self, name: Any, kind: str) -> Missing:
        """What to raise for a scheduler, or something else of a column, that the table does not have."""
        kinds = f"{kind.removesuffix('y')}ies" if kind.endswith("y") else f"{kind}s"
        return Missing(f"{name} is not among the {kinds.replace('_', ' ')} of {self.file}")


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
def share(source: Source, *, column: str = "share", rest: bool = False, points: float | None = None) -> Judged:
    """``=``: the shares of all rows together, or with `rest` what they leave; mean over seeds."""
    rows = source(column)
    found = float(rows[column].sum()) / (rows["seed"].nunique() if "seed" in rows else 1)
    return equal(source, 100 * (1 - found if rest else found), "%", points)


@rule
def ratio(source: Source, *, by: str, column: str, of: Any, to: Any, bound: bool = False) -> Judged:
    """``=``, or ``<=`` with `bound`: the mean over seeds of one scheduler, policy or lease term over another's."""
    got = source.means(column, of, to, by=by)
    found = float(got[of] / got[to])
    return (number(found), at_most(found, source.paper)) if bound else equal(source, found, "x")


@rule
def bounded(source: Source, *, column: str, by: Sequence[str], base: float = 1.0, unit: str = "") -> Judged:
    """``<=``: the largest mean over seeds or trials of all settings, against the value and its excess over `base`."""
    got = float(source(*by, column).groupby(list(by))[column].mean().max())
    return number(got, unit), at_most(got, source.paper, base)


@rule
def lowest_of(source: Source, *, column: str, ours: str, others: Sequence[str], spread: bool = False) -> Judged:
    """``ordering``: one has a lower mean over trials than each other, or mean variance within a trial with `spread`.

    In direction: than more than half of them.
    """
    if spread:
        trials = source("scheduler", "trial", column).groupby(["scheduler", "trial"])[column].var(ddof=0)
        got = source.having(trials.groupby("scheduler").mean(), ours, *others)
    else:
        got = source.means(column, ours, *others)
    shown = ", ".join(f"{name} {as_text(got[name], column)}" for name in (ours, *others))
    return shown, most([bool(got[ours] < got[name]) for name in others])


@rule
def monotone(source: Source, *, by: str, column: str, rising: bool, every: bool = False) -> Judged:
    """``monotone``: the trend of means over seeds or trials as `by` grows; all of them are shown, or the ends."""
    frame = source(by, column)
    got = frame[np.isfinite(frame[by])].groupby(by)[column].mean()
    shown = [f"{as_text(y, column)} at {setting(x, by)}" for x, y in got.items()]
    return ", ".join(shown if every else (shown[0], shown[-1])), trend(got.tolist(), rising)


@rule
def lowest_inside(source: Source, *, by: str, columns: list[str], low: float, high: float) -> Judged:
    """``shape``: where the means over seeds or trials are lowest, between two values that are near the paper's.

    Of several columns, each relative to its smallest value, the product counts: a trade-off needs one number. In
    direction: the lowest point lies inside the range.
    """
    got = source(by, *columns).groupby(by)[columns].mean()
    if len(got) < 3:
        raise Missing(f"there are fewer than three values of {by}")
    curve = got[columns[0]] if len(columns) == 1 else (got / got.min()).prod(axis=1)
    best = float(curve.index[int(curve.argmin())])
    if len(columns) == 1:
        lowest, *ends = (as_text(y, columns[0]) for y in (curve.min(), curve.iloc[0], curve.iloc[-1]))
        rest = " and ".join(f"{y} at {setting(x, by)}" for x, y in zip(curve.index[[0, -1]], ends, strict=True))
    else:
        lowest = f"{curve.min():.3f}"
        rest = ", ".join(f"{y:.3f} at {x:g}" for x, y in curve.items() if x != best)
    inside = got.index[0] < best < got.index[-1]
    return f"lowest at {setting(best, by)} with {lowest}; {rest}", graded(inside and low <= best <= high, inside)


@rule
def printed_values(source: Source, *, tolerance: float = 0.0, unit: str | None = None) -> Judged:
    """``=``: every value of a worked example that the paper prints, within a tolerance. In direction: within two."""
    frame = source("paper", "value")
    off = float((frame["value"] - frame["paper"]).abs().max())
    shown = ", ".join(f"{v:.2f}" if unit is None else number(v, unit) for v in frame["value"])
    return shown, graded(off <= tolerance + 1e-9, off <= 2 * tolerance)


@rule
def no_counter_example(source: Source, *, what: str) -> Judged:
    """``property``: no random instance has it violated."""
    found = source("instances", "violations")
    tried, failed = (int(found[column].iloc[0]) for column in ("instances", "violations"))
    if tried < 1:
        raise Missing("no instance was tried")
    return f"violated in {failed:,} of {tried:,} random {what}", graded(failed == 0)


def number(x: float, unit: str = "") -> str:
    """Write a value and its unit for a person."""
    return (f"{x:.3g} {unit}" if abs(x) < 100 else f"{x:.0f} {unit}").strip()


def setting(x: float, by: str) -> str:
    """Write for a person what f is, or how long a lease or a round is [s]."""
    return f"f = {x:g}" if by == "f" else f"{x:g} s"


def as_text(x: float, column: str) -> str:
    """Write a value of a table for a person."""
    if column in ("average_jct", "average_pending_time"):
        return f"{x / 3600:.2f} h"
    if column == "average_slowdown":
        return f"{x:.3g}"
    units = {"max_rho": "", "alpha": "", "gpu_time": "GPU-h"}
    return number(x, units[column]) if column in units else number(100 * x, "%")
