"""Measures of the efficiency figures of [Ye2022] §6.4, from the tidy tables of `astraea.sweep`."""

from __future__ import annotations

import math

import pandas as pd


def efficiency(jobs: pd.DataFrame, gpus_per_node: int = 8) -> pd.DataFrame:
    """Return the slowdown and the completion time of each run (Figs 12 and 13).

    Parameters
    ----------
    jobs : DataFrame, columns scheduler, seed, demand [GPU], slowdown, jct [s]
        One row per run and job, as in ``runs.jobs``.
    gpus_per_node : int, optional
        Size of a node [GPU].

    Returns
    -------
    DataFrame, columns scheduler, seed, average_slowdown, slowdown_99, other_99, slowest_share, one_node, more_nodes,
    average_jct, median_jct
        One row per run. `slowdown_99` is the 99 % quantile, `other_99` and `slowest_share` are as in `slowest`.
        `one_node` is the average slowdown of the jobs that one node can hold, `more_nodes` that of the others (NaN
        without one). Times in s.
    """
    runs = jobs.groupby(["scheduler", "seed"], sort=False)
    small = jobs[jobs["demand"] <= gpus_per_node].groupby(["scheduler", "seed"], sort=False)["slowdown"]
    large = jobs[jobs["demand"] > gpus_per_node].groupby(["scheduler", "seed"], sort=False)["slowdown"]
    columns = {
        "average_slowdown": runs["slowdown"].mean(), "slowdown_99": runs["slowdown"].quantile(0.99),
        "other_99": runs["slowdown"].agg(lambda one: slowest(one)[0]),
        "slowest_share": runs["slowdown"].agg(lambda one: slowest(one)[1]),
        "one_node": small.mean(), "more_nodes": large.mean(),
        "average_jct": runs["jct"].mean(), "median_jct": runs["jct"].median(),
    }  # fmt: skip
    return pd.DataFrame(columns).rename_axis(["scheduler", "seed"]).reset_index()


def slowest(slowdown: pd.Series[float]) -> tuple[float, float]:
    """Return the average slowdown of all but the slowest hundredth of the jobs, and that hundredth's part in the sum.

    The hundredth is rounded up to whole jobs; the first is NaN where no job is left, the second is in [0, 1].
    """
    rising = slowdown.sort_values()
    other = rising.iloc[: len(rising) - math.ceil(len(rising) / 100)]
    return float(other.mean()), float(1 - other.sum() / rising.sum())
