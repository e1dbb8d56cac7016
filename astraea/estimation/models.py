"""Estimators of running times that learn from the jobs of a trace's history that had ended before its second 0.

A job of `Trace.history` counts from its end on: its submission plus its queueing delay, where that is known, plus its
duration. Of jobs that come only what is known at their submission is read: tenant, user, demand, and the time.

All estimates are made at second 0, and are old by the time a job comes. To learn how far such estimates are off, each
job of the history is treated alike: it is seen from a moment before its submission, up to half of the history's length
before (spread evenly). How long the trace will last is not known at its second 0, so nothing depends on that.
Jobs that were still running at second 0 are unknown to a scheduler too: the long ones among the last are missing.

The band of the gradient boosting is conformal [Romano2019]: models of the first three quarters of the history tell by
how much its quantiles miss on the last quarter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from pandas.api.indexers import BaseIndexer

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.errors import InputError
from astraea.core.extras import extra
from astraea.estimation.estimates import HIGH, LOW, Estimates
from astraea.traces.trace import Trace

LEVELS: Final = (("user", "demand"), ("tenant", "demand"), ("user",), ("demand",), ())
"""Whose jobs are looked at, the first that has any."""

LEAST_SPREAD: Final = 0.05
"""Smallest spread of a learned estimate, 12 % up to its outer quantiles: the past never gives certainty."""

ENOUGH: Final = 50
"""With fewer errors than that, quantiles of errors are not taken."""

MOST: Final = 50_000
"""As many jobs are learned from at most, the last ones."""

SHUFFLED: Final = 5_000
"""As many jobs are used at most to measure the importance of features, spread evenly."""

MODEL: Final[dict[str, Any]] = {
    "loss": "quantile", "max_iter": 60, "max_leaf_nodes": 15, "min_samples_leaf": 50, "learning_rate": 0.1,
    "early_stopping": False, "random_state": 0,
}  # fmt: skip

LAST: Final = 100
"""How many of the last jobs that ended medians are taken over: within the histories of both synthetic traces, the
errors of `History` fall with this number up to about here."""

TENANTS, USERS = 250, 200
"""As many are told apart by name, those with the most jobs; of the others their past is known."""

_GOLDEN: Final = (5**0.5 - 1) / 2


class Past:
    """The jobs of a trace's history that had ended by its second 0, and what could be known of them at any moment.

    Attributes
    ----------
    jobs : DataFrame, columns tenant, user, demand, submit_time, end, seen_from
        In the history's order, on the history's clock [s]; `seen_from` is the moment before its submission from which
        a job is looked at to learn from it.
    log_duration : array
        Of these jobs [ln s].
    start : float
        Second 0 of the trace on the history's clock; where the sources tell no dates, the last submission of the
        history, which is before it.
    origin : Timestamp or None
        Date of the history's second 0.

    Raises
    ------
    InputError
        If the trace has no history, or none of its jobs had ended by second 0.
    """

    def __init__(self, trace: Trace, estimator: str) -> None:
        history = trace.history
        if history is None:
            raise InputError(
                f"trace {trace.name} has no history, and {estimator} needs jobs that ended before its second 0; "
                f"use the estimator oracle or noisy, or a window of a longer trace"
            )
        if trace.origin is None or history.origin is None:
            self.origin, self.start = None, history.span
        else:
            self.origin, self.start = history.origin, (trace.origin - history.origin).total_seconds()
        jobs = _known_at_submission(history)
        jobs["end"] = history.submit_time + np.nan_to_num(history.queueing_delay) + history.duration
        age = (self.start - float(history.submit_time[0])) / 2
        jobs["seen_from"] = jobs["submit_time"] - age * (np.arange(len(jobs)) * _GOLDEN % 1)
        ended = (jobs["end"] < self.start).to_numpy()
        if not ended.any():
            raise InputError(
                f"trace {trace.name}: none of the {len(history)} jobs of its history had ended by its second 0, and "
                f"{estimator} learns from such jobs only"
            )
        self.jobs = jobs[ended].reset_index(drop=True)
        self.log_duration = np.log(history.duration[ended])
        self._completed = (history.state[ended] == "completed").astype(np.float64)
        self._seen: dict[Sequence[str], pd.DataFrame] = {}
        self._names = {
            c: sorted(self.jobs[c].value_counts().head(most).index)
            for c, most in (("tenant", TENANTS), ("user", USERS))
        }

    def present(self, trace: Trace) -> pd.DataFrame:
        """The jobs to estimate, on the history's clock, all seen from second 0."""
        jobs = _known_at_submission(trace)
        jobs["submit_time"] += self.start
        return jobs.assign(seen_from=self.start)

    def number(self, names: pd.Series, column: str) -> FloatArray:
        """Number of each tenant or user; NaN for those that are unknown or rare."""
        return np.asarray(names.map({n: float(i) for i, n in enumerate(self._names[column])}), np.float64)

    def look(self, jobs: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
        """What was known, when each of `jobs` is seen, of the last jobs that had ended and agree with it in `keys`.

        Returns
        -------
        DataFrame, columns count, median, low, high, last, previous, completed
            NaN where there was none. `count` of all; median, 10 % and 90 % quantile [ln s] and share that completed of
            the last `LAST`; running time of the last and the one before [ln s].
        """
        seen = jobs[[*keys, "seen_from"]].reset_index(drop=True).rename_axis("row").reset_index()
        found = pd.merge_asof(
            seen.sort_values("seen_from", kind="stable"), self._statistics(keys),
            left_on="seen_from", right_on="end", by=list(keys) or None, allow_exact_matches=False,
        )  # fmt: skip
        return found.set_index("row").sort_index().drop(columns=[*keys, "seen_from", "end"])

    def _statistics(self, keys: Sequence[str]) -> pd.DataFrame:
        """Make the table that `look` looks into: a row per job that ended, in order of ends."""
        if keys not in self._seen:
            # jobs that end at one moment in the order of the history; the row of the last of them is found
            order = np.argsort(self.jobs["end"].to_numpy(), kind="stable")
            jobs = self.jobs.iloc[order].reset_index(drop=True)
            values = pd.DataFrame({"y": self.log_duration[order], "completed": self._completed[order]})
            grouped = values.groupby([jobs[k] for k in keys] or np.zeros(len(jobs)), sort=False)
            before = grouped.cumcount().to_numpy()
            # group by group; the windows of each are found once, not once for each statistic and group
            rows = np.argsort(grouped.ngroup().to_numpy(), kind="stable")
            windows = _LastJobs(np.asarray(before[rows], np.int64))
            y, completed = (values[c].iloc[rows].rolling(windows, min_periods=1) for c in values)
            self._seen[keys] = jobs[[*keys, "end"]].assign(
                count=before + 1.0, median=y.median(), low=y.quantile(LOW), high=y.quantile(HIGH),
                completed=completed.mean(), last=values["y"], previous=grouped["y"].shift(),
            )  # fmt: skip
        return self._seen[keys]


class _LastJobs(BaseIndexer):
    """The last `LAST` rows of its group up to each row, of rows that stand group by group.

    `before` is the number of rows of its group before each row.
    """

    def __init__(self, before: IntArray) -> None:
        super().__init__()
        self.before = before

    def get_window_bounds(
        self, num_values: int = 0, min_periods: Any = None, center: Any = None, closed: Any = None, step: Any = None
    ) -> tuple[IntArray, IntArray]:
        """First row of each window, and the row after its last; pandas prescribes the arguments."""
        end = np.arange(1, len(self.before) + 1)
        return end - np.minimum(self.before + 1, LAST), end


def _known_at_submission(trace: Trace) -> pd.DataFrame:
    """What a scheduler knows of jobs that come: tenant, user, demand, time of submission [s]."""
    tenant = np.array(trace.tenants, dtype=object)[trace.tenant]
    text = {"tenant": pd.Series(tenant, dtype=object), "user": pd.Series(trace.user, dtype=object)}
    return pd.DataFrame({**text, "demand": trace.demand, "submit_time": trace.submit_time})


class History:
    """Median of the last jobs of the same user with the same demand, or of the next in `LEVELS`.

    The median of running times is that of their logarithms. The spread comes from the errors that the same rule makes
    on the history of the trace, by level.
    """

    def __init__(self, trace: Trace) -> None:
        self._past = past = Past(trace, "history")
        level, median = self._medians(past.jobs)
        error = past.log_duration - median
        pooled = _band(error[level >= 0], np.log([1 / 9, 9]))
        self._band = np.array([_band(error[level == k], pooled) for k in range(len(LEVELS))])

    def predict(self, trace: Trace) -> Estimates:
        """Estimate the jobs of the trace whose history was learned from."""
        level, median = self._medians(self._past.present(trace))
        low, high = self._band[level].T
        return _estimates(median + low, median, median + high)

    def _medians(self, jobs: pd.DataFrame) -> tuple[IntArray, FloatArray]:
        """First level with a job that had ended, -1 if there is none, and the median there [ln s]."""
        level = np.full(len(jobs), -1)
        median = np.full(len(jobs), np.nan)
        for k, keys in enumerate(LEVELS):
            found = self._past.look(jobs, keys)["median"].to_numpy()
            new = np.isnan(median) & ~np.isnan(found)
            level[new] = k
            median[new] = found[new]
        return level, median


class Constant:
    """The same for every job: the quantiles of all jobs of the history; who cannot beat it knows nothing of jobs."""

    def __init__(self, trace: Trace) -> None:
        self._quantiles = np.quantile(Past(trace, "constant").log_duration, (LOW, 0.5, HIGH))

    def predict(self, trace: Trace) -> Estimates:
        """Estimate the jobs of the trace whose history was learned from."""
        return _estimates(*(np.full(len(trace), q) for q in self._quantiles))


class GradientBoosting:
    """Quantiles of log running time by scikit-learn's histogram gradient boosting.

    Attributes
    ----------
    features : tuple of str
        Names of what it sees of a job.
    """

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
        """Estimate the jobs of the trace whose history was learned from."""
        jobs = self._past.present(trace)
        # all are seen from one moment: those that agree in the rest too are estimated once
        rest = [jobs[c] for c in ("tenant", "user", "demand")] + list(self._times(jobs).values())
        _, first, alike = np.unique(
            jobs.groupby(rest, sort=False, dropna=False).ngroup(), return_index=True, return_inverse=True
        )
        x = self._features(jobs.iloc[first])
        # separate models may cross: the middle one of three is the median
        found = np.sort([model.predict(x) + self._shift[p] for p, model in self._models.items()], axis=0)
        return _estimates(*found[:, alike])

    def importance(self, trace: Trace, repeats: int = 5) -> pd.DataFrame:
        """How much worse the medians of a trace's jobs get when one feature is shuffled among them.

        Returns
        -------
        DataFrame, columns feature, importance, spread
            Increase of log-MAE, its mean and standard deviation over `repeats`; the largest first.
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

    def _times(self, jobs: pd.DataFrame) -> dict[str, pd.Series[float]]:
        """Hour and weekday of the submission of each job, where the dates are known."""
        if self._past.origin is None:
            return {}
        time = self._past.origin + pd.to_timedelta(jobs["submit_time"], unit="s")
        return {"hour": time.dt.hour.astype(np.float64), "weekday": time.dt.day_of_week.astype(np.float64)}

    def _features(self, jobs: pd.DataFrame) -> pd.DataFrame:
        """What the models see of each job."""
        past = self._past
        columns: dict[str, Any] = {c: past.number(jobs[c], c) for c in ("tenant", "user")}
        columns["demand"] = jobs["demand"].to_numpy(dtype=np.float64)
        columns.update(self._times(jobs))
        for keys in LEVELS[:3]:
            for name, values in past.look(jobs, keys).items():
                columns[f"{name} of {' and '.join(keys)}"] = values
        return pd.DataFrame({name: np.asarray(values) for name, values in columns.items()})


def _band(errors: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Lower and upper quantile of errors, or `otherwise` if they are few."""
    return otherwise if len(errors) < ENOUGH else np.asarray(np.quantile(errors, [LOW, HIGH]))


def _estimates(low: FloatArray, median: FloatArray, high: FloatArray) -> Estimates:
    """Estimates of these quantiles [ln s], with at least the least spread."""
    found = Estimates.through(*np.exp([np.minimum(low, median), median, np.maximum(high, median)]))
    below, above = (np.maximum(spread, LEAST_SPREAD) for spread in (found.spread_below, found.spread_above))
    return Estimates(found.median, below, above)


def _fitted(p: float, x: pd.DataFrame, y: FloatArray) -> Any:
    """Fit one quantile; the result does not depend on the number of threads."""
    with extra("learn"):
        from sklearn.ensemble import HistGradientBoostingRegressor

    x = x.fillna(dict.fromkeys(x.columns[x.isna().all()], 0.0))  # it cannot cut into bins what is never known
    return HistGradientBoostingRegressor(quantile=p, categorical_features=["tenant", "user"], **MODEL).fit(x, y)
