"""The rules of [Wang2023]'s statements.

Revenues and makespans are compared between sums over everything that is varied and over trials.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from papers.judging import (
    Judged,
    Missing,
    Source,
    Verdict,
    at_most,
    below,
    equal,
    graded,
    number,
    reaches,
    trend,
)  # fmt: skip

ASTRAEA: Final = "astraea-market"
SETTING: Final = ["servers", "jobs"]
BASELINES: Final = ("batch-sche", "gandiva-fair", "hived")
FULL: Final = 0.995
"""Utilization that is written as 100 %."""


def postponed(source: Source, *, beyond: int) -> Judged:
    """``exists``: the interval in which a job of the worked example runs comes after another one (§4.2)."""
    interval = float(source("value")["value"].iloc[0])
    return f"runs in interval {interval:.0f}", graded(interval > beyond)


def earns_more(source: Source, *, baseline: str) -> Judged:
    """``=``: Astraea's total revenue over a baseline's, both from arrival to completion.

    Over a baseline that earns nothing in total, or less, there is no ratio. Beside it, what is not judged: Astraea's
    ideal revenue over the baseline's in which no job's is less than 0, and both ideal.
    """
    frame = source("scheduler", "revenue", "ideal_revenue", "floored_revenue")

    def total(column: str) -> tuple[float, float]:
        sums = source.having(frame.groupby("scheduler")[column].sum(), ASTRAEA, baseline)
        return float(sums[ASTRAEA]), float(sums[baseline])

    (ours, theirs), (ideal, their_ideal), (_, floored) = (
        total(column) for column in ("revenue", "ideal_revenue", "floored_revenue")
    )
    beside = f"; ideal over floored {_ratio(ideal, floored)}, ideal over ideal {_ratio(ideal, their_ideal)}"
    if theirs <= 0:
        shown = f"no ratio: Astraea {ours:,.0f}, {baseline} {theirs:,.0f}"
        return shown + beside, Verdict.OTHERWISE
    shown, verdict, value = equal(source, ours / theirs, "x")
    return shown + beside, verdict, value


def _ratio(ours: float, theirs: float) -> str:
    return f"{ours / theirs:.3g}" if theirs > 0 else "no ratio"


def earns_up_to(source: Source, *, baseline: str) -> Judged:
    """``up to``: the largest of the ratios of total revenue, of all settings in which a baseline earns anything."""
    wide = source.wide("revenue", ASTRAEA, baseline, index=["varied", "value"])
    wide = wide[wide[baseline] > 0]
    if wide.empty:
        return f"no ratio: {baseline} earns nothing", Verdict.OTHERWISE
    ratios = wide[ASTRAEA] / wide[baseline]
    best, (varied, value) = float(ratios.max()), wide.index.to_list()[int(ratios.argmax())]
    return f"{number(best, 'x')} with {value:g} {varied}", reaches(best, source.paper), best


def close_to_optimum(source: Source) -> Judged:
    """``>``: Astraea's performance ratio in every setting (Fig 5)."""
    got = source(*SETTING, "ratio").groupby(SETTING)["ratio"].mean()
    return f"{got.min():.3g} to {got.max():.3g}", below(source.paper, got), float(got.min())


def drop(source: Source) -> Judged:
    """``<=``: from the fewest jobs to the most, for the number of servers where that is worst (Fig 5)."""
    by_jobs = source.wide("ratio", index=["servers"], by="jobs")
    jobs = by_jobs.columns
    if len(jobs) < 2:
        raise Missing("there is one number of jobs only")
    got = float((by_jobs.iloc[:, 0] - by_jobs.iloc[:, -1]).max())
    return f"{got:.3g} from {jobs[0]} to {jobs[-1]} jobs", at_most(got, source.paper, is_ratio=False), got


def closest_to_optimum(source: Source) -> Judged:
    """``ordering``: Astraea's performance ratio against each other scheduler's in every setting (Fig 6)."""
    wide = source.wide("ratio", ASTRAEA, *BASELINES, index=SETTING)
    comparisons = [x for name in BASELINES for x in (wide[ASTRAEA] > wide[name]).to_list()]
    means = ", ".join(f"{name} {wide[name].mean():.3g}" for name in (ASTRAEA, *BASELINES))
    return f"{means}; higher in {sum(comparisons)} of {len(comparisons)}", below(wide[[*BASELINES]], wide[[ASTRAEA]])


def falls_less(source: Source) -> Judged:
    """``ordering``: what part of the ratio for the fewest jobs is left for the most, against each other (Fig 6)."""
    by_jobs = source.wide("ratio", ASTRAEA, *BASELINES, index=["jobs"])
    kept = by_jobs.iloc[-1] / by_jobs.iloc[0]
    shown = ", ".join(f"{name} {number(100 * kept[name], '%')}" for name in (ASTRAEA, *BASELINES))
    return f"left: {shown}", below(kept[[*BASELINES]], kept[ASTRAEA])


