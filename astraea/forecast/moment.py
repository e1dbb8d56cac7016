"""A queue at one moment: what is known of it without seeing the future."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.observed import recorded_runs
from astraea.core.arrays import IntArray
from astraea.core.errors import InputError
from astraea.core.text import printable
from astraea.traces.readers.slurm import WAITS
from astraea.traces.trace import Trace

COLUMNS: Final = ["job_id", "tenant", "user", "demand", "time_limit"]

Held = tuple[tuple[int, int], ...]
"""GPUs that a job has: pairs of a node's index and a number of its GPUs; empty if the nodes are not known."""


class Moment(NamedTuple):
    """A queue; its tables have a row per job with the columns `COLUMNS` [GPU, s]. Second 0 is the moment itself."""

    time: float  #: of the moment, on its own clock [s] ...
    origin: pd.Timestamp | None  #: ... whose second 0 is then, in local time; None if the source has no dates
    node_gpus: IntArray  #: (nodes,) GPUs of each node that can be used
    running: pd.DataFrame  #: with `elapsed` [s] and `held`, of `Held`
    waiting: pd.DataFrame  #: with `waited` [s], in the order in which they came; `priority`, where Slurm told it
    past: pd.DataFrame  #: jobs that came before, with `submit_time` (at most 0) and `duration`, NaN if unfinished [s]
    weights: dict[str, float]  #: of the tenants
    usage: dict[str, float]  #: decayed GPU-time of the tenants [GPU-s]

    @property
    def free(self) -> int:
        """GPUs that nobody holds [GPU]."""
        return int(self.node_gpus.sum() - self.running["demand"].sum())


def moment_of(trace: Trace, cluster: Cluster, half_life: float, at: float | None = None) -> Moment:
    """Return the queue of a log at some time [s]; where the log ends if it is not given.

    `half_life` is that of usage [s]. `InputError` says that the log does not tell when jobs ran, or not of that time.
    """
    runs = recorded_runs(trace)
    start, end = runs["start"].to_numpy(), runs["end"].to_numpy()
    still = _still_waiting(trace)
    last = float(max(end.max(), trace.submit_time.max(), still["submit_time"].max() if len(still) else 0.0))
    now = last if at is None else at
    if not 0 <= now <= last:
        first, final, got = (clock(trace.origin, seconds) for seconds in (0.0, last, now))
        raise InputError(f"{trace.name}: at must be within the log, from {first} to {final}, got {got}")
    job = runs["job"].to_numpy()
    open_end = (trace.state[job] == "unknown") & (end == last)  # it still ran when the log was written
    runs_now = (start < now) & ((end > now) | (open_end & (now == last)))
    jobs = trace.frame[COLUMNS].assign(submit_time=trace.submit_time - now)
    running = jobs.iloc[job[runs_now]].assign(elapsed=now - start[runs_now], held=[()] * int(runs_now.sum()))

    has_ended = np.full(len(trace), np.nan)
    ended = np.flatnonzero((end <= now) & ~open_end)
    has_ended[job[ended]] = end[ended] - start[ended]  # of several runs the last one
    came = trace.submit_time < now
    begun = np.zeros(len(trace), bool)
    begun[job[start < now]] = True
    waiting = pd.concat([jobs[came & ~begun], still.assign(submit_time=still["submit_time"] - now)])
    waiting = waiting[waiting["submit_time"] <= 0].assign(waited=lambda w: -w["submit_time"], priority=np.nan)
    weights = dict(zip(trace.tenants, trace.tenant_weight.tolist(), strict=True))
    used = np.minimum(end, now)
    decay = np.log(2) / half_life
    spent = trace.demand[job] / decay * (np.exp(-decay * (now - used)) - np.exp(-decay * (now - start)))
    usage = np.bincount(trace.tenant[job], np.where(start < now, spent, 0.0), len(trace.tenants))
    return Moment(
        time=now,
        origin=trace.origin,
        node_gpus=np.full(cluster.nodes, cluster.gpus_per_node),
        running=running.drop(columns="submit_time").reset_index(drop=True),
        waiting=waiting.sort_values("waited", ascending=False, kind="stable")
        .drop(columns="submit_time").reset_index(drop=True),
        past=jobs.assign(duration=has_ended)[came].reset_index(drop=True),
        weights=weights,
        usage=dict(zip(trace.tenants, usage.tolist(), strict=True)),
    )  # fmt: skip


def seconds_of(trace: Trace, at: pd.Timestamp | None) -> float | None:
    """Return a moment as seconds on the log's clock; `InputError` if the log has no dates."""
    if at is None:
        return None
    if trace.origin is None:
        raise InputError(f"{trace.name}: at={at.isoformat()} needs a log with dates")
    return float((at - trace.origin.tz_localize(None)).total_seconds())


def clock(origin: pd.Timestamp | None, seconds: float) -> str:
    """Write a time of a clock."""
    if origin is None:
        return f"second {seconds:g}"
    return (origin + pd.Timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M:%S")


def tenant_of(moment: Moment, account: str, name: str) -> str:
    """Return the tenant that is meant; `InputError` if there is none of that name."""
    known = list(moment.weights)
    if account in known:
        return account
    if not account and len(known) == 1:
        return known[0]
    listed = ", ".join(map(printable, known[:20])) + (", ..." if len(known) > 20 else "")
    got = f"got {printable(account)!r}" if account else "none is given"
    raise InputError(f"{name}: account must be one of {listed}; {got}")


def _still_waiting(trace: Trace) -> pd.DataFrame:
    """Jobs that wait where the log ends."""
    table = trace.excluded_jobs.reindex(columns=[*COLUMNS, "submit_time", "reason"])
    table = table[(table["reason"] == WAITS) & (table["demand"] > 0) & table["tenant"].isin(trace.tenants)]
    table = table.assign(user=table["user"].fillna(table["tenant"]))
    kinds = {"demand": np.int64, "time_limit": float, "submit_time": float}
    return table.drop(columns="reason").astype(kinds)


