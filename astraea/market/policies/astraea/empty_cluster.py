"""What a job could have if the cluster were empty: how it may be placed, how long it takes, what it is worth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from astraea.core.arrays import IntArray
from astraea.market.model import Market


class Ways(NamedTuple):
    """Numbers of workers with a placement on the empty cluster, and the slots they take, shape (k,)."""

    workers: IntArray
    slots: IntArray


def placeable(market: Market, most: int) -> tuple[IntArray, IntArray]:
    """Which of 1, ..., `most` workers can be placed distributed and which centralized, on the empty cluster.

    Distributed, a server keeps all parameter servers and as many workers as it can but one, as in Algorithm 4.
    """
    workers = np.arange(1, most + 1)
    needed = market.ps_needed(most)
    local = np.minimum(workers[:, None] - 1, market.workers)
    others = market.workers.sum() - market.workers
    good = (needed[workers[:, None] - local] <= market.ps) & (local + others >= workers[:, None])
    central = (market.workers >= workers[:, None]) & (market.ps >= 1)
    return workers[good.any(axis=1)], workers[central.any(axis=1)]


def shortest(market: Market, job: int) -> Ways:
    """Every number of workers that the empty cluster can place, distributed first."""
    distributed, central = placeable(market, int(market.jobs.chunks[job]))
    slots = np.concatenate([market.duration(job, distributed)[:, 0], market.duration(job, central)[:, 1]])
    return Ways(np.concatenate([distributed, central]), slots)
