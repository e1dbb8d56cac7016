"""Measures of the fairness figures of [Ye2022] §6.3, from the tidy tables of `astraea.sweep`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pandas as pd

from astraea.core.metrics import SHARING_LOSS, SLACK

LEVELS: Final = {"tenant_sharing_loss": 1.0, "tenant_below_99": 0.99, "tenant_below_95": 0.95}
"""Column of `short_cases`, and the rho_tenant below which a case counts in it; the paper's is the first."""


def short(jobs: pd.DataFrame, level: float = SHARING_LOSS) -> pd.DataFrame:
    """Return the share of jobs with rho_job below a level (Fig 10), of those that are owed something.

    Returns
    -------
    DataFrame, columns scheduler, seed, sharing_loss
        One row per run; shares in [0, 1].
    """
    owed = jobs.dropna(subset=["rho_job"])
    below = (owed["rho_job"] < level).groupby([owed["scheduler"], owed["seed"]], sort=False)
    return below.mean().rename("sharing_loss").reset_index()


def short_cases(tenants: pd.DataFrame) -> pd.DataFrame:
    """Return the shares of tenant cases below `LEVELS` (Fig 11), of those in which the tenant is owed something.

    Returns
    -------
    DataFrame, columns scheduler, seed, and those of `LEVELS`
        One row per run; shares in [0, 1].
    """
    owed = tenants.dropna(subset=["rho_tenant"])
    below = pd.DataFrame({name: owed["rho_tenant"] < level - SLACK for name, level in LEVELS.items()})
    return below.groupby([owed["scheduler"], owed["seed"]], sort=False).mean().reset_index()


def boxes(frame: pd.DataFrame, value: str, by: Sequence[str]) -> pd.DataFrame:
    """Return quantiles of each class: 5 % (low), 25 % (q1), 50 % (median), 75 % (q3), 95 % (high), and their number n.

    A box plot of these five values, with whiskers to its ends, is that of all values.
    """
    groups = frame.dropna(subset=[value]).groupby([*by], sort=False, observed=True)[value]
    quantiles = {"low": 0.05, "q1": 0.25, "median": 0.5, "q3": 0.75, "high": 0.95}
    table = pd.DataFrame({name: groups.quantile(q) for name, q in quantiles.items()} | {"n": groups.size()})
    return table.reset_index().sort_values([*by][::-1], kind="stable", ignore_index=True)
