"""The cluster's own configuration, resolved per job for a simulation: nodes, tree of tenants, limits, priority.

Every policy respects the nodes on which a job may run, except `hived`, which refuses such rules. The other fields are
for policies that have a tree of tenants, or limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from astraea.cluster.cluster import Cluster
from astraea.core.arrays import BoolArray, FloatArray, IntArray
from astraea.core.digest import digest_of
from astraea.core.errors import InputError

if TYPE_CHECKING:
    from astraea.traces.trace import Trace


class Rules(NamedTuple):
    """Arrays over n jobs in trace order, nodes of the cluster, A associations, P partitions, C caps; see `no_rules`.

    Parents come before their children; leaves are users. While a job runs, it takes a part of each of its caps.
    """

    allowed: BoolArray  #: (kinds, nodes) true for nodes on which jobs of a kind may run
    kind: IntArray  #: (n,) of each job
    nodes: IntArray  #: (n,) nodes that each job asks for, with equal parts of its gang; 0 means as few as hold it
    parent: IntArray  #: (A,) the association above; -1 for those at the top
    shares: FloatArray  #: (A,) among those with the same parent
    usage: FloatArray  #: (A,) decayed usage of each leaf at second 0 [units of `charge` x s]
    association: IntArray  #: (n,) the leaf of each job
    charge: FloatArray  #: (n,) usage of each job per second, in GPUs, CPUs or billing units
    cap: FloatArray  #: (C,) most that all running jobs under a cap may take together
    caps: IntArray  #: (n, K) caps of each job; -1 for none
    takes: FloatArray  #: (n, K) amount that it takes of each cap: its GPUs or CPUs, or 1 if jobs are counted
    binds: BoolArray  #: (n, K) or (n, 1) true if the cap can hold the job back; the job always counts in it
    partition: IntArray  #: (n,) of each job
    partition_nodes: BoolArray  #: (P, nodes) true for nodes of each partition
    tier: IntArray  #: (n,) PriorityTier of the partition; higher tiers first
    bonus: FloatArray  #: (n,) constant part of the priority: QOS and partition factors, site, less nice

    def of(self, rows: IntArray) -> Rules:
        """Keep some of the jobs, in their order."""
        return self._replace(**{name: getattr(self, name)[rows] for name in PER_JOB})

    @property
    def digest(self) -> str:
        """SHA-256 of all of it."""
        return digest_of(**self._asdict())


PER_JOB: Final = ("kind", "nodes", "association", "charge", "caps", "takes", "binds", "partition", "tier", "bonus")
"""Fields with one entry, or row, per job."""


def no_rules(trace: Trace, cluster: Cluster) -> Rules:
    """Return rules with which any job may run anywhere; the tree is the tenants, plus Slurm's idle user root.

    Usage is in GPU-seconds. If the trace has a tree of tenants, its queues are accounts, from the last to the first. To
    make rules, replace the known fields: ``no_rules(trace, cluster)._replace(tier=...)``.
    """
    n, parent, shares, leaf = len(trace), np.full(len(trace.tenants), -1), trace.tenant_weight, trace.tenant
    if trace.tree is not None:
        last = len(trace.tree.parent) - 1
        parent = np.where(trace.tree.parent < 0, -1, last - trace.tree.parent)[::-1]
        shares, leaf = trace.tree.share[::-1], last - trace.tenant
    return Rules(
        allowed=np.ones((1, cluster.nodes), np.bool_),
        kind=np.zeros(n, np.int64),
        nodes=np.zeros(n, np.int64),
        parent=np.append(parent, -1),
        shares=np.append(shares, 1.0),
        usage=np.zeros(len(parent) + 1),
        association=leaf.astype(np.int64),
        charge=trace.demand.astype(np.float64),
        cap=np.zeros(0),
        caps=np.zeros((n, 0), np.int64),
        takes=np.zeros((n, 0)),
        binds=np.ones((n, 1), np.bool_),
        partition=np.zeros(n, np.int64),
        partition_nodes=np.ones((1, cluster.nodes), np.bool_),
        tier=np.zeros(n, np.int64),
        bonus=np.zeros(n),
    )


def checked(rules: Rules, trace: Trace, cluster: Cluster) -> Rules:
    """Return the rules in the types above; `InputError` if shapes or indices do not fit trace and cluster."""
    usual = no_rules(trace, cluster)._asdict()
    if rules.binds.shape[1:] == (1,):
        rules = rules._replace(binds=np.broadcast_to(rules.binds, rules.caps.shape))
    given = Rules(*(np.ascontiguousarray(part, usual[name].dtype) for name, part in rules._asdict().items()))
    associations, width = np.arange(len(given.parent)), given.caps.shape[-1]
    shapes = {
        **dict.fromkeys(PER_JOB, (len(trace),)), **dict.fromkeys(("caps", "takes", "binds"), (len(trace), width)),
        **dict.fromkeys(("parent", "shares", "usage"), associations.shape), "cap": (given.cap.size,),
        "allowed": (len(given.allowed), cluster.nodes), "partition_nodes": (len(given.partition_nodes), cluster.nodes),
    }  # fmt: skip
    for name, part in given._asdict().items():
        if part.shape != shapes[name]:
            raise InputError(f"{trace.name}: rules: {name} must have the shape {shapes[name]}, got {part.shape}")
    good = {
        "kind": (given.kind >= 0) & (given.kind < len(given.allowed)),
        "nodes": (given.nodes >= 0) & (given.nodes <= cluster.nodes),
        "parent": (given.parent >= -1) & (given.parent < associations),
        "association": np.isin(given.association, np.setdiff1d(associations, given.parent)),
        "caps": ((given.caps >= -1) & (given.caps < len(given.cap))).all(axis=1),
        "takes": (given.takes >= 0).all(axis=1),
        "partition": (given.partition >= 0) & (given.partition < len(given.partition_nodes)),
        "bonus": np.isfinite(given.bonus),
        **{name: getattr(given, name) >= 0 for name in ("shares", "usage", "charge", "cap")},
    }
    for name, found in good.items():
        if not found.all():
            first = int(np.argmin(found))
            raise InputError(f"{trace.name}: rules: {name}[{first}] is out of range, got {getattr(given, name)[first]}")
    return given


def nodes_of_gangs(rules: Rules, trace: Trace, cluster: Cluster, equal_parts: bool = False) -> IntArray:
    """Return the nodes that each job asks for, or else the fewest that hold its gang, shape (n,); 0 if none do.

    The gang of a job that asks for nodes, and with `equal_parts` that of any job, has the same number of GPUs on each
    of its nodes, and the rest on the last one.
    """
    nodes = np.zeros(len(trace), np.int64)
    for kind, allowed in enumerate(rules.allowed):
        of = np.flatnonzero(rules.kind == kind)
        if len(of) == 0:
            continue
        sizes = np.sort(cluster.node_gpus[allowed])[::-1]
        room = np.append(0, np.arange(1, len(sizes) + 1) * sizes)  # of so many nodes in equal parts
        in_parts = np.searchsorted(np.maximum.accumulate(room), trace.demand[of])
        in_any = np.searchsorted(np.append(0, np.cumsum(sizes)), trace.demand[of])
        fewest = np.where(equal_parts | (rules.nodes[of] > 0), in_parts, in_any)
        asked = np.minimum(np.minimum(rules.nodes[of], trace.demand[of]), len(sizes))
        good = room[asked] >= trace.demand[of]
        nodes[of] = np.where(good, asked, np.where(fewest > len(sizes), 0, fewest))
    return nodes


def takes_too_much(rules: Rules) -> BoolArray:
    """Return whether each job alone takes more than one of its caps allows, shape (n,)."""
    return np.asarray((rules.binds & (rules.takes > np.append(rules.cap, np.inf)[rules.caps])).any(axis=1))
