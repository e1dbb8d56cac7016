"""What a simulation knows at one moment, as a few tables.

`View` is what a policy may read; `Private` is what only the engine may know (true durations, node by node
occupancy, the event heap). Both are tuples of numpy record arrays, so the whole simulation runs as one compiled
loop, can stop and go on, and costs no Python object per job. In compiled and in plain Python alike,
``s.job[j].demand`` is the demand of job `j`.

Indices: `j` is a job in order of (submit_time, job_id), `t` a tenant in alphabetical order.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from astraea.cluster import Cluster
from astraea.trace import Trace

# status of a job
FUTURE: Final = 0
PENDING: Final = 1
RUNNING: Final = 2
ASKING: Final = 3
"""Its lease has ended at this round and it asks for renewal, still on its GPUs."""
DONE: Final = 4

# when a policy's decision may differ from the last one although nothing happened
AT_EVENTS: Final = 0
WHILE_ONE_FITS: Final = 1
WHILE_ONE_WAITS: Final = 2
EVERY_ROUND: Final = 3

HOUR: Final = 3600.0
"""Step of the tenant timeline [s]."""

F = npt.NDArray[np.float64]
I = npt.NDArray[np.int64]  # noqa: E741
Records = Any
"""A numpy record array: one record per item, fields by attribute."""


class View(NamedTuple):
    """What a policy may read, and the few arrays through which it answers."""

    moment: Records  #: (1,) of `MOMENT`
    parameters: F  #: the policy's parameters, in the order of its `Parameters`
    job: Records  #: (n,) of `JOB`
    tenant: Records  #: (T,) of `TENANT`
    share: Records  #: (classes,) of `SHARE`: jobs of one tenant with equal demand and weight
    region: Records  #: (T + 1,) of `REGION`: where in `queue` each tenant's candidates are; the last: everyone's
    queue: I  #: candidates, that is pending jobs and those that ask for renewal, in job order within a region
    open_gangs: I  #: (GPUs + 1,) candidates that have not been granted at this round, by demand
    running: I  #: jobs under a running lease, in no particular order
    memory: F  #: (k, n) numbers that a policy keeps per job; zeros at the start
    tenant_memory: F  #: (k, T) numbers that a policy keeps per tenant
    timeline: Records  #: (hours, T) of `TIMELINE`
    picks: I  #: the answer: jobs granted a lease, in order of selection
    revoked: I  #: the answer: running jobs that lose their GPUs at this round


class Private(NamedTuple):
    """What only the engine knows."""

    engine: Records  #: (1,) of `ENGINE`
    job: Records  #: (n,) of `PRIVATE_JOB`
    heap: Records  #: (GPUs,) of `EVENT`: the next event of each running job
    asking: I  #: jobs whose lease ended at this round
    node_free: I  #: (nodes,) free GPUs
    piece: Records  #: (GPUs,) of `PIECE`: what each job holds on which node, as linked lists
    log: Records  #: one line of `LOG` per lease
    place_log: I  #: (lines, 3): line of the lease that began there, node, gpus


MOMENT: Final = np.dtype(
    [
        ("now", float),  # time of this round [s]
        ("free", int),  # GPUs that are not under a running lease and not granted in this round [GPU]
        ("gpus", int),  # GPUs of the cluster [GPU]
        ("active_jobs", float),  # submitted and not ended
        ("contention", float),  # integral of that number [job-s] ...
        ("contention_until", float),  # ... up to this time [s]
        ("n_running", int),
        ("n_picks", int),
        ("n_revoked", int),
        ("n_hours", int),
    ],
    align=True,
)

JOB: Final = np.dtype(
    [
        ("tenant", int),
        ("demand", int),  # [GPU]
        ("submit_time", float),  # [s]
        ("weight", float),
        ("deadline", float),  # [s], NaN if none
        ("estimate", float),  # estimated service of the whole job [s], NaN for policies that use none
        ("status", int),  # FUTURE, PENDING, RUNNING, ASKING or DONE
        ("picked", bool),  # granted or revoked at this round
        ("attained_service", float),  # GPU-time of finished leases [GPU-s]
        ("executed", float),  # time of finished leases [s]
        ("progress", float),  # service done up to the last checkpoint [s]
        ("leases", int),  # granted so far
        ("streak", int),  # leases since the last (re)start; 1 is a lease that was no renewal
        ("lease_start", float),  # when the running lease was granted [s]
        ("waiting_since", float),  # submission, or when the job last lost its GPUs [s]
        ("fair_class", int),  # its record in `View.share`
        ("fair_at_submit", float),  # that record's integral at submission [GPU-s]
        ("contention_at_submit", float),  # integral of active jobs at submission [job-s]
        ("running_position", int),
    ],
    align=True,
)

TENANT: Final = np.dtype(
    [
        ("quota", float),  # [Ye2022] Eq. 6 [GPU]
        ("whole_quota", int),  # its floor, for admission [GPU]
        ("weight", float),
        ("held", int),  # GPUs under running leases [GPU]
        ("granted", int),  # GPUs granted at this round [GPU]
        ("revoked", int),  # GPUs whose lease was revoked at this round [GPU]
        ("attained", float),  # GPU-time, Eq. 11 [GPU-s] ...
        ("attained_until", float),  # ... up to this time [s]
        ("demand", int),  # of its active jobs, Eq. 7 [GPU]
        ("fair", float),  # fair GPU-time, Eq. 9 [GPU-s] ...
        ("fair_until", float),  # ... up to this time [s]; the same for its classes
        ("first_class", int),  # its records in `View.share`: from this one ...
        ("end_class", int),  # ... up to this one, exclusive
    ],
    align=True,
)

SHARE: Final = np.dtype(
    [
        ("demand", int),  # [GPU]
        ("weight", float),
        ("active", int),  # jobs
        ("rate", float),  # min(demand, fair share) now, the integrand of Eq. 14 [GPU]
        ("fair", float),  # its integral up to the tenant's `fair_until` [GPU-s]
    ],
    align=True,
)

REGION: Final = np.dtype([("start", int), ("length", int)], align=True)

TIMELINE: Final = np.dtype(
    [
        ("attained", float),  # GPU-time since second 0 [GPU-s]
        ("fair", float),  # fair GPU-time since second 0 [GPU-s]
        ("held", int),  # [GPU]
        ("waiting", int),  # demand of pending jobs [GPU]
    ],
    align=True,
)

ENGINE: Final = np.dtype(
    [
        ("lease_rounds", int),  # length of a lease in rounds; 0 if the policy does not preempt
        ("interval", float),  # [s]
        ("checkpoint", float),  # [s]
        ("restart", float),  # [s]
        ("gpus_per_node", int),
        ("placement", int),
        ("keep_log", bool),
        ("looks", int),  # AT_EVENTS, WHILE_ONE_FITS, WHILE_ONE_WAITS or EVERY_ROUND
        ("random", np.uint64),  # state of the generator of random placement
        ("round_number", int),  # number of this round
        ("next_arrival", int),
        ("n_done", int),
        ("n_asking", int),
        ("heap_size", int),
        ("free_piece", int),
        ("n_log", int),
        ("n_place", int),
        ("idle_rounds", int),  # in a row, with nothing running, arriving or granted
        ("violation", int),  # rule that the policy broke ...
        ("violator", int),  # ... and the job
    ],
    align=True,
)

PRIVATE_JOB: Final = np.dtype(
    [
        ("duration", float),  # [s]
        ("sensitivity", float),
        ("speed", float),  # in the running lease
        ("lease_end", float),  # [s]
        ("cold", bool),  # whether the running lease began with a restart
        ("first_start", float),  # [s], NaN before
        ("end_time", float),  # [s], NaN before
        ("fair_service", float),  # [GPU-s]
        ("contention_mean", float),  # average number of active jobs during its life
        ("preemptions", int),
        ("overhead", float),  # [s]
        ("heap_position", int),
        ("first_piece", int),  # -1 if not placed
        ("log_of", int),  # line of the running lease
    ],
    align=True,
)

EVENT: Final = np.dtype([("time", float), ("job", int)], align=True)
"""The end of a running job or of its lease, whichever comes first [s]."""

PIECE: Final = np.dtype([("next", int), ("node", int), ("gpus", int)], align=True)

LOG: Final = np.dtype(
    [
        ("time", float),  # [s]
        ("end", float),  # [s]
        ("job", int),
        ("kind", int),  # 0 first start, 1 restart, 2 renewal
        ("nodes", int),
    ],
    align=True,
)


def records(dtype: np.dtype[Any], shape: int | tuple[int, ...] = 1, **values: Any) -> Records:
    """A record array of zeros, with some fields set."""
    table = np.zeros(shape, dtype).view(np.recarray)
    for name, value in values.items():
        table[name] = value
    return table


def quotas(trace: Trace, gpus: int) -> F:
    """Quota of every tenant in a cluster of so many GPUs, [Ye2022] Eq. 6 [GPU]."""
    return gpus * trace.tenant_weight / trace.tenant_weight.sum()


def whole(quota: F) -> I:
    """Whole GPUs of some quotas; a third of nine is three, whatever floats make of a third."""
    return np.floor(quota * (1 + 1e-12)).astype(np.int64)


def new_state(
    trace: Trace,
    cluster: Cluster,
    *,
    parameters: F,
    estimate: F,
    memory: tuple[int, int],
    seed: int,
    keep_log: bool,
    **engine: Any,
) -> tuple[View, Private]:
    """State before the first round of a trace whose jobs all fit; `engine` sets fields of `ENGINE`."""
    n, tenants, m = len(trace), len(trace.tenants), cluster.gpus
    classes, fair_class = np.unique(
        np.stack([trace.tenant, trace.demand, trace.weight]), axis=1, return_inverse=True
    )
    first_class = np.searchsorted(classes[0], np.arange(tenants + 1))
    jobs_of = np.bincount(trace.tenant, minlength=tenants)
    lines = 4 * n + m if keep_log else 0
    view = View(
        moment=records(MOMENT, free=m, gpus=m),
        parameters=parameters,
        job=records(
            JOB, n, tenant=trace.tenant, demand=trace.demand, submit_time=trace.submit_time, weight=trace.weight,
            deadline=trace.deadline, estimate=estimate, fair_class=fair_class.reshape(-1),
        ),
        tenant=records(
            TENANT, tenants, quota=quotas(trace, m), whole_quota=whole(quotas(trace, m)), weight=trace.tenant_weight,
            first_class=first_class[:-1], end_class=first_class[1:],
        ),
        share=records(SHARE, classes.shape[1], demand=classes[1], weight=classes[2]),
        region=records(REGION, tenants + 1, start=np.concatenate([[0], np.cumsum(jobs_of)])),
        queue=np.zeros(2 * n, np.int64),
        open_gangs=np.zeros(m + 1, np.int64),
        running=np.zeros(m, np.int64),
        memory=np.zeros((memory[0], n)),
        tenant_memory=np.zeros((memory[1], tenants)),
        timeline=records(TIMELINE, (int(trace.span / HOUR) + 64, tenants)),
        picks=np.zeros(m + 1, np.int64),
        revoked=np.zeros(m, np.int64),
    )  # fmt: skip
    private = Private(
        engine=records(ENGINE, gpus_per_node=cluster.gpus_per_node, random=seed, keep_log=keep_log, **engine),
        job=records(
            PRIVATE_JOB, n, duration=trace.duration, sensitivity=trace.sensitivity, speed=1.0,
            first_start=np.nan, end_time=np.nan, first_piece=-1, log_of=-1,
        ),
        heap=records(EVENT, m),
        asking=np.zeros(m, np.int64),
        node_free=np.full(cluster.nodes, cluster.gpus_per_node, np.int64),
        piece=records(PIECE, m, next=np.arange(1, m + 1)),
        log=records(LOG, lines),
        place_log=np.zeros((lines, 3), np.int64),
    )  # fmt: skip
    return view, private


def grown(view: View, private: Private) -> tuple[View, Private]:
    """The same state with twice the room in the timeline and the logs."""

    def doubled(a: Any) -> Any:
        return np.concatenate([a, np.zeros_like(a)]).view(type(a))

    return (
        view._replace(timeline=doubled(view.timeline)),
        private._replace(log=doubled(private.log), place_log=doubled(private.place_log)),
    )
