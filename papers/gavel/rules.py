"""The rules of [Narayanan2020]'s statements: policies, load, and time to solve."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pandas as pd

from papers.judging import Judged, Missing, Source, at_most, graded, number, reaches, worst
from papers.rules import ratio

CLOSE: Final = 1.1
"""Two average JCTs that differ by less than this factor match."""


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
    return shown, at_most(best, source.paper) if bound else reaches(best, source.paper), best


def packing(source: Source, *, baseline: str, better: str) -> Judged:
    """``=`` where it pays most: space sharing as a program against Gandiva's, on both traces (§7.3)."""
    shown, ratios = [], []
    for table, trace in (("gavel08", "single"), ("gavel09", "multiple")):
        wide = _by_load(replace(source, table=table, trace=f"continuous-{trace}"), "average_jct", baseline, better)
        best = float((wide[baseline] / wide[better]).max())
        shown.append(f"{trace} {number(best, 'x')}")
        ratios.append(best)
    return ", ".join(shown), reaches(min(ratios), source.paper), min(ratios)


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
    return number(got, "%"), graded(near, got >= paper / 2), got


def saved_without_misses(source: Source, *, policy: str, baseline: str) -> Judged:
    """``=`` for the ratio of costs, and no job misses its SLO. In direction: up to 2 % do."""
    shown, verdict, value = ratio(source, by="policy", column="cost", of=baseline, to=policy)
    missed = 100 * float(source.means("missed", policy, by="policy")[policy])
    return f"{shown}, {number(missed, '%')} missed", worst([verdict, graded(missed == 0, missed <= 2)]), value


def solved_within(source: Source, *, jobs: int) -> Judged:
    """``<``: seconds for one solve with so many jobs."""
    frame = source("jobs", "seconds")
    most, seconds = frame.sort_values("jobs", kind="stable")[["jobs", "seconds"]].to_numpy(dtype=float)[-1]
    shown = f"{number(seconds, 's')} for {most:.0f} jobs"
    if most < jobs:
        raise Missing(f"measured: {shown}")
    return shown, graded(seconds < source.paper), seconds


def missed_deadlines(source: Source, *, policy: str) -> Judged:
    """``=``: the share of deadlines that a policy misses; in direction from half to twice the paper's."""
    share = 100 * float(source.means("missed", policy, by="policy")[policy])
    near = abs(share - source.paper) <= source.paper / 10
    return number(share, "%"), graded(near, source.paper / 2 <= share <= 2 * source.paper), share
