"""Tables for drawing: jobs and seeds reduced to quantile points, and to means with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

POINTS: Final = 200
"""Largest number of points of a distribution function."""


def ecdf(frame: pd.DataFrame, value: str, by: str, *, at: Sequence[float] = ()) -> pd.DataFrame:
    """Return points of the empirical distribution functions, one per class, as columns `by`, `value` and share [0, 1].

    The share at every point is exact, F(x) = #{values <= x} / n; NaN is left out. There are at most `POINTS` points per
    class, and those `at` given values, such as thresholds of claims.
    """
    parts = []
    for key, part in frame.groupby(by, sort=False, observed=True):
        x = np.sort(part[value].dropna().to_numpy(dtype=float))
        if len(x) == 0:
            continue
        picked = np.unique(np.r_[x[np.unique(np.linspace(0, len(x) - 1, POINTS).round().astype(int))], list(at)])
        share = np.searchsorted(x, picked, side="right") / len(x)
        parts.append(pd.DataFrame({by: key, value: picked, "share": share}))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[by, value, "share"])


def mean_interval(frame: pd.DataFrame, by: str | Sequence[str], value: str) -> pd.DataFrame:
    """Return the mean over the rows of each class (seeds), with its 95 % confidence interval (Student's t).

    The columns are `by`, mean, low, high and n; low and high are NaN where there is one row only.
    """
    keys = [by] if isinstance(by, str) else list(by)
    table = frame.groupby(keys, sort=False, observed=True)[value].agg(["mean", "std", "count"]).reset_index()
    n = table["count"].to_numpy()
    import scipy  # imports its special when it is used; its stats would take two seconds

    half = scipy.special.stdtrit(np.maximum(n - 1, 1), 0.975) * table["std"] / np.sqrt(n)
    return table[keys].assign(mean=table["mean"], low=table["mean"] - half, high=table["mean"] + half, n=n)
