"""Metrics of a `Result`: job completion time, slowdown, long-term GPU-time fairness, utilization.

Pure functions; equation numbers are those of [Ye2022]. The fairness of a job or tenant that is owed nothing is
undefined: it is NaN, excluded from shares, and counted (`undefined_jobs`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.errors import InputError
from astraea.core.units import DAY, HOUR

if TYPE_CHECKING:  # for annotations only: a result computes its measures here
    from astraea.core.result import Result

SHARING_LOSS: Final = 0.95
"""A job with rho_job below this has sharing loss ([Ye2022] §6.3)."""

SLACK: Final = 1e-9
"""A tenant has sharing loss when rho_tenant is below 1 by more than this."""

AT_ONCE: Final = 4096
"""Number of windows of each tenant that are compared at once."""

NAMES: Final = {
    "jobs": ("jobs", 1.0),
    "excluded_jobs": ("excluded jobs", 1.0),
    "excluded_gpu_time": ("excluded GPU-time [GPU-h]", 1 / HOUR),
    "average_jct": ("average JCT [s]", 1.0),
    "median_jct": ("median JCT [s]", 1.0),
    "average_slowdown": ("average slowdown", 1.0),
    "average_queueing_delay": ("average queueing delay [s]", 1.0),
    "sharing_loss": ("jobs with sharing loss [%]", 100.0),
    "undefined_jobs": ("jobs owed nothing", 1.0),
    "tenant_sharing_loss": ("tenant-days with sharing loss [%]", 100.0),
    "makespan": ("makespan [s]", 1.0),
    "utilization": ("utilization [%]", 100.0),
    "overhead_share": ("overhead [% of average JCT]", 100.0),
    "leases": ("leases", 1.0),
    "preemptions": ("preemptions", 1.0),
}
"""Name with its unit of each number of `summary`, and the factor to this unit."""


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
    starts, width = _window_starts(result, window, step), int(window // HOUR)
    got, owed, rho = _in_windows(result, starts, width)
    tenants = _tenants(result)
    n = len(tenants)
    return pd.DataFrame(
        {
            "window_start": np.repeat(starts * HOUR, n),
            "window_end": np.repeat(starts * HOUR + window, n),
            "tenant": np.tile(tenants, len(starts)),
            "attained_service": got.ravel(),
            "fair_service": owed.ravel(),
            "rho_tenant": rho.ravel(),
        }
    )


def tenant_sharing_loss(result: Result, threshold: float = 1.0, window: float = DAY, step: float = HOUR) -> float:
    """Share of (tenant, window) cases with rho_tenant < threshold ([Ye2022] §6.3); in [0, 1], NaN without a case."""
    starts, width, below, cases = _window_starts(result, window, step), int(window // HOUR), 0, 0
    for first in range(0, len(starts), AT_ONCE):  # years of windows need not be in memory together
        rho = _in_windows(result, starts[first : first + AT_ONCE], width)[2]
        below += int((rho < threshold - SLACK).sum())
        cases += int(np.isfinite(rho).sum())
    return below / cases if cases else float("nan")


def hourly(result: Result) -> pd.DataFrame:
    """Return `Result.timeline` with a row for every whole hour and tenant, in order of time, then tenant."""
    tenants, hours = _tenants(result), np.arange(_last_hour(result) + 1)
    rows = {"time": np.repeat(hours * HOUR, len(tenants)), "tenant": np.tile(tenants, len(hours))}
    columns = [str(name) for name in result.timeline if name not in rows]
    return pd.DataFrame(rows | {name: _at_hours(result, name, hours).ravel() for name in columns})


def _window_starts(result: Result, window: float, step: float) -> IntArray:
    """Return the hours at which windows begin that end before the last job does."""
    for name, value in (("window", window), ("step", step)):
        if value < HOUR or value % HOUR:
            raise InputError(f"{name} must be a whole number of hours in seconds, at least 3600, got {value:g}")
    return np.arange(0, max(_last_hour(result) + 1 - int(window // HOUR), 0), int(step // HOUR))


def _in_windows(result: Result, starts: IntArray, width: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return GPU-time attained and owed in windows of `width` hours, and their ratio, each of shape (starts, tenants).

    The ratio is NaN where nothing is owed.
    """
    got, owed = (
        _at_hours(result, name, starts + width) - _at_hours(result, name, starts)
        for name in ("attained_service", "fair_service")
    )
    rho = np.full(got.shape, np.nan)
    np.divide(got, owed, out=rho, where=owed > 0)
    return got, owed, rho


def _at_hours(result: Result, column: str, hours: IntArray) -> FloatArray:
    """Return a column of the timeline at some whole hours, shape (hours, tenants).

    Between two rows nothing changes: GPU-time grows evenly, and GPUs are those of the later row.
    """
    n = len(_tenants(result))
    recorded = result.timeline["time"].to_numpy()[:: max(n, 1)] / HOUR
    table = result.timeline[column].to_numpy().reshape(-1, max(n, 1))
    after = np.searchsorted(recorded, hours)
    if column in ("held", "waiting"):
        return np.asarray(table[after])
    before = np.maximum(after - 1, 0)
    per_hour = (table[after] - table[before]) / np.maximum(recorded[after] - recorded[before], 1)[:, None]
    return np.asarray(table[after] - per_hour * (recorded[after] - hours)[:, None])


def _tenants(result: Result) -> npt.NDArray[np.object_]:
    """Return the tenants in the order of the timeline."""
    time = result.timeline["time"]
    return result.timeline["tenant"].to_numpy(dtype=object)[: int((time == time.min()).sum())]


def _last_hour(result: Result) -> int:
    """Return the last hour of the timeline; -1 if it is empty."""
    return int(result.timeline["time"].iloc[-1] // HOUR) if len(result.timeline) else -1


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


def named(figures: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of a `summary` in the units of `NAMES`, by their names there."""
    return {name: figures[key] * factor for key, (name, factor) in NAMES.items()}
