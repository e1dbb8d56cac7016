"""Each statement of [Narayanan2020] that is checked: its rule, and the table and column that it is measured on.

Besides the rules of `evaluate`: ``up to`` holds if the largest ratio over all loads is at least 90 % of the
paper's, and in direction if it is at least half as far from 1, in logarithms. Ratios are between means over seeds.

[Narayanan2020] Narayanan et al., Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning
Workloads, OSDI 2020.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pandas as pd

from astraea.reports.claims.rules import (
    DIRECTION,
    HOLDS,
    OTHERWISE,
    Judged,
    Missing,
    Rule,
    Tables,
    half_as_much,
    number,
    trend,
    weakest,
)

CLOSE: Final = 1.1
"""Two average JCTs that differ by less than this factor match."""


def by_load(tables: Tables, table: str, trace: str, column: str, *policies: str) -> pd.DataFrame:
    """Mean over seeds, one row per rate of arrival [jobs/h] that all of these policies have, in ascending order."""
    frame = tables(table, trace, "policy", "jobs_per_hour", column)
    wide = frame.pivot_table(index="jobs_per_hour", columns="policy", values=column).sort_index()
    for name in policies:
        if name not in wide:
            raise Missing(f"{name} is not among the policies of {table}_{trace}.csv")
    wide = wide[list(policies)].dropna()
    if wide.empty:
        raise Missing(f"no rate of arrival has all of {', '.join(policies)}")
    return wide


def up_to(table: str, trace: str, column: str, baseline: str, better: str) -> Rule:
    """``up to`` or ``=`` at high load: the largest ratio of the baseline's figure to that of the better policy."""

    def check(tables: Tables, _: str, id: str) -> Judged:
        wide = by_load(tables, table, trace, column, baseline, better)
        ratio = wide[baseline] / wide[better]
        best, paper = float(ratio.max()), tables.paper[id]
        verdict = HOLDS if best >= 0.9 * paper else DIRECTION if half_as_much(best, paper) else OTHERWISE
        return f"{number(best, 'x')} at {ratio.idxmax():g} jobs/h", verdict

    return Rule(table, check, pair=True)


def _equals(got: float, paper: float) -> str:
    """``=`` for a ratio."""
    return HOLDS if abs(got - paper) <= 0.1 * paper else DIRECTION if half_as_much(got, paper) else OTHERWISE


def _packing(tables: Tables, _: str, id: str) -> Judged:
    """§7.3: space sharing as a program against Gandiva's, where it pays most, on both traces."""
    shown, verdicts = [], []
    for table, trace in (("gavel08", "continuous-single"), ("gavel09", "continuous-multiple")):
        wide = by_load(tables, table, trace, "average_jct", "gandiva", "las-het-ss")
        best = float((wide["gandiva"] / wide["las-het-ss"]).max())
        shown.append(f"{trace.removeprefix('continuous-')} {number(best, 'x')}")
        paper = tables.paper[id]
        verdicts.append(HOLDS if best >= 0.9 * paper else DIRECTION if half_as_much(best, paper) else OTHERWISE)
    return ", ".join(shown), weakest(verdicts)


