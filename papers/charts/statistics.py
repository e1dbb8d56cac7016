"""Tables for drawing: many jobs reduced to points of their distribution function."""

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
