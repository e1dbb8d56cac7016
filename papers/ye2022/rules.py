"""The rules of [Ye2022]'s statements."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd
import scipy

from papers.rows import Absent, Missing, Source
from papers.rules import (
    TIMES,
    Judged,
    Lead,
    Verdict,
    around,
    as_text,
    equal,
    lead,
    number,
    ordered,
    trend,
    versus,
    worst,
)  # fmt: skip
from papers.ye2022.characterize import widest_swap

SEVEN: Final = ("astraea", "hived", "allox", "tiresias-l", "themis", "gandiva-fair", "yarn-cs")  # of §6.1.5
SIX_GPUS: Final = 6  # GPUs of the example of Fig 6


def larger_run_longer(source: Source) -> Judged:
    """``ordering``: no distribution function lies above that of a smaller demand by more than 2 points (Fig 3)."""
    frame = source("demand", "running_time", "share")
    classes = sorted(frame["demand"].unique(), key=lambda c: (c.startswith(">"), float(c.strip("><=").split("-")[0])))
    grid = np.unique(frame["running_time"])
    curves = []
    for c in classes:
        part = frame[frame["demand"] == c].sort_values("running_time", kind="stable")
        below = np.searchsorted(part["running_time"], grid, side="right")
        curves.append(np.r_[0.0, part["share"].cummax()][below])
    most = max((float((b - a).max()) for a, b in itertools.pairwise(curves)), default=np.nan)
    shown = f"the curve of larger gangs is at most {100 * max(most, 0):.3g} points above that of smaller ones"
    return Judged(shown, Verdict.HOLDS if most <= 0.02 else Verdict.FAILS)


def roles_swap(source: Source) -> Judged:
    """``exists``: one tenant below 50 %, another above 90 %, and on a later day the roles are swapped (Fig 4)."""
    columns = ["tenant", "day", "utilization"]
    daily = source(*columns)[columns].dropna()
    swap = widest_swap(daily.rename(columns={"day": "time"}))
    if swap is None:
        return Judged("no two virtual clusters of which each is higher on one day", Verdict.FAILS)
    use = 100 * daily.set_index(["day", "tenant"])["utilization"]
    days = sorted(daily["day"].unique())
    shown = (f"day {days[k]:g}: " + ", ".join(f"{name} {use[days[k], name]:.0f} %" for name in swap[:2])
             for k in (swap.day_1, swap.day_2))  # fmt: skip
    return Judged("; ".join(shown), Verdict.HOLDS if swap.is_full else Verdict.FAILS)


def large_wait_longer(source: Source) -> Judged:
    """``ordering``: jobs of 4 GPUs and more wait longer on average, and more often over half an hour (Fig 5a)."""
    columns = ("average_pending_time", "pending_over_30min")
    found, shown, intervals = [], [], []
    for column, words in zip(columns, ("on average", "over 30 min"), strict=True):
        wide = source.wide(column, ">=4", "<4", by="demand")
        one, interval = versus(wide["<4"], wide[">=4"], column, f"<4 {{sign}} >=4, {words}", highest=True)
        found.append(one.verdict)
        shown.append(f"{words} {as_text(wide['>=4'].mean(), column)} against {as_text(wide['<4'].mean(), column)}")
        intervals.append(interval)
    return Judged(", ".join(shown), worst(found), interval="; ".join(intervals))


def some_slow(source: Source) -> Judged:
    """``exists``: a class of jobs in which some have a slowdown above 5 (Fig 5b)."""
    share = source("demand", "slowdown_over_5").groupby("demand")["slowdown_over_5"].mean()
    shown = f"{100 * share.max():.3g} % of the jobs of demand {share.idxmax()}"
    return Judged(shown, Verdict.HOLDS if share.max() > 0 else Verdict.FAILS)


def windows(source: Source, *, jobs: Sequence[str], minutes: float) -> Judged:
    """``=``: each job's share of the GPU-time is the paper's in every window of the example, within half a point."""
    grants = source("job_id", "demand", "start", "end")
    last, length = float(grants.groupby("job_id")["end"].max().min()), 60 * minutes
    shares = []  # of each window, those of the jobs
    for start in np.arange(0.0, last - length + 1e-6, 60.0):
        held = (grants["end"].clip(upper=start + length) - grants["start"].clip(lower=start)).clip(lower=0)
        service = (held * grants["demand"].astype(float)).groupby(grants["job_id"]).sum()
        shares.append([100 * service.get(j, 0.0) / (SIX_GPUS * length) for j in jobs])
    if not shares:
        raise Missing("a whole window of the example")
    low, high = number(np.min(shares), "%"), number(np.max(shares), "%")
    holds = bool((abs(np.array(shares) - source.paper) <= 0.5).all())
    shown = low if low == high else f"{low} to {high}"
    return Judged(shown, Verdict.HOLDS if holds else Verdict.FAILS, float(np.mean(shares)))


def scheduler_share(source: Source, *, column: str, scheduler: str) -> Judged:
    """``=``: the share of one scheduler; partly only in the paper's order against each other one that it prints."""
    wide = 100 * source.wide(column, scheduler)
    got, own = wide.mean(), source.paper
    family = source.id.rpartition(".")[0]
    ids = {n: f"{family}.{n.replace('-f', '_f')}" for n in SEVEN if n != scheduler}
    paper = {n: source.papers[id] for n, id in ids.items() if id in source.papers and n in got}
    ours = float(got[scheduler])
    verdict = equal(ours, own)
    if verdict == Verdict.PARTLY and any((ours < got[n]) != (own < value) for n, value in paper.items()):
        verdict = Verdict.FAILS
    return Judged(number(ours, "%"), verdict, ours, around(wide[scheduler].dropna(), "%"))


