"""Means over several runs, with their confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd


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
