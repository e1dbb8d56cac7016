"""What a log of Slurm tells of the moments at which that Slurm computed usage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from astraea.traces.trace import Trace


def clock_offset(trace: Trace) -> float:
    """Seconds past a full minute at second 0: `clock_offset` of the policy, 0 where the log does not tell [s]."""
    return 0.0 if trace.origin is None else float(trace.origin.second) + trace.origin.microsecond / 1e6


def calc_offset(log: Path, period: float = 60.0) -> float:
    """When Slurm computed usage first after second 0 of its log: `calc_offset` of the policy, in [0, period) [s].

    A job gets the priority of its account when it is submitted, which changes only when usage is computed. That moment
    is the one within the period (PriorityCalcPeriod) for which jobs of one account and size, submitted between two
    computations, differ in priority the least often; 0 if no priority changes. `log` is of ``sacct -P``.
    """
    jobs = pd.read_csv(log, sep="|", dtype=str)
    if not {"Account", "Submit", "ReqTRES", "Priority"}.issubset(jobs.columns):
        return 0.0
    submit = (pd.to_datetime(jobs["Submit"]) - pd.to_datetime(jobs["Submit"]).min()).dt.total_seconds()
    steps = np.arange(0.0, period)
    kinds = [jobs.groupby(["Account", "ReqTRES", np.floor((submit - step) / period)])["Priority"] for step in steps]
    wrong = np.array([int((kind.nunique() - 1).sum()) for kind in kinds])
    if wrong.max() == 0:
        return 0.0
    best = np.flatnonzero(wrong == wrong.min())
    if 0 in best and len(steps) - 1 in best:  # around the end of the period
        best = np.where(best > len(steps) / 2, best - len(steps), best)
    return float(np.median(best) % period)
