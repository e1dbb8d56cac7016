"""Posted prices of workers and parameter servers ([Wang2023] §4.4)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.checks import number
from astraea.core.errors import InputError
from astraea.market.model import Market
from astraea.market.policies.astraea.empty_cluster import NEVER, demand


class Theta(NamedTuple):
    """Bases of the price functions: theta - 1 is the price of a unit when all of them are in use."""

    worker: float
    ps: float


def price(used: IntArray | int, total: int, theta: float) -> FloatArray:
    """Price of one unit for one slot, theta ** (used / total) - 1 (Eq. 8); `total` units on all servers."""
    return np.asarray(theta ** (np.asarray(used, np.float64) / max(total, 1)) - 1.0)


def feasible_theta(market: Market, factor: float = 1.0) -> Theta:
    """Maximal prices at which no job would run, times `factor` (Fig 11).

    §4.4 asks for theta_w - 1 >= f_j / (worker slots of j) and theta_p - 1 >= f_j / (parameter-server slots of j), and
    both at least 1. The bound is taken over every placement that the empty cluster allows, at the greatest revenue
    there is, which is that of a start with the round, and with one parameter server. `factor` scales theta - 1, the
    price itself, so that an underestimate is still a price.
    """
    number(factor, "factor:", above=0, expected="above 0")
    worker = ps = 1.0
    for job in range(len(market.jobs)):
        d = demand(market, job)
        for durations in (d.distributed, d.central):
            workers = np.flatnonzero(durations < NEVER)
            slots = durations[workers]
            revenue = market.jobs.value(job, slots.astype(np.float64))
            worker = max(worker, float((revenue / (workers * slots)).max(initial=0.0)))
            ps = max(ps, float((revenue / slots).max(initial=0.0)))
    return Theta(1.0 + factor * worker, 1.0 + factor * ps)


def checked_theta(theta: tuple[float, float]) -> Theta:
    """Both above 1, or `InputError`."""
    if len(theta) != 2:
        raise InputError(f"theta must be two numbers, theta_w and theta_p, got {theta!r}")
    for name, value in zip(("theta_w", "theta_p"), theta, strict=True):
        number(value, f"{name}:", above=1, expected="above 1, so that what is in use has a price")
    return Theta(*theta)
