"""The rules of [Narayanan2020]'s statements: policies, load, and time to solve."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from papers.judging import Judged, Measured, Missing, Source, alike, below, equal, graded, number, reaches, worst
from papers.rules import ratio


def _by_load(source: Source, column: str, *policies: str) -> pd.DataFrame:
    """Mean over seeds, one row per rate of arrival [jobs/h] that all of these policies have, in ascending order."""
    wide = source.wide(column, *policies, index=["jobs_per_hour"], by="policy")[list(policies)].dropna()
    if wide.empty:
        raise Missing(f"no rate of arrival has all of {', '.join(policies)}")
    return wide


def at_highest_load(source: Source, *, column: str, baseline: str, better: str, up_to: bool = False) -> Measured:
    """``=``, or ``up to``: the ratio of two policies at the highest load."""
    wide = _by_load(source, column, baseline, better)
    got = float(wide[baseline].iloc[-1] / wide[better].iloc[-1])
    shown, verdict, _ = equal(source, got, "x")
    return f"{shown} at {wide.index[-1]:g} jobs/h", reaches(got, source.paper) if up_to else verdict, got


def alike_at_every_load(source: Source, *, column: str, ours: str, other: str) -> Measured:
    """``close to``: the ratio of two policies at the load where it is farthest from 1."""
    wide = _by_load(source, column, ours, other)
    ratios = wide[ours] / wide[other]
    worst_of = int(np.abs(np.log(ratios)).argmax())
    got = float(ratios.iloc[worst_of])
    return f"{number(got, 'x')} at {ratios.index[worst_of]:g} jobs/h", alike(got), got


def packing(source: Source, *, baseline: str, better: str) -> Judged:
    """``=``: space sharing as a program against Gandiva's, at the highest load of both traces (§7.3)."""
    found = {
        trace: at_highest_load(replace(source, table=table, trace=f"continuous-{trace}"), column="average_jct",
                               baseline=baseline, better=better)
        for table, trace in (("gavel08", "single"), ("gavel09", "multiple"))
    }  # fmt: skip
    shown = ", ".join(f"{trace} {text}" for trace, (text, _, _) in found.items())
    return shown, worst([verdict for _, verdict, _ in found.values()]), min(value for _, _, value in found.values())


def beside_allox(source: Source) -> Judged:
    """``ordering``: LAS het. is as close to AlloX as ``close to`` at moderate load, and below it at high load (§7.3).

    The weaker of both verdicts counts.
    """
    wide = _by_load(source, "average_jct", "allox", "las-het")
    ratios = wide["las-het"] / wide["allox"]
    (half, moderate), (full, high) = ((ratios.index[k], ratios.iloc[k]) for k in (len(ratios) // 2, -1))
    shown = f"LAS het. over AlloX {moderate:.3g} at {half:g} jobs/h, {high:.3g} at {full:g} jobs/h"
    return shown, worst([alike(moderate), below(high, 1.0)])


def serves_more(source: Source, *, baseline: str, better: str) -> Judged:
    """``ordering``: at the highest load a policy has a lower average JCT than the baseline at the load before."""
    wide = _by_load(source, "average_jct", baseline, better)
    if len(wide) < 2:
        raise Missing("there is one load only")
    (less, theirs), (more, ours) = ((wide.index[k], wide[name].iloc[k]) for k, name in ((-2, baseline), (-1, better)))
    shown = f"{better} {ours / 3600:.2f} h at {more:g} jobs/h, {baseline} {theirs / 3600:.2f} h at {less:g}"
    return shown, below(ours, theirs)


def shorter_tail(source: Source, *, policy: str, other: str) -> Judged:
    """``ordering``: a policy's 99th percentile of JCT is lower, at the highest load."""
    rows = source("policy", "jct", "share")
    tail = source.having(rows[rows["share"] >= 0.99].groupby("policy")["jct"].min(), policy, other)
    return ", ".join(f"{name} {tail[name] / 3600:.0f} h" for name in (policy, other)), below(tail[policy], tail[other])


def simulated_as_measured(source: Source) -> Measured:
    """``<``: how far our simulation is from the paper's cluster where that is most. In direction: twice (Table 3)."""
    rows = source("policy", "physical", "drawn")
    off = float(100 * (rows["drawn"] / rows["physical"] - 1).abs().max())
    return number(off, "%"), graded(off < source.paper, off < 2 * source.paper), off


def better_by(source: Source) -> Measured:
    """``up to``: what one policy of a trace needs over the other, where that is most (Table 3)."""
    drawn = source("trace", "drawn").groupby("trace")["drawn"]
    got = float((drawn.max() / drawn.min()).max())
    return number(got, "x"), reaches(got, source.paper), got


def estimated(source: Source) -> Judged:
    """``ordering``: with estimated throughputs ``close to`` measured ones, and below no space sharing (Fig 14).

    At the highest load; the weaker of both verdicts counts.
    """
    wide = _by_load(source, "average_jct", "oracle", "estimated", "none").iloc[-1]
    verdict = worst([alike(wide["estimated"], wide["oracle"]), below(wide["estimated"], wide["none"])])
    return ", ".join(f"{name} {x / 3600:.2f} h" for name, x in wide.items()), verdict


def less_than(source: Source, *, column: str, policy: str, other: str) -> Judged:
    """``=``: what a policy's mean is below another one's [%], for the most jobs."""
    found = source.means(column, policy, other, by="policy")
    return equal(source, 100 * (1 - float(found[policy] / found[other])), "%")


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
