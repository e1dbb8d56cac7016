"""A log of Slurm against the replay of its jobs: how far the policy `slurm` is from the Slurm that wrote the log.

A what-if on a log compares schedulers with a replay, not with the log; what the replay itself is off by is the error of
every such answer, and is told with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray
from astraea.core.errors import InputError
from astraea.core.result import Result
from astraea.traces.trace import Trace

WAITED: Final = 2.0
"""Recorded wait from which on a job counts as one that waited [s]: Slurm starts an idle cluster's jobs within 2 s."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """What a log says, and its replay.

    Attributes
    ----------
    jobs : DataFrame
        A row per job of both: `job_id`, `tenant`, `demand`, `submit_time`, `recorded_start`, `replayed_start` and
        `difference`, replayed minus recorded [s].
    recorded_wait, replayed_wait : float
        Average over all these jobs [s].
    pairs : int
        Pairs of jobs that waited for more than `WAITED` in the log and did not start in the same second.
    in_order : float
        Part of these pairs that start in the recorded order in the replay too; NaN without a pair.
    """

    jobs: pd.DataFrame
    recorded_wait: float
    replayed_wait: float
    pairs: int
    in_order: float

    @property
    def more_waiting(self) -> float:
        """Average wait of the replay over that of the log, minus 1; NaN if nobody waited in the log."""
        return self.replayed_wait / self.recorded_wait - 1 if self.recorded_wait > 0 else np.nan

    @property
    def sentence(self) -> str:
        """The error, to be told with every answer that is drawn from the replay."""
        if np.isnan(self.more_waiting):
            waits = f"an average wait of {self.replayed_wait:.3g} s where the log shows none"
        else:
            percent = round(100 * self.more_waiting)
            waits = f"{abs(percent)} % {'less' if percent < 0 else 'more'} waiting than the log shows"
        order = "" if np.isnan(self.in_order) else (
            f"; {100 * self.in_order:.0f} % of the pairs of jobs that waited start in the recorded order"
        )  # fmt: skip
        return f"replaying your own scheduler gives {waits}{order}"


def calibration(trace: Trace, replay: Result) -> Calibration:
    """Compare recorded starts with those of a replay.

    Parameters
    ----------
    trace : Trace
        Of a log that tells how long jobs waited (`queueing_delay`).
    replay : Result
        Of the same jobs.

    Raises
    ------
    InputError
        If no job of the replay has a recorded wait.
    """
    recorded = pd.DataFrame({"job_id": trace.job_id, "recorded_start": trace.submit_time + trace.queueing_delay})
    columns = ["job_id", "tenant", "demand", "submit_time", "first_start_time"]
    jobs = replay.jobs[columns].rename(columns={"first_start_time": "replayed_start"})
    jobs = jobs.merge(recorded.dropna(), on="job_id")
    if len(jobs) == 0:
        raise InputError(f"{trace.name}: no job of the replay has a recorded wait")
    jobs["difference"] = jobs["replayed_start"] - jobs["recorded_start"]
    waits = jobs["recorded_start"] - jobs["submit_time"]
    waited = jobs[waits > WAITED].sort_values("recorded_start", kind="stable")
    pairs, right = _pairs_in_order(waited["recorded_start"].to_numpy(), waited["replayed_start"].to_numpy())
    return Calibration(
        jobs=jobs[["job_id", "tenant", "demand", "submit_time", "recorded_start", "replayed_start", "difference"]],
        recorded_wait=float(waits.mean()),
        replayed_wait=float((jobs["replayed_start"] - jobs["submit_time"]).mean()),
        pairs=pairs,
        in_order=right / pairs if pairs else np.nan,
    )


def _pairs_in_order(recorded: FloatArray, replayed: FloatArray) -> tuple[int, int]:
    """Pairs with different recorded times, which are in order, and those that are in that order in the replay."""
    pairs = right = 0
    later = np.searchsorted(recorded, recorded, side="right")
    for k, first in enumerate(later):
        pairs += len(recorded) - int(first)
        right += int((replayed[first:] > replayed[k]).sum())
    return pairs, right


def clock_offset(trace: Trace) -> float:
    """Seconds past a full minute at second 0: `clock_offset` of the policy, 0 where the log does not tell [s]."""
    return 0.0 if trace.origin is None else float(trace.origin.second) + trace.origin.microsecond / 1e6


def calc_offset(log: Path, period: float = 60.0) -> float:
    """When Slurm computed usage first after second 0 of its log, as far as the log tells: `calc_offset` of the policy.

    A job gets the priority of its account when it is submitted, which changes only when usage is computed. That moment
    is the one within the period for which jobs of one account and size, submitted between two computations, differ in
    priority the least often.

    Parameters
    ----------
    log : Path
        Of ``sacct -P`` with `Account`, `Submit`, `ReqTRES` and `Priority`.
    period : float
        PriorityCalcPeriod [s].

    Returns
    -------
    float
        In [0, period) [s]; 0 if no priority changes.
    """
    jobs = pd.read_csv(log, sep="|", dtype=str)
    if not {"Account", "Submit", "ReqTRES", "Priority"}.issubset(jobs.columns):
        return 0.0
    submit = (pd.to_datetime(jobs["Submit"]) - pd.to_datetime(jobs["Submit"]).min()).dt.total_seconds()
    steps = np.arange(0.0, period)
    wrong = np.zeros(len(steps), dtype=int)
    for k, step in enumerate(steps):
        interval = np.floor((submit - step) / period)
        kinds = jobs.groupby([jobs["Account"], jobs["ReqTRES"], interval])["Priority"].nunique()
        wrong[k] = int((kinds - 1).sum())
    if wrong.max() == 0:
        return 0.0
    best = np.flatnonzero(wrong == wrong.min())
    if 0 in best and len(steps) - 1 in best:  # around the end of the period
        best = np.where(best > len(steps) / 2, best - len(steps), best)
    return float(np.median(best) % period)
