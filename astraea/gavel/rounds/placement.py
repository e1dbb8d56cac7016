"""On which workers what was chosen runs: largest gangs first, where they ran before, on few servers."""

from __future__ import annotations

import numpy as np

from astraea.core.arrays import IntArray
from astraea.core.compilation import compiled
from astraea.gavel.rounds.state import State


@compiled
def place(s: State, what: IntArray, picks: IntArray) -> IntArray:
    """Give workers to every pick.

    Gangs of equal size are placed together, first those whose former workers are free, then on few servers.

    Returns
    -------
    array of int, shape (W,)
        Position in `picks` for each worker, -1 if it is none's.
    """
    owner = np.full(s.workers.kind.shape[0], -1, np.int64)
    sizes = s.jobs.scale[what[picks, 0]]
    by_size = np.argsort(-sizes, kind="mergesort")
    begin = 0
    while begin < by_size.shape[0]:
        end = begin
        while end < by_size.shape[0] and sizes[by_size[end]] == sizes[by_size[begin]]:
            end += 1
        kept = np.zeros(end - begin, np.bool_)
        for i in range(begin, end):
            a, b, k, _ = what[picks[by_size[i]]]
            kept[i - begin] = keep_former(s, owner, by_size[i], a, b, k, sizes[by_size[i]])
        for i in range(begin, end):
            if not kept[i - begin]:
                few_servers(s, owner, by_size[i], what[picks[by_size[i]], 2], sizes[by_size[i]])
        begin = end
    return owner


@compiled
def keep_former(s: State, owner: IntArray, pick: int, a: int, b: int, k: int, size: int) -> bool:
    """Give the combination the workers it had in the last round, if it ran on that type and they are free."""
    w, found = s.workers, 0
    for i in range(owner.shape[0]):
        if w.kind[i] == k and w.former_first[i] == a and w.former_second[i] == b and owner[i] < 0 and w.first[i] < 0:
            found += 1
    if found != size:
        return False
    for i in range(owner.shape[0]):
        if w.kind[i] == k and w.former_first[i] == a and w.former_second[i] == b:
            owner[i] = pick
    return True


@compiled
def few_servers(s: State, owner: IntArray, pick: int, k: int, need: int) -> None:
    """Give workers of the fullest server that has enough; else those of the emptiest, and so on with the rest."""
    server = s.workers.server
    free = np.zeros(server[-1] + 1, np.int64)
    for i in range(owner.shape[0]):
        if s.workers.kind[i] == k and owner[i] < 0 and s.workers.first[i] < 0:
            free[server[i]] += 1
    while need > 0:
        best = -1
        for v in range(free.shape[0]):
            if free[v] >= need and (best < 0 or free[v] < free[best]):
                best = v
        if best < 0:
            best = int(np.argmax(free))
        for i in range(owner.shape[0]):
            if server[i] == best and s.workers.kind[i] == k and owner[i] < 0 and s.workers.first[i] < 0 and need > 0:
                owner[i] = pick
                need -= 1
        free[best] = 0


@compiled
def is_together(s: State, owner: IntArray, pick: int, size: int, server_gpus: int) -> bool:
    """Whether the workers lie on as few servers as the gang can have."""
    used, last = 0, -1
    for i in range(owner.shape[0]):
        if owner[i] == pick and s.workers.server[i] != last:
            used, last = used + 1, s.workers.server[i]
    return used <= (size + server_gpus - 1) // server_gpus
