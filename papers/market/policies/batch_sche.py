"""BatchSche: every tenant alone with what it brought in ([Wang2023] §5.1).

[Zhang2020] knows neither tenants nor sharing, so [Wang2023] runs it for each tenant in its private cluster. Its batches
at geometrically increasing times, posted prices and placements are those that the market is made of (§4.1); here the
market itself runs on each private cluster, where there is nobody to share with.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from astraea.core.arrays import IntArray
from papers.market.model import Market, MarketPlan, Schedule, checked
from papers.market.policies.batches import posted_prices
from papers.market.policies.capacity import Theta


def batch_sche(
    market: Market, *, theta: Theta | None = None, rounds: int | None = None, is_own_priced: bool = True
) -> MarketPlan:
    """Plans of all private clusters together; no job is shared and nobody pays.

    Tenants take workers and parameter servers in the order of the servers, each as many as its quota, so that no more
    servers are divided than must be. Jobs of a tenant that has no worker or no parameter server never run. Parameters
    and errors are those of `posted_prices`.
    """
    tenants = len(checked(market).worker_quota)
    workers, ps = _parts(market.workers, market.worker_quota), _parts(market.ps, market.ps_quota)
    schedules: list[Schedule] = []
    for u in range(tenants):
        jobs = np.flatnonzero(market.jobs.tenant == u)
        servers = np.flatnonzero(workers[u] + ps[u] > 0)
        columns: dict[str, Any] = {k: v[jobs] for k, v in vars(market.jobs).items() if isinstance(v, np.ndarray)}
        columns |= {"job_id": tuple(market.jobs.job_id[i] for i in jobs), "tenant": np.zeros_like(jobs)}
        alone = replace(
            market,
            name=f"{market.name}, tenant {u}",
            jobs=replace(market.jobs, **columns),
            workers=workers[u, servers],
            ps=ps[u, servers],
            worker_quota=market.worker_quota[[u]],
            ps_quota=market.ps_quota[[u]],
        )
        if len(jobs) == 0 or not alone.has_room:
            continue
        for s in posted_prices(alone, theta=theta, rounds=rounds, is_own_priced=is_own_priced).schedules:
            # what a tenant alone would pay, it would pay to itself
            schedules.append(replace(s, job=int(jobs[s.job]), server=servers[s.server], cost=0.0, is_shared=False))
    schedules.sort(key=lambda s: s.start)
    return MarketPlan(market, tuple(schedules), np.zeros((tenants, tenants)))


def _parts(units: IntArray, quota: IntArray) -> IntArray:
    """Units of each server that each tenant takes, shape (U, S)."""
    bounds = np.concatenate([[0], np.cumsum(quota)])
    ends = np.cumsum(units)
    taken = np.clip(bounds[1:, None], ends - units, ends) - np.clip(bounds[:-1, None], ends - units, ends)
    return np.asarray(taken, np.int64)
