"""The state of a simulation at one moment, as a few tables.

A policy may read `View`; only the engine may read `Private`. Both are tuples of numpy record arrays, so the whole
simulation is one compiled loop, and needs no Python object per job. In compiled and in plain Python,
``s.job[j].demand`` is the demand of job `j`, and ``s.now`` is the field `now` of the one record `View.clock`.

Indices: `j` is a job in order of (submit_time, job_id), `t` a tenant in alphabetical order.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine import records as r
from astraea.cluster.rules import Rules, no_rules, nodes_of_gangs
from astraea.core.compilation import inlined, with_scalars
from astraea.core.units import HOUR
from astraea.traces.tree import Tree, flat

if TYPE_CHECKING:  # for annotations only: policies import this module and need no tables
    from astraea.traces.trace import Trace

# status of a job; EXPIRED: its lease has ended in this round and it asks for renewal, still on its GPUs
NOT_YET, PENDING, RUNNING, EXPIRED, DONE = range(5)

# when a policy's decision may differ from the last one although nothing happened; EVERY_ROUND: even if no job waits
AT_EVENTS, WHILE_ONE_FITS, WHILE_ONE_WAITS, EVERY_ROUND = range(4)

F = npt.NDArray[np.float64]
I = npt.NDArray[np.int64]  # noqa: E741


@with_scalars
class View(NamedTuple):
    """The part of the state that a policy may read, and the few arrays for its decisions."""

    clock: r.Records  #: (1,) of `CLOCK`, whose fields are attributes of the view
    parameters: F  #: the policy's parameters, in the order of its `Parameters`
    job: r.Records  #: (n,) of `JOB`
    tenant: r.Records  #: (T,) of `TENANT`
    share: r.Records  #: (classes,) of `SHARE`: jobs of one tenant with equal demand and weight
    region: r.Records  #: (T + 1,) of `REGION`: place of each tenant's candidates in `queue`; the last: of all
    queue: I  #: candidates (pending jobs and jobs that ask for renewal), in job order within a region
    open_gangs: I  #: (GPUs + 1,) candidates that have not been granted at this round, by demand
    expired: I  #: candidates whose lease ended at this round, in job order
    running: I  #: jobs under a running lease, in the order in which they were launched
    memory: r.Records  #: bytes of the records that a policy keeps of each job, see `Policy.memory`
    tenant_memory: r.Records  #: bytes of the records that a policy keeps of each tenant
    association_memory: r.Records  #: bytes of the records that a policy keeps of each association of `rules`
    rules: Rules  #: nodes on which jobs may run, the tree of associations, limits; its `nodes` are never 0
    tree: Tree  #: the tenants and the queues above them
    node_free: I  #: (nodes,) GPUs that no job holds, after the last round and completions since then
    piece: r.Records  #: (GPUs,) of `PIECE`: GPUs that each job holds on each node, as linked lists
    timeline: r.Records  #: (rows, T) of `TIMELINE`
    hour: I  #: (rows,) hour of each row of `timeline`
    granted: I  #: decisions: jobs granted a lease, in order of selection
    revoked: I  #: decisions: running jobs that lose their GPUs at this round
    choices: r.Records  #: (GPUs,) of `CHOICE`, decisions: nodes for jobs that the policy places itself

    def __getattr__(self, name: str) -> Any:
        return getattr(self.clock[0], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.clock[0], name, value)


@with_scalars
class Private(NamedTuple):
    """The part of the state that only the engine may read."""

    engine: r.Records  #: (1,) of `ENGINE`, whose fields are attributes, too
    job: r.Records  #: (n,) of `PRIVATE_JOB`
    started: I  #: jobs whose lease begins at this round, in job order
    refused: I  #: jobs that were granted in this round but did not fit on their nodes, in job order
    heap: r.Records  #: (GPUs,) of `EVENT`: the next event of each running job
    log: r.Records  #: one line of `LOG` per lease
    place_log: I  #: (lines, 3): line of the lease that began there, node, gpus

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine[0], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.engine[0], name, value)


def quotas(trace: Trace, gpus: int) -> F:
    """Return the quota of every tenant in a cluster of `gpus` GPUs, [Ye2022] Eq. 6 [GPU]."""
    return gpus * trace.tenant_weight / trace.tenant_weight.sum()


def whole(quota: F) -> I:
    """Return the whole GPUs of quotas; a third of nine is three, despite floating point."""
    return np.floor(quota * (1 + 1e-12)).astype(np.int64)


def exact(value: float) -> Fraction:
    """Return the decimal number that a float is printed as."""
    return Fraction(repr(float(value)))


@inlined
def held_by(s: View, j: int) -> I:
    """Return the GPUs that job `j` holds on each node, shape (nodes,)."""
    held, piece = np.zeros(len(s.node_free), np.int64), s.job[j].first_piece
    while piece >= 0:
        held[s.piece[piece].node] = s.piece[piece].gpus
        piece = s.piece[piece].next
    return held


def new_state(
    trace: Trace,
    cluster: Cluster,
    *,
    parameters: Iterable[float] = (),
    estimate: tuple[F | float, ...] = (np.nan, np.nan, np.nan),
    memory: np.dtype[Any] = r.NOTHING,
    tenant_memory: np.dtype[Any] = r.NOTHING,
    association_memory: np.dtype[Any] = r.NOTHING,
    keep_log: bool = False,
    rules: Rules | None = None,
    equal_parts: bool = False,
    interval: float = 10.0,
    decay: float = 0.0,
    **engine: Any,
) -> tuple[View, Private]:
    """Make the state before the first round of a trace whose jobs all fit.

    `estimate` is the median of every job's estimated service [s] and its spread below and above; `equal_parts` is as in
    `nodes_of_gangs`; `engine` sets fields of `ENGINE`.
    """
    n, tenants, m = len(trace), len(trace.tenants), cluster.gpus
    # classes by (tenant, demand, weight), as one integer each: sorting rows takes ten times as long
    weights, weight = np.unique(trace.weight, return_inverse=True)
    bases = (tenants, int(trace.demand.max(initial=0)) + 1, len(weights))
    keys, fair_class = np.unique(np.ravel_multi_index((trace.tenant, trace.demand, weight), bases), return_inverse=True)
    class_tenant, class_demand, class_weight = np.unravel_index(keys, bases)
    first_class = np.searchsorted(class_tenant, np.arange(tenants + 1))
    jobs_of = np.bincount(trace.tenant, minlength=tenants)
    lines = 4 * n + m if keep_log else 0
    rows = int(min(trace.span / HOUR, n) + interval / HOUR) + 64
    rules, every = no_rules(trace, cluster) if rules is None else rules, exact(interval)
    view = View(
        clock=r.records(
            r.CLOCK, interval=interval, interval_top=every.numerator, interval_bottom=every.denominator, decay=decay,
            free=m, gpus=m, gpus_per_node=cluster.gpus_per_node,
        ),
        parameters=np.array([*parameters, 0.0]),  # never empty
        job=r.records(
            r.JOB, n, tenant=trace.tenant, demand=trace.demand, submit_time=trace.submit_time, weight=trace.weight,
            deadline=trace.deadline, estimate=estimate[0], spread_below=estimate[1], spread_above=estimate[2],
            time_limit=trace.time_limit, fair_class=fair_class, first_piece=-1,
        ),
        tenant=r.records(
            r.TENANT, tenants, quota=quotas(trace, m), whole_quota=whole(quotas(trace, m)), weight=trace.tenant_weight,
            first_class=first_class[:-1], end_class=first_class[1:],
        ),
        share=r.records(r.SHARE, len(keys), demand=class_demand, weight=weights[class_weight]),
        region=r.records(r.REGION, tenants + 1, start=np.concatenate([[0], np.cumsum(jobs_of)])),
        queue=np.zeros(2 * n, np.int64),
        open_gangs=np.zeros(m + 1, np.int64),
        expired=np.zeros(m, np.int64),
        running=np.zeros(m, np.int64),
        memory=r.bytes_of(memory, n),
        tenant_memory=r.bytes_of(tenant_memory, tenants),
        association_memory=r.bytes_of(association_memory, len(rules.parent)),
        rules=rules._replace(nodes=nodes_of_gangs(rules, trace, cluster, equal_parts)),
        tree=Tree._make(map(np.array, flat(trace.tenant_weight) if trace.tree is None else trace.tree)),  # writable
        node_free=cluster.node_gpus,
        piece=r.records(r.PIECE, m, next=np.arange(1, m + 1)),
        timeline=r.records(r.TIMELINE, (rows, tenants)),
        hour=np.zeros(rows, np.int64),
        granted=np.zeros(m + 1, np.int64),
        revoked=np.zeros(m, np.int64),
        choices=r.records(r.CHOICE, m),
    )  # fmt: skip
    private = Private(
        engine=r.records(
            r.ENGINE, keep_log=keep_log, restricted=bool(cluster.sizes) or not bool(rules.allowed.all()), **engine,
        ),
        job=r.records(
            r.PRIVATE_JOB, n, duration=trace.duration, sensitivity=trace.sensitivity, speed=1.0,
            first_start=np.nan, end_time=np.nan, log_of=-1,
        ),
        started=np.zeros(m, np.int64),
        refused=np.zeros(n, np.int64),
        heap=r.records(r.EVENT, m),
        log=r.records(r.LOG, lines),
        place_log=np.zeros((lines, 3), np.int64),
    )  # fmt: skip
    return view, private


def grown(view: View, private: Private) -> tuple[View, Private]:
    """Return the same state with twice the room in the timeline and the logs."""

    def doubled(a: Any) -> Any:
        return np.concatenate([a, np.zeros_like(a)]).view(type(a))

    return (
        view._replace(timeline=doubled(view.timeline), hour=doubled(view.hour)),
        private._replace(log=doubled(private.log), place_log=doubled(private.place_log)),
    )
