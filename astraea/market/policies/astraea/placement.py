"""Cheapest placements of a job for a given start and number of workers (Algorithms 4 and 5); compiled.

Given both, the price of the workers is settled; what is left to choose is the fewest parameter servers and where all
of it stands. Where the pseudo-code leaves a choice it is made here: of servers that serve equally well the one with
fewest free workers, as line 16 of Algorithm 4 does to keep whole servers free, then the first. (The paper's worked
example has j21 on s2 where s1 is free again, and in a second variant on s3 and s4 against line 16; no number depends on
it.)
"""

from __future__ import annotations

import numpy as np

from astraea.core.arrays import IntArray
from astraea.core.compilation import compiled
from astraea.market.policies.astraea.capacity import Round, window

NOWHERE = -1


@compiled
def cost(r: Round, a: int, b: int, workers: int, ps: int) -> float:
    """What workers and parameter servers cost together in slots a + 1, ..., b at the posted prices (10).

    Algorithm 5, line 12, charges the price of the first slot for all of them; it is meant for constant prices.
    """
    return workers * (r.sums[0, b] - r.sums[0, a]) + ps * (r.sums[1, b] - r.sums[1, a])


@compiled
def min_cost_d(r: Round, a: int, b: int, workers: int, own_ps: int, needed: IntArray) -> tuple[int, int]:
    """Server for the parameter servers under distributed placement, and how many (Algorithm 4, lines 7-15).

    Line 8 takes what parameter servers a server has left where that is fewer than (3i) needs, and line 10 would even
    prefer it; here such a server does not qualify.

    Parameters
    ----------
    own_ps : int
        Parameter servers that the tenant may use in all these slots.
    needed : array of int
        Fewest parameter servers for 0, 1, ... workers on other servers.

    Returns
    -------
    server, ps : int
        `NOWHERE` if there is no such placement.
    """
    free, free_ps = window(r.free[0], a, b), window(r.free[1], a, b)
    total = free.sum()
    best, fewest, tightest = NOWHERE, own_ps + 1, 0
    for s in range(free.shape[0]):
        if free_ps[s] == 0:
            continue
        near = min(workers - 1, free[s])
        ps = needed[workers - near]
        if ps > free_ps[s] or near + total - free[s] < workers:
            continue
        if ps < fewest or (ps == fewest and best != NOWHERE and free[s] < tightest):
            best, fewest, tightest = s, ps, free[s]
    return best, fewest


@compiled
def min_cost_c(r: Round, a: int, b: int, workers: int) -> int:
    """Server for all workers and one parameter server, or `NOWHERE` (Algorithm 5, lines 7-11)."""
    free, free_ps = window(r.free[0], a, b), window(r.free[1], a, b)
    best = NOWHERE
    for s in range(free.shape[0]):
        if free[s] >= workers and free_ps[s] >= 1 and (best == NOWHERE or free[s] < free[best]):
            best = s
    return best


@compiled
def spread(r: Round, a: int, b: int, workers: int, server: int, is_central: bool) -> IntArray:
    """Workers on each server; the rest where fewest are free, so that whole servers stay free (lines 16-20)."""
    free = window(r.free[0], a, b)
    out = np.zeros(free.shape[0], np.int64)
    out[server] = workers if is_central else min(workers - 1, free[server])
    rest = workers - out[server]
    for s in np.argsort(free, kind="mergesort"):
        if s != server:
            out[s] = min(free[s], rest)
            rest -= out[s]
    return out
