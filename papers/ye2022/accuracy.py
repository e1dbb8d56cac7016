"""Accuracy of estimates of running times, and their predictions for a job that has already run for a while."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from astraea.core.arrays import FloatArray
from astraea.core.units import DAY
from astraea.estimation.estimates import HIGH, LOW, Estimates
from astraea.estimation.models import ENOUGH
from astraea.traces.trace import Trace


def accuracy(estimates: Mapping[str, Estimates], duration: FloatArray) -> pd.DataFrame:
    """Compare estimates, by name, with true running times [s]: a row per estimator, a column per measure.

    `median APE` is the median of abs(median / duration - 1), `mean APE` its mean [%]. `log-MAE` is the mean of
    abs(ln(median / duration)); its exponential is the typical factor. `coverage` is the share of jobs inside the 10-90
    % band, `below` and `above` are the shares outside it [%]. `band` is the mean of ln(90 % / 10 % quantile).
    """
    rows = {}
    for name, e in estimates.items():
        error = 100 * np.abs(e.median / duration - 1)
        low, high = e.quantile(LOW), e.quantile(HIGH)
        below, above = 100 * np.mean(duration < low), 100 * np.mean(duration > high)
        rows[name] = {
            "median APE": np.median(error), "mean APE": np.mean(error),
            "log-MAE": np.mean(np.abs(np.log(e.median / duration))),
            "coverage": 100 - below - above, "below": below, "above": above, "band": np.mean(np.log(high / low)),
        }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("estimator")


def calibration(estimates: Mapping[str, Estimates], duration: FloatArray) -> pd.DataFrame:
    """Return how often jobs needed at most each quantile of their estimate: columns estimator, probability, share.

    `probability` takes 0.05, 0.1 ... 0.95; for a calibrated estimator, `share` [1] is equal to it.
    """
    levels = [round(0.05 * k, 2) for k in range(1, 20)]
    rows = [(name, p, float(np.mean(duration <= e.quantile(p)))) for name, e in estimates.items() for p in levels]
    return pd.DataFrame(rows, columns=["estimator", "probability", "share"])


def error_table(estimates: Mapping[str, Estimates], trace: Trace) -> pd.DataFrame:
    """Return the measures of `accuracy`, a row per estimator, plus `rank correlation` for orders by estimates.

    It is Spearman's, between estimated and true GPU-time; NaN if all are equal.
    """
    truth = pd.Series(trace.gpu_time)
    estimated = {name: pd.Series(trace.demand * e.median) for name, e in estimates.items()}
    found = {
        name: x.corr(truth, method="spearman") if min(x.nunique(), truth.nunique()) > 1 else np.nan
        for name, x in estimated.items()
    }
    return accuracy(estimates, trace.duration).assign(**{"rank correlation": pd.Series(found)})


def error_by_age(estimates: Mapping[str, Estimates], trace: Trace, parts: int = 7) -> pd.DataFrame:
    """Return error and coverage by time of submission: all estimates are made at second 0 and age.

    Columns estimator, day (the middle of a part), jobs, log-MAE, coverage; shares in [0, 1].
    """
    part = np.minimum((trace.submit_time / max(trace.span, 1.0) * parts).astype(np.int64), parts - 1)
    rows = []
    for name, e in estimates.items():
        error: FloatArray = np.abs(np.log(e.median / trace.duration))
        inside = (trace.duration >= e.quantile(LOW)) & (trace.duration <= e.quantile(HIGH))
        for k in np.unique(part):
            jobs = part == k
            day = (k + 0.5) * trace.span / parts / DAY
            rows.append((name, day, int(jobs.sum()), error[jobs].mean(), inside[jobs].mean()))
    return pd.DataFrame(rows, columns=["estimator", "day", "jobs", "log-MAE", "coverage"])


def joint_density(estimates: Mapping[str, Estimates], trace: Trace) -> pd.DataFrame:
    """Return the share of jobs in cells of true and estimated time: columns estimator, truth, estimate, share.

    `truth` and `estimate` are the lower edges [s] of the cells with a job, each a factor 10^(1/6) wide.
    """
    parts = []
    truth = np.floor(6 * np.log10(trace.duration))
    for name, e in estimates.items():
        cells = pd.DataFrame({"truth": truth, "estimate": np.floor(6 * np.log10(e.median))})
        counts = cells.value_counts(sort=False).sort_index().rename("share").reset_index()
        edges = 10 ** (counts[["truth", "estimate"]] / 6)
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
    """Median of what jobs still needed, over those that needed more than `had` [s]; NaN if fewer than `ENOUGH` did."""
    longer = (duration[duration > e] - e for e in np.atleast_1d(np.asarray(had, dtype=np.float64)))
    return np.array([np.median(rest) if len(rest) >= ENOUGH else np.nan for rest in longer])
