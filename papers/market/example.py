"""The worked example of [Wang2023] §4.2 to §4.4, number by number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from papers.market.model import SLOT, Jobs, Market
from papers.market.policies.batches import division, posted_prices
from papers.market.policies.capacity import demand, empty_round, occupy, price
from papers.market.policies.max_revenue import best_schedule, cost, min_cost_d, spread

THETA: Final = (16.0, 16.0)
EXAMPLE_ROUNDS: Final = 2
"""Value of lambda in the worked example."""

J11, J12, J21, J22 = range(4)
SLOTS: Final = 4
"""Slots (8, 12] of the first round."""


def small_market(name: str, workers: Sequence[int], ps: Sequence[int], quota: Any, **columns: Any) -> Market:
    """Jobs one of whose mini-batches takes a slot with centralized and two with distributed placement, by Eq. 1.

    Half a slot of training, half a slot of updating, and SLOT / 2 Mbit twice over a link of 1 Mbit/s. `quota` has the
    workers and parameter servers of each tenant. `columns` are those of `Jobs`, an array or one value for all; `chunks`
    is always an array. By default a job is one epoch of one batch, worth 100 - 2 t, of tenant 0, from 0 on.
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


def example_table() -> pd.DataFrame:
    """Every number of the worked example; columns quantity, paper, value.

    `paper` is NaN for the interval of j22, of which the paper only says that it is not the second.
    """
    market = worked_example()
    d = demand(market, J11)
    distributed = empty_round(market, SLOTS, THETA)
    server, ps = min_cost_d(distributed, 0, 4, 2, 2, d.needed)
    put = spread(distributed, 0, 4, 2, server, False)
    own = empty_round(market, SLOTS, THETA)
    first = best_schedule(own, 0, market.jobs.ideal(J11, SLOTS), d).income
    occupy(own, 0, 2, 0, np.array([2, 0, 0, 0]), np.array([1, 0, 0, 0]))  # j11 as in the paper
    second = best_schedule(own, 1, market.jobs.ideal(J21, SLOTS), demand(market, J21)).income
    occupy(own, 2, 4, 1, np.array([0, 2, 0, 0]), np.array([0, 1, 0, 0]))  # j21 as in the paper
    paid = float(cost(own, 0, 4, 3, 1))
    per_slot = np.diff(own.sums) * [[3.0], [1.0]]
    late = next(s for s in posted_prices(market, theta=THETA, rounds=EXAMPLE_ROUNDS).schedules if s.job == J22)
    occupy(distributed, 0, 4, 0, put, ps * np.eye(4, dtype=np.int64)[server])
    rows = [
        ("price of a worker, 2 of 8 in use", 1.0, price(2, 8, THETA[0])),
        ("price of a parameter server, 1 of 4 in use", 1.0, price(1, 4, THETA[1])),
        ("price of a worker, none in use", 0.0, price(0, 8, THETA[0])),
        ("slots of j11, 2 workers, distributed", 4.0, d.distributed[2]),
        ("slots of j11, 2 workers, centralized", 2.0, d.central[2]),
        ("ideal revenue of j11, distributed", 92.0, market.jobs.value(J11, float(d.distributed[2]))),
        ("cost of j21 after it, distributed", 12.0, cost(distributed, 0, 4, 2, 1)),
        ("ideal revenue of j11, centralized", 96.0, first),
        ("ideal revenue of j21 in (10, 12]", 92.0, second),
        ("cost of j12", 16.0, paid),
        ("utility of j12 after cost", 76.0, float(market.jobs.value(J12, 4.0)) - paid),
        ("income of u2, workers and parameter servers (§4.3)", 8.0, division(own.unused, per_slot)[1]),
        ("income of u2, workers alone (the text of §4.2)", 6.0, division(own.unused[:1], per_slot[:1])[1]),
        ("interval in which j22 runs", np.nan, np.floor(np.log2(late.start / EXAMPLE_ROUNDS))),
    ]
    return pd.DataFrame(rows, columns=["quantity", "paper", "value"]).astype({"value": np.float64})
