"""The rules of [Narayanan2020]'s statements: policies, load, and time to solve."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd

from papers.rows import Absent, Missing, Source
from papers.rules import Judged, Verdict, alike, equal, is_near, lead, number, ratio, times, versus, worst

HIGH: Final = {"continuous-single": 5.2, "continuous-multiple": 2.4}
"""The paper's "high load" [jobs/h]: the highest of our rates at which heterogeneity-aware LAS still keeps up."""


def _by_load(source: Source, column: str, *policies: str) -> pd.DataFrame:
    """One row per rate of arrival [jobs/h] that all of these policies have, and seed, in ascending order."""
    wide = source.wide(column, *policies, index=["jobs_per_hour"], by="policy")[list(policies)].dropna()
    if wide.empty:
        raise Missing(f"a rate of arrival with all of {', '.join(policies)}")
    return wide


def _at(wide: pd.DataFrame, rate: float) -> pd.DataFrame:
    """Rows of one rate, by seed."""
    return wide[wide.index.get_level_values("jobs_per_hour") == rate].droplevel("jobs_per_hour")


def _largest(values: pd.Series[float]) -> float:
    """Return the rate of the largest value."""
    return float(values.index.to_numpy(dtype=float)[int(values.argmax())])


def over_load(
    source: Source, *, column: str, baseline: str, better: str, up_to: bool = False, high: bool = False
) -> Judged:
    """``=``, or ``up to``: the ratio of two policies at the load where it is largest, or with `high` at `HIGH`.

    The paper names no load for the first, and says "at high load" of the second.
    """
    wide = _by_load(source, column, baseline, better)
    means = wide.groupby("jobs_per_hour").mean()
    rate = HIGH[source.trace] if high else _largest(means[baseline] / means[better])
    if rate not in means.index:
        raise Absent(f"{rate:g} jobs/h in {source.table}_{source.trace}.csv")
    at = _at(wide, rate)
    found = times(at[baseline], at[better], source.paper, up_to=up_to)
    return found._replace(measured=f"{found.measured} at {rate:g} jobs/h")


def alike_at_every_load(source: Source, *, column: str, ours: str, other: str) -> Judged:
    """``close to``: the ratio of two policies at the load where it is farthest from 1."""
    means = _by_load(source, column, ours, other).groupby("jobs_per_hour").mean()
    ratios = means[ours] / means[other]
    rate = _largest(pd.Series(np.log(ratios)).abs())
    return Judged(f"{number(ratios[rate], 'x')} at {rate:g} jobs/h", alike(ratios[rate]), float(ratios[rate]))


def packing(source: Source, *, baseline: str, better: str) -> Judged:
    """``=``: space sharing as a program against Gandiva's, the weaker of both traces (§7.3)."""
    found = {
        trace: over_load(replace(source, table=table, trace=f"continuous-{trace}"), column="average_jct",
                         baseline=baseline, better=better)
        for table, trace in (("gavel08", "single"), ("gavel09", "multiple"))
    }  # fmt: skip
    shown = ", ".join(f"{trace}: {one.measured}" for trace, one in found.items())
    intervals = "; ".join(one.interval for one in found.values())
    verdict = worst([one.verdict for one in found.values()])
    return Judged(shown, verdict, min(one.value for one in found.values()), intervals)


def beside_allox(source: Source) -> Judged:
    """``ordering``: LAS het. is ``close to`` AlloX or below it at moderate load, and below it at the highest (§7.3)."""
    wide = _by_load(source, "average_jct", "allox", "las-het")
    rates = wide.index.unique("jobs_per_hour")
    below = rates[rates < HIGH[source.trace]]
    if below.empty:
        raise Missing("a load below the high one")
    both = {rate: _at(wide, rate) for rate in (below[-1], rates[-1])}
    means = {rate: at.mean() for rate, at in both.items()}
    shown = "; ".join(f"{rate:g} jobs/h: las-het {m['las-het'] / 3600:.2f} h, allox {m['allox'] / 3600:.2f} h"
                      for rate, m in means.items())  # fmt: skip
    moderate, high = means[below[-1]], rates[-1]
    ahead, interval = versus(both[high]["allox"], both[high]["las-het"], "average_jct", "allox over las-het")
    near = Verdict.HOLDS if moderate["las-het"] < moderate["allox"] else alike(moderate["las-het"], moderate["allox"])
    return Judged(shown, worst([near, ahead.verdict]), interval=interval)


