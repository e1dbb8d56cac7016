"""The worked example of [Wang2023] §4.2-§4.4 number by number, and how prices form while jobs are admitted."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray
from astraea.market.example import ROUNDS, THETA, worked_example
from astraea.market.model import SLOT, Jobs, Market
from astraea.market.policies.astraea.batches import astraea_market
from astraea.market.policies.astraea.capacity import Round, empty_round, occupy
from astraea.market.policies.astraea.income import division
from astraea.market.policies.astraea.max_revenue import best_schedule, demand, max_ideal_revenue
from astraea.market.policies.astraea.placement import cost, min_cost_d, spread
from astraea.market.policies.astraea.prices import price

J11, J12, J21, J22 = range(4)
SLOTS: Final = 4
"""Slots (8, 12] of the first round."""

WORTH: Final = (12.0, 5.0, 8.0, 9.0, 5.0, 10.0, 6.0, 12.0, 12.0, 16.0, 25.0, 40.0)
"""What the jobs of `price_steps` are worth."""


def example_table() -> pd.DataFrame:
    """Every number of the worked example.

    Returns
    -------
    DataFrame, columns quantity, paper, value
        `paper` is NaN for the interval of j22, of which the paper only says that it is not the second.
    """
    market = worked_example()
    d = demand(market, J11)
    distributed = empty_round(market, SLOTS, THETA)
    server, ps = min_cost_d(distributed, 0, 4, 2, 2, d.needed)
    put = spread(distributed, 0, 4, 2, server, False)
    own = empty_round(market, SLOTS, THETA)
    central = _income(market, own, J11, 0)
    _put(own, 0, 2, 0, [2, 0, 0, 0], [1, 0, 0, 0])  # j11 as in the paper
    second = _income(market, own, J21, 1)
    _put(own, 2, 4, 1, [0, 2, 0, 0], [0, 1, 0, 0])  # j21 as in the paper
    paid = cost(own, 0, 4, 3, 1)
    unused = np.stack([own.own_workers[0, :, :2], own.own_ps[0, :, :2]]).astype(np.int64)
    per_slot = np.array([3.0 * np.diff(own.worker_sum), np.diff(own.ps_sum)])
    late = next(s for s in astraea_market(market, theta=THETA, rounds=ROUNDS).schedules if s.job == J22)
    occupy(distributed, 0, 4, 0, put, ps * np.eye(4, dtype=np.int64)[server])
    rows = [
        ("price of a worker, 2 of 8 in use", 1.0, float(price(2, 8, THETA.worker))),
        ("price of a parameter server, 1 of 4 in use", 1.0, float(price(1, 4, THETA.ps))),
        ("price of a worker, none in use", 0.0, float(price(0, 8, THETA.worker))),
        ("slots of j11, 2 workers, distributed", 4.0, float(d.distributed[2])),
        ("slots of j11, 2 workers, centralized", 2.0, float(d.central[2])),
        ("ideal revenue of j11, distributed", 92.0, float(market.jobs.value(J11, float(d.distributed[2])))),
        ("cost of j21 after it, distributed", 12.0, float(cost(distributed, 0, 4, 2, 1))),
        ("ideal revenue of j11, centralized", 96.0, central),
        ("ideal revenue of j21 in (10, 12]", 92.0, second),
        ("cost of j12", 16.0, float(paid)),
        ("utility of j12 after cost", 76.0, float(market.jobs.value(J12, 4.0)) - float(paid)),
        ("income of u2, workers and parameter servers (§4.3)", 8.0, float(division(unused, per_slot)[1])),
        ("income of u2, workers alone (the text of §4.2)", 6.0, float(division(unused[:1], per_slot[:1])[1])),
        ("interval in which j22 runs", np.nan, np.floor(np.log2(late.start / ROUNDS))),
    ]
    return pd.DataFrame(rows, columns=["quantity", "paper", "value"])


def price_steps() -> pd.DataFrame:
    """Jobs come one after another and pay the posted prices (Eq. 8); who is worth less is refused.

    Four servers of two workers and two parameter servers, theta 16; every job wants one worker and one parameter server
    for one slot.

    Returns
    -------
    DataFrame, columns job, workers_in_use, ps_in_use, worker_price, ps_price, cost, ideal, admitted
        One row per job: what is in use and the prices when it comes, what it would pay, what it is worth.
    """
    n = len(WORTH)
    base = worked_example()
    market = Market(
        name="prices",
        jobs=Jobs(
            job_id=tuple(f"j{i + 1}" for i in range(n)), tenant=np.zeros(n, np.int64), arrival=np.zeros(n, np.int64),
            epochs=np.ones(n, np.int64), chunks=np.ones(n, np.int64), batches=np.ones(n, np.int64),
            train=np.full(n, 0.5), update=np.full(n, 0.5), size=np.full(n, SLOT / 2), utility="linear",
            slope=np.full(n, -2.0), height=np.array(WORTH) + 2.0,
        ),
        workers=base.workers, ps=2 * base.ps, worker_bandwidth=1.0, ps_bandwidth=1.0,
        worker_quota=np.array([8]), ps_quota=np.array([8]),
    )  # fmt: skip
    everyone = 1
    r = empty_round(market, 1, THETA)
    rows: list[dict[str, Any]] = []
    for job in range(n):
        workers, ps = (8 - int(left[0, 0, everyone]) for left in (r.own_workers, r.own_ps))
        ideal = _ideal(market, job, 1)
        paid = float(cost(r, 0, 1, 1, 1))
        admitted = bool(max_ideal_revenue(r, [(demand(market, job), ideal)], is_shared=True))
        rows.append(
            {
                "job": market.jobs.job_id[job],
                "workers_in_use": workers,
                "ps_in_use": ps,
                "worker_price": float(price(workers, 8, THETA.worker)),
                "ps_price": float(price(ps, 8, THETA.ps)),
                "cost": paid,
                "ideal": float(ideal[1]),
                "admitted": admitted,
            }
        )
    return pd.DataFrame(rows)


def _ideal(market: Market, job: int, slots: int) -> FloatArray:
    """f_j at 0, 1, ..., `slots` since the beginning of a round; entry 0 is not used."""
    return np.append(0.0, market.jobs.value(job, np.arange(1.0, slots + 1)))


def _income(market: Market, r: Round, job: int, whose: int) -> float:
    """Ideal revenue minus cost of the schedule that Algorithm 3 finds."""
    d = demand(market, job)
    ideal = _ideal(market, job, SLOTS)
    found = best_schedule(r, whose, ideal, d.distributed, d.central, d.shortest, d.needed, d.fewest)
    return float(found[-1])


def _put(r: Round, a: int, b: int, tenant: int, workers: list[int], ps: list[int]) -> None:
    occupy(r, a, b, tenant, np.array(workers), np.array(ps))
