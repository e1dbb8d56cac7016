"""The rules of [Wang2023]'s statements. Revenues are compared between sums over everything that is varied, by trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import pandas as pd

from papers.rows import Missing, Source
from papers.rules import Judged, Lead, Verdict, deciding, lead, number, times, trend, versus, worst

ASTRAEA: Final = "astraea-market"
BASELINES: Final = ("batch-sche", "gandiva-fair", "hived")
FULL: Final = 0.995
"""Utilization that is written as 100 %."""

JOBS: Final = (5, 15)
"""Fewest and most jobs of Figs 5 and 6: the paper compares these two."""


def postponed(source: Source, *, after: int) -> Judged:
    """``exists``: the interval in which a job of the worked example runs comes after another one (§4.2)."""
    interval = float(source("value")["value"].iloc[0])
    return Judged(f"runs in interval {interval:.0f}", Verdict.HOLDS if interval > after else Verdict.FAILS)


def earns_more(source: Source, *, baseline: str) -> Judged:
    """``=``: Astraea's total revenue over a baseline's, both from arrival to completion.

    A baseline that earns nothing in total, or less, has no ratio: partly, if Astraea earns more.
    """
    sums = source.wide("revenue", ASTRAEA, baseline, index=["value"]).groupby(level=-1).sum()
    return _revenue(sums[ASTRAEA], sums[baseline], baseline, source.paper)


def _revenue(ours: pd.Series[float], theirs: pd.Series[float], name: str, paper: float, up_to: bool = False) -> Judged:
    if ours.mean() > 0 and theirs.mean() > 0:
        return times(ours, theirs, paper, up_to=up_to)
    found = lead(ours - theirs, float(theirs.mean()))
    verdict = Verdict.PARTLY if found.verdict == Verdict.HOLDS else found.verdict
    shown = f"no ratio: Astraea {ours.mean():,.0f}, {name} {theirs.mean():,.0f}"
    return Judged(shown, verdict, interval=f"Astraea less {name}: {found.text(number)}")


def earns_up_to(source: Source, *, baseline: str) -> Judged:
    """``up to``: the largest of the ratios of revenue, of all settings in which a baseline earns anything."""
    wide = source.wide("revenue", ASTRAEA, baseline, index=["varied", "value"])
    means = wide.groupby(["varied", "value"]).mean()
    means = means[means[baseline] > 0]
    if means.empty:
        raise Missing(f"a setting in which {baseline} earns anything")
    best: Any = (means[ASTRAEA] / means[baseline]).idxmax()
    varied, value = best
    at = wide.loc[(varied, value)]
    found = _revenue(at[ASTRAEA], at[baseline], baseline, source.paper, up_to=True)
    return found._replace(measured=f"{found.measured} with {value:g} {varied}")


def _needs(jobs: pd.Index) -> None:
    """Raise `Missing` unless there are instances of both numbers of jobs."""
    if lost := [n for n in JOBS if n not in jobs]:
        raise Missing(f"instances of {lost[0]} jobs")


def drop(source: Source) -> Judged:
    """``<=``: from the fewest jobs to the most, for the number of servers where that is worst (Fig 5)."""
    by_jobs = source.wide("ratio", index=["servers"], by="jobs").groupby("servers").mean()
    _needs(by_jobs.columns)
    got = float((by_jobs[JOBS[0]] - by_jobs[JOBS[1]]).max())
    holds = got <= source.paper
    return Judged(f"{got:.3g} from {JOBS[0]} to {JOBS[1]} jobs", Verdict.HOLDS if holds else Verdict.FAILS, got)


def falls_less(source: Source) -> Judged:
    """``ordering``: the ratio falls less from the fewest jobs to the most than under each other scheduler (Fig 6)."""
    by_jobs = source.wide("ratio", ASTRAEA, *BASELINES, index=["jobs"])
    _needs(by_jobs.index.unique("jobs"))
    few, many = (by_jobs[by_jobs.index.get_level_values("jobs") == n].droplevel("jobs") for n in JOBS)
    falls = few - many
    found, interval = _least(falls, "ratio", BASELINES)
    shown = ", ".join(f"{name} {falls[name].mean():.3f}" for name in (ASTRAEA, *BASELINES))
    return Judged(f"falls by: {shown}", found.verdict, interval=interval)


def _least(wide: pd.DataFrame, column: str, others: Sequence[str]) -> tuple[Lead, str]:
    """Judge whether Astraea's value is below each other one's."""
    return deciding([versus(wide[n], wide[ASTRAEA], column, f"{n} {{sign}} {ASTRAEA}") for n in others])


def absolutely_fair(source: Source, *, scheduler: str) -> Judged:
    """``=`` within 0.1: the revenue fairness of every tenant, mean over trials (Fig 7)."""
    alpha = source.wide("alpha", scheduler, index=["tenant"])[scheduler].groupby("tenant").mean()
    right = (alpha - source.paper).abs() <= 0.1
    within = f"{right.sum()} of {len(right)} tenants within 0.1 of {source.paper:g}"
    return Judged(f"{alpha.min():.3g} to {alpha.max():.3g}, {within}", Verdict.HOLDS if right.all() else Verdict.FAILS)


def more_near_one(source: Source, *, others: list[str]) -> Judged:
    """``ordering``: Astraea has more tenants with a mean revenue fairness within 0.1 of 1 than each other (Fig 7)."""
    alpha = source.wide("alpha", ASTRAEA, *others, index=["tenant"]).groupby("tenant").mean()
    near = ((alpha[[ASTRAEA, *others]] - 1).abs() <= 0.1).sum()
    holds = bool((near[others] < near[ASTRAEA]).all())
    shown = ", ".join(f"{name} {n}" for name, n in near.items())
    return Judged(shown, Verdict.HOLDS if holds else Verdict.FAILS)


def more_even(source: Source, *, others: list[str], setting: str) -> Judged:
    """``ordering``: the variance over tenants within a trial, with our theta and with that of §4.4 (Fig 8)."""
    names, where = [ASTRAEA, *others], {"setting": setting, "figure": "Fig 8, variance"}
    trials = source.wide("alpha", *names, index=["tenant"]).groupby(level=-1).var(ddof=0)
    theirs = replace(source, table="wang-settings", where=where).wide("value", *names).mean()
    found, interval = _least(trials, "variance", others)
    as_printed = Verdict.HOLDS if (theirs[ASTRAEA] < theirs[others]).all() else Verdict.FAILS
    shown = [", ".join(f"{name} {x[name]:.3g}" for name in names) for x in (trials.mean(), theirs)]
    return Judged(f"{shown[0]}; {setting}: {shown[1]}", worst([found.verdict, as_printed]), interval=interval)


def takes_longer(source: Source, *, by: str) -> Judged:
    """``monotone``: the time to plan all jobs, without the first trial, which loads code (Figs 9 and 10)."""
    frame = source("jobs", "servers", "seconds_per_job", "trial")
    frame = frame[frame["trial"] > frame["trial"].min()] if frame["trial"].max() > frame["trial"].min() else frame
    wide = frame.assign(s=frame["seconds_per_job"] * frame["jobs"]).pivot_table(index="trial", columns=by, values="s")
    shown = ", ".join(f"{1000 * t:.0f} ms with {n} {by}" for n, t in wide.mean().items())
    found = trend(wide, rising=True)
    return Judged(shown, found.verdict, interval=f"last less first: {found.text(lambda x: f'{1000 * x:.0f} ms')}")


def worth_their_cost(source: Source) -> Judged:
    """``all``: every admitted job's ideal revenue is above its cost (Fig 12)."""
    frame = source("ideal", "cost")
    right = frame["ideal"] > frame["cost"]
    return Judged(f"{right.sum():,} of {len(right):,} jobs", Verdict.HOLDS if right.all() else Verdict.FAILS)


