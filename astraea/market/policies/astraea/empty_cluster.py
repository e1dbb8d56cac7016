"""What a job could have if the cluster were empty: how it may be placed, how long it takes, what it is worth."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from astraea.core.arrays import IntArray
from astraea.market.model import Market

NEVER: Final = 2**40
"""More slots than any round has."""


class Demand(NamedTuple):
    """What Algorithm 3 has to know of a job.

    Attributes
    ----------
    job, tenant : int
    distributed, central : array of int, shape (D_j + 1,)
        Slots with 0, 1, ..., D_j workers; `NEVER` where not even the empty cluster can place so many, and for 0.
    shortest : int
        Least of them.
    revenue : float
        Greatest revenue: f_j of the shortest time.
    needed : array of int, shape (D_j + 1,)
        Fewest parameter servers for 0, 1, ..., D_j workers on other servers.
    fewest : array of int, shape (D_j + 1,)
        Fewest parameter servers with 0, 1, ..., D_j workers, distributed, on any server of this cluster.
    """

    job: int
    tenant: int
    distributed: IntArray
    central: IntArray
    shortest: int
    revenue: float
    needed: IntArray
    fewest: IntArray


def demand(market: Market, job: int) -> Demand:
    """Durations and parameter servers for each number of workers.

    Distributed, a server keeps all parameter servers and as many workers as it can but one, as in Algorithm 4.
    """
    jobs, most = market.jobs, int(market.jobs.chunks[job])
    workers = np.arange(1, most + 1)
    needed = market.ps_needed(most)
    near = np.minimum(workers[:, None] - 1, market.workers)
    others = market.workers.sum() - market.workers
    fits = (needed[workers[:, None] - near] <= market.ps) & (near + others >= workers[:, None])
    fits_whole = (market.workers >= workers[:, None]) & (market.ps >= 1)
    slots = np.full((2, most + 1), NEVER)
    slots[:, 1:] = np.where([fits.any(axis=1), fits_whole.any(axis=1)], market.duration(job, workers).T, NEVER)
    gang = np.arange(most + 1)
    fewest = needed[gang - np.clip(gang - 1, 0, int(market.workers.max()))]
    shortest = int(slots.min())
    revenue = float(jobs.value(job, shortest))
    return Demand(job, int(jobs.tenant[job]), slots[0], slots[1], shortest, revenue, needed, fewest)
