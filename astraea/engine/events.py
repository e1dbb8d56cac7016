"""The next event of every running job: a binary heap by (time, job), with removal."""

from __future__ import annotations

from astraea.engine.state import Private
from astraea.jit import compiled


@compiled
def before(x: Private, a: int, b: int) -> bool:
    """Whether job `a` has its event before job `b`."""
    return x.job[a].event_time < x.job[b].event_time or (x.job[a].event_time == x.job[b].event_time and a < b)


@compiled
def put(x: Private, position: int, j: int) -> None:
    """Write job `j` at `position` of the heap."""
    x.heap[position] = j
    x.job[j].heap_position = position


@compiled
def rise(x: Private, position: int) -> None:
    """Restore the order upwards from `position`."""
    j = x.heap[position]
    while position > 0:
        parent = (position - 1) // 2
        if not before(x, j, x.heap[parent]):
            break
        put(x, position, x.heap[parent])
        position = parent
    put(x, position, j)


@compiled
def sink(x: Private, position: int) -> None:
    """Restore the order downwards from `position`."""
    j, size = x.heap[position], x.engine[0].heap_size
    while 2 * position + 1 < size:
        child = 2 * position + 1
        if child + 1 < size and before(x, x.heap[child + 1], x.heap[child]):
            child += 1
        if not before(x, x.heap[child], j):
            break
        put(x, position, x.heap[child])
        position = child
    put(x, position, j)


@compiled
def push(x: Private, j: int, time: float) -> None:
    """Job `j` has its next event at `time`."""
    x.job[j].event_time = time
    put(x, x.engine[0].heap_size, j)
    x.engine[0].heap_size += 1
    rise(x, x.job[j].heap_position)


@compiled
def remove(x: Private, j: int) -> None:
    """Job `j` has no next event any more."""
    position = x.job[j].heap_position
    x.job[j].heap_position = -1
    x.engine[0].heap_size -= 1
    if position < x.engine[0].heap_size:
        put(x, position, x.heap[x.engine[0].heap_size])
        moved = x.heap[position]
        rise(x, position)
        sink(x, x.job[moved].heap_position)
