"""Estimators of running times that learn from jobs of a trace's history that had ended before its second 0.

A job of `Trace.history` counts from its end on: its submission plus its queueing delay, if known, plus its duration.
For new jobs only what is known at their submission is read: tenant, user, demand, and the time.

All estimates are made at second 0, so they are old when a job comes. To learn how far such estimates are off, each job
of the history is treated in the same way. It is seen from a moment before its submission, up to half of the history's
length before (spread evenly). The length of the trace is unknown at its second 0, so nothing depends on it. Jobs that
were still running at second 0 are unknown to a scheduler, too: the long ones among the last are missing.

The band of the gradient boosting is conformal [Romano2019]: models of the first three quarters of the history show how
far its quantiles are off on the last quarter.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.errors import extra
from astraea.estimation.estimates import HIGH, LOW, Estimates
from astraea.estimation.past import LEVELS, Past
from astraea.traces.trace import Trace

LEAST_SPREAD: Final = 0.05
"""Smallest spread of a learned estimate, 12 % up to its outer quantiles: the past never gives certainty."""

ENOUGH: Final = 50
"""Smallest number of errors of which quantiles are taken."""

MOST: Final = 50_000
"""Most jobs that are learned from, the last ones."""

SHUFFLED: Final = 5_000
"""Most jobs used to measure the importance of features, spread evenly."""

MODEL: Final[dict[str, Any]] = {
    "loss": "quantile", "max_iter": 60, "max_leaf_nodes": 15, "min_samples_leaf": 50, "learning_rate": 0.1,
    "early_stopping": False, "random_state": 0,
}  # fmt: skip


class History:
    """Median of the logarithms of the last jobs of the same user with the same demand, or of the next in `LEVELS`.

    The spread comes from the errors of the same rule on the history of the trace, by level.
    """

    def __init__(self, trace: Trace) -> None:
        self._past = past = Past(trace, "history")
        level, median = self._medians(past.jobs)
        error = past.log_duration - median
        pooled = _band(error[level >= 0], np.log([1 / 9, 9]))
        self._band = np.array([_band(error[level == k], pooled) for k in range(len(LEVELS))])

    def predict(self, trace: Trace) -> Estimates:
        """Estimate the running times of the jobs of the trace from whose history it learned."""
        level, median = self._medians(self._past.present(trace))
        low, high = self._band[level].T
        return _estimates(median + low, median, median + high)

    def _medians(self, jobs: pd.DataFrame) -> tuple[IntArray, FloatArray]:
        """Return the first level with a job that had ended, -1 if there is none, and the median there [ln s]."""
        level = np.full(len(jobs), -1)
        median = np.full(len(jobs), np.nan)
        for k, keys in enumerate(LEVELS):
            found = self._past.look(jobs, keys)["median"].to_numpy()
            new = np.isnan(median) & ~np.isnan(found)
            level[new] = k
            median[new] = found[new]
        return level, median


class Constant:
    """The same estimate for every job: the quantiles of all jobs of the history; a baseline for the others."""

    def __init__(self, trace: Trace) -> None:
        self._quantiles = np.quantile(Past(trace, "constant").log_duration, (LOW, 0.5, HIGH))

    def predict(self, trace: Trace) -> Estimates:
        """Estimate the running times of the jobs of the trace from whose history it learned."""
        return _estimates(*(np.full(len(trace), q) for q in self._quantiles))


class GradientBoosting:
    """Quantiles of log running time by scikit-learn's histogram gradient boosting; `features` names its inputs."""

    def __init__(self, trace: Trace) -> None:
        self._past = past = Past(trace, "gradient-boosting")
        jobs, y = past.jobs.tail(MOST), past.log_duration[-MOST:]
        x = self._features(jobs)
        # hold the last quarter out to see how far the outer quantiles are off
        split = jobs["submit_time"].quantile(0.75)
        early, late = (jobs["end"] < split).to_numpy(), (jobs["submit_time"] >= split).to_numpy()
        self._shift = {0.5: 0.0, LOW: 0.0, HIGH: 0.0}
        if min(early.sum(), late.sum()) >= ENOUGH:
            for p in (LOW, HIGH):
                missed = y[late] - _fitted(p, x[early], y[early]).predict(x[late])
                self._shift[p] = float(np.quantile(missed, p))
        self._models = {p: _fitted(p, x, y) for p in (LOW, 0.5, HIGH)}
        self.features = tuple(map(str, x))

    def predict(self, trace: Trace) -> Estimates:
        """Estimate the running times of the jobs of the trace from whose history it learned."""
        x = self._features(self._past.present(trace))
        # separate models may cross: the middle one of three is the median
        found = np.sort([model.predict(x) + self._shift[p] for p, model in self._models.items()], axis=0)
        return _estimates(*found)

    def importance(self, trace: Trace, repeats: int = 5) -> pd.DataFrame:
        """Return how much worse the medians of a trace's jobs get when one feature is shuffled, the worst first.

        Columns feature, importance, spread: increase of log-MAE, its mean and standard deviation over `repeats`.
        """
        with extra("learn"):
            from sklearn.inspection import permutation_importance

        rows = np.unique(np.linspace(0, len(trace) - 1, SHUFFLED).astype(np.int64))
        found = permutation_importance(
            self._models[0.5], self._features(self._past.present(trace).iloc[rows]),
            np.log(trace.duration[rows]), scoring="neg_mean_absolute_error", n_repeats=repeats, random_state=0,
        )  # fmt: skip
        table = pd.DataFrame(
            {"feature": self.features, "importance": found.importances_mean, "spread": found.importances_std}
        )
        return table.sort_values("importance", ascending=False, kind="stable", ignore_index=True)

    def _features(self, jobs: pd.DataFrame) -> pd.DataFrame:
        """Return the inputs of the models for each job."""
        past = self._past
        columns: dict[str, Any] = {c: past.codes(jobs[c], c) for c in ("tenant", "user")}
        columns["demand"] = jobs["demand"].to_numpy(dtype=np.float64)
        if past.origin is not None:
            time = past.origin + pd.to_timedelta(jobs["submit_time"], unit="s")
            columns |= {"hour": time.dt.hour.astype(np.float64), "weekday": time.dt.day_of_week.astype(np.float64)}
        for keys in LEVELS[:3]:
            for name, values in past.look(jobs, keys).items():
                columns[f"{name} of {' and '.join(keys)}"] = values
        return pd.DataFrame({name: np.asarray(values) for name, values in columns.items()})


def _band(errors: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Return the lower and upper quantile of errors, or `otherwise` if they are few."""
    return otherwise if len(errors) < ENOUGH else np.asarray(np.quantile(errors, [LOW, HIGH]))


def _estimates(low: FloatArray, median: FloatArray, high: FloatArray) -> Estimates:
    """Return estimates with these quantiles [ln s], with at least the least spread."""
    found = Estimates.through(*np.exp([np.minimum(low, median), median, np.maximum(high, median)]))
    below, above = (np.maximum(spread, LEAST_SPREAD) for spread in (found.spread_below, found.spread_above))
    return Estimates(found.median, below, above)


def _fitted(p: float, x: pd.DataFrame, y: FloatArray) -> Any:
    """Fit one quantile; the result does not depend on the number of threads."""
    with extra("learn"):
        from sklearn.ensemble import HistGradientBoostingRegressor

    x = x.fillna(dict.fromkeys(x.columns[x.isna().all()], 0.0))  # it cannot bin a feature that is never known
    return HistGradientBoostingRegressor(quantile=p, categorical_features=["tenant", "user"], **MODEL).fit(x, y)
