"""Tables for drawing: jobs and seeds reduced to quantile points, means with intervals, five-number summaries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd


def ecdf(
    frame: pd.DataFrame, value: str, by: str | Sequence[str], *, at: Sequence[float] = (), points: int = 200
) -> pd.DataFrame:
    """Return points of the empirical distribution functions, one per class; NaN is left out.

    The share at every point is exact, F(x) = #{values <= x} / n; only the points in between are left out.

    Parameters
    ----------
    at : sequence of float
        Values that must be among the points, as thresholds of claims.
    points : int
        Largest number of points per class, besides those `at`.

    Returns
    -------
    DataFrame, columns `by`, `value`, share [0, 1]
    """
    keys = [by] if isinstance(by, str) else list(by)
    parts = []
    for key, part in frame.groupby(keys, sort=False, observed=True):
        x = np.sort(part[value].dropna().to_numpy(dtype=float))
        if len(x) == 0:
            continue
        picked = np.unique(np.r_[x[np.unique(np.linspace(0, len(x) - 1, points).round().astype(int))], list(at)])
        share = np.searchsorted(x, picked, side="right") / len(x)
        parts.append(pd.DataFrame({**dict(zip(keys, key, strict=True)), value: picked, "share": share}))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*keys, value, "share"])


def mean_interval(frame: pd.DataFrame, by: str | Sequence[str], value: str) -> pd.DataFrame:
    """Return the mean over the rows of each class (seeds), with its 95 % confidence interval (Student's t).

    Returns
    -------
    DataFrame, columns `by`, mean, low, high, n
        low and high are NaN where there is one row only.
    """
    keys = [by] if isinstance(by, str) else list(by)
    table = frame.groupby(keys, sort=False, observed=True)[value].agg(["mean", "std", "count"]).reset_index()
    n = table["count"].to_numpy()
    import scipy  # imports its special when it is used; its stats would take two seconds

    half = scipy.special.stdtrit(np.maximum(n - 1, 1), 0.975) * table["std"] / np.sqrt(n)
    return table[keys].assign(mean=table["mean"], low=table["mean"] - half, high=table["mean"] + half, n=n)


def compared(frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """Compare a positive `value` of schedulers with ASTRAEA's, seed by seed, so that what seeds differ in cancels.

    Returns
    -------
    DataFrame, index scheduler, columns ratio, low, high, lower, n, finding
        Mean of `value` over that of ASTRAEA, with its 95 % interval (geometric mean and Student's t; NaN below three
        seeds). `lower` counts the seeds, of `n`, in which it is lower; `finding` is ``lower``, ``higher``, ``not shown
        to differ`` or ``too few to tell``.
    """
    wide = frame.pivot_table(index="seed", columns="scheduler", values=value)
    logs = wide.div(wide["astraea"], axis=0).drop(columns="astraea").apply(np.log)
    long = logs.melt(value_name="log", ignore_index=False).dropna()
    table = mean_interval(long, "scheduler", "log").set_index("scheduler")
    low, high = (np.exp(table[c].where(table["n"] > 2)) for c in ("low", "high"))
    finding = np.select([high < 1, low > 1, high.isna()], ["lower", "higher", "too few to tell"], "not shown to differ")
    order = [name for name in frame["scheduler"].unique() if name in table.index]
    columns = {"ratio": np.exp(table["mean"]), "low": low, "high": high, "lower": (logs < 0).sum(), "n": table["n"]}
    return pd.DataFrame(columns).assign(finding=finding).loc[order]


def box_stats(frame: pd.DataFrame, value: str, by: str | Sequence[str]) -> pd.DataFrame:
    """Return a summary of each class: its 5 % (end of a whisker), 25 %, 50 %, 75 %, 95 % quantile, number of values.

    Returns
    -------
    DataFrame, columns `by`, low, q1, median, q3, high, n
    """
    keys = [by] if isinstance(by, str) else list(by)
    groups = frame.dropna(subset=[value]).groupby(keys, sort=False, observed=True)[value]
    quantiles = {"low": 0.05, "q1": 0.25, "median": 0.5, "q3": 0.75, "high": 0.95}
    columns = {name: groups.quantile(q) for name, q in quantiles.items()}
    return pd.DataFrame({**columns, "n": groups.size()}).reset_index()


def corners(frame: pd.DataFrame, value: str, by: Sequence[str]) -> pd.DataFrame:
    """Return the rows at both ends of every stretch on which a stepped curve is constant; those between are redundant.

    The rows of each class of `by` must be in order.
    """
    curves = frame.groupby(list(by), sort=False)[value]
    between = (frame[value] == curves.shift(1)) & (frame[value] == curves.shift(-1))
    return frame[~between]