def sooner_than(source: Source, *, baseline: str) -> Judged:
    """``=``: the last hour with any use, Astraea's over a baseline's (Fig 13)."""
    used = source.wide("utilization", ASTRAEA, baseline, index=["hour"])
    rows = used.reset_index().melt([*used.index.names]).query("value > 0")
    last = rows.pivot_table(index=used.index.names[-1], columns="scheduler", values="hour", aggfunc="max")
    return times(last[ASTRAEA], last[baseline], source.paper)


def fully_used(source: Source, *, schedulers: list[str]) -> Judged:
    """``exists``: an hour in which all GPUs are in use, under each; partly: under some (Fig 13)."""
    highest = source.wide("utilization", *schedulers, index=["hour"]).max()
    full = highest[schedulers] >= FULL
    shown = ", ".join(f"{name} {number(100 * highest[name], '%')}" for name in schedulers)
    return Judged(shown, Verdict.HOLDS if full.all() else Verdict.PARTLY if full.any() else Verdict.FAILS)


def spread_over_tenants(source: Source, *, column: str) -> Judged:
    """``<=``: the largest over the smallest mean over trials, of all numbers of tenants (Table 2)."""
    got = source("tenants", column).groupby("tenants")[column].mean()
    if len(got) < 2:
        raise Missing("a second number of tenants")
    if not got.min() > 0:
        raise Missing(f"a ratio of {got.min():,.0f} to {got.max():,.0f}")
    value = float(got.max() / got.min())
    return Judged(number(value, "x"), Verdict.HOLDS if value <= source.paper else Verdict.FAILS, value)
