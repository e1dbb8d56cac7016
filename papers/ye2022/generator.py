"""Published statistics that the synthetic traces are built to have, beside those of the traces, seed by seed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from astraea.core.result import Result
from astraea.core.units import DAY, HOUR
from astraea.traces.columns import STATES
from astraea.traces.describe import burstiness, user_shares
from astraea.traces.synthetic import Recipe
from astraea.traces.trace import Trace
from papers.ye2022 import characterize

LIMITS: Final = {"10 minutes": 600.0, "1 hour": HOUR, "6 hours": 6 * HOUR, "1 day": DAY, "6 days": 6 * DAY}  # Table 1
POINTS: Final = (16, 64, 256, 4096, 65_536)  # running times between them [s]
PUBLISHED: Final = {
    name: pd.DataFrame(rows)
    for name, rows in tomllib.loads(Path(__file__).with_name("generator.toml").read_text(encoding="utf-8")).items()
}
"""Published statistics of each synthetic trace: columns statistic, published, within, source."""


def of_jobs(trace: Trace) -> dict[str, float]:
    """Statistics of the jobs of a trace, by name; GPU-time is demand times duration."""
    long, gpus, time = trace.duration, trace.demand, trace.gpu_time
    past = trace.history
    before = past.submit_time if past is not None else np.empty(0)
    days = np.ceil(before.max() / DAY) if len(before) else np.nan
    submitted = np.r_[before, trace.submit_time + (0 if np.isnan(days) else days * DAY)]
    burst = burstiness(np.bincount((submitted // HOUR).astype(np.int64)).astype(float))
    found = {
        "jobs": len(trace),
        "tenants": len(trace.tenants),
        "jobs a day in the six weeks before": len(before) / days,
        "running time, mean [s]": long.mean(),
        "running time, median [s]": np.median(long),
        "8 GPUs over 1 GPU, mean running time": _over(long, gpus == 8, gpus == 1),
        "demand, mean [GPU]": gpus.mean(),
        "GPU-time per job, mean [GPU-h]": time.mean() / HOUR,
        "GPU-time of jobs of 1 GPU [%]": 100 * time[gpus == 1].sum() / time.sum(),
        "GPU-time of jobs of 8 GPUs and more [%]": 100 * time[gpus >= 8].sum() / time.sum(),
        "jobs of more than 8 GPUs [%]": 100 * np.mean(gpus > 8),
        "1-GPU jobs running less than 1 hour [%]": 100 * np.mean(long[gpus == 1] < HOUR),
        "1-GPU jobs running more than 1 day [%]": 100 * np.mean(long[gpus == 1] > DAY),
        "larger gangs that are shorter, at any quantile [%]": _shorter(trace),
        "hourly arrivals of eight weeks, variance over mean": burst["fano"],
        "hourly arrivals of eight weeks, autocorrelation at 1 h": burst["lag_1h"],
        "hourly arrivals of eight weeks, autocorrelation at 24 h": burst["lag_24h"],
    }
    found |= {f"jobs running less than {words} [%]": 100 * np.mean(long < limit) for words, limit in LIMITS.items()}
    found |= {f"jobs running at most {limit} s [%]": 100 * np.mean(long <= limit) for limit in POINTS}
    found |= {f"jobs {state} [%]": 100 * np.mean(trace.state == state) for state in STATES}
    found |= {f"jobs of {n} GPU{'s' if n > 1 else ''} [%]": 100 * np.mean(gpus == n) for n in (1, 2, 4, 8)}
    found |= {
        f"GPU-time of jobs of at most {n} GPUs [%]": 100 * time[gpus <= n].sum() / time.sum() for n in (8, 16, 32)
    }
    found |= {f"GPU-time of the top {top} of users [%]": share for top, share in user_shares(trace).items()}
    return {name: float(value) for name, value in found.items()}


def _over(values: np.ndarray, one: np.ndarray, other: np.ndarray) -> float:
    """Mean of some values over that of others; NaN where there are none."""
    return float(values[one].mean() / values[other].mean()) if one.any() and other.any() else float("nan")


def _shorter(trace: Trace) -> float:
    """By how much the distribution of running times of a larger class of demand lies above a smaller one's [%]."""
    classes = characterize.demand_class(trace.demand).to_numpy()
    times = np.unique(trace.duration)
    there = [name for name in characterize.CLASSES if (classes == name).any()]
    sorted_times = [np.sort(trace.duration[classes == name]) for name in there]
    curves = [np.searchsorted(x, times, side="right") / len(x) for x in sorted_times]
    return 100 * max((float((b - a).max()) for a, b in pairwise(curves)), default=float("nan"))


