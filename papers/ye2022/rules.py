"""The rules of [Ye2022]'s statements: their measures, and what holds in direction only."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd

from papers.judging import Judged, Missing, Source, Verdict, as_text, below, equal, graded, number, trend, worst
from papers.rules import lowest_of
from papers.ye2022.characterize import widest_swap

SEVEN: Final = ("astraea", "hived", "allox", "tiresias-l", "themis", "gandiva-fair", "yarn-cs")  # of §6.1.5
SIX_GPUS: Final = 6  # GPUs of the example of Fig 6


def larger_run_longer(source: Source) -> Judged:
    """No distribution function lies above that of a smaller demand, by more than 2 points, anywhere (Fig 3).

    In direction: that of the largest demand lies below that of the smallest on average.
    """
    frame = source("demand", "running_time", "share")
    classes = sorted(frame["demand"].unique(), key=lambda c: (c.startswith(">"), float(c.strip("><=").split("-")[0])))
    grid = np.unique(frame["running_time"])
    curves = []
    for c in classes:
        part = frame[frame["demand"] == c].sort_values("running_time", kind="stable")
        below = np.searchsorted(part["running_time"], grid, side="right")
        curves.append(np.r_[0.0, part["share"].cummax()][below])
    most_above = max((float((b - a).max()) for a, b in itertools.pairwise(curves)), default=np.nan)
    shown = f"a larger class lies above a smaller one by at most {100 * max(most_above, 0):.3g} points"
    return shown, graded(most_above <= 0.02, float((curves[-1] - curves[0]).mean()) < 0)


def roles_swap(source: Source) -> Judged:
    """One tenant below 50 %, another above 90 %, and on a later day the roles are swapped (Fig 4).

    The days are those that the figure shades, of `widest_swap`. In direction: on the second the first tenant is the
    higher one.
    """
    columns = ["tenant", "day", "utilization"]
    daily = source(*columns)[columns].dropna()
    swap = widest_swap(daily.rename(columns={"day": "time"}))
    if swap is None:
        return "no two virtual clusters of which one is higher on one day, the other on a later one", Verdict.OTHERWISE
    use = daily.set_index(["day", "tenant"])["utilization"]
    days = sorted(daily["day"].unique())
    pair = swap.tenant_a, swap.tenant_b
    shown = [[100 * float(use[days[k], name]) for name in pair] for k in (swap.day_1, swap.day_2)]
    which = zip((swap.day_1, swap.day_2), shown, strict=True)
    texts = [f"day {days[k]:g}: {pair[0]} {a:.0f} %, {pair[1]} {b:.0f} %" for k, (a, b) in which]
    return "; ".join(texts), graded(swap.is_full, shown[0][0] < 50 and shown[0][1] > 90)


def large_wait_longer(source: Source) -> Judged:
    """Jobs of 4 GPUs and more wait longer on average, and more often over half an hour (Fig 5a).

    In direction: one of both.
    """
    late, wait = (source.means(c, by="demand") for c in ("pending_over_30min", "average_pending_time"))
    right = [bool(x[">=4"] > x["<4"]) for x in (late, wait)]
    shown = f"on average {wait['>=4'] / 3600:.2f} h against {wait['<4'] / 3600:.2f} h"
    shown += f", over 30 min {100 * late['>=4']:.3g} % against {100 * late['<4']:.3g} %"
    return shown, graded(all(right), any(right))


def some_slow(source: Source) -> Judged:
    """``exists``: a class of jobs in which some have a slowdown above 5 (Fig 5b)."""
    share = source.means("slowdown_over_5", by="demand")
    return f"{100 * share.max():.3g} % of the jobs of demand {share.idxmax()}", graded(share.max() > 0)


def windows(source: Source, *, jobs: Sequence[str], minutes: float) -> Judged:
    """``=``: each job's share of the GPU time is the paper's in every window of the example, within half a point.

    In direction: on average over the windows (Fig 6).
    """
    grants = source("job_id", "demand", "start", "end")
    last, length = float(grants.groupby("job_id")["end"].max().min()), 60 * minutes
    shares = []  # of each window, those of the jobs
    for start in np.arange(0.0, last - length + 1e-6, 60.0):
        held = (grants["end"].clip(upper=start + length) - grants["start"].clip(lower=start)).clip(lower=0)
        service = (held * grants["demand"].astype(float)).groupby(grants["job_id"]).sum()
        shares.append([100 * service.get(j, 0.0) / (SIX_GPUS * length) for j in jobs])
    if not shares:
        raise Missing("the example is over before the first window is")
    off = np.array(shares) - source.paper
    low, high = number(np.min(shares), "%"), number(np.max(shares), "%")
    verdict = graded(bool((abs(off) <= 0.5).all()), bool((abs(off.mean(axis=0)) <= 0.5).all()))
    return (low if low == high else f"{low} to {high}"), verdict, float(np.mean(shares))


def scheduler_share(source: Source, *, column: str, scheduler: str) -> Judged:
    """``=``: what the paper gives for this scheduler, as for others in statements beside this one.

    In direction: as ``=``, and in the paper's order against each other one that is there.
    """
    got = 100 * source.means(column, scheduler)
    family = source.id.rpartition(".")[0]
    ids = {n: f"{family}.{n.replace('-f', '_f')}" for n in SEVEN}
    paper = {n: source.papers[id] for n, id in ids.items() if id in source.papers}
    ours, own = float(got[scheduler]), paper.pop(scheduler)
    same = [(ours < got[n]) == (own < paper[n]) for n in paper if n in got]
    shown, verdict, _ = equal(source, ours, "%")
    ordered = bool(same) and all(same)
    return shown, verdict if ordered or verdict == Verdict.HOLDS else Verdict.OTHERWISE, ours


def lowest(source: Source, *, column: str, ours: str = SEVEN[0], highest: bool = False) -> Judged:
    """``ordering``: ASTRAEA has the lowest value of the seven, or another the lowest or highest of its six rivals.

    "Of those there" if some are missing.
    """
    among = SEVEN if ours == SEVEN[0] else SEVEN[1:]
    there = source.means(column, ours)
    others = [n for n in among if n != ours and n in there]
    found = lowest_of(source, column=column, ours=ours, others=others, highest=highest)
    return _of_all(*found[:2], len(others) + 1, len(among))


def larger_lead(source: Source, *, column: str, other: str) -> Judged:
    """``ordering``: the others' value over ASTRAEA's, geometric mean, is larger on this trace than on the other."""
    found = {t: replace(source, trace=t).means(column, "astraea") for t in (source.trace, other)}
    others = [n for n in SEVEN[1:] if all(n in x for x in found.values())]
    if not others:
        raise Missing("there is nothing to compare with")
    ratio = {t: float(np.exp(np.log(x[others] / x["astraea"]).mean())) for t, x in found.items()}
    shown = ", ".join(f"{x:.3g} x in {t.capitalize()}" for t, x in ratio.items())
    return _of_all(shown, below(ratio[other], ratio[source.trace]), len(others) + 1, len(SEVEN))


def _of_all(shown: str, verdict: Verdict, there: int, all_of: int) -> Judged:
    """Weaken a verdict that holds for those that are there: it may fail for the others; a failure stays one."""
    unsure = there < all_of and verdict == Verdict.HOLDS
    return f"{shown} ({there} of {all_of} there)", Verdict.OF_THOSE if unsure else verdict


def mostly_at_least_one(source: Source, *, scheduler: str) -> Judged:
    """Most tenants have at least 1 in three quarters of their cases. In direction: in half of them (Fig 11)."""
    rows = source("scheduler", "tenant", "q1", "median")
    mine = source.having(rows.set_index("scheduler").T, scheduler).T.loc[[scheduler]]
    first, half = (int((mine[column].astype(float) >= 1).sum()) for column in ("q1", "median"))
    shown = f"{first} of {len(mine)} tenants in three quarters of their cases, {half} in half of them"
    return shown, graded(2 * first > len(mine), 2 * half > len(mine))


def at_every_size(source: Source, *, columns: Sequence[str], falls: bool) -> Judged:
    """ASTRAEA is below Tiresias-L at every size of the cluster, or both fall as it grows; for every column.

    As ``ordering``, of the sizes at which somebody waits and the two differ: average JCTs within 0.1 % say that nobody
    does. Or as ``monotone``; the weakest of all verdicts counts (Fig 14).
    """
    both = ["astraea", "tiresias-l"]
    jct = source.wide("average_jct", *both, index=["nodes_percent"])[both]
    verdicts, shown = [], []
    for column in columns:
        wide = source.wide(column, *both, index=["nodes_percent"])[both]
        for name in both:
            first, last = (f"{as_text(wide[name].loc[p], column)} at {p:g} %" for p in wide.index[[0, -1]])
            shown.append(f"{name} {first}, {last}")
        if falls:
            verdicts += [trend(wide[name].to_list(), rising=False) for name in both]
        else:
            sizes = wide[_differ(jct) & _differ(wide)]
            verdicts.append(below(sizes[both[0]], sizes[both[1]]))
            ahead = int((sizes[both[0]] < sizes[both[1]]).sum())
            shown.append(f"ahead at {ahead} of {len(sizes)} sizes at which somebody waits and the two differ")
    return "; ".join(shown), worst(verdicts)


def _differ(pair: pd.DataFrame) -> pd.Series[bool]:
    """Return where two columns differ by more than 0.1 % of the larger."""
    return (pair.max(axis=1) - pair.min(axis=1)) > 0.001 * pair.max(axis=1)
