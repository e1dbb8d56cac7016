"""Making room for a gang that does not fit by revoking running leases; a revoked job loses its work in that lease."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from astraea.cluster.engine.state import View
from astraea.cluster.policy import NO_JOB, fits, is_open, revoke, running
from astraea.core.compilation import inlined


@inlined
def take_leases(s: View, p: Any, j: int, may_take: Callable[[View, Any, int, int], bool]) -> None:
    """Revoke leases that job `j` may take, the latest granted first, until it fits; none if all are too few."""
    room = s.free
    for k in running(s):
        if is_open(s, k) and may_take(s, p, j, k):
            room += s.job[k].demand
    if room < s.job[j].demand:
        return
    while not fits(s, j):
        youngest, began = NO_JOB, -np.inf
        for k in running(s):
            begin = s.job[k].lease_start
            if is_open(s, k) and may_take(s, p, j, k) and (begin > began or (begin == began and k > youngest)):
                youngest, began = k, begin  # among equals, the job submitted later
        revoke(s, youngest)
