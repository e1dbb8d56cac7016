"""Each statement of [Wang2023] that is checked: its rule, and the table and column that it is measured on.

Besides the rules of `evaluate`: ``>`` and ``all`` hold as stated, and in direction for more than half of the
comparisons; ``property`` holds if no counter-example is known. Revenues and makespans are compared between sums over
everything that is varied and over trials; a baseline that earns less than nothing in total has no ratio, and then the
statement holds in direction if Astraea earns more.

[Wang2023] Wang et al., Online Scheduling of Distributed Machine Learning Jobs for Incentivizing Sharing in
Multi-Tenant Systems, IEEE Transactions on Computers 72(3).
"""

from __future__ import annotations

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
    most,
    no_counter_example,
    number,
)  # fmt: skip

ASTRAEA: Final = "astraea-market"
BASELINES: Final = ("batch-sche", "gandiva-fair", "hived")
FULL: Final = 0.995
"""Utilization that is written as 100 %."""


def _in_example(tables: Tables, quantity: str) -> float:
    frame = tables("wang-example", "example", "quantity", "value")
    found = frame.loc[frame["quantity"] == quantity, "value"]
    if found.empty:
        raise Missing(f"{quantity!r} is not in wang-example_example.csv")
    return float(found.iloc[0])


def example(quantity: str) -> Rule:
    """``=`` for a number of the worked example, to be met exactly."""

    def check(tables: Tables, _: str, id: str) -> Judged:
        got = _in_example(tables, quantity)
        return number(got, ""), HOLDS if abs(got - tables.paper[id]) <= 1e-9 else OTHERWISE

    return Rule("wang-example", check, pair=True)


def _postponed(tables: Tables, _: str, id: str) -> Judged:
    """§4.2: j22 does not fit into the second interval."""
    interval = _in_example(tables, "interval in which j22 runs")
    return f"runs in interval {interval:.0f}", HOLDS if interval > 2 else OTHERWISE


def _all_there(frame: pd.DataFrame | pd.Series[float], table: str, *names: str) -> None:
    """Raise `Missing` for a scheduler that is not in the index."""
    for name in names:
        if name not in frame.index:
            raise Missing(f"{name} is not among the schedulers of {table}")


def earns_more(varied: str, baseline: str) -> Rule:
    """``=``: Astraea's total revenue over a baseline's, linear utility."""

    def check(tables: Tables, trace: str, id: str) -> Judged:
        frame = tables("wang04", trace, "varied", "utility", "scheduler", "revenue")
        frame = frame[(frame["varied"] == varied) & (frame["utility"] == "linear")]
        total = frame.groupby("scheduler")["revenue"].sum()
        _all_there(total, f"wang04_{trace}.csv", ASTRAEA, baseline)
        ours, theirs = float(total[ASTRAEA]), float(total[baseline])
        if theirs <= 0:
            shown = f"no ratio: Astraea {ours:,.0f}, {baseline} {theirs:,.0f}"
            return shown, DIRECTION if ours > theirs else OTHERWISE
        return _ratio(ours / theirs, tables.paper[id])

    return Rule("wang04", check)


def _ratio(got: float, paper: float) -> Judged:
    """``=`` for a ratio."""
    near = abs(got - paper) <= 0.1 * paper
    return number(got, "x"), HOLDS if near else DIRECTION if half_as_much(got, paper) else OTHERWISE


def _ratios(tables: Tables, *names: str) -> pd.DataFrame:
    """Mean performance ratio over trials; rows (servers, jobs), columns schedulers."""
    frame = tables("wang05", "small", "jobs", "servers", "scheduler", "ratio")
    wide = frame.pivot_table(index=["servers", "jobs"], columns="scheduler", values="ratio")
    _all_there(wide.T, "wang05_small.csv", *names)
    return wide


def _close_to_optimum(tables: Tables, _: str, id: str) -> Judged:
    """Fig 5: Astraea's ratio in every setting."""
    got = _ratios(tables, ASTRAEA)[ASTRAEA]
    return f"{got.min():.3g} to {got.max():.3g}", most([bool(r > tables.paper[id]) for r in got])


