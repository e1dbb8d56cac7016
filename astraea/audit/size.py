"""The size of a log's cluster: as given, or as its jobs show, and contradictions between the two."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from astraea.audit.scenarios import NOTICED
from astraea.cluster.cluster import Cluster
from astraea.cluster.observed import recorded_runs
from astraea.core.arrays import FloatArray, IntArray
from astraea.core.text import counted
from astraea.traces.slurm_words import hosts_of
from astraea.traces.trace import Trace

_USUAL: Final = 8
"""Default number of GPUs per node."""

_IDLE: Final = 0.9
"""Peak use, as a part of the cluster, below which it is too low for a log whose jobs waited."""


class Seen(NamedTuple):
    """Nodes and GPUs that the jobs of a log held."""

    peak: int  #: most GPUs that all jobs held at once [GPU]
    names: tuple[str, ...]  #: nodes on which any job ran
    most: FloatArray  #: most GPUs that jobs held at once on each node [GPU]


def cluster_of(trace: Trace, nodes: int | None, gpus_per_node: int | None) -> tuple[Cluster, list[str]]:
    """Make the cluster of a log; return it with sentences about what was inferred, or about contradictions.

    Parameters
    ----------
    trace : Trace
        A log with the times at which its jobs ran; `details.node_list` has the nodes.
    nodes, gpus_per_node : int, optional
        If they are known.
    """
    seen = _seen(trace)
    if nodes is not None:
        cluster = Cluster(nodes, _USUAL if gpus_per_node is None else gpus_per_node)
        return cluster, _doubts(trace, cluster, seen)
    more = "If that is wrong, give the right numbers: --nodes and --gpus-per-node."
    if not seen.names:
        size = gpus_per_node or _USUAL
        cluster = Cluster(math.ceil(seen.peak / size), size)
        return cluster, [
            f"The log names no nodes, so the cluster is taken as {_of(cluster)}: at most "
            f"{counted(seen.peak, 'GPU')} were in use at once. {more}"
        ]
    if gpus_per_node is None:
        sizes = np.ceil(seen.most - 1e-6).astype(np.int64)
        alike = (sizes == sizes.max()).mean() > 0.5  # the other nodes were never full in this log
        cluster = Cluster(len(sizes), int(sizes.max())) if alike else Cluster.of(sizes.tolist())
    else:
        cluster = Cluster(max(len(seen.names), math.ceil(seen.peak / gpus_per_node)), gpus_per_node)
    if cluster.gpus < seen.peak:  # earlier runs of requeued jobs have no nodes in the log
        cluster = Cluster(math.ceil(seen.peak / cluster.gpus_per_node), cluster.gpus_per_node)
    return cluster, [f"The cluster is taken as {_of(cluster)}, from the nodes that the log names and their use. {more}"]


def _of(cluster: Cluster) -> str:
    """Return a cluster in words."""
    each = f"{counted(cluster.nodes, 'node')} of {'up to ' if cluster.sizes else ''}"
    all_in_all = f", {cluster.gpus:,} in all" if cluster.sizes else ""
    return f"{each}{counted(cluster.gpus_per_node, 'GPU')}{all_in_all}"


def _doubts(trace: Trace, cluster: Cluster, seen: Seen) -> list[str]:
    """Return sentences about what in a log contradicts the given cluster."""
    found = []
    if len(seen.names) > cluster.nodes:
        found.append(f"Jobs ran on {len(seen.names)} nodes, more than the {cluster.nodes} that were given (--nodes).")
    if len(seen.names) and seen.most.max() > cluster.gpus_per_node + 1e-6:
        node, most = seen.names[int(seen.most.argmax())], math.ceil(seen.most.max() - 1e-6)
        given = f"more than the {cluster.gpus_per_node} that were given (--gpus-per-node)"
        found.append(f"On node {node}, {counted(most, 'GPU')} were in use at once, {given}.")
    waited = int((trace.queueing_delay > NOTICED).sum())
    if seen.peak < _IDLE * cluster.gpus and waited:
        named = f", and jobs ran on {len(seen.names)} of {cluster.nodes} nodes" if seen.names else ""
        found.append(
            f"At most {seen.peak} of {counted(cluster.gpus, 'GPU')} were ever in use{named}, although "
            f"{counted(waited, 'job')} waited. If the cluster is smaller (--nodes), most waits have other causes than "
            "this page says."
        )
    return found


def _seen(trace: Trace) -> Seen:
    """Return what the recorded runs held; the nodes are those of each job's last run, and share its GPUs evenly."""
    runs = recorded_runs(trace)
    jobs = runs["job"].to_numpy()
    start, end = runs["start"].to_numpy(), runs["end"].to_numpy()
    everything = _peaks(np.zeros(len(runs), dtype=np.int64), trace.demand[jobs].astype(float), start, end)
    peak = round(float(everything.max(initial=0.0)))
    if trace.details is None:
        return Seen(peak, (), np.zeros(0))
    lists = trace.details["node_list"].astype("category").cat
    hosts = [hosts_of(text) for text in lists.categories]
    names = tuple(sorted(set().union(*hosts)))
    index = {name: k for k, name in enumerate(names)}
    of = [np.array([index[name] for name in some], dtype=np.int64) for some in hosts]
    last = np.flatnonzero(~runs["job"].iloc[::-1].duplicated().iloc[::-1].to_numpy())
    codes = lists.codes.to_numpy()[jobs[last]]
    width = np.array([len(some) for some in of], dtype=np.int64)[codes]
    node = np.concatenate([of[code] for code in codes]) if len(names) else np.zeros(0, dtype=np.int64)
    rows = np.repeat(last, width)
    share = trace.demand[jobs[rows]] / np.repeat(width, width)
    most = _peaks(node, share, start[rows], end[rows])
    return Seen(peak, names, most)


def _peaks(group: IntArray, height: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
    """Return the most that is held at once in each group 0, 1, ..."""
    if not len(group):
        return np.zeros(0)
    where, change = np.concatenate([group, group]), np.concatenate([height, -height])
    order = np.lexsort((change, np.concatenate([start, end]), where))
    held = np.cumsum(change[order])  # every group ends with nothing held
    return np.maximum.reduceat(held, np.searchsorted(where[order], np.arange(group.max() + 1)))
