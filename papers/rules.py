"""The verdicts on published statements: the relations, and the rules that papers share.

A rule is a public function whose first parameter is `source`. It takes the parameters that the paper's `claims.toml`
gives by name, returns `Judged`, and raises `Missing` if something is not in the tables. What one paper alone needs is
in `rules.py` of its folder.

Values are compared pair by pair: the same seed, or trial, under both schedulers. A difference whose 95 % interval
(Student's t) contains 0 is within noise. Where there is one run only, a difference of at most 1 % is within noise. A
difference of exactly 0 in every pair is a lost one, because a statement that A is below B is not true of a tie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.core.intervals import mean_interval
from papers.rows import Missing, Source


class Verdict(StrEnum):
    """Verdict on a statement, the best first."""

    CALIBRATED = "calibrated"  # an input of our generator of traces: it says nothing
    HOLDS = "holds"
    OF_THOSE = "holds of those tested"
    PARTLY = "partly"  # the right sign or order, and another size
    NOISE = "within noise"
    FAILS = "fails"
    UNTESTED = "cannot be tested"


class Judged(NamedTuple):
    """The measurement as text, the verdict, the value in the paper's unit if there is one, and the interval as text."""

    measured: str
    verdict: Verdict
    value: float = float("nan")
    interval: str = ""


NEAR: Final = 1.1
CLOSE: Final = 1.05
"""Largest factors between two values that are equal, and that are close."""

ONE_RUN: Final = 0.01
"""Part of a value up to which a difference between single runs is within noise."""

TIMES: Final = ("average_jct", "average_slowdown", "average_pending_time", "max_rho", "jct")
"""Columns of positive values that are compared by their ratio; others, such as shares, by their difference."""


class Lead(NamedTuple):
    """A difference that should be above 0: whether it is (`holds`, `within noise`, `fails`), and how much."""

    verdict: Verdict
    low: float
    high: float
    n: int

    def text(self, write: Callable[[float], str]) -> str:
        """Write the interval, or that there is one run only."""
        low, high = write(self.low), write(self.high)
        return f"{low} to {high} (n = {self.n})" if self.n > 1 else f"{low} (one run)"


def lead(differences: pd.Series[float], size: float = 1.0) -> Lead:
    """Judge paired differences that should be above 0; `size` is what 1 % of a single one is taken of."""
    d = differences.dropna()
    if d.empty:
        raise Missing("values to compare with")
    found = mean_interval(pd.DataFrame({"all": 0, "d": d.to_numpy(dtype=float)}), "all", "d").iloc[0]
    mean, n = float(found["mean"]), len(d)
    low, high = (float(found["low"]), float(found["high"])) if n > 1 else (mean, mean)
    is_noise = low <= 0 <= high if n > 1 else abs(mean) <= ONE_RUN * abs(size)
    if (d == 0).all():
        is_noise = False
    return Lead(Verdict.NOISE if is_noise else Verdict.HOLDS if mean > 0 else Verdict.FAILS, low, high, n)


def versus(
    theirs: pd.Series[float], ours: pd.Series[float], column: str, names: str = "", *, highest: bool = False
) -> tuple[Lead, str]:
    """Judge whether ours is below theirs, or above with `highest`; the text is the interval of theirs beside ours."""
    side, sign = -1 if highest else 1, "over"
    both = pd.concat([theirs, ours], axis=1).dropna()
    if column in TIMES and len(both) and (both > 0).all(axis=None):
        found = lead(side * both.map(np.log).diff(axis=1, periods=-1).iloc[:, 0])
        ends = sorted(float(np.exp(side * x)) for x in (found.low, found.high))
        text = found._replace(low=ends[0], high=ends[1]).text(lambda x: number(x, "x"))
    else:
        found, sign = lead(side * (both.iloc[:, 0] - both.iloc[:, 1]), float(both.iloc[:, 1].mean())), "less"
        ends = sorted((side * found.low, side * found.high))
        points = found._replace(low=ends[0], high=ends[1]).text(lambda x: as_text(x, column))
        text = points.replace(" %", " points")
    return found, f"{names.format(sign=sign)}: {text}" if names else text


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """Verdict of a statement that is made of several."""
    return max(verdicts, key=[*Verdict].index)


def deciding(leads: Sequence[tuple[Lead, str]]) -> tuple[Lead, str]:
    """Return what decides, of several `versus`: the worst verdict, and of these the smallest lead."""
    return max(leads, key=lambda one: ([*Verdict].index(one[0].verdict), -one[0].low - one[0].high))


def is_near(got: float, to: float, factor: float = NEAR) -> bool:
    """Return true if two positive numbers differ by no more than a factor, whichever is larger."""
    return got > 0 and to > 0 and abs(float(np.log(got / to))) <= np.log(factor) + 1e-9


