"""The worked example of [Wang2023] §4.2-§4.4: two tenants, four servers, four jobs."""

from __future__ import annotations

from typing import Final

import numpy as np

from astraea.market.model import SLOT, Jobs, Market
from astraea.market.policies.astraea.prices import Theta

THETA: Final = Theta(16.0, 16.0)
ROUNDS: Final = 2
"""lambda."""


def worked_example() -> Market:
    """Jobs j11, j12 of the first and j21, j22 of the second tenant.

    One mini-batch takes a slot with centralized and two with distributed placement, by Eq. 1: half a slot of training,
    half a slot of updating, and SLOT / 2 Mbit twice over a link of 1 Mbit/s.
    """
    n = 4
    jobs = Jobs(
        job_id=("j11", "j12", "j21", "j22"),
        tenant=np.array([0, 0, 1, 1]),
        arrival=np.full(n, 3),
        epochs=np.full(n, 2),
        chunks=np.array([2, 3, 2, 30]),
        batches=np.ones(n, np.int64),
        train=np.full(n, 0.5),
        update=np.full(n, 0.5),
        size=np.full(n, SLOT / 2),
        utility="linear",
        slope=np.full(n, -2.0),
        height=np.full(n, 100.0),
    )
    return Market(
        name="worked example",
        jobs=jobs,
        workers=np.full(4, 2),
        ps=np.ones(4, np.int64),
        worker_bandwidth=1.0,
        ps_bandwidth=1.0,
        worker_quota=np.array([4, 4]),
        ps_quota=np.array([2, 2]),
    )
