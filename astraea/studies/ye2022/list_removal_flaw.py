"""The skipped neighbour of the simulator that ASTRAEA's authors released: what it does to leases.

That program walks the list of running jobs, in the order in which they were launched, and takes out those whose lease
has ended; the job behind each of them is not looked at before the next round (`engine.list_removal_flaw`).
Leases that were in step drift apart.
"""

from __future__ import annotations

import dataclasses
from typing import Final

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.result import Result
from astraea.traces.trace import Trace

MINUTE: Final = 60.0

NO_COST: Final = Settings(checkpoint_overhead=0.0, restart_overhead=0.0)
"""As in the released simulator, but for its flaw."""

FLAWED: Final = dataclasses.replace(NO_COST, list_removal_flaw=True)
"""As in the released simulator."""


def whole_minutes(trace: Trace) -> Trace:
    """The trace with submission times and durations rounded up to whole minutes, as in the authors' workloads."""
    return dataclasses.replace(
        trace,
        name=f"{trace.name}, whole minutes",
        submit_time=np.ceil(trace.submit_time / MINUTE) * MINUTE,
        duration=np.ceil(trace.duration / MINUTE) * MINUTE,
    )


def staggered(trace: Trace, seed: int = 0) -> Trace:
    """The trace with each submission 0, 10, ... or 50 s later, at random: the opposite of `whole_minutes`."""
    later = 10.0 * np.random.default_rng(seed).integers(0, 6, len(trace))
    weights = dict(zip(trace.tenants, trace.tenant_weight.tolist(), strict=True))
    frame = trace.frame.assign(submit_time=trace.submit_time + later)
    return Trace.from_frame(frame, name=f"{trace.name}, staggered", weights=weights)


EXAMPLE: Final = Cluster(nodes=1, gpus_per_node=3)
"""Where `example` runs."""


def example(skipped: bool) -> Result:
    """Three jobs of 45 min that start together, and a short one that comes 30 s after their leases have ended.

    All on one GPU, with rounds of a minute, no overheads and no delay jobs.
    """
    jobs = {"job_id": ["A", "B", "C", "new"], "submit_time": [0.0, 0.0, 0.0, 930.0], "duration": [2700.0] * 3 + [600.0]}
    trace = Trace.from_frame(pd.DataFrame({**jobs, "tenant": "all", "demand": 1}), name="example")
    policy = get_policy("astraea-released")(delay_threshold=0)
    settings = dataclasses.replace(FLAWED if skipped else NO_COST, interval=MINUTE)
    return simulate(trace, EXAMPLE, policy, settings=settings, keep_log=True)


def lease_ends_together(result: Result, lease_term: float = 900.0) -> float:
    """How many leases end in the round in which a lease ends, on average over the leases; itself is one of them.

    Leases during which the job was completed are not counted.
    """
    assert result.grants is not None, "simulate with keep_log=True"
    whole = result.grants["end"] - result.grants["start"] >= lease_term
    ends = (result.grants.loc[whole, "end"] / float(result.provenance["interval"])).round().value_counts()
    return float((ends**2).sum() / ends.sum()) if len(ends) else float("nan")


def synchrony(trace: Trace, cluster: Cluster, most_jobs: int = 5_000) -> pd.DataFrame:
    """How many leases end together, with recorded times and with whole minutes, neighbours looked at or skipped.

    Of a trace with more than `most_jobs` jobs the first so many. Columns minutes, skipped, together.
    """
    rows = []
    for minutes in (False, True):
        jobs = trace.head(most_jobs)
        jobs = whole_minutes(jobs) if minutes else jobs
        for skipped in (False, True):
            settings = FLAWED if skipped else NO_COST
            result = simulate(jobs, cluster, "astraea-released", settings=settings, keep_log=True)
            rows.append({"minutes": minutes, "skipped": skipped, "together": lease_ends_together(result)})
    return pd.DataFrame(rows)