def _allox(tables: Tables, _: str, id: str) -> Judged:
    """§7.3: LAS het. matches AlloX while load is moderate, and is ahead of it when it is high."""
    wide = by_load(tables, "gavel08", "continuous-single", "average_jct", "allox", "las-het")
    ratio = wide["las-het"] / wide["allox"]
    moderate, high = float(ratio.iloc[len(ratio) // 2]), float(ratio.iloc[-1])
    right = [moderate <= CLOSE, high < 1]
    shown = (
        f"LAS het. over AlloX {moderate:.3g} at {ratio.index[len(ratio) // 2]:g} jobs/h, {high:.3g} at "
        f"{ratio.index[-1]:g} jobs/h"
    )
    return shown, (OTHERWISE, DIRECTION, HOLDS)[sum(right)]


def makespans(tables: Tables, *policies: str) -> pd.Series[float]:
    """Mean makespan of each policy for the most jobs."""
    frame = tables("gavel19", "static-multiple", "policy", "jobs", "makespan")
    frame = frame[frame["jobs"] == frame["jobs"].max()]
    found: pd.Series[float] = frame.groupby("policy")["makespan"].mean()
    for name in policies:
        if name not in found:
            raise Missing(f"{name} is not among the policies of gavel19_static-multiple.csv")
    return found


def makespan_over(baseline: str) -> Rule:
    """``=``: the makespan of a baseline over that of the makespan policy, for the most jobs."""

    def check(tables: Tables, _: str, id: str) -> Judged:
        found = makespans(tables, baseline, "makespan-het")
        got = float(found[baseline] / found["makespan-het"])
        return number(got, "x"), _equals(got, tables.paper[id])

    return Rule("gavel19", check, pair=True)


def _makespan_sharing(tables: Tables, _: str, id: str) -> Judged:
    """Fig 19: what space sharing takes off the makespan, for the most jobs."""
    found = makespans(tables, "makespan-het", "makespan-het-ss")
    got = 100 * (1 - float(found["makespan-het-ss"] / found["makespan-het"]))
    paper = tables.paper[id]
    return number(got, "%"), HOLDS if abs(got - paper) <= 2 else DIRECTION if got >= paper / 2 else OTHERWISE


def costs(measure: Callable[[pd.DataFrame], Judged | float]) -> Rule:
    """A statement on the cost policies; `measure` sees their mean cost and share of missed SLOs, by policy."""

    def check(tables: Tables, _: str, id: str) -> Judged:
        frame = tables("gavel-cost", "cost", "policy", "cost", "missed")
        means = frame.groupby("policy")[["cost", "missed"]].mean()
        for name in ("max-throughput", "min-cost", "min-cost-slo"):
            if name not in means.index:
                raise Missing(f"{name} is not among the policies of gavel-cost_cost.csv")
        got = measure(means)
        return got if isinstance(got, tuple) else (number(got, "x"), _equals(got, tables.paper[id]))

    return Rule("gavel-cost", check, pair=True)


def _missed(means: pd.DataFrame) -> Judged:
    got = 100 * float(means["missed"]["min-cost"])
    return number(got, "%"), HOLDS if abs(got - 35) <= 3.5 else DIRECTION if 17.5 <= got <= 70 else OTHERWISE


def _slos(means: pd.DataFrame) -> Judged:
    ratio = float(means["cost"]["max-throughput"] / means["cost"]["min-cost-slo"])
    missed = 100 * float(means["missed"]["min-cost-slo"])
    verdict = _equals(ratio, 1.23)
    return f"{number(ratio, 'x')}, {number(missed, '%')} missed", (
        verdict if missed == 0 else weakest([verdict, DIRECTION]) if missed <= 2 else OTHERWISE
    )


def _partition(tables: Tables, _: str, id: str) -> Judged:
    """Fig 11b: what a static partition loses of the total effective throughput, with all jobs there."""
    frame = tables("gavel11", "hierarchy", "policy", "jobs", "total")
    total = frame[frame["jobs"] == frame["jobs"].max()].groupby("policy")["total"].mean()
    if not {"hierarchical", "hierarchical-het"} <= set(total.index):
        raise Missing("hierarchical and hierarchical-het are not both there")
    got, paper = 100 * (1 - float(total["hierarchical"] / total["hierarchical-het"])), tables.paper[id]
    return number(got, "%"), HOLDS if abs(got - paper) <= 0.1 * paper else DIRECTION if got >= paper / 2 else OTHERWISE


def solved_within(policy: str, jobs: int) -> Rule:
    """``<``: seconds for one solve with so many jobs."""

    def check(tables: Tables, _: str, id: str) -> Judged:
        frame = tables("gavel12", "scaling", "policy", "jobs", "seconds")
        frame = frame[frame["policy"] == policy]
        if frame.empty:
            raise Missing(f"{policy} is not among the policies of gavel12_scaling.csv")
        most, seconds = frame.sort_values("jobs")[["jobs", "seconds"]].to_numpy(dtype=float)[-1]
        shown = f"{number(seconds, 's')} for {most:.0f} jobs"
        if most < jobs:
            raise Missing(f"measured: {shown}")
        return shown, HOLDS if seconds < tables.paper[id] else OTHERWISE

    return Rule("gavel12", check, pair=True)


def _rounds(tables: Tables, _: str, id: str) -> Judged:
    """Fig 13a: the average JCT over the length of a round."""
    got = tables("gavel13a", "continuous-single", "round_length", "average_jct")
    means = got.groupby("round_length")["average_jct"].mean().sort_index()
    first, last = (f"{means.iloc[k] / 3600:.2f} h at {means.index[k]:g} s" for k in (0, -1))
    return f"{first}, {last}", trend(means.tolist(), rising=True)


def _ideal(tables: Tables, _: str, id: str) -> Judged:
    """Fig 13b: the mechanism over the ideal execution, at the load where they are furthest apart."""
    frame = tables("gavel13b", "continuous-single", "policy", "jobs_per_hour", "average_jct")
    wide = frame.pivot_table(index="jobs_per_hour", columns="policy", values="average_jct")
    if not {"rounds", "ideal"} <= set(wide):
        raise Missing("rounds and ideal are not both there")
    ratio = wide["rounds"] / wide["ideal"]
    got, bound = float(ratio.max()), tables.paper[id]
    return f"{got:.3g} at {ratio.idxmax():g} jobs/h", (
        HOLDS if got <= bound else DIRECTION if got <= 2 * bound - 1 else OTHERWISE
    )


def _estimated(tables: Tables, _: str, id: str) -> Judged:
    """Fig 14: estimated throughputs against measured ones, and against no space sharing, at the highest load."""
    wide = by_load(tables, "gavel14", "continuous-single", "average_jct", "oracle", "estimated", "none").iloc[-1]
    right = [bool(wide["estimated"] <= CLOSE * wide["oracle"]), bool(wide["estimated"] < wide["none"])]
    shown = ", ".join(f"{name} {wide[name] / 3600:.2f} h" for name in ("oracle", "estimated", "none"))
    return shown, (OTHERWISE, DIRECTION, HOLDS)[sum(right)]


def example(quantity: str, tolerance: float, unit: str = "") -> Rule:
    """``=`` for the worked examples: every value that the paper prints within a tolerance."""

    def check(tables: Tables, _: str, id: str) -> Judged:
        frame = tables("gavel-examples", "example", "quantity", "paper", "value")
        frame = frame[frame["quantity"] == quantity]
        if frame.empty:
            raise Missing(f"{quantity} is not in gavel-examples_example.csv")
        off = float((frame["value"] - frame["paper"]).abs().max())
        shown = ", ".join(f"{v:.2f}" for v in frame["value"]) if not unit else number(frame["value"].iloc[0], unit)
        return shown, HOLDS if off <= tolerance + 1e-9 else DIRECTION if off <= 2 * tolerance else OTHERWISE

    return Rule("gavel-examples", check, pair=True)


_SINGLE, _MULTIPLE = "continuous-single", "continuous-multiple"

GAVEL_RULES: Final[dict[str, Rule]] = {
    "gavel.s41": example("LAS het. allocation", 0.01),
    "gavel.s41.gain": example("gain over isolated", 1.0, "%"),
    "gavel.s43": example("water filling", 0.01),
    "gavel.f8.jct": up_to("gavel08", _SINGLE, "average_jct", "las", "las-het"),
    "gavel.f9.jct": up_to("gavel09", _MULTIPLE, "average_jct", "las", "las-het"),
    "gavel.f8.gandiva": Rule("gavel08", _packing, pair=True),
    "gavel.f8.allox": Rule("gavel08", _allox, pair=True),
    "gavel.f10.jct": up_to("gavel10", _MULTIPLE, "average_jct", "ftf", "ftf-het"),
    "gavel.f10.ftf": up_to("gavel10", _MULTIPLE, "average_ftf", "ftf", "ftf-het"),
    "gavel.f19.fifo": makespan_over("fifo"),
    "gavel.f19.gandiva": makespan_over("gandiva"),
    "gavel.f19.ss": Rule("gavel19", _makespan_sharing, pair=True),
    "gavel.f16": up_to("gavel16", _SINGLE, "average_jct", "fifo", "fifo-het"),
    "gavel.f16.ss": up_to("gavel16", _SINGLE, "average_jct", "fifo", "fifo-het-ss"),
    "gavel.f20.high": up_to("gavel20", _MULTIPLE, "high_jct", "las", "las-het"),
    "gavel.f20.low": up_to("gavel20", _MULTIPLE, "low_jct", "las", "las-het"),
    "gavel.cost": costs(lambda means: float(means["cost"]["max-throughput"] / means["cost"]["min-cost"])),
    "gavel.cost.slo": costs(_missed),
    "gavel.cost.slos": costs(_slos),
    "gavel.f11": Rule("gavel11", _partition, pair=True),
    "gavel.f12.hier": solved_within("hierarchical-het", 2048),
    "gavel.f12.ss": solved_within("las-het-ss", 512),
    "gavel.f13a": Rule("gavel13a", _rounds, pair=True),
    "gavel.f13b": Rule("gavel13b", _ideal, pair=True),
    "gavel.f14": Rule("gavel14", _estimated, pair=True),
}
"""Statement -> how it is checked."""

