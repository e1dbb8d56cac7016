"""The rules of [Wang2023]'s statements. Revenues are compared between sums over everything that is varied, by seed."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any, Final

import pandas as pd

from papers.rows import Missing, Source
from papers.rules import Judged, Verdict, deciding, lead, number, times, trend, versus, worst

ASTRAEA: Final = "astraea-market"
BASELINES: Final = ("batch-sche", "gandiva-fair", "hived")
FULL: Final = 0.995
"""Utilization that is written as 100 %."""

JOBS: Final = (5, 15)
SERVERS: Final = (5, 45)
"""Ends of the axes of Figs 5 and 6: §5.2 compares 5 jobs with 15, and speaks of 5 to 45 servers."""

CHANCE: Final = 0.025
"""Largest probability of a majority of seeds that is called chance, if either side is as likely."""


def postponed(source: Source, *, after: int) -> Judged:
    """``exists``: the interval in which a job of the worked example runs comes after another one (§4.2)."""
    interval = float(source("value")["value"].iloc[0])
    return Judged(f"runs in interval {interval:.0f}", Verdict.HOLDS if interval > after else Verdict.FAILS)


def earns_more(source: Source, *, baseline: str) -> Judged:
    """``=``: the market's total revenue over a baseline's, both from arrival to completion.

    A baseline that earns nothing in total, or less, has no ratio: partly, if the market earns more.
    """
    sums = source.wide("revenue", ASTRAEA, baseline, index=["value"]).groupby(level=-1).sum()
    return _revenue(sums[ASTRAEA], sums[baseline], baseline, source.paper)


def _revenue(ours: pd.Series[float], theirs: pd.Series[float], name: str, paper: float, up_to: bool = False) -> Judged:
    if ours.mean() > 0 and theirs.mean() > 0:
        return times(ours, theirs, paper, up_to=up_to)
    found = lead(ours - theirs, float(theirs.mean()))
    verdict = Verdict.PARTLY if found.verdict == Verdict.HOLDS else found.verdict
    shown = f"no ratio: the market {ours.mean():,.0f}, {name} {theirs.mean():,.0f}"
    return Judged(shown, verdict, interval=f"the market less {name}: {found.text(number)}")


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


def ahead_by(source: Source, *, column: str, others: Sequence[str], highest: bool = False) -> Judged:
    """``>=``: the market is better than each other by this factor, in sums over everything that is varied (Abstract).

    Where another loses money, a gain that is larger than its loss counts as better.
    """
    sums = source.wide(column, ASTRAEA, *others, index=["value"] if highest else []).groupby(level=-1).sum()
    wanted = sums[[*others]] * source.paper ** (1 if highest else -1)
    leads = [versus(wanted[n], sums[ASTRAEA], "revenue", f"{source.paper:g} times {n} {{sign}} the market",
                    highest=highest) for n in others]  # fmt: skip
    found, interval = deciding(leads)
    shown = ", ".join(f"{n} {number(sums[n].mean())}" for n in (ASTRAEA, *others))
    return Judged(shown, found.verdict, interval=interval)


def drop(source: Source) -> Judged:
    """``<=``: the fall from 5 to 15 jobs, for the number of servers from 5 to 45 where it is largest (Fig 5)."""
    wide = source.wide("ratio", index=["servers"], by="jobs")
    servers = wide.index.unique("servers")
    if lost := [f"{n} jobs" for n in JOBS if n not in wide] + [f"{n} servers" for n in SERVERS if n not in servers]:
        raise Missing(f"instances of {lost[0]}")
    falls = wide[JOBS[0]] - wide[JOBS[1]]
    at: Any = falls.groupby("servers").mean().idxmax()
    found = lead(source.paper - falls.loc[at])
    got, ends = float(falls.loc[at].mean()), (source.paper - found.high, source.paper - found.low)
    shown = f"{got:.3g} from {JOBS[0]} to {JOBS[1]} jobs with {at} servers"
    return Judged(shown, found.verdict, got, found._replace(low=ends[0], high=ends[1]).text(number))


def falls_less(source: Source) -> Judged:
    """``ordering``: the ratio falls from 5 jobs to 15, and by less than under each other scheduler (Fig 6).

    Partly: it falls less than each other's because it does not fall.
    """
    by_jobs = source.wide("ratio", ASTRAEA, *BASELINES, index=["jobs"])
    if lost := [n for n in JOBS if n not in by_jobs.index.unique("jobs")]:
        raise Missing(f"instances of {lost[0]} jobs")
    few, many = (by_jobs[by_jobs.index.get_level_values("jobs") == n].droplevel("jobs") for n in JOBS)
    falls = few - many
    found, interval = deciding(
        [versus(falls[n], falls[ASTRAEA], "ratio", f"{n} {{sign}} {ASTRAEA}") for n in BASELINES]
    )
    it_falls = falls[ASTRAEA].mean() > 0
    verdict = found.verdict if it_falls or found.verdict != Verdict.HOLDS else Verdict.PARTLY
    shown = ", ".join(f"{name} {falls[name].mean():.3f}" for name in (ASTRAEA, *BASELINES))
    return Judged(f"falls by: {shown}", verdict, interval=interval)


def absolutely_fair(source: Source, *, scheduler: str) -> Judged:
    """``=`` within 0.1: the revenue fairness of every tenant, mean over seeds (Fig 7)."""
    alpha = source.wide("alpha", scheduler, index=["tenant"])[scheduler].groupby("tenant").mean()
    right = (alpha - source.paper).abs() <= 0.1
    within = f"{right.sum()} of {len(right)} tenants within 0.1 of {source.paper:g}"
    return Judged(f"{alpha.min():.3g} to {alpha.max():.3g}, {within}", Verdict.HOLDS if right.all() else Verdict.FAILS)


def more_near_one(source: Source, *, others: list[str]) -> Judged:
    """``ordering``: more tenants have a mean revenue fairness within 0.1 of 1 than under each other (Fig 7)."""
    alpha = source.wide("alpha", ASTRAEA, *others, index=["tenant"]).groupby("tenant").mean()
    near = ((alpha[[ASTRAEA, *others]] - 1).abs() <= 0.1).sum()
    holds = bool((near[others] < near[ASTRAEA]).all())
    shown = ", ".join(f"{name} {n}" for name, n in near.items())
    return Judged(shown, Verdict.HOLDS if holds else Verdict.FAILS)


def takes_longer(source: Source, *, by: str) -> Judged:
    """``monotone``: the time to plan all jobs (Figs 9 and 10)."""
    wide = source.wide("seconds", by="value")
    found = trend(wide, rising=True)
    shown = ", ".join(f"{1000 * t:.0f} ms with {n} {by}" for n, t in wide.mean().items())
    return Judged(shown, found.verdict, interval=f"last less first: {found.text(lambda x: f'{1000 * x:.0f} ms')}")


def more_often(source: Source, *, by: str, column: str, ours: Any, others: list[Any]) -> Judged:
    """``ordering``: one has the higher value than each other in so many seeds that it is no chance (sign test).

    For sums that one seed can decide: at high load, losses of the seeds differ by a factor of a hundred (Fig 11).
    """
    wide = source.wide(column, ours, *others, by=by).dropna()
    n, wins = len(wide), {other: int((wide[ours] > wide[other]).sum()) for other in others}

    def verdict(k: int) -> Verdict:
        above, below = (sum(comb(n, i) for i in ends) / 2**n for ends in (range(k, n + 1), range(k + 1)))
        return Verdict.HOLDS if above <= CHANCE else Verdict.FAILS if below <= CHANCE else Verdict.NOISE

    shown = ", ".join(f"{x} {by} {number(wide[x].mean())}" for x in (ours, *others))
    interval = ", ".join(f"{ours} above {other} in {k} of {n} seeds" for other, k in wins.items())
    return Judged(shown, worst([verdict(k) for k in wins.values()]), interval=interval)


def fully_used(source: Source, *, schedulers: list[str]) -> Judged:
    """``exists``: an hour in which all GPUs are in use, under each; partly: under some (Fig 13)."""
    highest = source.wide("peak", *schedulers).max()
    full = highest[schedulers] >= FULL
    shown = ", ".join(f"{name} {number(100 * highest[name], '%')}" for name in schedulers)
    return Judged(shown, Verdict.HOLDS if full.all() else Verdict.PARTLY if full.any() else Verdict.FAILS)


def spread_over_tenants(source: Source, *, column: str) -> Judged:
    """``<=``: of the means over seeds of all numbers of tenants, the one farthest from 0 over the nearest (Table 2).

    A smaller ratio than the paper's is less sensitive, so it holds; losses are compared like gains.
    """
    got = source("tenants", column).groupby("tenants")[column].mean()
    if len(got) < 2:
        raise Missing("a second number of tenants")
    if not got.min() * got.max() > 0:
        raise Missing(f"a ratio of {got.min():,.3g} to {got.max():,.3g}")
    value = float(got.abs().max() / got.abs().min())
    return Judged(number(value, "x"), Verdict.HOLDS if value <= source.paper else Verdict.FAILS, value)