def serves_more(source: Source, *, baseline: str, better: str) -> Judged:
    """``ordering``: at the highest load a policy has a lower average JCT than the baseline at the load before."""
    wide = _by_load(source, "average_jct", baseline, better)
    rates = wide.index.unique("jobs_per_hour")
    if len(rates) < 2:
        raise Missing("a second load")
    theirs, ours = (_at(wide, rates[k])[name] for k, name in ((-2, baseline), (-1, better)))
    found, interval = versus(theirs, ours, "average_jct", f"{baseline} over {better}")
    shown = f"{better} {ours.mean() / 3600:.2f} h at {rates[-1]:g} jobs/h, "
    shown += f"{baseline} {theirs.mean() / 3600:.2f} h at {rates[-2]:g}"
    return Judged(shown, found.verdict, interval=interval)


def shorter_tail(source: Source, *, policy: str, other: str) -> Judged:
    """``ordering``: a policy's 99th percentile of JCT is lower, at the highest load."""
    wide = _by_load(source, "jct_99", policy, other)
    rate = wide.index.unique("jobs_per_hour")[-1]
    at = _at(wide, rate)
    found, interval = versus(at[other], at[policy], "jct", f"{other} over {policy}")
    shown = ", ".join(f"{name} {at[name].mean() / 3600:.0f} h" for name in (policy, other))
    return Judged(f"{shown} at {rate:g} jobs/h", found.verdict, interval=interval)


def simulated_as_measured(source: Source) -> Judged:
    """``<``: how far our simulation is from the paper's cluster where that is most (Table 3)."""
    rows = source("policy", "physical", "drawn")
    off = float(100 * (rows["drawn"] / rows["physical"] - 1).abs().max())
    return Judged(number(off, "%"), Verdict.HOLDS if off < source.paper else Verdict.FAILS, off)


def better_by(source: Source) -> Judged:
    """``up to``: what one policy of a trace needs over the other, where that is most (Table 3)."""
    drawn = source("trace", "drawn").groupby("trace")["drawn"]
    best = int((drawn.max() / drawn.min()).argmax())
    return times(drawn.max().iloc[[best]], drawn.min().iloc[[best]], source.paper, up_to=True)


def estimated(source: Source) -> Judged:
    """``ordering``: with estimated throughputs ``close to`` measured ones, and below no space sharing (Fig 14).

    At the highest load. Partly: the order alone is right.
    """
    wide = _by_load(source, "average_jct", "oracle", "estimated", "none")
    at = _at(wide, wide.index.unique("jobs_per_hour")[-1])
    means, (found, interval) = at.mean(), versus(at["none"], at["estimated"], "average_jct", "none over estimated")
    near = is_near(means["estimated"], means["oracle"], 1.05)
    verdict = Verdict.PARTLY if found.verdict == Verdict.HOLDS and not near else found.verdict
    shown = ", ".join(f"{name} {x / 3600:.2f} h" for name, x in means.items())
    return Judged(shown, verdict, interval=interval)


def less_than(source: Source, *, column: str, policy: str, other: str) -> Judged:
    """``=``: what a policy's mean is below another one's [%], for the most jobs; partly: below it, by another size."""
    wide = source.wide(column, policy, other, by="policy")
    each = 100 * (1 - wide[policy] / wide[other])
    got = 100 * (1 - float(wide[policy].mean() / wide[other].mean()))
    found = lead(each, 100)
    verdict = found.verdict if found.verdict != Verdict.HOLDS or is_near(got, source.paper) else Verdict.PARTLY
    return Judged(number(got, "%"), verdict, got, found.text(lambda x: number(x, "%")))


def saved_without_misses(source: Source, *, policy: str, baseline: str) -> Judged:
    """``=`` for the ratio of costs, and no job misses its SLO."""
    cost = ratio(source, by="policy", column="cost", of=baseline, to=policy)
    missed = 100 * float(source.wide("missed", policy, by="policy")[policy].mean())
    verdict = worst([cost.verdict, Verdict.FAILS if missed else Verdict.HOLDS])
    return cost._replace(measured=f"{cost.measured}, {number(missed, '%')} missed", verdict=verdict)


def missed(source: Source, *, policy: str) -> Judged:
    """``=``: the share of jobs that miss their SLO under a policy [%]."""
    each = 100 * source.wide("missed", policy, by="policy")[policy]
    return Judged(number(each.mean(), "%"), equal(float(each.mean()), source.paper), float(each.mean()))


def solved_within(source: Source, *, jobs: int) -> Judged:
    """``<``: seconds for one solve with so many jobs."""
    frame = source("jobs", "seconds")
    most, seconds = frame.sort_values("jobs", kind="stable")[["jobs", "seconds"]].to_numpy(dtype=float)[-1]
    shown = f"{number(seconds, 's')} for {most:.0f} jobs"
    if most < jobs:
        raise Missing(f"{jobs} jobs; measured: {shown}")
    return Judged(shown, Verdict.HOLDS if seconds < source.paper else Verdict.FAILS, seconds)
