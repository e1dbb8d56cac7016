"""Tiresias-L: discretized two-dimensional least attained service (Gu et al., NSDI 2019; [Ye2022] §6.1.5).

Jobs live in queues by the GPU-time they have attained; the lowest queue goes first, FIFO inside a queue, over the
whole cluster, without tenants. A gang that does not fit is passed over.

Departures: attained service counts finished leases (a decision is only due when a lease ends), and the original's
immediate preemption waits for the end of the lease, as for every lease-based scheduler of the evaluation.
"""

from __future__ import annotations

from typing import NamedTuple

from astraea.cluster.engine.state import AT_EVENTS, PENDING, WHILE_ONE_FITS, View
from astraea.cluster.policy import all_candidates, fits, grant, is_open, policy, unpack
from astraea.core.compilation import inlined


class Parameters(NamedTuple):
    """Parameters of Tiresias-L.

    lease_term : s, length of a lease
    queues : number of queues
    threshold : GPU-s, attained service at which a job leaves the first queue
    growth : factor between one queue's threshold and the next
    promote : a job that has waited this many times its executed time returns to the first queue; 0 never
    """

    lease_term: float = 900.0
    queues: float = 2.0
    threshold: float = 18_000.0
    growth: float = 10.0
    promote: float = 0.0


# what is kept per job: attained service [GPU-s] and executed time [s] at its last promotion
SERVICE = 0
EXECUTED = 1


@policy(
    "tiresias-l",
    Parameters,
    revisit=lambda p: WHILE_ONE_FITS if p["promote"] > 0 else AT_EVENTS,
    memory=(2, 0),
    at_least={"queues": 1, "growth": 1},
)
def tiresias_l(s: View) -> None:
    """Tiresias with least attained service (Gu et al., NSDI 2019, §3.2)."""
    p = unpack(Parameters, s.parameters)
    jobs = all_candidates(s)
    if p.promote > 0:
        for j in jobs:
            if starves(s, j, p.promote):
                s.memory[SERVICE, j] = s.job[j].attained_service
                s.memory[EXECUTED, j] = s.job[j].executed
    threshold = p.threshold
    below = 0.0
    for q in range(int(p.queues)):
        last = q == p.queues - 1
        for j in jobs:
            service = s.job[j].attained_service - s.memory[SERVICE, j]
            if below <= service and (last or service < threshold) and is_open(s, j) and fits(s, j):
                grant(s, j)
        below, threshold = threshold, threshold * p.growth


@inlined
def starves(s: View, j: int, promote: float) -> bool:
    """Whether a preempted job has waited long enough to be promoted."""
    executed = s.job[j].executed - s.memory[EXECUTED, j]
    waited = s.clock[0].now - s.job[j].waiting_since
    return promote > 0 and s.job[j].status == PENDING and executed > 0 and waited >= promote * executed
