"""Forecast starts of the jobs of a log, beside their real starts.

``python ops/tests/helpers/forecasts.py [LOG ...]`` measures the logs beside the tests and that of ../shared,
and prints the table of ops/docs/forecast.md, with one more column: the intervals of the jobs that waited.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
import pandas as pd
from places import OPS, ROOT

from astraea.cluster.cluster import Cluster
from astraea.cluster.observed import recorded_runs
from astraea.cluster.policies import get_policy
from astraea.cluster.policy import Policy
from astraea.cluster.rules import Rules, no_rules
from astraea.core.arrays import BoolArray, FloatArray
from astraea.traces.readers import read_trace
from astraea.traces.trace import Trace
from astraea_ops.audit.replays import plan_of
from astraea_ops.forecast.moment import moment_of
from astraea_ops.forecast.start import simulations
from astraea_ops.site.site import read_site

DATA = OPS / "tests" / "data" / "slurm"
SHARED = ROOT.parent / "shared" / "reference" / "slurm" / "sacct.txt"
SETTINGS = "slurm.conf", "config.txt", "nodes.txt", "partitions.txt", "accounts.txt", "assoc.txt", "qos.txt"
WITHOUT_SETTINGS = {
    "three_accounts": ({"vision": 3.0, "speech": 2.0, "nlp": 1.0}, Cluster(4, 8), 1200),
    "small_nodes": ({"a": 4.0, "b": 2.0, "c": 1.0, "d": 1.0}, Cluster(6, 4), 300),
    "short_half_life": ({"red": 3.0, "green": 1.0, "blue": 1.0}, Cluster(4, 8), 180),
    "long_queue": ({"a": 4.0, "b": 2.0, "c": 1.0, "d": 1.0}, Cluster(6, 4), 1200),
    "short_jobs": ({"vision": 3.0, "speech": 2.0, "nlp": 1.0}, Cluster(4, 8), 600),
    "shared": ({"vision": 2.0, "speech": 1.0, "nlp": 1.0}, Cluster(4, 8), 600),
}
WITH_SETTINGS = "tree", "two_kinds", "limits", "tree_deep", "two_kinds_more", "mixed"
WAITED = 10.0
"""A job that waited for longer did not start at once [s]."""


class Measured(NamedTuple):
    """Forecasts of a log's jobs beside their real starts."""

    true: FloatArray  #: (forecasts,) time until the start [s]
    low: FloatArray  #: (forecasts,) ends of the intervals [s]
    middle: FloatArray
    high: FloatArray

    @property
    def inside(self) -> BoolArray:
        """Tell for each start if it was in the interval."""
        found: BoolArray = (self.low <= self.true) & (self.true <= self.high)
        return found

    @property
    def row(self) -> str:
        """A row of the table."""
        waited = self.true > WAITED
        parts = self.inside, self.inside[waited], self.true < self.low, self.true > self.high
        spans = np.median(self.true[waited]), np.median((self.high - self.low)[waited])
        return " | ".join([f"{len(self.true)}", *(f"{100 * part.mean():.0f} %" for part in parts),
                           *(f"{span:,.0f} s" for span in spans)])  # fmt: skip


def measured(trace: Trace, cluster: Cluster, policy: Policy, rules: Rules, forecasts: int, draws: int) -> Measured:
    """Forecast some jobs of the later four fifths of a log at their submission."""
    runs = recorded_runs(trace)
    first = np.full(len(trace), np.inf)
    np.minimum.at(first, pd.Index(trace.job_id).get_indexer(pd.Index(runs["job_id"])), runs["start"].to_numpy())
    later = np.arange(len(trace) // 5, len(trace))
    rows = []
    for j in np.sort(np.random.default_rng(1).choice(later, min(forecasts, len(later)), replace=False)):
        now = float(trace.submit_time[j])
        found = simulations(moment_of(trace, runs, trace.job_id[j], cluster, policy, rules, now), draws)
        rows.append((first[j] - now, *found.interval))
    return Measured(*np.array(rows).T)


def log(name: str) -> tuple[Trace, Cluster, Policy, Rules]:
    """Return a log, and what is known of its cluster."""
    if name in WITHOUT_SETTINGS:
        weights, cluster, half_life = WITHOUT_SETTINGS[name]
        path = SHARED if name == "shared" else DATA / f"{name}.txt"
        trace = read_trace(path, format="slurm", weights=weights)
        assert trace.origin is not None
        policy = get_policy("slurm").with_parameters(half_life=half_life, clock_offset=trace.origin.second)
        return trace, cluster, policy, no_rules(trace, cluster)
    files = [DATA / name / file for file in SETTINGS]
    site, trace = read_site([file for file in files if file.exists()]), read_trace(DATA / name / "sacct.txt")
    assert site.cluster is not None
    own, rules, _ = plan_of(site, trace, "slurm", {}, site.cluster)
    assert rules is not None
    return trace, site.cluster, own, rules


if __name__ == "__main__":
    for name in sys.argv[1:] or [*WITHOUT_SETTINGS, *WITH_SETTINGS]:
        print(f"| `{name}` | {measured(*log(name), forecasts=40, draws=20).row} |", flush=True)