def of_queues(trace: Trace, result: Result) -> dict[str, float]:
    """Statistics of what the jobs met in production, FIFO in every virtual cluster, by name."""
    jobs = result.jobs
    wait, gpus = jobs["queueing_delay"].to_numpy(), jobs["demand"].to_numpy()
    until = np.ceil(trace.span / DAY) * DAY
    busy = (jobs["end_time"].clip(upper=until) - jobs["first_start_time"]).clip(lower=0).to_numpy() @ gpus
    swap = characterize.widest_swap(characterize.tenant_utilization(trace, result, step=DAY))
    slowdown = (jobs["queueing_delay"] + jobs["duration"]) / jobs["duration"]
    late = wait > characterize.LONG_WAIT
    return {
        "two virtual clusters change places, 1 if so": float(swap is not None and swap.is_full),
        "queueing delay, mean [s]": float(wait.mean()),
        "1-GPU jobs waiting for more than half an hour [%]": 100 * float(np.mean(late[gpus == 1])),
        "queueing delay, gangs of 4 GPUs and more over others": _over(wait, gpus >= 4, gpus < 4),
        "queueing delay, gangs above 8 GPUs over others": _over(wait, gpus > 8, gpus <= 8),
        "jobs with slowdown above 5 [%]": 100 * float((slowdown > characterize.LARGE_SLOWDOWN).mean()),
        "busy GPUs, mean": float(busy / until),
    }


def described(trace: Trace, result: Result) -> dict[str, float]:
    """All statistics of a trace and its queues, by name."""
    return of_jobs(trace) | of_queues(trace, result)


def beside_published(trace: str, found: Iterable[dict[str, float]]) -> pd.DataFrame:
    """Every published statistic of a synthetic trace with those of its seeds; `found` has those of each, by name.

    Columns statistic, published, within, how far the mean may be from that, source, mean, smallest, largest, seeds,
    holds, whether it is not farther, and why, what is known of a value that gave way.
    """
    measured = pd.DataFrame(list(found))
    known = Recipe.load(trace).compromises.set_index("statistic")["why"]
    table = PUBLISHED[trace]
    reasons = table["why"].fillna(table["statistic"]) if "why" in table else table["statistic"]
    listed = zip(table["statistic"], table["published"], table["within"], table["source"], reasons, strict=True)
    rows = []
    for statistic, published, within, source, why in listed:
        ours = measured[statistic].dropna() if statistic in measured else pd.Series(dtype=float)
        mean = float(ours.mean())
        low, high = accepted(published, within)
        holds = (low < mean if within == "above" else low <= mean) and mean <= high
        rows.append((statistic, published, within, source, mean, ours.min(), ours.max(), len(ours), holds,
                     known.get(why, "")))  # fmt: skip
    columns = ["statistic", "published", "within", "source", "mean", "smallest", "largest", "seeds", "holds", "why"]
    return pd.DataFrame(rows, columns=columns)


def accepted(published: float, within: str) -> tuple[float, float]:
    """From where to where a mean is near enough to a published value: ``± x``, ``× x``, ``x %`` or a bound."""
    if within in ("above", "at least"):
        return published, np.inf
    number = float(within.strip("±×% "))
    if within.startswith("×"):
        return published / number, published * number
    distance = number if within.startswith("±") else abs(published) * number / 100
    return published - distance - 1e-9, published + distance + 1e-9
