"""The next event of every running job: a binary heap by (time, job), with removal."""

from __future__ import annotations

from astraea.cluster.engine.state import Private
from astraea.core.compilation import inlined


@inlined
def is_before(x: Private, time: float, j: int, position: int) -> bool:
    """Whether an event of job `j` at `time` comes before the one at `position` of the heap."""
    other = x.heap[position]
    return time < other.time or (time == other.time and j < other.job)


@inlined
def put(x: Private, position: int, time: float, j: int) -> None:
    """Write an event at `position` of the heap."""
    x.heap[position].time = time
    x.heap[position].job = j
    x.job[j].heap_position = position


@inlined
def settle(x: Private, position: int, time: float, j: int) -> None:
    """Put an event where it belongs, starting from the hole at `position`."""
    size = x.engine[0].heap_size
    while position > 0 and is_before(x, time, j, (position - 1) // 2):
        parent = (position - 1) // 2
        put(x, position, x.heap[parent].time, x.heap[parent].job)
        position = parent
    while 2 * position + 1 < size:
        child = 2 * position + 1
        if child + 1 < size and is_before(x, x.heap[child + 1].time, x.heap[child + 1].job, child):
            child += 1
        if is_before(x, time, j, child):
            break
        put(x, position, x.heap[child].time, x.heap[child].job)
        position = child
    put(x, position, time, j)


@inlined
def push(x: Private, j: int, time: float) -> None:
    """Job `j` has its next event at `time`."""
    x.engine[0].heap_size += 1
    settle(x, x.engine[0].heap_size - 1, time, j)


@inlined
def remove(x: Private, j: int) -> None:
    """Job `j` has no next event any more."""
    x.engine[0].heap_size -= 1
    hole, last = x.job[j].heap_position, x.heap[x.engine[0].heap_size]
    if hole < x.engine[0].heap_size:
        settle(x, hole, last.time, last.job)
