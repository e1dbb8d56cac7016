"""A leaderboard: every policy on one workload by six measures, each with an interval and a rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.policy import Policy
from astraea.cluster.settings import Settings
from astraea.core.arrays import FloatArray, IntArray
from astraea.core.errors import InputError, PolicyError
from astraea.core.intervals import mean_interval
from astraea.core.metrics import SLACK, has_sharing_loss, tenant_windows
from astraea.core.result import Result
from astraea.core.units import DAY
from astraea.experiments.archive import Keep
from astraea.experiments.cache import ChangedError, measured
from astraea.experiments.grid import Grid, grid
from astraea.traces.trace import Trace

MEASURES: Final = (
    "sharing_loss", "tenant_below_99", "average_jct", "slowdown_99", "longest_wait", "preemptions_per_job",
)  # fmt: skip
"""Share of jobs with rho_job < 0.95; share of (tenant, 24 h) cases with rho_tenant < `SHORT`; average JCT [s]; 99 %
quantile of the slowdown; longest total wait of any job [s]; preemptions per job. Lower is better in each."""

LEAST: Final = {"slowdown_99": 1.0}
"""Least value that a measure can have, unless it is 0; an interval ends there."""

SHORT: Final = 0.99
QUANTILE: Final = 0.99
RESAMPLES: Final = 1000
NO_PAST: Final = "needs running times, but the workload has no past to learn them from"


def contest(
    policies: Mapping[str, Policy], traces: Sequence[Trace], cluster: Cluster, keep: Keep | None = None
) -> tuple[Grid, dict[str, str]]:
    """Make the runs of all policies on a workload, and return the reason for each policy that has none.

    All run the same jobs, as in `grid`: gangs that some policy could never start are left out. Policies that need
    running times learn them from the past of the trace. Without a past they do not run, because with true times
    they would win by knowing the future.

    Parameters
    ----------
    policies : mapping of str to Policy
        Policies by the names in the table.
    traces : sequence of Trace
        The workload, once for each seed.
    keep : optional
        Part of each result that the cache keeps, as in `Run`.

    Returns
    -------
    Grid, dict
        Grid with columns scheduler and seed (the position in `traces`); reasons by the name of the policy.
    """
    has_past = all(trace.history is not None for trace in traces)
    able = {name: policy for name, policy in policies.items() if has_past or not policy.needs_estimates}
    learned = Settings(estimator="gradient-boosting")
    runs = Grid.of(
        (
            replace(run, settings=learned if run.policy.needs_estimates else run.settings, keep=keep),
            {"scheduler": name, "seed": seed},
        )
        for seed, trace in enumerate(traces)
        for name, run in zip(able, grid([trace], [cluster], able.values()), strict=True)
    )
    return runs, {name: NO_PAST for name in policies if name not in able}


def standings(
    made: Grid, unable: Mapping[str, str], cache: str | Path | None = None, *, progress: bool = False
) -> pd.DataFrame:
    """Measure the runs that `contest` made, and rank the policies by each measure.

    A value is the mean over seeds, from three seeds on with its 95 % interval (Student's t). A single run has the
    interval of a bootstrap over weeks, see `measures`. All policies have the same seeds and the same draws of weeks, so
    the differences between draws cancel in the interval of the rank. It is often short even if the intervals of the
    values overlap. `cache` and `progress` are as in `measured`.

    Returns
    -------
    DataFrame, columns scheduler, measure, value, low, high, rank, rank_low, rank_high, seeds, weeks, jobs, reason
        A row for each policy and measure, then a row for each policy without a result: its name and the `reason`.
        `low` and `high` are NaN without an interval; `weeks` is 0 unless the interval is over weeks; `jobs` is the
        total over seeds. Equal values share the smaller rank, from 1; `rank_low` to `rank_high` are the ranks in
        95 % of the draws, or in all seeds, and `rank`. An undefined value has no rank.

    Raises
    ------
    InputError, PolicyError
        If no policy can run.
    """
    seeds = made.index["seed"].nunique()
    found, failed = _measured(made, RESAMPLES if seeds == 1 else 0, cache, progress)
    rows = found[~found["scheduler"].isin(failed)]
    keys = ["scheduler", "measure"]
    table = mean_interval(rows, keys, "value").rename(columns={"mean": "value"}).drop(columns="n")
    table = table.merge(rows.groupby(keys, sort=False).agg({"weeks": "max", "jobs": "sum"}).reset_index(), on=keys)
    if seeds <= 2:  # two seeds give no useful interval
        table[["low", "high"]] = rows[["low", "high"]].to_numpy() if seeds == 1 else np.nan
    table["low"] = table["low"].clip(lower=table["measure"].map(LEAST).fillna(0.0))
    table["rank"] = table.groupby("measure")["value"].rank(method="min")
    draws = rows.set_index(keys)["drawn"] if seeds == 1 else rows.groupby(keys, sort=False)["value"].agg(list)
    table = table.merge(_rank_intervals(draws), on=keys)
    for end, extreme in (("rank_low", np.minimum), ("rank_high", np.maximum)):
        table[end] = extreme(table[end], table["rank"])  # a mean may have a rank that no single seed has
    reasons = {**unable, **failed}
    last = pd.DataFrame({"scheduler": list(reasons), "reason": list(reasons.values())})
    whole = ["rank", "rank_low", "rank_high", "seeds", "weeks", "jobs"]
    both = pd.concat([table.assign(seeds=seeds, reason=""), last], ignore_index=True)
    return both[[*keys, "value", "low", "high", *whole, "reason"]].astype(dict.fromkeys(whole, "Int64"))


def _rank_intervals(draws: pd.Series[Any]) -> pd.DataFrame:
    """Rank the policies in every draw; columns scheduler, measure, rank_low, rank_high."""
    parts = []
    for measure, mine in draws.groupby("measure", sort=False):
        ranks = pd.DataFrame(mine.droplevel("measure").to_dict()).rank(axis=1, method="min")
        ends = ranks.quantile([0.025, 0.975], interpolation="nearest").T.set_axis(["rank_low", "rank_high"], axis=1)
        parts.append(ends.rename_axis("scheduler").reset_index().assign(measure=measure))
    return pd.concat(parts, ignore_index=True)


def _measured(
    made: Grid, resamples: int, cache: str | Path | None, progress: bool
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Measure all runs; return the rows with their scheduler, and the errors by scheduler."""
    measure, names = partial(measures, resamples=resamples), list(made.index["scheduler"])
    failed: dict[str, str] = {}
    found: list[pd.DataFrame | None]
    try:
        found = measured(made.runs, measure, cache=cache, progress=progress)
    except ChangedError:
        raise
    except (InputError, PolicyError):  # the other runs are finished and kept
        found = []
        for run, name in zip(made.runs, names, strict=True):
            try:
                found += measured([run], measure, cache=cache, progress=False)
            except (InputError, PolicyError) as error:
                failed[name] = str(error).removeprefix(f"{run.label}: ")
                found.append(None)
        if set(failed) == set(names):
            raise
    there = [rows.assign(scheduler=name) for rows, name in zip(found, names, strict=True) if rows is not None]
    return pd.concat(there, ignore_index=True), failed


def measures(result: Result, resamples: int = 0) -> pd.DataFrame:
    """Measure a result by `MEASURES`.

    With `resamples`, each value except the longest wait, a maximum, has a 95 % interval: weeks of submission are drawn
    with replacement, `resamples` times, with a fixed seed. The time from the first submission to the last is cut into
    equal parts of about a week. A tenant's case belongs to the part in which it begins, and to the last if it begins
    later. Below a week and a half there is one part and no interval. With two parts the interval reaches from one to
    the other.

    Returns
    -------
    DataFrame, columns measure, value, low, high, drawn, weeks, jobs
        `drawn` has the value of every draw, NaN if undefined; `weeks` is the number of weeks to draw from, or 0 without
        an interval (`low` and `high` are NaN).
    """
    jobs, cases = result.jobs, tenant_windows(result).dropna(subset=["rho_tenant"])
    first, last = jobs["submit_time"].min(), jobs["submit_time"].max()
    weeks = max(1, round((last - first) / (7 * DAY)))
    counts = np.random.default_rng(0).multinomial(weeks, [1 / weeks] * weeks, resamples if weeks > 1 else 0)
    drawn_from = weeks if len(counts) else 0

    def row(measure: str, values: pd.Series[float], times: pd.Series[float], quantile: float = 0.0) -> dict[str, Any]:
        known = values.notna().to_numpy()
        value = values.quantile(quantile) if quantile else values.mean()
        week = ((times - first) / max(last - first, 1.0) * weeks).clip(0, weeks - 1).astype(int)
        drawn = _drawn(np.asarray(values[known], np.float64), week.to_numpy()[known], counts, quantile)
        low, high = np.nanquantile(drawn, [0.025, 0.975]) if np.isfinite(drawn).any() else (np.nan, np.nan)
        return {"measure": measure, "value": value, "low": low, "high": high, "drawn": drawn, "weeks": drawn_from}

    submitted, short = jobs["submit_time"], (cases["rho_tenant"] < SHORT - SLACK).astype(float)
    rows = [
        row("sharing_loss", has_sharing_loss(result), submitted),
        row("tenant_below_99", short, cases["window_start"]),
        row("average_jct", jobs["jct"], submitted),
        row("slowdown_99", jobs["slowdown"], submitted, QUANTILE),
        {"measure": "longest_wait", "value": jobs["queueing_delay"].max(), "drawn": np.empty(0), "weeks": 0},
        row("preemptions_per_job", jobs["preemptions"], submitted),
    ]
    return pd.DataFrame(rows).assign(jobs=len(jobs))


def _drawn(values: FloatArray, week: IntArray, counts: IntArray, quantile: float) -> FloatArray:
    """Compute the mean, or a quantile, of each draw; `counts` (draws, weeks) is how often the draw has each week."""
    held, out = counts @ np.bincount(week, minlength=counts.shape[1]), np.full(len(counts), np.nan)
    if not quantile:
        np.divide(counts @ np.bincount(week, values, counts.shape[1]), held, out=out, where=held > 0)
        return out
    order = np.argsort(values, kind="stable")
    values, week = values[order], week[order]
    for k in np.flatnonzero(held):
        out[k] = values[np.searchsorted(np.cumsum(counts[k][week]), quantile * held[k])]
    return out
