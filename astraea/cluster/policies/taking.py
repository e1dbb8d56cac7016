"""Making room for a gang that does not fit by revoking running leases; a revoked job loses its work in that lease."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from astraea.cluster.engine.state import View
from astraea.cluster.policy import NO_JOB, fits, is_open, revoke, running
from astraea.core.compilation import inlined


@inlined
def take_leases(s: View, p: Any, j: int, may_take: Callable[[View, Any, int, int], bool]) -> None:
    """Revoke leases that job `j` may take, the latest granted first, until it fits; none if all are too few."""
    room = s.clock[0].free
    for k in running(s):
        if is_open(s, k) and may_take(s, p, j, k):
            room += s.job[k].demand
    if room < s.job[j].demand:
        return
    while not fits(s, j):
        youngest = NO_JOB
        for k in running(s):
            if is_open(s, k) and may_take(s, p, j, k) and (youngest == NO_JOB or is_younger(s, k, youngest)):
                youngest = k
        revoke(s, youngest)


@inlined
def is_younger(s: View, a: int, b: int) -> bool:
    """Return whether the lease of job `a` began after that of job `b`; among equals, the job submitted later."""
    later = s.job[a].lease_start - s.job[b].lease_start
    return later > 0 or (later == 0 and a > b)