def lowest(source: Source, *, column: str, ours: str = SEVEN[0], highest: bool = False) -> Judged:
    """``ordering``: ASTRAEA has the lowest value of the seven, or another the lowest or highest of its six rivals."""
    among = SEVEN if ours == SEVEN[0] else SEVEN[1:]
    there = source.wide(column, ours)
    others = [n for n in among if n != ours and n in there]
    return ordered(source, column=column, ours=ours, others=others, highest=highest, among=len(among))


def larger_lead(source: Source, *, column: str, other: str) -> Judged:
    """``ordering``: the others' value over ASTRAEA's, geometric mean, is larger on this trace than on the other.

    Seeds of two traces are no pairs: the interval is Welch's, with the degrees of freedom of the smaller sample.
    """
    wide = {t: replace(source, trace=t).wide(column, "astraea") for t in (source.trace, other)}
    others = [n for n in SEVEN[1:] if all(n in x for x in wide.values())]
    if not others or any((x[["astraea", *others]] <= 0).any(axis=None) for x in wide.values()):
        raise Missing("ratios to compare")
    logs = {t: np.log(x[others].div(x["astraea"], axis=0)).mean(axis=1).dropna() for t, x in wide.items()}
    here, there = logs[source.trace], logs[other]
    mean, n = float(here.mean() - there.mean()), min(len(here), len(there))
    error = np.sqrt(here.var() / len(here) + there.var() / len(there))
    half = float(scipy.special.stdtrit(max(n - 1, 1), 0.975) * error)
    verdict = lead(pd.Series([mean])).verdict if n < 2 else _sign(mean, half)
    is_few = len(others) + 1 < len(SEVEN)
    shown = ", ".join(f"{np.exp(x.mean()):.3g} x in {t.capitalize()}" for t, x in logs.items())
    shown += f" ({len(others) + 1} of {len(SEVEN)} tested)" if is_few else ""
    low, high = (float(np.exp(mean + side * half)) for side in (-1, 1))
    interval = Lead(verdict, low, high, n).text(lambda x: number(x, "x"))
    final = Verdict.OF_THOSE if is_few and verdict == Verdict.HOLDS else verdict
    return Judged(shown, final, interval=f"{source.trace} over {other}: {interval}")


def _sign(mean: float, half: float) -> Verdict:
    return Verdict.NOISE if abs(mean) <= half else Verdict.HOLDS if mean > 0 else Verdict.FAILS


def mostly_at_least_one(source: Source, *, scheduler: str) -> Judged:
    """``ordering``: most tenants have at least 1 in three quarters of their cases (Fig 11)."""
    rows = source("scheduler", "tenant", "q1")
    mine = rows[rows["scheduler"] == scheduler]
    if mine.empty:
        raise Absent(f"{scheduler} in {source.table}_{source.trace}.csv")
    first = int((mine["q1"] >= 1).sum())
    shown = f"{first} of {len(mine)} tenants in three quarters of their cases"
    return Judged(shown, Verdict.HOLDS if 2 * first > len(mine) else Verdict.FAILS)


def at_every_size(source: Source, *, columns: Sequence[str], falls: bool) -> Judged:
    """ASTRAEA is below Tiresias-L at every size of the cluster, or both fall as it grows; for every column (Fig 14).

    As ``ordering``, of the sizes at which somebody waits: average JCTs within 0.1 % say that nobody does. Or as
    ``monotone``. The weakest of all verdicts counts.
    """
    both = ["astraea", "tiresias-l"]
    jct = source.wide("average_jct", *both, index=["nodes_percent"])[both].groupby("nodes_percent").mean()
    verdicts, shown, intervals = [], [], []
    for column in columns:
        wide = source.wide(column, *both, index=["nodes_percent"])[both]
        means = wide.groupby("nodes_percent").mean()
        for name in both:
            first, last = (f"{as_text(means[name].loc[p], column)} at {p:g} %" for p in means.index[[0, -1]])
            shown.append(f"{name} {first}, {last}")
            if falls:
                sizes = wide.reset_index().pivot_table(index=wide.index.names[-1], columns="nodes_percent", values=name)
                verdicts.append(trend(sizes, rising=False).verdict)
        if not falls:
            where = means.index[_differ(jct) & _differ(means)]
            found = [versus(wide.loc[p]["tiresias-l"], wide.loc[p]["astraea"], column, f"{p:g} %") for p in where]
            if not found:
                raise Missing("a size at which somebody waits")
            verdicts += [one.verdict for one, _ in found]
            sign = "over" if column in TIMES else "less"
            intervals.append(f"tiresias-l {sign} astraea at {', '.join(text for _, text in found)}")
            shown.append(f"ahead at {verdicts.count(Verdict.HOLDS)} of {len(where)} sizes at which jobs wait")
    return Judged("; ".join(shown), worst(verdicts), interval="; ".join(intervals))


def _differ(pair: pd.DataFrame) -> pd.Series[bool]:
    """Return where two columns differ by more than 0.1 % of the larger."""
    return (pair.max(axis=1) - pair.min(axis=1)) > 0.001 * pair.max(axis=1)
