"""Comparisons within a seed: what the seeds differ in cancels, and nobody wins within noise."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from astraea.core.intervals import mean_interval
from astraea.plots import LOOKS, order

FEWEST: Final = 3
"""Seeds below which no difference is called proven."""

NOISE, FEW = "within noise", "too few seeds"


def differences(frame: pd.DataFrame, value: str, to: str, by: str = "scheduler", factor: float = 1.0) -> pd.DataFrame:
    """Return the value of each variant minus that of one of them, paired within a seed.

    Parameters
    ----------
    frame : DataFrame, columns `by`, seed, `value`
        One row per run.
    value : str
        The column that is compared.
    to : str
        The variant that all others are compared with.
    by : str, optional
        The column with the variants.
    factor : float, optional
        To the unit of the answer, such as 100 for a share in percent.

    Returns
    -------
    DataFrame, index `by`, columns mean, difference, low, high, n, finding
        `mean` is the variant's own; `difference` is the mean difference over `n` seeds, between `low` and `high` its
        95 % interval (Student's t). `finding` is ``lower`` or ``higher`` if the interval excludes 0, otherwise ``within
        noise``; with fewer than `FEWEST` seeds it is ``too few seeds``, and there is no interval (NaN).
    """
    wide = factor * frame.pivot_table(index="seed", columns=by, values=value)
    wide = wide[[name for name in frame[by].unique() if name in wide]]
    minus = wide.sub(wide[to], axis=0).drop(columns=to)
    table = mean_interval(minus.melt(var_name=by, value_name="difference").dropna(), by, "difference").set_index(by)
    table = table.rename(columns={"mean": "difference"})
    table.insert(0, "mean", wide.mean().reindex(table.index))
    table.loc[table["n"] < FEWEST, ["low", "high"]] = np.nan
    found = np.select([table["n"] < FEWEST, table["high"] < 0, table["low"] > 0], [FEW, "lower", "higher"], NOISE)
    return table.assign(finding=found)


def compared(frame: pd.DataFrame, value: str, to: str = "astraea", by: str = "scheduler") -> pd.DataFrame:
    """Return a positive value of each variant over that of one of them, paired within a seed.

    Parameters
    ----------
    frame, value, to, by
        As in `differences`.

    Returns
    -------
    DataFrame, index `by`, columns mean, ratio, low, high, lower, n, finding
        `ratio` is the geometric mean over `n` seeds, between `low` and `high` its 95 % interval (Student's t of the
        logarithms). In `lower` of the seeds the value is lower. `finding` is as in `differences`, about 1.
    """
    logs = frame.assign(log=np.log(frame[value]))
    table = differences(logs, "log", to, by).rename(columns={"difference": "ratio"})
    for column in ("ratio", "low", "high"):
        table[column] = np.exp(table[column])
    table["mean"] = frame.groupby(by)[value].mean()
    wide = frame.pivot_table(index="seed", columns=by, values=value)
    table.insert(4, "lower", wide.lt(wide[to], axis=0).sum())
    return table


def lowest(frame: pd.DataFrame, value: str, by: str = "scheduler") -> list[str]:
    """Return the variant with the lowest value, then those that cannot be told from it; one name is a winner.

    `frame` is as in `compared`. With fewer than `FEWEST` seeds no variant can be told from another.
    """
    first = str(np.log(frame[value]).groupby(frame[by]).mean().idxmin())
    found = compared(frame, value, first, by)
    return [first, *order(found.index[found["finding"] != "higher"])]


def winner(frame: pd.DataFrame, value: str, by: str = "scheduler") -> str:
    """Say which variant wins, or which cannot be told from the lowest; arguments as in `lowest`."""
    names = [LOOKS[name].label if name in LOOKS else name for name in lowest(frame, value, by)]
    if frame["seed"].nunique() < FEWEST:
        return f"fewer than {FEWEST} seeds name no winner"
    if len(names) == 1:
        return f"{names[0]} wins"
    return f"nobody wins: {names[0]} is lowest, but {', '.join(names[1:])} cannot be told from it"