def equal(got: float, paper: float, points: float | None = None) -> Verdict:
    """``=`` for a number or a share [%]: within a factor of 1.1, or `points`; partly: odds within a factor of 2."""
    near = is_near(got, paper) if points is None else abs(got - paper) <= points + 1e-9
    ours, theirs = got * (100 - paper), paper * (100 - got)
    return Verdict.HOLDS if near else Verdict.PARTLY if ours < 2 * theirs and theirs < 2 * ours else Verdict.FAILS


def alike(got: float, to: float = 1.0) -> Verdict:
    """``close to``: within a factor of 1.05, whichever is larger; partly: of 1.1."""
    return Verdict.HOLDS if is_near(got, to, CLOSE) else Verdict.PARTLY if is_near(got, to) else Verdict.FAILS


def times(above: pd.Series[float], under: pd.Series[float], paper: float, *, up_to: bool = False) -> Judged:
    """``=`` and ``up to`` for a ratio of two means: holds within a factor of 1.1, partly on the paper's side of 1.

    ``up to`` also holds if it is larger, up to twice as far from 1 in logarithms.
    """
    both = pd.concat([above, under], axis=1).dropna()
    a, b = both.iloc[:, 0], both.iloc[:, 1]
    if both.empty or b.mean() <= 0 or a.mean() <= 0:
        raise Missing("a ratio of these values")
    got = float(a.mean() / b.mean())
    found, interval = versus(a, b, TIMES[0] if (both > 0).all(axis=None) else "revenue", highest=paper < 1)
    enough = is_near(got, paper) or (up_to and 1 <= np.log(got) / np.log(paper) <= 2)
    verdict = found.verdict if found.verdict != Verdict.HOLDS or enough else Verdict.PARTLY
    return Judged(number(got, "x"), verdict, got, interval)


def trend(wide: pd.DataFrame, rising: bool) -> Lead:
    """``monotone`` over the columns: holds if no step of the means goes the wrong way by more than 1 % of the first.

    Partly: the last lies on the right side of the first. The interval is that of the last minus the first.
    """
    if wide.shape[1] < 2:
        raise Missing("a second point")
    side = 1 if rising else -1
    ways = side * wide
    y = ways.mean()
    found = lead(ways.iloc[:, -1] - ways.iloc[:, 0], float(y.iloc[0]))
    steady = bool((y.diff().iloc[1:] >= -0.01 * abs(y.iloc[0])).all())
    low, high = sorted((side * found.low, side * found.high))
    is_partly = found.verdict == Verdict.HOLDS and not steady
    return Lead(Verdict.PARTLY if is_partly else found.verdict, low, high, found.n)


def number(x: float, unit: str = "") -> str:
    """Write a value and its unit for a person."""
    return (f"{x:.3g} {unit}" if abs(x) < 100 else f"{x:,.0f} {unit}").strip()


def setting(x: Any, by: str) -> str:
    """Write for a person the value of f, the length of a lease or a round [s], or a number of things."""
    return f"f = {x:g}" if by == "f" else f"{x:g} {'s' if by in ('lease_term', 'round_length') else by}"


def as_text(x: float, column: str) -> str:
    """Write a value of a table for a person."""
    if column in ("average_jct", "average_pending_time"):
        return f"{x / 3600:.2f} h"
    units = {"max_rho": "", "ratio": "", "revenue": "", "average_slowdown": "", "variance": "", "gpu_time": "GPU-h"}
    return number(x, units[column]) if column in units else number(100 * x, "%")


# the rules that papers share


def share(source: Source, *, column: str = "share", rest: bool = False, points: float | None = None) -> Judged:
    """``=``: the share of all rows together, or with `rest` what they leave; mean over seeds."""
    rows = source(column)
    each = 100 * (rows.groupby("seed")[column].sum() if "seed" in rows else pd.Series([rows[column].sum()]))
    each = 100 - each if rest else each
    got = float(each.mean())
    return Judged(number(got, "%"), equal(got, source.paper, points), got, around(each, "%"))


def around(values: pd.Series[float], unit: str) -> str:
    """Write the interval of a mean over seeds."""
    return lead(values).text(lambda x: number(x, unit)) if len(values) > 1 else ""


def ratio(
    source: Source, *, by: str, column: str, of: Any, to: Any, smallest: bool = False, close: bool = False
) -> Judged:
    """``=``, or ``close to`` with `close`: one scheduler, policy or lease term over another; of a list, the largest."""
    listed = of if isinstance(of, list) else [of]
    wide = source.wide(column, *listed, to, by=by)
    means = wide[listed].mean()
    chosen = means.idxmin() if smallest else means.idxmax()
    if not close:
        return times(wide[chosen], wide[to], source.paper)
    found = times(wide[chosen], wide[to], 1.0)
    return found._replace(verdict=alike(found.value))


