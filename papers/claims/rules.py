"""The rules that papers share, and those about policies, load and time to solve of [Narayanan2020].

A rule is a public function of this module, or of a module of another paper's own rules, of a `Source` and of
parameters that the file of statements gives by name; it returns what was measured, as text, and the verdict, and raises
`Missing`. Its docstring says what holds and what holds in direction, or names a relation that `judging` grades; what is
neither does not hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from papers.claims.judging import (
    Judged,
    Missing,
    Source,
    as_text,
    at_most,
    equal,
    graded,
    most,
    number,
    reaches,
    setting,
    trend,
    worst,
)

CLOSE: Final = 1.1
"""Two average JCTs that differ by less than this factor match."""


def share(source: Source, *, column: str = "share", rest: bool = False, points: float | None = None) -> Judged:
    """``=``: the shares of all rows together, or with `rest` what they leave; mean over seeds."""
    rows = source(column)
    found = float(rows[column].sum()) / (rows["seed"].nunique() if "seed" in rows else 1)
    return equal(source, 100 * (1 - found if rest else found), "%", points)


def ratio(source: Source, *, by: str, column: str, of: Any, to: Any, bound: bool = False) -> Judged:
    """``=``, or ``<=`` with `bound`: the mean over seeds of one scheduler, policy or lease term over another's.

    Of a list, the largest mean counts.
    """
    listed = of if isinstance(of, list) else [of]
    got = source.means(column, *listed, to, by=by)
    found = float(got[listed].max() / got[to])
    return (number(found), at_most(found, source.paper)) if bound else equal(source, found, "x")


def bounded(source: Source, *, column: str, by: Sequence[str], base: float = 1.0, unit: str = "") -> Judged:
    """``<=``: the largest mean over seeds or trials of all settings, against the value and its excess over `base`."""
    got = float(source(*by, column).groupby(list(by))[column].mean().max())
    return number(got, unit), at_most(got, source.paper, base)


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


def monotone(source: Source, *, by: str, column: str, rising: bool, every: bool = False) -> Judged:
    """``monotone``: the trend of means over seeds or trials as `by` grows; all of them are shown, or the ends."""
    frame = source(by, column)
    got = frame[np.isfinite(frame[by])].groupby(by)[column].mean()
    shown = [f"{as_text(y, column)} at {setting(x, by)}" for x, y in got.items()]
    return ", ".join(shown if every else (shown[0], shown[-1])), trend(got.tolist(), rising)


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


def printed_values(source: Source, *, tolerance: float = 0.0, unit: str | None = None) -> Judged:
    """``=``: every value of a worked example that the paper prints, within a tolerance. In direction: within two."""
    frame = source("paper", "value")
    off = float((frame["value"] - frame["paper"]).abs().max())
    shown = ", ".join(f"{v:.2f}" if unit is None else number(v, unit) for v in frame["value"])
    return shown, graded(off <= tolerance + 1e-9, off <= 2 * tolerance)


def no_counter_example(source: Source, *, what: str) -> Judged:
    """``property``: no random instance has it violated."""
    found = source("instances", "violations")
    tried, failed = (int(found[column].iloc[0]) for column in ("instances", "violations"))
    if tried < 1:
        raise Missing("no instance was tried")
    return f"violated in {failed:,} of {tried:,} random {what}", graded(failed == 0)


def _by_load(source: Source, column: str, *policies: str) -> pd.DataFrame:
    """Mean over seeds, one row per rate of arrival [jobs/h] that all of these policies have, in ascending order."""
    wide = source.wide(column, *policies, index=["jobs_per_hour"], by="policy")[list(policies)].dropna()
    if wide.empty:
        raise Missing(f"no rate of arrival has all of {', '.join(policies)}")
    return wide


def largest_ratio(source: Source, *, column: str, baseline: str, better: str, bound: bool = False) -> Judged:
    """``up to``, or ``=`` at high load, or ``<=`` with `bound`: the largest ratio of two policies over all loads."""
    wide = _by_load(source, column, baseline, better)
    ratios = wide[baseline] / wide[better]
    best = float(ratios.max())
    shown = f"{number(best, '' if bound else 'x')} at {ratios.idxmax():g} jobs/h"
    return shown, at_most(best, source.paper) if bound else reaches(best, source.paper)


def packing(source: Source, *, baseline: str, better: str) -> Judged:
    """``=`` where it pays most: space sharing as a program against Gandiva's, on both traces (§7.3)."""
    shown, verdicts = [], []
    for table, trace in (("gavel08", "single"), ("gavel09", "multiple")):
        wide = _by_load(replace(source, table=table, trace=f"continuous-{trace}"), "average_jct", baseline, better)
        best = float((wide[baseline] / wide[better]).max())
        shown.append(f"{trace} {number(best, 'x')}")
        verdicts.append(reaches(best, source.paper))
    return ", ".join(shown), worst(verdicts)


