"""Do the properties of [Wang2023] §4.5 hold? A search for counter-examples among random small markets.

All jobs of a market arrive in its second interval; lambda is 1 and theta 16.

Each is searched for twice: in the paper's algorithm, and where prices do not decide which schedule a job takes within
its tenant's own share (`is_own_priced`), which nobody pays for anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray
from papers.market.constraints import violations
from papers.market.metrics import gains
from papers.market.model import Market, MarketPlan, Schedule
from papers.market.policies.astraea.batches import astraea_market, schedule_batch
from papers.market.policies.astraea.capacity import demand
from papers.market.policies.batch_sche import batch_sche
from papers.market.study.example import small_market

THETA: Final = (16.0, 16.0)
ARRIVAL: Final = 3
TAU: Final = 4
"""The second interval is (4, 8], one round of as many slots."""

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


def planned(market: Market, is_own_priced: bool = True) -> MarketPlan:
    """Astraea's plan of a small market."""
    return astraea_market(market, theta=THETA, rounds=1, is_own_priced=is_own_priced)


def interval_gains(market: Market, is_own_priced: bool = True) -> tuple[FloatArray, FloatArray]:
    """Return each tenant's ideal revenue in the second interval, together and alone, each of shape (U,)."""
    demands = [d for d in (demand(market, job) for job in range(len(market.jobs))) if d.revenue > 0]
    together, income = schedule_batch(market, demands, TAU, 1, THETA, is_own_priced)
    alone = batch_sche(market, theta=THETA, rounds=1, is_own_priced=is_own_priced).schedules
    tenant, tenants = market.jobs.tenant, len(market.worker_quota)
    parts = []
    for schedules in (together, [s for s in alone if s.start < 2 * TAU]):
        of = [int(tenant[s.job]) for s in schedules]
        parts.append(np.bincount(of, [s.ideal - s.cost for s in schedules], tenants).astype(np.float64))
    return parts[0] + income.sum(axis=1), parts[1]


def no_incentive(market: Market, is_own_priced: bool = True) -> str:
    """Name the tenants that lose by sharing in an interval, in words; empty if none does."""
    together, alone = interval_gains(market, is_own_priced)
    for u in np.flatnonzero(together < alone - MARGIN):
        return f"tenant {u + 1} gains {together[u]:.4g} in ({TAU}, {2 * TAU}], alone {alone[u]:.4g}"
    return ""


def reported(market: Market, job: int, **columns: int) -> Market:
    """Return the market with one job reported with other numbers."""
    said = {name: getattr(market.jobs, name).copy() for name in columns}
    for name, value in columns.items():
        said[name][job] = value
    return replace(market, jobs=replace(market.jobs, **said))


def lie_that_pays(market: Market, is_own_priced: bool = True) -> str:
    """Describe a false report that pays, in words; empty if none was found."""
    jobs = market.jobs
    honest = gains(planned(market, is_own_priced)).to_numpy()
    for job in range(len(jobs)):
        u, batches = int(jobs.tenant[job]), int(jobs.chunks[job] * jobs.batches[job])
        for chunks in (d for d in range(1, int(jobs.chunks[job])) if batches % d == 0):
            lied = planned(reported(market, job, chunks=chunks, batches=batches // chunks), is_own_priced)
            got = gains(replace(lied, market=market)).to_numpy()[u]
            if got > honest[u] + MARGIN:
                return (
                    f"tenant {u + 1} gains {got:.4g} instead of {honest[u]:.4g} when it reports {jobs.job_id[job]} "
                    f"with D = {chunks}, M = {batches // chunks}"
                )
    return ""


def better_for_one(market: Market, is_own_priced: bool = True) -> str:
    """Describe a plan that is better for one tenant and worse for none, in words; empty if none was found."""
    plan = planned(market, is_own_priced)
    for k, s in enumerate(plan.schedules):
        others = (*plan.schedules[:k], *plan.schedules[k + 1 :])
        for moved in _earlier(market, s):
            if not violations(market, replace(plan, schedules=(*others, moved))):
                jobs = market.jobs
                more = float(jobs.value(s.job, moved.end - ARRIVAL) - jobs.value(s.job, s.end - ARRIVAL))
                return (
                    f"{jobs.job_id[s.job]} of tenant {jobs.tenant[s.job] + 1} could run in ({moved.start}, {moved.end}]"
                    f" instead of ({s.start}, {s.end}], worth {more:.4g} more, and nothing else would change"
                )
    return ""


PROPERTIES: Final[dict[str, Callable[[Market, bool], str]]] = {
    # in an interval, by ideal revenue, which the algorithm maximizes there, a tenant gains less than alone with what it
    # brought in under the same algorithm
    "sharing incentive": no_incentive,
    # a tenant gains more when it reports a job as fewer and larger chunks, and the job is run exactly as reported: a
    # lie about resource demands (Theorem 4), and one that costs no more work
    "strategy-proofness": lie_that_pays,
    # one job can start earlier in its interval with the same workers, and maybe on another server, while everything
    # else stays as it is, payments included: its tenant gains, and nobody loses (Theorem 5)
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

    A row for each market and property that fails in it, by the paper's algorithm or without prices in tenants' shares;
    columns property, is_own_priced, jobs, tenants, seed, counter_example.
    """
    rows = []
    for seed in range(first, last):
        market = random_market(seed)
        size = len(market.jobs), len(market.worker_quota), seed
        for name, fails in PROPERTIES.items():
            for is_own_priced in (True, False):
                if words := fails(market, is_own_priced):
                    cluster, jobs = in_words(market)
                    rows.append((name, is_own_priced, *size, f"{cluster} ({jobs}): {words}"))
    return pd.DataFrame(rows, columns=["property", "is_own_priced", "jobs", "tenants", "seed", "counter_example"])


def in_words(market: Market) -> tuple[str, str]:
    """Describe the cluster of a small market, and its jobs."""
    j = market.jobs
    jobs = "; ".join(
        f"{j.job_id[i]} of tenant {j.tenant[i] + 1}, D = {j.chunks[i]}, E = {j.epochs[i]}, worth "
        f"{j.height[i]:g} − {-j.slope[i]:g} t"
        for i in range(len(j))
    )
    return f"{len(market.worker_quota)} tenants with a server of 2 workers each, all jobs from {ARRIVAL}", jobs
