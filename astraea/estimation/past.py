"""Knowledge of the jobs of a trace's history that had ended before some moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from pandas.api.indexers import BaseIndexer

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.errors import InputError
from astraea.estimation.estimates import HIGH, LOW
from astraea.traces.trace import Trace

LEVELS: Final = (("user", "demand"), ("tenant", "demand"), ("user",), ("demand",), ())
"""Groups of jobs that are looked at; the first group with any job is used."""

LAST: Final = 100
"""Number of the last ended jobs over which medians are taken: within the histories of both synthetic traces, the errors
of `History` fall with this number up to about here."""

TENANTS, USERS = 250, 200
"""Number of tenants and users that are told apart by name, those with the most jobs; for others, only their past is."""

_GOLDEN: Final = (5**0.5 - 1) / 2


class Past:
    """The jobs of a trace's history that had ended by its second 0, and what could be known about them at any moment.

    `jobs` has the columns tenant, user, demand, submit_time, end, seen_from, in the history's order, on its clock [s].
    `seen_from` is the moment before its submission from which a job is looked at to learn from it. `log_duration` is
    their running time [ln s]. `start` is second 0 of the trace on the history's clock; without dates it is the last
    submission of the history, which is before second 0. `origin` is the date of the history's second 0, or None.
    `InputError` if the trace has no history, or none of its jobs had ended by second 0.
    """

    def __init__(self, trace: Trace, estimator: str) -> None:
        history = trace.history
        if history is None:
            raise InputError(
                f"trace {trace.name} has no history, but {estimator} needs jobs that ended before its second 0; "
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
                f"trace {trace.name}: none of the {len(history)} jobs of its history had ended by its second 0, but "
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
        """Return the jobs to estimate, on the history's clock, all seen from second 0."""
        jobs = _known_at_submission(trace)
        jobs["submit_time"] += self.start
        return jobs.assign(seen_from=self.start)

    def codes(self, names: pd.Series, column: str) -> FloatArray:
        """Return the code of each tenant or user; NaN for unknown or rare ones."""
        return np.asarray(names.map({n: float(i) for i, n in enumerate(self._names[column])}), np.float64)

    def look(self, jobs: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
        """Return what was known, when each of `jobs` is seen, about the last ended jobs that agree with it in `keys`.

        The columns median, low, high (10 % and 90 % quantile [ln s]) and completed (share) are of the last `LAST` jobs;
        count is of all. The columns last and previous are the running times of the last job and the one before [ln s].
        They are NaN if there was none.
        """
        seen = jobs[[*keys, "seen_from"]].reset_index(drop=True).rename_axis("row").reset_index()
        found = pd.merge_asof(
            seen.sort_values("seen_from", kind="stable"), self._statistics(keys),
            left_on="seen_from", right_on="end", by=list(keys) or None, allow_exact_matches=False,
        )  # fmt: skip
        return found.set_index("row").sort_index().drop(columns=[*keys, "seen_from", "end"])

    def _statistics(self, keys: Sequence[str]) -> pd.DataFrame:
        """Make the table that `look` searches: a row per ended job, in order of ends."""
        if keys not in self._seen:
            # jobs that end at one moment are in the order of the history; the row of the last of them is found
            order = np.argsort(self.jobs["end"].to_numpy(), kind="stable")
            jobs = self.jobs.iloc[order].reset_index(drop=True)
            values = pd.DataFrame({"y": self.log_duration[order], "completed": self._completed[order]})
            grouped = values.groupby([jobs[k] for k in keys] or np.zeros(len(jobs)), sort=False)
            before = grouped.cumcount().to_numpy()
            # group by group; windows are found once, not once for each statistic and group
            rows = np.argsort(grouped.ngroup().to_numpy(), kind="stable")
            windows = _LastJobs(np.asarray(before[rows], np.int64))
            y, completed = (values[c].iloc[rows].rolling(windows, min_periods=1) for c in values)
            self._seen[keys] = jobs[[*keys, "end"]].assign(
                count=before + 1.0, median=y.median(), low=y.quantile(LOW), high=y.quantile(HIGH),
                completed=completed.mean(), last=values["y"], previous=grouped["y"].shift(),
            )  # fmt: skip
        return self._seen[keys]


class _LastJobs(BaseIndexer):
    """Windows of the last `LAST` rows of a row's group; `before` is the number of rows of its group before each."""

    def __init__(self, before: IntArray) -> None:
        super().__init__()
        self.before = before

    def get_window_bounds(
        self, num_values: int = 0, min_periods: Any = None, center: Any = None, closed: Any = None, step: Any = None
    ) -> tuple[IntArray, IntArray]:
        """Return the first row of each window, and the row after its last; pandas prescribes the arguments."""
        end = np.arange(1, len(self.before) + 1)
        return end - np.minimum(self.before + 1, LAST), end


def _known_at_submission(trace: Trace) -> pd.DataFrame:
    """Return what a scheduler knows about new jobs: tenant, user, demand, time of submission [s]."""
    tenant = np.array(trace.tenants, dtype=object)[trace.tenant]
    text = {"tenant": pd.Series(tenant, dtype=object), "user": pd.Series(trace.user, dtype=object)}
    return pd.DataFrame({**text, "demand": trace.demand, "submit_time": trace.submit_time})
