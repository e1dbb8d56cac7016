"""The recorded runs of a log: waits, GPUs held over time, and the usage of each tenant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import quotas, whole
from astraea.cluster.rules import Rules
from astraea.core.arrays import BoolArray, FloatArray, IntArray
from astraea.traces.readers.slurm import WAITS
from astraea.traces.trace import Trace


def still_waiting(trace: Trace) -> pd.DataFrame:
    """Return the jobs that are still waiting at the end of a log: job_id, tenant, demand [GPU], submit_time [s]."""
    aside = trace.excluded_jobs.reindex(columns=["job_id", "tenant", "demand", "submit_time", "reason"])
    still = aside[(aside["reason"] == WAITS) & (aside["demand"] > 0)]
    return still.drop(columns="reason").astype({"demand": np.int64, "submit_time": float})


def waits(trace: Trace, runs: pd.DataFrame) -> pd.DataFrame:
    """Return every wait for a first start, of jobs that ran and of jobs that are still waiting.

    `runs` are those of `observed.recorded_runs`. The columns are job_id, tenant (its index), demand [GPU], since,
    until [s], later and still. A wait lasts from its submission (since) to the first start or the end of the log
    (until). `later` is the index of the first job that came later; `still` is true if the job is still waiting.
    """
    first = np.full(len(trace), np.inf)
    np.minimum.at(first, runs["job"].to_numpy(), runs["start"].to_numpy())
    rest = still_waiting(trace)
    since = rest["submit_time"].to_numpy()
    end = max(float(runs["end"].max()), float(since.max(initial=0.0)))
    columns: dict[str, list[Any]] = {
        "job_id": [trace.job_id, rest["job_id"].to_numpy(dtype=object)],
        "tenant": [trace.tenant, pd.Index(trace.tenants).get_indexer(pd.Index(rest["tenant"]))],
        "demand": [trace.demand, rest["demand"]],
        "since": [trace.submit_time, since],
        "until": [first, np.full(len(rest), end)],
        "later": [np.arange(1, len(trace) + 1), np.searchsorted(trace.submit_time, since, side="right")],
        "still": [np.zeros(len(trace), bool), np.ones(len(rest), bool)],
    }
    return pd.DataFrame({name: np.concatenate(parts) for name, parts in columns.items()})


class Log:
    """The recorded runs as steps: GPUs held and used by each tenant, and the limits.

    The limits are those of `rules`; without rules, quotas are limits where no tenant ever had more.
    """

    def __init__(self, trace: Trace, runs: pd.DataFrame, cluster: Cluster, rules: Rules | None = None) -> None:
        job = np.concatenate([runs["job"], runs["job"]])
        time = np.concatenate([runs["start"], runs["end"]])
        change = np.concatenate([np.ones(len(runs), np.int64), -np.ones(len(runs), np.int64)])
        order = np.lexsort((change, time))
        self.trace, self.cluster, self.rules, self.job, self.time = trace, cluster, rules, job[order], time[order]
        self.change = change[order]
        self.gpus = self.change * trace.demand[self.job]
        self.free = cluster.gpus - np.cumsum(self.gpus)
        self.quota = whole(quotas(trace, cluster.gpus))
        of = [np.flatnonzero(trace.tenant[self.job] == t) for t in range(len(trace.tenants))]
        self.times_of = [np.concatenate([[0.0], self.time[rows]]) for rows in of]
        self.held_of = [np.concatenate([[0], np.cumsum(self.gpus[rows])]) for rows in of]
        self.used_of = [
            np.concatenate([[0.0], np.cumsum(np.diff(times) * held[:-1])])
            for times, held in zip(self.times_of, self.held_of, strict=True)
        ]
        flags = pd.Series([""] if trace.details is None else trace.details["flags"].astype(str))
        #: true for jobs started by Slurm's main scheduler or at submission; None if the log does not have it
        self.in_order: BoolArray | None = None
        if flags.str.contains("Sched").any():
            self.in_order = flags.str.contains("SchedMain|SchedSubmit").to_numpy()
        self.has_walls = all(held.max() <= quota for held, quota in zip(self.held_of, self.quota, strict=True))

    def held(self, t: int, times: FloatArray) -> IntArray:
        """Return the GPUs that tenant `t` holds after the events at `times` [GPU]."""
        return self.held_of[t][np.searchsorted(self.times_of[t], times, side="right") - 1]

    def walled(self, t: int, demand: int, job: int | None, times: FloatArray) -> BoolArray:
        """Return whether one more job of tenant `t` would exceed a limit at `times`; `job` is None if still waiting."""
        if self.rules is None:
            return np.asarray(self.has_walls & (self.held(t, times) + demand > self.quota[t]))
        out = np.zeros(len(times), dtype=bool)
        if job is None:
            return out
        binds = np.broadcast_to(self.rules.binds[job], self.rules.caps[job].shape)
        for cap, takes, binding in zip(self.rules.caps[job], self.rules.takes[job], binds, strict=True):
            if cap >= 0 and binding:
                rows = np.searchsorted(self.time, times, side="right")
                out |= self._taken(int(cap))[rows] + takes > self.rules.cap[cap]
        return out

    def _taken(self, cap: int) -> FloatArray:
        """Return how much of a limit all jobs together take, before the first event and after each."""
        assert self.rules is not None
        takes = np.where(self.rules.caps == cap, self.rules.takes, 0.0).sum(axis=1)
        return np.concatenate([[0.0], np.cumsum(self.change * takes[self.job])])

    def has_room(self, demand: int, job: int | None, free: IntArray) -> BoolArray:
        """Return whether a gang must have room wherever the free GPUs are; false if it may need certain nodes."""
        sizes, asked = self.cluster.node_gpus, 0
        if self.rules is not None:
            sizes = sizes[self.rules.allowed[self.rules.kind[job]]] if job is not None else sizes[:0]
            asked = int(self.rules.nodes[job]) if job is not None else 0
        elif job is not None and self.trace.details is not None and self.trace.details["constraint"].iloc[job] != "":
            return np.zeros(len(free), dtype=bool)
        nodes = asked or -(-demand // self.cluster.gpus_per_node)
        each = -(-demand // nodes) if asked else min(demand, self.cluster.gpus_per_node)
        # there is no room only if this many GPUs are held on all but nodes - 1 of the nodes that are large enough
        costs = np.sort(sizes[sizes >= each]) - each + 1
        return np.asarray(self.cluster.gpus - free < costs[: max(0, len(costs) - nodes + 1)].sum())

    def usage(self, t: int, times: FloatArray) -> FloatArray:
        """Return the GPU-time that tenant `t` had used by `times`, relative to its weight [GPU-s]."""
        k = np.searchsorted(self.times_of[t], times, side="right") - 1
        used = self.used_of[t][k] + self.held_of[t][k] * (times - self.times_of[t][k])
        found: FloatArray = used / self.trace.tenant_weight[t]
        return found
