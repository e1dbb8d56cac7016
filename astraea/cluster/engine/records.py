"""Records that make up the state of a simulation: fields, units, meaning."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

Records = Any
"""A numpy record array: one record per item, fields by attribute."""


def record(*fields: tuple[str, Any]) -> np.dtype[Any]:
    """Return the type of one record: name of each field, and its type, or its type and length."""
    return np.dtype(list(fields), align=True)


NOTHING: Final = record()
"""The type of a record without fields."""


CLOCK: Final = record(
    ("now", float),  # time of this round [s]
    ("interval", float),  # between rounds [s] ...
    ("interval_top", float),  # ... as a fraction, in which the times of rounds are computed ...
    ("interval_bottom", float),  # ... so that they are the floats nearest to decimal times
    ("lease_end", float),  # of leases that are granted in this round [s]; infinite if the policy does not preempt
    ("free", int),  # GPUs neither under a running lease nor granted in this round; counted before each round [GPU]
    ("gpus", int),  # GPUs of the cluster [GPU]
    ("active_jobs", float),  # submitted and not ended
    ("contention", float),  # integral of that number [job-s] ...
    ("contention_until", float),  # ... up to this time [s]
    ("n_expired", int),
    ("n_running", int),
    ("n_granted", int),
    ("n_revoked", int),
    ("n_choices", int),
    ("n_launched", int),  # leases granted so far
    ("gpus_per_node", int),
    ("decay", float),  # rate at which usage decays [1/s]; 0 if the policy does not use it
    ("free_piece", int),
    ("n_hours", int),  # whole hours until now that are recorded ...
    ("n_rows", int),  # ... in so many rows of the timeline
    ("every_hour", int),  # 1 if each hour has a row, even if nothing has changed
    ("changed", float),  # when GPUs or jobs were counted anew for the last time [s]
)


JOB: Final = record(
    ("tenant", int),
    ("demand", int),  # [GPU]
    ("submit_time", float),  # [s]
    ("weight", float),
    ("deadline", float),  # [s], NaN if none
    ("time_limit", float),  # [s], NaN if none
    ("estimate", float),  # median of the estimated service of the whole job [s], NaN for policies that use none
    ("spread_below", float),  # of that estimate below its median ...
    ("spread_above", float),  # ... and above
    ("total_service", float),  # current expectation of its total service [s], see `leases.expect`
    ("status", int),  # NOT_YET submitted, PENDING, RUNNING, EXPIRED or DONE
    ("decided", bool),  # granted or revoked at this round
    ("spared", bool),  # saves no state at the end of a lease, and must be renewed; see `policy.spare_checkpoints`
    ("attained_service", float),  # GPU-time of finished leases [GPU-s]
    ("executed", float),  # time of finished leases [s]
    ("progress", float),  # service done up to the last checkpoint [s]
    ("leases", int),  # granted so far
    ("streak", int),  # leases since the last (re)start; 1 for a lease that is not a renewal
    ("lease_start", float),  # when the running lease was granted [s] ...
    ("lease_end", float),  # ... and when it ends, unless the job does before [s]
    ("launch", int),  # number of its last lease among all leases, in order of grant
    ("waiting_since", float),  # submission, or when the job last lost its GPUs [s]
    ("fair_class", int),  # its record in `View.share`
    ("fair_at_submit", float),  # that record's integral at submission [GPU-s]
    ("contention_at_submit", float),  # integral of active jobs at submission [job-s]
    ("first_piece", int),  # first of its pieces in `View.piece`; -1 if it holds nothing
)


TENANT: Final = record(
    ("quota", float),  # [Ye2022] Eq. 6 [GPU]
    ("whole_quota", int),  # its floor, for admission [GPU]
    ("weight", float),
    ("held", int),  # GPUs under running leases [GPU]
    ("granted", int),  # GPUs granted at this round [GPU] ...
    ("started", int),  # ... and those of them whose leases have begun: the policy chooses again if gangs are refused
    ("refused", int),  # gangs granted at this round for which there were no nodes
    ("revoked", int),  # GPUs whose lease was revoked at this round [GPU]
    ("attained", float),  # GPU-time, Eq. 11 [GPU-s] ...
    ("attained_until", float),  # ... up to this time [s]; the same for `decayed`
    ("decayed", float),  # GPU-time of which each second decays at the rate `decay` [GPU-s]; 0 without decay
    ("demand", int),  # of its active jobs, Eq. 7 [GPU]
    ("fair", float),  # fair GPU-time, Eq. 9 [GPU-s] ...
    ("fair_until", float),  # ... up to this time [s]; the same for its classes
    ("first_class", int),  # its records in `View.share`: from this one ...
    ("end_class", int),  # ... up to this one, exclusive
)


SHARE: Final = record(
    ("demand", int),  # [GPU]
    ("weight", float),
    ("active", int),  # jobs
    ("rate", float),  # min(demand, fair share) now, the integrand of Eq. 14 [GPU]
    ("fair", float),  # its integral up to the tenant's `fair_until` [GPU-s]
)


REGION: Final = record(("start", int), ("length", int))


TIMELINE: Final = record(
    ("attained", float),  # GPU-time since second 0 [GPU-s]
    ("fair", float),  # fair GPU-time since second 0 [GPU-s]
    ("held", int),  # [GPU]
    ("waiting", int),  # demand of pending jobs [GPU]
)


ENGINE: Final = record(
    ("lease_rounds", int),  # length of a lease in rounds; 0 if the policy does not preempt
    ("checkpoint", float),  # [s]
    ("restart", float),  # [s]
    ("synchronous", bool),  # see `Policy.synchronous`
    ("placement", int),
    ("restricted", bool),  # true if nodes differ, or some job may not run on all of them
    ("n_refused", int),
    ("keep_log", bool),
    ("list_removal_flaw", bool),  # see `loop.hold_back_neighbours`
    ("revisit", int),  # AT_EVENTS, WHILE_ONE_FITS, WHILE_ONE_WAITS or EVERY_ROUND
    ("random", np.uint64),  # state of the generator of random placement
    ("round_number", int),  # number of this round
    ("next_arrival", int),
    ("n_done", int),
    ("heap_size", int),
    ("n_log", int),
    ("n_place", int),
    ("idle_rounds", int),  # in a row, with nothing running, arriving or granted
    ("violation", int),  # rule that the policy broke ...
    ("violator", int),  # ... and the job
)


PRIVATE_JOB: Final = record(
    ("duration", float),  # [s]
    ("sensitivity", float),
    ("speed", float),  # in the running lease
    ("restart", float),  # cold start that the running lease began with, or what an earlier, shorter one left of it [s]
    ("useful", float),  # time of the last lease without the cold start [s]
    ("unsaved", bool),  # true if its last lease ended without a checkpoint
    ("first_start", float),  # [s], NaN before
    ("end_time", float),  # [s], NaN before
    ("fair_service", float),  # [GPU-s]
    ("contention_mean", float),  # average number of active jobs during its life
    ("preemptions", int),
    ("overhead", float),  # [s]
    ("heap_position", int),
    ("log_of", int),  # line of the running lease
)


EVENT: Final = record(("time", float), ("job", int))
"""The end of a running job or of its lease, whichever comes first [s]."""


PIECE: Final = record(("next", int), ("node", int), ("gpus", int))
"""GPUs that a job holds on one node, and the next piece of that job; -1 after the last."""


CHOICE: Final = record(("job", int), ("node", int), ("gpus", int))
"""A node that a policy chose for a gang, or for a part of it."""


LOG: Final = record(
    ("time", float),  # [s]
    ("end", float),  # [s]
    ("job", int),
    ("kind", int),  # 0 first start, 1 restart, 2 renewal
    ("nodes", int),
)


def records(dtype: np.dtype[Any], shape: int | tuple[int, ...] = 1, **values: Any) -> Records:
    """Return a record array of zeros with some fields set."""
    table = np.zeros(shape, dtype).view(np.recarray)
    for name, value in values.items():
        table[name] = value
    return table


def bytes_of(dtype: np.dtype[Any], n: int) -> Records:
    """Return `n` records of zeros as bytes; `records_in` finds them again."""
    return np.zeros(n * dtype.itemsize, np.uint8).view(np.recarray)
