"""How often the true start of a job lay in the interval that was forecast for it, without a look at the future.

``python tests/helpers/forecasts.py [FORECASTS [DRAWS]]`` measures it on all logs of a Slurm beside the tests and on a
synthetic one, and prints the table of docs/your_own_cluster.md.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from places import ROOT

from astraea.audit.settings import plan_of
from astraea.cluster.cluster import Cluster
from astraea.cluster.observed import recorded_runs
from astraea.cluster.policy import Policy
from astraea.cluster.rules import Rules, no_rules
from astraea.cluster.site import read_site
from astraea.core.arrays import FloatArray
from astraea.forecast.moment import moment_of
from astraea.forecast.start import simulations
from astraea.traces.trace import Trace

WAITED = 10.0
"""A job that waited for longer did not start at once [s]."""


class Measured(NamedTuple):
    """Forecasts of a log's jobs beside what came."""

    true: FloatArray  #: (forecasts,) time until the start [s]
    low: FloatArray  #: (forecasts,) ends of the intervals [s]
    middle: FloatArray
    high: FloatArray

    @property
    def inside(self) -> FloatArray:
        """Whether the start lay in the interval."""
        return (self.low <= self.true) & (self.true <= self.high)

    def __str__(self) -> str:
        waited = self.true > WAITED
        parts = [self.inside.mean(), self.inside[waited].mean(), (self.true < self.low).mean(), (self.true > self.high).mean()]
        width = np.median((self.high - self.low)[waited])
        return f"{len(self.true)} | " + " | ".join(f"{100 * part:.0f} %" for part in parts) + (
            f" | {self.true.mean():.0f} s | {width:.0f} s")


def measured(trace: Trace, cluster: Cluster, policy: Policy, rules: Rules, forecasts: int, draws: int) -> Measured:
    """Forecast some jobs of the later four fifths of a log at their submission."""
    runs = recorded_runs(trace)
    first = np.full(len(trace), np.inf)
    np.minimum.at(first, runs["job"].to_numpy(), runs["start"].to_numpy())
    later = np.arange(len(trace) // 5, len(trace))
    rows = []
    for j in np.sort(np.random.default_rng(1).choice(later, min(forecasts, len(later)), replace=False)):
        now = float(trace.submit_time[j])
        found = simulations(moment_of(trace, runs, trace.job_id[j], cluster, policy, rules, now), draws)
        rows.append((first[j] - now, *found.interval))
    return Measured(*np.array(rows).T)
