"""The recorded runs of a log: waits, GPUs held over time, usage of each tenant, and the size of the cluster."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.state import quotas, whole
from astraea.cluster.observed import recorded_runs
from astraea.cluster.rules import Rules
from astraea.core.arrays import BoolArray, FloatArray, IntArray
from astraea.core.wording import counted
from astraea.traces.trace import Trace
from astraea_ops.forecast.moment import still_waiting
from astraea_ops.site.site import Node, Site
from astraea_ops.slurm.words import hosts_of

NOTICED: Final = 2.0
"""Longest delay that is the scheduler's reaction and not a wait [s]."""

_USUAL: Final = 8
"""Default number of GPUs per node."""

_IDLE: Final = 0.9
"""Peak use, as a part of the cluster, below which it is too low for a log whose jobs waited."""


def waits(trace: Trace, runs: pd.DataFrame) -> pd.DataFrame:
    """Return every wait for a first start, from submission (since) to that start or the end of the log (until) [s].

    `runs` are those of `observed.recorded_runs`; `tenant` is an index, `later` that of the first job that came later;
    `still` is true if the job is still waiting.
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
                each = np.where(self.rules.caps == cap, self.rules.takes, 0.0).sum(axis=1)
                taken = np.concatenate([[0.0], np.cumsum(self.change * each[self.job])])  # by all, after each event
                out |= taken[np.searchsorted(self.time, times, side="right")] + takes > self.rules.cap[cap]
        return out

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


def cluster_of(trace: Trace, nodes: int | None, gpus_per_node: int | None) -> tuple[Cluster, list[str]]:
    """Make the cluster of a log, as given or as its jobs show it, and sentences about guesses and contradictions."""
    peak, names, most = _seen(trace)
    if nodes is not None:
        cluster = Cluster(nodes, _USUAL if gpus_per_node is None else gpus_per_node)
        return cluster, _doubts(trace, cluster, peak, names, most)
    more = "If that is wrong, give the right numbers: --nodes and --gpus-per-node."
    if not names:
        size = gpus_per_node or _USUAL
        cluster = Cluster(math.ceil(peak / size), size)
        return cluster, [
            f"The log names no nodes, so the cluster is taken as {size_of(cluster)}: at most "
            f"{counted(peak, 'GPU')} were in use at once. {more}"
        ]
    if gpus_per_node is None:
        sizes = np.ceil(most - 1e-6).astype(np.int64)
        alike = (sizes == sizes.max()).mean() > 0.5  # the other nodes were never full in this log
        cluster = Cluster(len(sizes), int(sizes.max())) if alike else Cluster.of(sizes.tolist())
    else:
        cluster = Cluster(max(len(names), math.ceil(peak / gpus_per_node)), gpus_per_node)
    if cluster.gpus < peak:  # earlier runs of requeued jobs have no nodes in the log
        cluster = Cluster(math.ceil(peak / cluster.gpus_per_node), cluster.gpus_per_node)
    why = f"from the nodes that the log names and their use. {more}"
    return cluster, [f"The cluster is taken as {size_of(cluster)}, {why}"]


def with_gone_nodes(site: Site, trace: Trace) -> tuple[Site, list[str]]:
    """Add nodes to a site if jobs held more than it has, and say so: the log may be older than the settings."""
    known = site.cluster
    if known is None or (more := (seen := _seen(trace))[0] - known.gpus) <= 0:
        return site, []
    names = {node.name for node in site.all_nodes}
    free = [*(name for name in seen[1] if name not in names), *(f"node {k} that is gone" for k in range(1, more + 1))]
    parts = [min(known.gpus_per_node, more - k) for k in range(0, more, known.gpus_per_node)]
    gone = tuple(
        Node(name, {"node": 1.0, site.resource: float(part)}, frozenset())
        for name, part in zip(free, parts, strict=False)
    )
    return dataclasses.replace(site, gone=gone), [
        f"{counted(seen[0], 'GPU')} were in use at once, more than the {known.gpus} of the settings, so "
        f"{counted(len(gone), 'node')} with {counted(more, 'GPU')} {'was' if len(gone) == 1 else 'were'} added. Maybe "
        "nodes are gone since the log, or jobs shared GPUs, or were suspended."
    ]


def size_of(cluster: Cluster) -> str:
    """Return a cluster in words."""
    each = f"{counted(cluster.nodes, 'node')} of {'up to ' if cluster.sizes else ''}"
    all_in_all = f", {cluster.gpus:,} in all" if cluster.sizes else ""
    return f"{each}{counted(cluster.gpus_per_node, 'GPU')}{all_in_all}"


def _doubts(trace: Trace, cluster: Cluster, peak: int, names: list[str], most: FloatArray) -> list[str]:
    """Return sentences about what in a log contradicts the given cluster."""
    found = []
    if len(names) > cluster.nodes:
        found.append(f"Jobs ran on {len(names)} nodes, more than the {cluster.nodes} that were given (--nodes).")
    if len(names) and most.max() > cluster.gpus_per_node + 1e-6:
        node, there = names[int(most.argmax())], math.ceil(most.max() - 1e-6)
        given = f"more than the {cluster.gpus_per_node} that were given (--gpus-per-node)"
        found.append(f"On node {node}, {counted(there, 'GPU')} were in use at once, {given}.")
    waited = int((trace.queueing_delay > NOTICED).sum())
    if peak < _IDLE * cluster.gpus and waited:
        named = f", and jobs ran on {len(names)} of {cluster.nodes} nodes" if names else ""
        found.append(
            f"At most {peak} of {counted(cluster.gpus, 'GPU')} were ever in use{named}, although "
            f"{counted(waited, 'job')} waited. If the cluster is smaller (--nodes), most waits have other causes than "
            "this page says."
        )
    return found


def _seen(trace: Trace) -> tuple[int, list[str], FloatArray]:
    """Return peak use [GPU], nodes of the jobs' last runs, which share a job's GPUs evenly, and peak use of each."""
    runs = recorded_runs(trace)
    jobs = runs["job"].to_numpy()
    start, end = runs["start"].to_numpy(), runs["end"].to_numpy()
    everything = _peaks(np.zeros(len(runs), dtype=np.int64), trace.demand[jobs].astype(float), start, end)
    peak = round(float(everything.max(initial=0.0)))
    if trace.details is None:
        return peak, [], np.zeros(0)
    lists = pd.Series([hosts_of(text) for text in trace.details["node_list"].iloc[jobs]], dtype=object)
    last = lists[~runs["job"].duplicated(keep="last").to_numpy()]
    hosts = last.explode().dropna()
    rows = hosts.index.to_numpy()
    node, names = pd.factorize(hosts, sort=True)
    share = trace.demand[jobs[rows]] / last.map(len).loc[rows].to_numpy()
    return peak, list(names), _peaks(node, share, start[rows], end[rows])


def _peaks(group: IntArray, height: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
    """Return the most that is held at once in each group 0, 1, ..."""
    if not len(group):
        return np.zeros(0)
    where, change = np.concatenate([group, group]), np.concatenate([height, -height])
    order = np.lexsort((change, np.concatenate([start, end]), where))
    held = np.cumsum(change[order])  # every group ends with nothing held
    return np.maximum.reduceat(held, np.searchsorted(where[order], np.arange(group.max() + 1)))
