"""Tiresias-L: discretized two-dimensional least attained service (Gu et al., NSDI 2019; [Ye2022] §6.1.5).

Jobs are in queues by the GPU-time they have attained; the lowest queue goes first, FIFO within a queue, over the whole
cluster, without tenants. A gang that does not fit is skipped.

With `immediate`, a job that does not fit takes the GPUs of running jobs of higher queues at once, as in the original.
It takes them from the leases that began last, only as many as it needs, and none if all are too few. These jobs lose
their work in that lease, as the engine charges for any revoked lease; the original saves it.

Departures: attained service counts finished leases, so the queue of a running job is that of its last grant. By default
preemption waits for the end of the lease, as for every lease-based scheduler of the evaluation.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from astraea.cluster.engine.records import record
from astraea.cluster.engine.state import AT_EVENTS, PENDING, WHILE_ONE_FITS, WHILE_ONE_WAITS, View
from astraea.cluster.policies.taking import take_leases
from astraea.cluster.policy import all_candidates, fits, grant, is_open, policy, unpack
from astraea.core.compilation import inlined, records_in


class Parameters(NamedTuple):
    """Parameters of Tiresias-L.

    lease_term : s, length of a lease
    queues : number of queues
    threshold : GPU-s, attained service at which a job leaves the first queue
    growth : factor between one queue's threshold and the next
    promote : a job that has waited this many times its executed time returns to the first queue; 0 for never
    immediate : a job that does not fit takes the GPUs of jobs of higher queues in the middle of their leases
    """

    lease_term: float = 900.0
    queues: int = 2
    threshold: float = 18_000.0
    growth: float = 10.0
    promote: float = 0.0
    immediate: float = 0.0


JOB_MEMORY: Final = record(
    ("service", float),  # attained service at its last promotion [GPU-s]
    ("executed", float),  # executed time then [s]
)


# A revoked job may take GPUs in the next round, and time alone promotes jobs.
@policy(
    "tiresias-l",
    Parameters,
    about="Least attained service first, in discrete queues; it ignores tenants.",
    paper="Gu et al., NSDI 2019, §3.2",
    revokes=True,
    revisit=lambda p: WHILE_ONE_WAITS if p["immediate"] > 0 else WHILE_ONE_FITS if p["promote"] > 0 else AT_EVENTS,
    memory=JOB_MEMORY,
    at_least={"queues": 1, "growth": 1},
    choices={"immediate": ("no", "yes")},
)
def tiresias_l(s: View) -> None:
    """Tiresias with least attained service (Gu et al., NSDI 2019, §3.2)."""
    m = records_in(s.memory, JOB_MEMORY)
    p = unpack(Parameters, s.parameters)
    jobs = all_candidates(s)
    if p.promote > 0:
        for j in jobs:
            executed = s.job[j].executed - m[j].executed
            has_waited = s.now - s.job[j].waiting_since >= p.promote * executed
            if s.job[j].status == PENDING and executed > 0 and has_waited:
                m[j].service = s.job[j].attained_service
                m[j].executed = s.job[j].executed
    threshold = p.threshold
    below = 0.0
    for q in range(int(p.queues)):
        last = q == p.queues - 1
        for j in jobs:
            service = since_promotion(s, j)
            if below <= service and (last or service < threshold) and is_open(s, j):
                if p.immediate > 0 and not last and not fits(s, j):
                    take_leases(s, threshold, j, is_of_a_higher_queue)
                if fits(s, j):
                    grant(s, j)
        below, threshold = threshold, threshold * p.growth


@inlined
def since_promotion(s: View, j: int) -> float:
    """Return the service of finished leases that decides the queue of job `j` [GPU-s]."""
    m = records_in(s.memory, JOB_MEMORY)
    return s.job[j].attained_service - m[j].service


@inlined
def is_of_a_higher_queue(s: View, threshold: float, _j: int, k: int) -> bool:
    """Return whether job `k` has left the queues up to a threshold."""
    return since_promotion(s, k) >= threshold