def _drop(tables: Tables, _: str, id: str) -> Judged:
    """Fig 5: from the fewest jobs to the most, for the number of servers where that is worst."""
    by_jobs = _ratios(tables, ASTRAEA).pivot_table(index="servers", columns="jobs", values=ASTRAEA)
    if by_jobs.shape[1] < 2:
        raise Missing("there is one number of jobs only")
    got, bound = float((by_jobs.iloc[:, 0] - by_jobs.iloc[:, -1]).max()), tables.paper[id]
    jobs = by_jobs.columns
    shown = f"{got:.3g} from {jobs[0]} to {jobs[-1]} jobs"
    return shown, HOLDS if got <= bound else DIRECTION if got <= 2 * bound else OTHERWISE


def _closest(tables: Tables, _: str, id: str) -> Judged:
    """Fig 6: Astraea against each other scheduler in every setting."""
    wide = _ratios(tables, ASTRAEA, *BASELINES)
    comparisons = [bool(row[ASTRAEA] > row[name]) for _, row in wide.iterrows() for name in BASELINES]
    means = ", ".join(f"{name} {wide[name].mean():.3g}" for name in (ASTRAEA, *BASELINES))
    return f"{means}; higher in {sum(comparisons)} of {len(comparisons)}", most(comparisons)


def _absolutely_fair(tables: Tables, trace: str, id: str) -> Judged:
    """Fig 7: BatchSche's revenue fairness, a tenant's mean over trials."""
    frame = tables("wang07", trace, "scheduler", "tenant", "alpha")
    alpha = frame[frame["scheduler"] == "batch-sche"].groupby("tenant")["alpha"].mean()
    if alpha.empty:
        raise Missing("batch-sche has no revenue fairness: its total revenue is not above 0")
    right = [bool(abs(a - tables.paper[id]) <= 0.1) for a in alpha]
    return f"{alpha.min():.3g} to {alpha.max():.3g}, {sum(right)} of {len(right)} tenants within 0.1 of 1", most(right)


def _variance(tables: Tables, trace: str, id: str) -> Judged:
    """Fig 8: variance over tenants, mean over trials."""
    frame = tables("wang07", trace, "scheduler", "trial", "alpha")
    each = frame.groupby(["scheduler", "trial"])["alpha"].var(ddof=0)
    got = each.groupby("scheduler").mean()
    _all_there(got, f"wang07_{trace}.csv", ASTRAEA, "gandiva-fair", "hived")
    shown = ", ".join(f"{name} {got[name]:.3g}" for name in (ASTRAEA, "gandiva-fair", "hived"))
    return shown, most([bool(got[ASTRAEA] < got[name]) for name in ("gandiva-fair", "hived")])


def _quick(tables: Tables, trace: str, id: str) -> Judged:
    """Figs 9 and 10: the setting that takes longest."""
    frame = tables("wang09", trace, "jobs", "servers", "seconds_per_job")
    got, bound = float(frame.groupby(["jobs", "servers"])["seconds_per_job"].mean().max()), tables.paper[id]
    return number(got, "s"), HOLDS if got <= bound else DIRECTION if got <= 2 * bound else OTHERWISE


def _underestimated(tables: Tables, trace: str, id: str) -> Judged:
    """Fig 11: 80 % of theta - 1 against everything above 100 %, at the high load."""
    frame = tables("wang11", trace, "load", "percent", "revenue")
    got = frame[frame["load"] == "high"].groupby("percent")["revenue"].mean()
    if 80 not in got.index or not (got.index > 100).any():
        raise Missing("80 % and an overestimate are not both there")
    over = got[got.index > 100]
    shown = ", ".join(f"{r:,.0f} at {p:g} %" for p, r in got[[p == 80 or p > 100 for p in got.index]].items())
    return shown + (", all below 0" if got.max() < 0 else ""), most([bool(got.loc[80] >= r) for r in over])


def _admitted(tables: Tables, trace: str, id: str) -> Judged:
    """Fig 12: every admitted job."""
    frame = tables("wang12", trace, "ideal", "cost")
    right = (frame["ideal"] > frame["cost"]).tolist()
    return f"{sum(right):,} of {len(right):,} jobs", most(right)