def beside_allox(source: Source) -> Judged:
    """``ordering``: LAS het. matches AlloX while load is moderate, and is ahead of it when it is high (§7.3).

    In direction: one of both.
    """
    wide = _by_load(source, "average_jct", "allox", "las-het")
    ratios = wide["las-het"] / wide["allox"]
    (half, moderate), (full, high) = ((ratios.index[k], ratios.iloc[k]) for k in (len(ratios) // 2, -1))
    right = [bool(moderate <= CLOSE), bool(high < 1)]
    shown = f"LAS het. over AlloX {moderate:.3g} at {half:g} jobs/h, {high:.3g} at {full:g} jobs/h"
    return shown, graded(all(right), any(right))


def estimated(source: Source) -> Judged:
    """``ordering``: with estimated throughputs as with measured ones, and below no space sharing (Fig 14).

    At the highest load. In direction: one of both.
    """
    wide = _by_load(source, "average_jct", "oracle", "estimated", "none").iloc[-1]
    right = [bool(wide["estimated"] <= CLOSE * wide["oracle"]), bool(wide["estimated"] < wide["none"])]
    return ", ".join(f"{name} {x / 3600:.2f} h" for name, x in wide.items()), graded(all(right), any(right))


def less_than(source: Source, *, column: str, policy: str, other: str, points: float | None = None) -> Judged:
    """``=``: what a policy's mean is below another one's [%], within `points`, or 10 % of the paper's value.

    For the most jobs. In direction: at least half of the paper's value.
    """
    found, paper = source.means(column, policy, other, by="policy"), source.paper
    got = 100 * (1 - float(found[policy] / found[other]))
    near = abs(got - paper) <= (0.1 * paper if points is None else points)
    return number(got, "%"), graded(near, got >= paper / 2)


def saved_without_misses(source: Source, *, policy: str, baseline: str) -> Judged:
    """``=`` for the ratio of costs, and no job misses its SLO. In direction: up to 2 % do."""
    shown, verdict = ratio(source, by="policy", column="cost", of=baseline, to=policy)
    missed = 100 * float(source.means("missed", policy, by="policy")[policy])
    return f"{shown}, {number(missed, '%')} missed", worst([verdict, graded(missed == 0, missed <= 2)])


def solved_within(source: Source, *, jobs: int) -> Judged:
    """``<``: seconds for one solve with so many jobs."""
    frame = source("jobs", "seconds")
    most, seconds = frame.sort_values("jobs", kind="stable")[["jobs", "seconds"]].to_numpy(dtype=float)[-1]
    shown = f"{number(seconds, 's')} for {most:.0f} jobs"
    if most < jobs:
        raise Missing(f"measured: {shown}")
    return shown, graded(seconds < source.paper)


def missed_deadlines(source: Source, *, policy: str) -> Judged:
    """``=``: the share of deadlines that a policy misses; in direction from half to twice the paper's."""
    share = 100 * float(source.means("missed", policy, by="policy")[policy])
    near = abs(share - source.paper) <= source.paper / 10
    return number(share, "%"), graded(near, source.paper / 2 <= share <= 2 * source.paper)
