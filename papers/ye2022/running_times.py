"""Measures of estimated running times: their errors, what is left of a job that runs, and workloads with a past.

A trace that has no history of its own (a user's log) is cut: its last two thirds are simulated, and estimators learn
from what came before.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.core.arrays import FloatArray
from astraea.core.errors import InputError
from astraea.estimation.estimates import HIGH, LOW, Estimates
from astraea.estimation.models import ENOUGH
from astraea.estimation.past import Past
from astraea.traces.trace import Trace
from papers.ye2022.workloads import SMALL_JOBS, at_load, evaluated_cluster, load_workload

LEAST_HISTORY: Final = 4 * ENOUGH
"""Jobs that must have ended for estimators to learn: the quarter held out for the band must give enough errors."""

PER_DECADE: Final = 6
"""Cells of `joint_density` to a factor of ten."""


def with_past(name: str, scale: str = "paper", seed: int = 0, load: float = 0.0) -> tuple[Trace, Cluster]:
    """Return a workload with a history to learn from, and its cluster; arguments as in `workloads.load_workload`.

    A trace without a history is cut: its last two thirds are simulated, and the jobs before them are the history.
    `InputError` if fewer than `LEAST_HISTORY` jobs of the history had ended by second 0.
    """
    trace, cluster = _with_past(name, scale, seed)
    return at_load(trace, cluster, load) if load else trace, cluster


@lru_cache(maxsize=12)
def _with_past(name: str, scale: str, seed: int) -> tuple[Trace, Cluster]:
    trace, cluster = load_workload(name, scale, seed)
    if trace.history is None:
        whole = load_workload(name)[0]
        trace = whole.window(whole.span / 3, whole.span + 1)
        trace = trace.head(SMALL_JOBS) if scale == "small" else trace
        cluster = evaluated_cluster(name, trace, scale)
    try:
        ended = len(Past(trace, "learning").jobs)
    except InputError:
        ended = 0
    if ended < LEAST_HISTORY:
        raise InputError(
            f"learning running times needs at least {LEAST_HISTORY} jobs that had ended by second 0 of {trace.name}, "
            f"and its history has {ended}"
        )
    return trace, cluster


def accuracy(estimates: Mapping[str, Estimates], trace: Trace) -> pd.DataFrame:
    """Compare estimates, by name, with the true running times of a trace: a row per estimator, a column per measure.

    Returns
    -------
    DataFrame, index estimator
        `median APE` and `mean APE` are those of abs(median / duration - 1) [%]. `log-MAE` is the mean of
        abs(ln(median / duration)); its exponential is the typical factor. `coverage` is the share of jobs inside the
        10-90 % band, `below` and `above` are the shares outside it [%]. `band` is the mean of ln(90 % / 10 %
        quantile). `rank correlation` is Spearman's, between estimated and true GPU-time; NaN if all are equal. `slope`
        is the least-squares slope of ln(median) over ln(duration): 1 if estimates grow as the truth does, 0 if not at
        all; NaN if all running times are equal.
    """
    duration, truth, rows = trace.duration, pd.Series(trace.gpu_time), {}
    x = np.log(duration) - np.log(duration).mean()
    for name, e in estimates.items():
        error = 100 * np.abs(e.median / duration - 1)
        low, high = e.quantile(LOW), e.quantile(HIGH)
        below, above = 100 * np.mean(duration < low), 100 * np.mean(duration > high)
        needed = pd.Series(trace.demand * e.median)
        ranks = min(needed.nunique(), truth.nunique()) > 1
        rows[name] = {
            "median APE": np.median(error), "mean APE": np.mean(error),
            "log-MAE": np.mean(np.abs(np.log(e.median / duration))),
            "coverage": 100 - below - above, "below": below, "above": above, "band": np.mean(np.log(high / low)),
            "rank correlation": needed.corr(truth, method="spearman") if ranks else np.nan,
            # without the rounding errors of a slope of 0, which differ from run to run
            "slope": round(float(x @ np.log(e.median) / (x @ x)), 9) + 0.0 if x.any() else np.nan,
        }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("estimator")


def joint_density(estimates: Mapping[str, Estimates], trace: Trace) -> pd.DataFrame:
    """Return the share of jobs in cells of true and estimated time: columns estimator, truth, estimate, share.

    `truth` and `estimate` are the lower edges [s] of the cells with a job, `PER_DECADE` to a factor of ten.
    """
    parts = []
    truth = np.floor(PER_DECADE * np.log10(trace.duration))
    for name, e in estimates.items():
        cells = pd.DataFrame({"truth": truth, "estimate": np.floor(PER_DECADE * np.log10(e.median))})
        counts = cells.value_counts(sort=False).sort_index().rename("share").reset_index()
        edges = 10 ** (counts[["truth", "estimate"]] / PER_DECADE)
        parts.append(edges.assign(share=counts["share"] / len(trace)).assign(estimator=name))
    return pd.concat(parts, ignore_index=True)[["estimator", "truth", "estimate", "share"]]


def survival(estimates: Estimates, service: npt.ArrayLike) -> FloatArray:
    """Return the probability that each job needs more than `service` [s]: 1 / (1 + (service / median)^(1 / spread)).

    Shapes broadcast. Without spread it is 1 below the median, 0 above it and 1/2 at it.
    """
    x = np.asarray(service, dtype=np.float64)
    spread = np.where(x < estimates.median, estimates.spread_below, estimates.spread_above)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(1 / (1 + (x / estimates.median) ** (1 / spread)))


def median_remaining(estimates: Estimates, had: npt.ArrayLike) -> FloatArray:
    """Return the median of what each job still needs after the service `had` [s]: x - had where S(x) = S(had) / 2.

    Shapes broadcast. Without spread nothing remains after the median.
    """
    e = np.asarray(had, dtype=np.float64)
    left = survival(estimates, e) / 2  # at most 1/2, so x is above the median
    with np.errstate(divide="ignore"):
        return np.maximum(estimates.median * (1 / left - 1) ** estimates.spread_above - e, 0.0)


def observed_remaining(duration: FloatArray, had: npt.ArrayLike) -> FloatArray:
    """Return the median of what jobs still needed [s], of those that needed more than `had` [s].

    Shape of `had`; NaN where fewer than `ENOUGH` jobs did.
    """
    longer = (duration[duration > e] - e for e in np.atleast_1d(np.asarray(had, dtype=np.float64)))
    return np.array([np.median(rest) if len(rest) >= ENOUGH else np.nan for rest in longer])
