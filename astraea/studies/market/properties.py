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
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.market.constraints import violations
from astraea.market.metrics import gains
from astraea.market.model import Market, Plan, Schedule
from astraea.market.policies.astraea.batches import astraea_market
from astraea.market.policies.batch_sche import batch_sche
from astraea.studies.market.example import small_market

THETA: Final = (16.0, 16.0)
ARRIVAL: Final = 3

MARGIN: Final = 1e-6
"""Least gain that counts."""


def random_market(seed: int) -> Market:
    """Two or three tenants, each with one server of two workers and a parameter server, and two to five jobs."""
    rng = np.random.default_rng([seed])
    tenants, n = int(rng.integers(2, 4)), int(rng.integers(2, 6))
    columns: dict[str, Any] = {
        "tenant": rng.integers(0, tenants, n), "epochs": rng.integers(1, 4, n), "chunks": rng.integers(1, 4, n),
        "slope": rng.choice([-4.0, -2.0, -1.0], n), "height": rng.choice([20.0, 60.0, 100.0], n), "arrival": ARRIVAL,
    }  # fmt: skip
    return small_market(f"random {seed}", [2] * tenants, [1] * tenants, [(2, 1)] * tenants, **columns)


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


def counter_examples(first: int, last: int) -> pd.DataFrame:
    """Search the markets of seeds `first` to `last` - 1.

    Returns
    -------
    DataFrame, columns property, jobs, tenants, seed, counter_example
        A row for each market and property that fails in it.
    """
    rows = []
    for seed in range(first, last):
        market = random_market(seed)
        for name, fails in PROPERTIES.items():
            if words := fails(market):
                rows.append((name, len(market.jobs), len(market.worker_quota), seed, f"{_shown(market)}: {words}"))
    return pd.DataFrame(rows, columns=["property", "jobs", "tenants", "seed", "counter_example"])


def _shown(market: Market) -> str:
    """A market in words."""
    j = market.jobs
    jobs = "; ".join(
        f"{j.job_id[i]} of tenant {j.tenant[i] + 1}, D = {j.chunks[i]}, E = {j.epochs[i]}, worth "
        f"{j.height[i]:g} − {-j.slope[i]:g} t"
        for i in range(len(j))
    )
    return f"{len(market.worker_quota)} tenants with a server of 2 workers each, all jobs from {ARRIVAL} ({jobs})"
