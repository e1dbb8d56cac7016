"""The queues of candidates, one per tenant and one for all, each in job order."""

from __future__ import annotations

import numpy as np

from astraea.engine.state import View
from astraea.jit import compiled


@compiled
def enqueue(s: View, j: int) -> None:
    """Job `j` becomes a candidate, in its tenant's queue and in everyone's."""
    insert(s, s.job[j].tenant, j)
    insert(s, len(s.tenant), j)
    s.open_gangs[s.job[j].demand] += 1


@compiled
def dequeue(s: View, j: int) -> None:
    """Job `j` is no candidate any more."""
    delete(s, s.job[j].tenant, j)
    delete(s, len(s.tenant), j)
    s.open_gangs[s.job[j].demand] -= 1


@compiled
def insert(s: View, region: int, j: int) -> None:
    """Put job `j` in its place in a queue in job order; a new arrival belongs at the end."""
    q = s.region[region].start + s.region[region].length
    while q > s.region[region].start and s.queue[q - 1] > j:
        s.queue[q] = s.queue[q - 1]
        q -= 1
    s.queue[q] = j
    s.region[region].length += 1


@compiled
def delete(s: View, region: int, j: int) -> None:
    """Take job `j` out of a queue."""
    first, last = s.region[region].start, s.region[region].start + s.region[region].length - 1
    q = first + np.searchsorted(s.queue[first : last + 1], j)
    while q < last:
        s.queue[q] = s.queue[q + 1]
        q += 1
    s.region[region].length -= 1
