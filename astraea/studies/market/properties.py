"""Do the properties of [Wang2023] §4.5 hold? A search for counter-examples among random small markets.

All jobs of a market arrive in its second interval; lambda is 1 and theta 16.

sharing incentive
    A tenant gains less than its jobs earn when it is alone with what it brought in, under the same algorithm.
strategy-proofness
    A tenant gains more, by its true utilities, when it reports another slope or height of one of its jobs (Theorem 4).
Pareto efficiency
    One job can start earlier in its interval with the same workers, and maybe on another server, while everything else
    stays as it is: its tenant gains, and nobody loses (Theorem 5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd

from astraea.experiments.parallel import parallel_map
from astraea.market.constraints import violations
from astraea.market.metrics import gains
from astraea.market.model import SLOT, Jobs, Market
from astraea.market.policies.astraea.batches import astraea_market
from astraea.market.policies.batch_sche import batch_sche
from astraea.market.schedule import Plan, Schedule
from astraea.studies.market.runs import market_scale

THETA: Final = (16.0, 16.0)
ARRIVAL: Final = 3
CHUNK: Final = 50
"""Markets of one call."""

MARGIN: Final = 1e-6
"""Least gain that counts."""


def properties_table(scale: str = "paper") -> pd.DataFrame:
    """Try every property on the same random markets.

    Parameters
    ----------
    scale : {"small", "paper", "full"}
    **computing
        As in `market.revenue_table`.

    Returns
    -------
    DataFrame, columns property, instances, violations, counter_example
        Markets tried, those in which the property fails, and the first of those with fewest jobs and tenants, in words.
    """
    instances = market_scale(scale).instances
    calls = [(first, min(first + CHUNK, instances)) for first in range(0, instances, CHUNK)]
    found = [failure for failures in parallel_map(_search, calls) for failure in failures]
    rows = []
    for name in PROPERTIES:
        mine = sorted((size, words) for which, size, words in found if which == name)
        rows.append((name, instances, len(mine), mine[0][1] if mine else ""))
    return pd.DataFrame(rows, columns=["property", "instances", "violations", "counter_example"])


def random_market(seed: int) -> Market:
    """Two or three tenants, each with one server of two workers and a parameter server, and two to five jobs."""
    rng = np.random.default_rng([seed])
    tenants, n = int(rng.integers(2, 4)), int(rng.integers(2, 6))
    return Market(
        name=f"random {seed}",
        jobs=Jobs(
            job_id=tuple(f"j{i + 1}" for i in range(n)),
            tenant=rng.integers(0, tenants, n),
            arrival=np.full(n, ARRIVAL),
            epochs=rng.integers(1, 4, n),
            chunks=rng.integers(1, 4, n),
            batches=np.ones(n, np.int64),
            train=np.full(n, 0.5),
            update=np.full(n, 0.5),
            size=np.full(n, SLOT / 2),
            utility="linear",
            slope=rng.choice([-4.0, -2.0, -1.0], n),
            height=rng.choice([20.0, 60.0, 100.0], n),
        ),
        workers=np.full(tenants, 2),
        ps=np.ones(tenants, np.int64),
        worker_bandwidth=1.0,
        ps_bandwidth=1.0,
        worker_quota=np.full(tenants, 2),
        ps_quota=np.ones(tenants, np.int64),
    )


def planned(market: Market) -> Plan:
    """Astraea's plan."""
    return astraea_market(market, theta=THETA, rounds=1)


def no_incentive(market: Market) -> str:
    """Who loses by sharing, in words; empty if nobody does."""
    together = gains(planned(market))
    alone = gains(batch_sche(market, theta=THETA, rounds=1))
    for u in np.flatnonzero(together < alone - MARGIN):
        return f"tenant {u + 1} gains {together[u]:.4g}, alone {alone[u]:.4g}"
    return ""


def lie_that_pays(market: Market) -> str:
    """A false report that pays, in words; empty if none was found."""
    honest = gains(planned(market))
    for job in range(len(market.jobs)):
        u = int(market.jobs.tenant[job])
        for column, factor in (("slope", 10.0), ("slope", 0.1), ("height", 2.0), ("height", 0.5)):
            said = getattr(market.jobs, column).copy()
            said[job] *= factor
            lied = planned(replace(market, jobs=replace(market.jobs, **{column: said})))
            got = gains(replace(lied, market=market))[u]
            if got > honest[u] + MARGIN:
                return (
                    f"tenant {u + 1} gains {got:.4g} instead of {honest[u]:.4g} when it reports {factor:g} times the "
                    f"{column} of {market.jobs.job_id[job]}"
                )
    return ""


def better_for_one(market: Market) -> str:
    """A plan that is better for one tenant and worse for none, in words; empty if none was found."""
    plan = planned(market)
    for k, s in enumerate(plan.schedules):
        for moved in _earlier(market, s):
            other = replace(plan, schedules=(*plan.schedules[:k], moved, *plan.schedules[k + 1 :]))
            if not violations(market, other):
                jobs = market.jobs
                more = float(jobs.value(s.job, moved.end - ARRIVAL) - jobs.value(s.job, s.end - ARRIVAL))
                return (
                    f"{jobs.job_id[s.job]} of tenant {jobs.tenant[s.job] + 1} could run in ({moved.start}, {moved.end}]"
                    f" instead of ({s.start}, {s.end}], worth {more:.4g} more, and nothing else would change"
                )
    return ""


PROPERTIES: Final[dict[str, Callable[[Market], str]]] = {
    "sharing incentive": no_incentive,
    "strategy-proofness": lie_that_pays,
    "Pareto efficiency": better_for_one,
}
"""Property -> what finds a counter-example in a market."""


def _earlier(market: Market, s: Schedule) -> Iterator[Schedule]:
    """The same job earlier in its interval (2**l, 2**(l+1)], on its servers or, from one server, on any."""
    begin = 1 << (int(s.start).bit_length() - 1)
    for start in range(begin, s.start):
        end = start + s.end - s.start
        yield replace(s, start=start, end=end)
        if len(s.server) == 1:
            yield from (replace(s, start=start, end=end, server=np.array([k])) for k in range(len(market.workers)))


def _search(first: int, last: int) -> list[tuple[str, tuple[int, int, int], str]]:
    """Property, size (jobs, tenants, seed) and counter-example for each market in which one fails."""
    out = []
    for seed in range(first, last):
        market = random_market(seed)
        for name, fails in PROPERTIES.items():
            if words := fails(market):
                size = (len(market.jobs), len(market.worker_quota), seed)
                out.append((name, size, f"{_shown(market)}: {words}"))
    return out


def _shown(market: Market) -> str:
    """A market in words."""
    j = market.jobs
    jobs = "; ".join(
        f"{j.job_id[i]} of tenant {j.tenant[i] + 1}, D = {j.chunks[i]}, E = {j.epochs[i]}, worth "
        f"{j.height[i]:g} − {-j.slope[i]:g} t"
        for i in range(len(j))
    )
    return f"{len(market.worker_quota)} tenants with a server of 2 workers each, all jobs from {ARRIVAL} ({jobs})"
