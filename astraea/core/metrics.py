"""Metrics of a `Result`: job completion time, slowdown, long-term GPU-time fairness, utilization.

Pure functions; equation numbers are those of [Ye2022]. The fairness of a job or tenant that is owed nothing is
undefined: it is NaN, excluded from shares, and counted (`undefined_jobs`).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.core.errors import InputError
from astraea.core.result import Result
from astraea.core.units import DAY, HOUR

SHARING_LOSS: Final = 0.95
"""A job with rho_job below this has sharing loss ([Ye2022] §6.3)."""

SLACK: Final = 1e-9
"""A tenant has sharing loss when rho_tenant is below 1 by more than this."""


def average_jct(result: Result) -> float:
    """Mean of end minus submission [s] ([Ye2022] §6.1.4)."""
    return float(result.jobs["jct"].mean())


def has_sharing_loss(result: Result, threshold: float = SHARING_LOSS) -> pd.Series[float]:
    """1 for each job with rho_job < threshold, 0 for others, NaN for a job that is owed nothing ([Ye2022] §6.3)."""
    rho = result.jobs["rho_job"]
    return (rho < threshold).astype(float).where(rho.notna())


def sharing_loss(result: Result, threshold: float = SHARING_LOSS) -> float:
    """Share of jobs with sharing loss among those that are owed something, in [0, 1]; NaN without such a job."""
    return float(has_sharing_loss(result, threshold).mean())


def tenant_windows(result: Result, window: float = DAY, step: float = HOUR) -> pd.DataFrame:
    """Fairness of every tenant over sliding windows ([Ye2022] Eq. 12 with Eq. 8, Fig 11).

    Parameters
    ----------
    window, step : float
        Length of a window and distance between two starts [s]; whole hours.

    Returns
    -------
    DataFrame, columns window_start, window_end [s], tenant, attained_service, fair_service [GPU-s], rho_tenant
        One row per window that ends before the last job does, and tenant; in order of time, then tenant.
        rho_tenant is NaN where the tenant is owed nothing.
    """
    for name, value in (("window", window), ("step", step)):
        if value < HOUR or value % HOUR:
            raise InputError(f"{name} must be a whole number of hours in seconds, at least 3600, got {value:g}")
    hours = result.timeline["time"].nunique()
    tenants = result.timeline["tenant"].iloc[: len(result.timeline) // max(hours, 1)]
    shape = (hours, len(tenants))
    attained = result.timeline["attained_service"].to_numpy().reshape(shape)
    fair = result.timeline["fair_service"].to_numpy().reshape(shape)
    width = int(window // HOUR)
    starts = np.arange(0, max(hours - width, 0), int(step // HOUR))
    got, owed = attained[starts + width] - attained[starts], fair[starts + width] - fair[starts]
    rho = np.full(got.shape, np.nan)
    np.divide(got, owed, out=rho, where=owed > 0)
    n = len(tenants)
    return pd.DataFrame(
        {
            "window_start": np.repeat(starts * HOUR, n),
            "window_end": np.repeat(starts * HOUR + window, n),
            "tenant": np.tile(tenants.to_numpy(), len(starts)),
            "attained_service": got.ravel(),
            "fair_service": owed.ravel(),
            "rho_tenant": rho.ravel(),
        }
    )


def tenant_sharing_loss(result: Result, threshold: float = 1.0, window: float = DAY, step: float = HOUR) -> float:
    """Share of (tenant, window) cases with rho_tenant < threshold ([Ye2022] §6.3); in [0, 1], NaN without a case."""
    rho = tenant_windows(result, window, step)["rho_tenant"].dropna()
    return float((rho < threshold - SLACK).mean()) if len(rho) else float("nan")


def summary(result: Result) -> dict[str, Any]:
    """Return the figures of a run by name: times in s, shares in [0, 1], GPU-time in GPU-s.

    `average_slowdown` is the mean of (pending + running) / running over jobs that executed for some time ([Ye2022]
    §6.1.4). `utilization` is GPU-time held over the cluster's GPU-time until the last job ends. `overhead_share` is
    checkpoints and restarts as a share of the average JCT ([Ye2022] §6.4).
    """
    jobs, excluded = result.jobs, result.excluded_jobs
    return {
        "policy": result.policy,
        "jobs": len(jobs),
        "excluded_jobs": len(excluded),
        "excluded_gpu_time": float((excluded["demand"] * excluded["duration"]).sum()),
        "average_jct": average_jct(result),
        "median_jct": float(jobs["jct"].median()),
        "average_slowdown": float(jobs["slowdown"].mean()),
        "average_queueing_delay": float(jobs["queueing_delay"].mean()),
        "sharing_loss": sharing_loss(result),
        "undefined_jobs": int(jobs["rho_job"].isna().sum()),
        "tenant_sharing_loss": tenant_sharing_loss(result),
        "makespan": result.makespan,
        "utilization": float(jobs["attained_service"].sum() / (result.gpus * result.makespan)),
        "overhead_share": float(jobs["overhead"].mean() / jobs["jct"].mean()),
        "leases": int(jobs["leases"].sum()),
        "preemptions": int(jobs["preemptions"].sum()),
    }