def bounded(source: Source, *, column: str, by: Sequence[str], above: bool = False, unit: str = "") -> Judged:
    """``<=``, or ``>`` with `above`: the largest, or smallest, mean of all settings."""
    means = source(*by, column).groupby(list(by))[column].mean()
    got = float(means.min() if above else means.max())
    holds = got > source.paper if above else got <= source.paper
    shown = f"{number(means.min())} to {number(means.max(), unit)}" if len(means) > 1 else number(got, unit)
    return Judged(shown, Verdict.HOLDS if holds else Verdict.FAILS, got)


def ordered(
    source: Source, *, column: str, ours: Any, others: Sequence[Any], by: str = "scheduler", highest: bool = False,
    among: int = 0,
) -> Judged:  # fmt: skip
    """``ordering``: one has a lower value than each other, or a higher one; `among` is how many it is about."""
    wide = source.wide(column, ours, *others, by=by)
    if not len(others):
        raise Missing("values to compare with")
    name = {n: n if isinstance(n, str) else setting(n, by) for n in (ours, *others)}
    found, interval = deciding([versus(wide[n], wide[ours], column, f"{name[n]} {{sign}} {name[ours]}", highest=highest)
                                for n in others])  # fmt: skip
    shown = ", ".join(f"{name[n]} {as_text(wide[n].mean(), column)}" for n in (ours, *others))
    there, few = len(others) + 1, len(others) + 1 < among
    verdict = Verdict.OF_THOSE if few and found.verdict == Verdict.HOLDS else found.verdict
    return Judged(f"{shown} ({there} of {among} tested)" if few else shown, verdict, interval=interval)


def monotone(
    source: Source, *, by: str, column: str, rising: bool, every: bool = False, points: Sequence[float] = ()
) -> Judged:
    """``monotone``: the trend as `by` grows, over at least these points; all values are shown, or the ends."""
    wide = source.wide(column, by=by)
    wide = wide.loc[:, np.isfinite(wide.columns.to_numpy(dtype=float))]
    if lost := [x for x in points if x not in wide]:
        raise Missing(f"a value at {setting(lost[0], by)}")
    shown = [f"{as_text(y, column)} at {setting(x, by)}" for x, y in wide.mean().items()]
    found = trend(wide, rising)
    interval = f"last less first: {found.text(lambda x: as_text(x, column))}".replace(" %", " points")
    return Judged(", ".join(shown if every else (shown[0], shown[-1])), found.verdict, interval=interval)


def lowest_inside(source: Source, *, by: str, columns: list[str], low: float, high: float) -> Judged:
    """``shape``: lowest between two values near the paper's, and higher at both ends.

    Several columns count as one, the product of each over its smallest mean: a trade-off needs one number. Partly: it
    is higher at one end, and lowest at neither.
    """
    parts = [source.wide(column, by=by) for column in columns]
    curve = parts[0] if len(parts) == 1 else np.prod([p / p.mean().min() for p in parts], axis=0) * (parts[0] * 0 + 1)
    means = curve.mean()
    if len(means) < 3:
        raise Missing(f"three values of {by}")
    best = float(means.index.to_numpy(dtype=float)[int(means.argmin())])
    ends = {x: lead(curve[x] - curve[best], float(means.min())) for x in means.index[[0, -1]]}
    rises = [found.verdict == Verdict.HOLDS for found in ends.values()]
    inside = best not in ends
    full = all(rises) and low <= best <= high
    verdict = Verdict.HOLDS if full else Verdict.PARTLY if any(rises) and inside else Verdict.FAILS
    verdict = Verdict.NOISE if inside and not any(rises) else verdict
    write = (lambda x: as_text(x, columns[0])) if len(columns) == 1 else number
    shown = f"lowest at {setting(best, by)} with {write(means.min())}; "
    shown += " and ".join(f"{write(means[x])} at {setting(x, by)}" for x in ends)
    interval = "; ".join(f"at {setting(x, by)}, above the lowest: {found.text(write)}" for x, found in ends.items())
    return Judged(shown, verdict, best, interval)


def printed_values(source: Source, *, tolerance: float = 0.0, unit: str | None = None) -> Judged:
    """``=``: every value of a worked example that the paper prints, within a tolerance."""
    frame = source("paper", "value")
    holds = float((frame["value"] - frame["paper"]).abs().max()) <= tolerance + 1e-9
    shown = ", ".join(f"{v:.2f}" if unit is None else number(v, unit) for v in frame["value"])
    return Judged(shown, Verdict.HOLDS if holds else Verdict.FAILS)


def no_counter_example(source: Source, *, what: str) -> Judged:
    """``property``: no random instance has it violated."""
    found = source("instances", "violations")
    tried, failed = (int(found[column].iloc[0]) for column in ("instances", "violations"))
    if tried < 1:
        raise Missing("an instance")
    shown = f"violated in {failed:,} of {tried:,} random {what}"
    return Judged(shown, Verdict.FAILS if failed else Verdict.HOLDS)