def absolutely_fair(source: Source, *, scheduler: str) -> Judged:
    """``=`` within 0.1: the revenue fairness of every tenant, mean over trials; in direction of most (Fig 7)."""
    frame = source("scheduler", "tenant", "alpha")
    alpha = frame[frame["scheduler"] == scheduler].groupby("tenant")["alpha"].mean()
    if alpha.empty:
        raise Missing(f"{scheduler} has no revenue fairness: its total revenue is not above 0")
    right = [bool(abs(a - source.paper) <= 0.1) for a in alpha]
    within = f"{sum(right)} of {len(right)} tenants within 0.1 of {source.paper:g}"
    return f"{alpha.min():.3g} to {alpha.max():.3g}, {within}", graded(all(right), 2 * sum(right) > len(right))


def more_near_one(source: Source, *, others: list[str]) -> Judged:
    """``ordering``: Astraea has more tenants with a mean revenue fairness within 0.1 of 1 than each other (Fig 7)."""
    alpha = source.wide("alpha", ASTRAEA, *others, index=["tenant"])[[ASTRAEA, *others]]
    near = ((alpha - 1).abs() <= 0.1).sum()
    return ", ".join(f"{name} {n}" for name, n in near.items()), below(near[others], near[ASTRAEA])


def more_even(source: Source, *, others: list[str], setting: str) -> Judged:
    """``ordering``: the mean variance over tenants within a trial, with our theta and with that of §4.4 (Fig 8).

    In direction: with our theta alone, or within 10 %.
    """
    trials = source("scheduler", "trial", "alpha").groupby(["scheduler", "trial"])["alpha"].var(ddof=0)
    where = {"setting": setting, "figure": "Fig 8, variance"}
    printed = replace(source, table="wang-settings", where=where).means("value", ASTRAEA, *others)
    found = [source.having(trials.groupby("scheduler").mean(), ASTRAEA, *others), printed]
    shown = [", ".join(f"{name} {x[name]:.3g}" for name in (ASTRAEA, *others)) for x in found]
    ours, theirs = (below(x[ASTRAEA], x[others]) for x in found)
    holds = ours == theirs == Verdict.HOLDS
    return f"{shown[0]}; {setting}: {shown[1]}", graded(holds, ours != Verdict.OTHERWISE)


def takes_longer(source: Source, *, by: str) -> Judged:
    """``monotone``: the time to plan all jobs, median over trials: the first one loads code (Figs 9 and 10)."""
    frame = source("jobs", "servers", "seconds_per_job")
    total = (frame["seconds_per_job"] * frame["jobs"]).groupby(frame[by]).median()
    return ", ".join(f"{1000 * t:.0f} ms with {n} {by}" for n, t in total.items()), trend(total.tolist(), rising=True)


def better_underestimated(source: Source, *, percent: int) -> Judged:
    """``ordering``: revenue at a part of the estimated maximal price against everything above 100 % (Fig 11)."""
    got = source.means("revenue", by="percent")
    over = got[got.index > 100]
    if percent not in got.index or over.empty:
        raise Missing(f"{percent} % and an overestimate are not both there")
    shown = ", ".join(f"{r:,.0f} at {p:g} %" for p, r in got[(got.index == percent) | (got.index > 100)].items())
    if got.max() < 0:
        return f"{shown}: all below 0, so there is no revenue to compare", Verdict.OTHERWISE
    return shown, below(over, got[percent])


def worth_their_cost(source: Source) -> Judged:
    """``all``: every admitted job's ideal revenue is above its cost (Fig 12)."""
    frame = source("ideal", "cost")
    right = (frame["ideal"] > frame["cost"]).tolist()
    return f"{sum(right):,} of {len(right):,} jobs", below(frame["cost"], frame["ideal"])


def sooner_than(source: Source, *, baseline: str) -> Judged:
    """``=``: the mean over trials of the last hour with any use, Astraea's over a baseline's (Fig 13)."""
    frame = source("scheduler", "trial", "hour", "utilization")
    last = frame[frame["utilization"] > 0].groupby(["scheduler", "trial"])["hour"].max()
    means = source.having(last.groupby("scheduler").mean(), ASTRAEA, baseline)
    return equal(source, float(means[ASTRAEA] / means[baseline]), "x")


def fully_used(source: Source, *, schedulers: list[str]) -> Judged:
    """``exists``: an hour in which all GPUs are in use, under each; in direction under some (Fig 13)."""
    highest = source("scheduler", "utilization").groupby("scheduler")["utilization"].max()
    got = source.having(highest, *schedulers)[schedulers]
    shown = ", ".join(f"{name} {number(100 * x, '%')}" for name, x in got.items())
    return shown, graded(bool((got >= FULL).all()), bool((got >= FULL).any()))


def spread_over_tenants(source: Source, *, column: str) -> Judged:
    """``=``: the largest over the smallest mean over trials, of all numbers of tenants (Table 2)."""
    got = source.means(column, by="tenants")
    if len(got) < 2:
        raise Missing(f"{column}: there is one number of tenants only")
    if not got.min() > 0:
        return f"no ratio: {got.min():.3g} to {got.max():.3g}", Verdict.OTHERWISE
    return equal(source, float(got.max() / got.min()), "x")