def sooner_than(baseline: str) -> Rule:
    """``=``: the mean over trials of the last hour with any use, Astraea's over a baseline's (Fig 13)."""

    def check(tables: Tables, trace: str, id: str) -> Judged:
        frame = tables("wang13", trace, "scheduler", "trial", "hour", "utilization")
        last = frame[frame["utilization"] > 0].groupby(["scheduler", "trial"])["hour"].max()
        means = last.groupby("scheduler").mean()
        _all_there(means, f"wang13_{trace}.csv", ASTRAEA, baseline)
        return _ratio(float(means[ASTRAEA] / means[baseline]), tables.paper[id])

    return Rule("wang13", check)


def _full(tables: Tables, trace: str, id: str) -> Judged:
    """Fig 13: the highest utilization of both that are said to reach 100 %."""
    got = tables("wang13", trace, "scheduler", "utilization").groupby("scheduler")["utilization"].max()
    names = (ASTRAEA, "gandiva-fair")
    _all_there(got, f"wang13_{trace}.csv", *names)
    shown = ", ".join(f"{name} {number(100 * got[name], '%')}" for name in names)
    return shown, (OTHERWISE, DIRECTION, HOLDS)[sum(bool(got[name] >= FULL) for name in names)]


def spread_over_tenants(column: str) -> Rule:
    """``=`` for the largest over the smallest mean over trials, of all numbers of tenants.

    It is small in the paper, so half of its distance from 1 counts as much as twice.
    """

    def check(tables: Tables, trace: str, id: str) -> Judged:
        got = tables("wang-table2", trace, "tenants", column).groupby("tenants")[column].mean()
        if len(got) < 2:
            raise Missing(f"{column}: there is one number of tenants only")
        if not got.min() > 0:
            return f"no ratio: {got.min():.3g} to {got.max():.3g}", OTHERWISE
        ratio, paper = float(got.max() / got.min()), tables.paper[id]
        near, alike = abs(ratio - paper) <= 0.1 * paper, ratio <= paper**2
        return number(ratio, "x"), HOLDS if near else DIRECTION if alike else OTHERWISE

    return Rule("wang-table2", check)


MARKET_RULES: Final[dict[str, Rule]] = {
    "wang.eq8": example("price of a worker, 2 of 8 in use"),
    "wang.ex.j11.central": example("ideal revenue of j11, centralized"),
    "wang.ex.j11.dist": example("ideal revenue of j11, distributed"),
    "wang.ex.j21": example("ideal revenue of j21 in (10, 12]"),
    "wang.ex.j12.cost": example("cost of j12"),
    "wang.ex.j12.util": example("utility of j12 after cost"),
    "wang.ex.u2.income": example("income of u2, workers and parameter servers (§4.3)"),
    "wang.ex.j22": Rule("wang-example", _postponed, pair=True),
    "wang.f4.jobs.batchsche": earns_more("jobs", "batch-sche"),
    "wang.f4.servers.batchsche": earns_more("servers", "batch-sche"),
    "wang.f4.jobs.gandiva_fair": earns_more("jobs", "gandiva-fair"),
    "wang.f4.servers.gandiva_fair": earns_more("servers", "gandiva-fair"),
    "wang.f4.jobs.hived": earns_more("jobs", "hived"),
    "wang.f4.servers.hived": earns_more("servers", "hived"),
    "wang.f5": Rule("wang05", _close_to_optimum, pair=True),
    "wang.f5.drop": Rule("wang05", _drop, pair=True),
    "wang.f6": Rule("wang05", _closest, pair=True),
    "wang.f7.batchsche": Rule("wang07", _absolutely_fair),
    "wang.f8": Rule("wang07", _variance),
    "wang.f9": Rule("wang09", _quick),
    "wang.f11": Rule("wang11", _underestimated),
    "wang.f12": Rule("wang12", _admitted),
    "wang.f13.gf": sooner_than("gandiva-fair"),
    "wang.f13.hived": sooner_than("hived"),
    "wang.f13.util": Rule("wang13", _full),
    "wang.t2.revenue": spread_over_tenants("revenue_per_job"),
    "wang.t2.var": spread_over_tenants("variance"),
    "wang.prop.sharing": no_counter_example("wang-properties", "sharing incentive", "markets"),
    "wang.prop.strategy-proofness": no_counter_example("wang-properties", "strategy-proofness", "markets"),
    "wang.prop.pareto": no_counter_example("wang-properties", "Pareto efficiency", "markets"),
}
"""Statement -> how it is checked."""
