"""The worked example of [Wang2023] §4.2-§4.4: two tenants, four servers, four jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from astraea.market.model import SLOT, Jobs, Market
from astraea.market.policies.astraea.capacity import Theta

THETA: Final = Theta(16.0, 16.0)
ROUNDS: Final = 2
"""lambda."""


def small_market(name: str, workers: Sequence[int], ps: Sequence[int], quota: Any, **columns: Any) -> Market:
    """Jobs one of whose mini-batches takes a slot with centralized and two with distributed placement, by Eq. 1.

    Half a slot of training, half a slot of updating, and SLOT / 2 Mbit twice over a link of 1 Mbit/s.

    Parameters
    ----------
    quota : pairs of int
        Workers and parameter servers of each tenant.
    **columns
        Of `Jobs`: an array or one value for all, `chunks` always an array; else one epoch of one batch, worth
        100 - 2 t, of tenant 0, from 0 on.
    """
    n = len(columns["chunks"])
    usual: dict[str, Any] = {
        "tenant": 0, "arrival": 0, "epochs": 1, "batches": 1, "train": 0.5, "update": 0.5, "size": SLOT / 2,
        "slope": -2.0, "height": 100.0, "job_id": tuple(f"j{i + 1}" for i in range(n)), "utility": "linear",
    }  # fmt: skip
    given = usual | columns
    given |= {k: np.array(np.broadcast_to(v, n)) for k, v in given.items() if k not in ("job_id", "utility")}
    worker_quota, ps_quota = np.array(quota).T
    return Market(name, Jobs(**given), np.array(workers), np.array(ps), 1.0, 1.0, worker_quota, ps_quota)


def worked_example() -> Market:
    """Jobs j11, j12 of the first and j21, j22 of the second tenant."""
    names = ("j11", "j12", "j21", "j22")
    return small_market(
        "worked example", [2] * 4, [1] * 4, [(4, 2), (4, 2)],
        job_id=names, tenant=[0, 0, 1, 1], arrival=3, epochs=2, chunks=[2, 3, 2, 30],
    )  # fmt: skip
