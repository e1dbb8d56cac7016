"""Theorems and claims of [Wang2023], tried on random small markets, and the smallest market in which each fails.

There are two tenants. Each of one to three servers, of two workers and a parameter server, is one tenant's. All jobs
arrive in the second interval, which has rounds of `TAU` slots. theta is that of §4.4. lambda is that of Lemma 1 where a
proof needs it, and 1 elsewhere.

Theorems 4, 5 and the sharing incentive are also tried in a variant (ours): prices do not decide which schedule a job
takes within its tenant's own share (`is_own_priced`), which nobody pays for anyway.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Final, NamedTuple

import hypothesis
import numpy as np
import pandas as pd
from hypothesis import strategies as st

from astraea.core.arrays import FloatArray
from papers.market.constraints import violations
from papers.market.example import small_market
from papers.market.metrics import gains, makespan, revenue_fairness, total_revenue
from papers.market.model import Market, MarketPlan, Schedule
from papers.market.optimum import optimum
from papers.market.policies.batch_sche import batch_sche
from papers.market.policies.batches import posted_prices, rounds_needed, schedule_batch
from papers.market.policies.capacity import Demand, Theta, demand, empty_round, feasible_theta
from papers.market.policies.max_revenue import max_ideal_revenue
from papers.market.simulate import simulate

ARRIVAL: Final = 3
TAU: Final = 4
"""The second interval begins at 4, and each of its rounds has as many slots."""

FAR: Final = 64
"""Slots in which an optimum is looked for: a lower bound of the optimum of all time."""

MARGIN: Final = 1e-6
"""Least difference that counts."""

DRAWN: Final = {"epochs": (1, 2, 3), "chunks": (1, 2, 3), "fall": (1, 2, 3, 4), "height": (10, 20, 60, 100)}
"""E, D, -k and g of a random job; as -kappa and e of a convex utility."""


class Job(NamedTuple):
    """A job from slot `ARRIVAL` on, worth `height` - `fall` t."""

    tenant: int
    epochs: int
    chunks: int
    fall: int
    height: int


def market_of(owners: Sequence[int], jobs: Sequence[Job], name: str = "small") -> Market:
    """Build the market of some jobs on as many servers as there are owners, of tenants 0 and 1."""
    tenant, epochs, chunks, fall, height = np.array(jobs).T
    owned = np.bincount(owners, minlength=2)
    return small_market(
        name, [2] * len(owners), [1] * len(owners), [(2 * n, n) for n in owned],
        tenant=tenant, epochs=epochs, chunks=chunks, slope=-1.0 * fall, height=1.0 * height, arrival=ARRIVAL,
    )  # fmt: skip


def random_market(seed: int) -> Market:
    """Draw one to three servers and one to five jobs."""
    rng = np.random.default_rng([seed])
    owners, n = rng.integers(0, 2, rng.integers(1, 4)), int(rng.integers(1, 6))
    columns = [rng.integers(0, 2, n), *(rng.choice(values, n) for values in DRAWN.values())]
    return market_of(owners.tolist(), [Job(*row) for row in np.array(columns).T.tolist()], f"random {seed}")


@st.composite
def markets(draw: st.DrawFn) -> Market:
    """Draw like `random_market`; hypothesis prefers fewer servers and jobs, and smaller numbers."""
    job = st.builds(Job, st.integers(0, 1), *(st.sampled_from(values) for values in DRAWN.values()))
    owners = draw(st.lists(st.integers(0, 1), min_size=1, max_size=3))
    return market_of(owners, draw(st.lists(job, min_size=1, max_size=5)))


# what fails in a market, in words, or nothing


def not_near_optimal(market: Market) -> str:
    """Compare one round of A_maxIrev with the largest ideal revenue of a round; sigma is that of Lemma 3."""
    theta = feasible_theta(market)
    jobs = [(d, market.jobs.ideal(d.job, TAU)) for d in _worth_something(market)]
    admitted = max_ideal_revenue(empty_round(market, TAU, theta), jobs, is_shared=True)
    got, best, sigma = sum(s.ideal for s, _ in admitted), _best_round(market), 2 * sum(map(math.log, theta))
    return (
        f"one round earns {got:g}, the best {best:g}, more than σ = {sigma:.3g} times"
        if best > sigma * got + MARGIN
        else ""
    )


def not_enough_rounds(market: Market) -> str:
    """Compare lambda rounds of A_round with the largest ideal revenue of one round (Lemma 1)."""
    theta, batch = feasible_theta(market), _worth_something(market)
    rounds = rounds_needed(batch, theta)
    got = sum(s.ideal for s in schedule_batch(market, batch, TAU, rounds, theta)[0])
    best = _best_round(market)
    return f"λ = {rounds} rounds earn {got:g}, one round can earn {best:g}" if best > got + MARGIN else ""


def too_far_from_optimum(market: Market) -> str:
    """Compare the optimum less the market's revenue with the bound of Theorem 1 (i)."""
    plan, rounds, last, n = *_as_proven(market), len(market.jobs)
    steep, flat = market.jobs.slope.min(), market.jobs.slope.max()
    bound = n * ((2**last - 1) * flat - (2 ** (last + 1) - 1) * (2 * rounds - 1) * steep)
    less = _best(market) - total_revenue(plan)
    return f"{less:g} less than the optimum, allowed {bound:g}" if less > bound + MARGIN else ""


def not_competitive(market: Market) -> str:
    """Compare the market's part of the optimum with the bound of Theorem 1 (ii)."""
    convex = replace(market, jobs=replace(market.jobs, utility="convex"))
    plan, rounds, last = _as_proven(convex)
    high, low, e = -market.jobs.slope.min(), -market.jobs.slope.max(), market.jobs.height
    bound = (4 * rounds) ** -high * 2.0 ** (-(last - 2) * (high - low)) * e.min() ** high / e.max() ** low
    part = total_revenue(plan) / _best(convex)
    return f"{part:.3g} of the optimum, at least {bound:.3g} is promised" if part < bound - MARGIN else ""


def infeasible(market: Market) -> str:
    """Return the first constraint of problem (3) that the plan breaks (Theorem 2)."""
    return next(iter(violations(market, planned(market))), "")


def not_by_income(market: Market) -> str:
    """Find a job whose cost is not below its ideal revenue (Fig 12)."""
    wrong = [s for s in planned(market).schedules if s.ideal <= s.cost]
    return (
        f"{market.jobs.job_id[wrong[0].job]} is worth {wrong[0].ideal:g} and costs {wrong[0].cost:g}" if wrong else ""
    )


def not_as_contributed(market: Market) -> str:
    """Compare the income of each tenant from each with Eqs. 2 and 8, slot by slot."""
    plan = planned(market)
    off = float(np.abs(plan.income - income_by_slot(plan, feasible_theta(market))).max())
    return f"an income is off by {off:g}" if off > MARGIN else ""


def free_ride(market: Market) -> str:
    """Find a job on others' idle resources that pays nothing."""
    free = [s for s in planned(market).schedules if s.is_shared and s.cost == 0]
    return f"{market.jobs.job_id[free[0].job]} runs on idle resources of all tenants and pays 0" if free else ""


def no_incentive(market: Market, is_own_priced: bool = True) -> str:
    """Find a tenant whose ideal gain in an interval is less than alone under the same algorithm (§4.1)."""
    together, alone = interval_gains(market, is_own_priced)
    for u in np.flatnonzero(together < alone - MARGIN):
        return f"tenant {u + 1} gains {together[u]:.4g} in ({TAU}, {2 * TAU}], alone {alone[u]:.4g}"
    return ""


def lie_that_pays(market: Market, is_own_priced: bool = True) -> str:
    """Find a job that its tenant gains more from if it reports fewer, larger chunks, the same work (Theorem 4)."""
    jobs, theta = market.jobs, feasible_theta(market)  # prices do not depend on a single report
    honest = gains(planned(market, is_own_priced, theta)).to_numpy()
    for job in range(len(jobs)):
        u, batches = int(jobs.tenant[job]), int(jobs.chunks[job] * jobs.batches[job])
        for chunks in (d for d in range(1, int(jobs.chunks[job])) if batches % d == 0):
            lied = planned(reported(market, job, chunks=chunks, batches=batches // chunks), is_own_priced, theta)
            got = gains(replace(lied, market=market)).to_numpy()[u]
            if got > honest[u] + MARGIN:
                return (
                    f"tenant {u + 1} gains {got:.4g} instead of {honest[u]:.4g} when it reports {jobs.job_id[job]} "
                    f"with D = {chunks}, M = {batches // chunks}"
                )
    return ""


def better_for_one(market: Market, is_own_priced: bool = True) -> str:
    """Find a job that could start earlier in its interval, while everything else and all payments stay (Theorem 5)."""
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


def far_from_optimum(market: Market) -> str:
    """Find a market that earns 0.6 of the optimum or less (Fig 5)."""
    got, best = total_revenue(planned(market)), _best(market)
    return f"revenue {got:g}, the optimum {best:g}" if best > 0 and got <= 0.6 * best + MARGIN else ""


def less_even(market: Market, rival: str) -> str:
    """Find a rival whose variance of revenue fairness over tenants is lower (Fig 8)."""
    ours, theirs = (float(revenue_fairness(plan).var()) for plan in (planned(market), simulate(market, rival)))
    return f"variance {ours:.3g}, under {rival} {theirs:.3g}" if ours > theirs + MARGIN else ""


class Claim(NamedTuple):
    """A statement of the paper, its place, and the function that finds a counter-example in a market."""

    where: str
    statement: str
    fails: Callable[..., str]


CLAIMS: Final = {
    "lambda rounds": Claim("Lemma 1", "λ rounds earn at least as much as the best single round.", not_enough_rounds),
    "approximation": Claim("Lemma 3", "A_maxIrev earns at least the best round's revenue over σ.", not_near_optimal),
    "linear bound": Claim("Theorem 1 (i)", "Linear: the optimum less the revenue is bounded.", too_far_from_optimum),
    "convex bound": Claim("Theorem 1 (ii)", "Convex: the part of the optimum is bounded below.", not_competitive),
    "feasibility": Claim("Theorem 2", "Every plan keeps all constraints of problem (3).", infeasible),
    "strategy-proofness": Claim("Theorem 4", "No false report of resource demands pays.", lie_that_pays),
    "Pareto efficiency": Claim("Theorem 5", "No tenant can gain more without a loss to another.", better_for_one),
    "sharing incentive": Claim("§4.1", "In each interval, no tenant gains less than alone.", no_incentive),
    "gain as you contribute": Claim("Eq. 2", "Payments are divided in proportion to idle shares.", not_as_contributed),
    "no free rides": Claim("§1", "Nobody uses idle resources of others for free.", free_ride),
    "admission control": Claim("Fig 12", "The ideal revenue of every admitted job is above its cost.", not_by_income),
    "near the optimum": Claim("Fig 5", "Revenue is more than 0.6 of the optimum.", far_from_optimum),
    "fairer than Gandiva_fair": Claim(
        "Fig 8", "Revenue is shared more evenly than under Gandiva_fair.", partial(less_even, rival="gandiva-fair")
    ),
    "fairer than HiveD": Claim(
        "Fig 8", "Revenue is shared more evenly than under HiveD.", partial(less_even, rival="hived")
    ),
}  # fmt: skip
"""Everything that is tried, by its name in tables."""

REPAIRED: Final = ("strategy-proofness", "Pareto efficiency", "sharing incentive")


def tried(seed: int) -> pd.DataFrame:
    """Try every claim on one random market; columns property, fails, repaired (whether it fails in the variant)."""
    market = random_market(seed)
    rows = [
        (name, bool(claim.fails(market)), bool(claim.fails(market, False)) if name in REPAIRED else np.nan)
        for name, claim in CLAIMS.items()
    ]
    return pd.DataFrame(rows, columns=["property", "fails", "repaired"]).astype({"repaired": float})


def smallest(property: str, *, examples: int = 1000) -> dict[str, str]:
    """Find the smallest market in which a claim fails, among so many and what hypothesis shrinks them to, in words."""
    fails = CLAIMS[property].fails
    settings = hypothesis.settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(hypothesis.HealthCheck)
    )
    try:
        market = hypothesis.find(markets(), lambda m: bool(fails(m)), settings=settings, random=Random(0))
    except hypothesis.errors.NoSuchExample:
        return {"counter_example": ""}
    return {"counter_example": f"{in_words(market)}: {fails(market)}"}


def planned(market: Market, is_own_priced: bool = True, theta: Theta | None = None) -> MarketPlan:
    """Plan a small market with lambda 1."""
    return posted_prices(market, theta=theta, rounds=1, is_own_priced=is_own_priced)


def interval_gains(market: Market, is_own_priced: bool = True) -> tuple[FloatArray, FloatArray]:
    """Return each tenant's ideal gain in the second interval, together and alone, each of shape (U,)."""
    theta, tenants = feasible_theta(market), len(market.worker_quota)
    together, income = schedule_batch(market, _worth_something(market), TAU, 1, theta, is_own_priced)
    alone = batch_sche(market, theta=theta, rounds=1, is_own_priced=is_own_priced).schedules
    parts = []
    for schedules in (together, [s for s in alone if s.start < 2 * TAU]):
        of = [int(market.jobs.tenant[s.job]) for s in schedules]
        parts.append(np.bincount(of, [s.ideal - s.cost for s in schedules], tenants).astype(np.float64))
    return parts[0] + income.sum(axis=1) - income.diagonal(), parts[1]


def income_by_slot(plan: MarketPlan, theta: Theta) -> FloatArray:
    """Return what each tenant earns from each, from the schedules alone, shape (U, U) (Eqs. 2 and 8).

    In a slot, a job pays the price of what those admitted before it hold there, for each of its units.
    """
    m = plan.market
    total, base = np.array([m.workers.sum(), m.ps.sum()]), np.array(theta)
    out = np.zeros_like(plan.income)
    for t in range(makespan(plan)):
        used, unused = np.zeros(2), np.array([m.worker_quota, m.ps_quota])
        running = [s for s in plan.schedules if s.start <= t < s.end]
        for s in running:
            if not s.is_shared:
                unused[:, m.jobs.tenant[s.job]] -= s.workers.sum(), s.ps.sum()
        for s in running:
            units = np.array([s.workers.sum(), s.ps.sum()])
            if s.is_shared:
                pays = units * (base ** (used / total) - 1)
                out[:, m.jobs.tenant[s.job]] += (unused.T / unused.sum(axis=1)) @ pays
            used += units
    return out


def reported(market: Market, job: int, **columns: int) -> Market:
    """Return the market with one job reported with other numbers."""
    said = {name: getattr(market.jobs, name).copy() for name in columns}
    for name, value in columns.items():
        said[name][job] = value
    return replace(market, jobs=replace(market.jobs, **said))


def in_words(market: Market) -> str:
    """Describe a small market: how many servers each tenant has, and the jobs."""
    j = market.jobs
    jobs = "; ".join(
        f"{j.job_id[i]} of tenant {j.tenant[i] + 1}, D = {j.chunks[i]}, E = {j.epochs[i]}, worth "
        f"{j.height[i]:g} − {-j.slope[i]:g} t"
        for i in range(len(j))
    )
    owned = " and ".join(f"{n} {'server' if n == 1 else 'servers'}" for n in market.ps_quota)
    return f"{owned} ({jobs})"


def _worth_something(market: Market) -> list[Demand]:
    return [d for d in (demand(market, job) for job in range(len(market.jobs))) if d.revenue > 0]


def _as_proven(market: Market) -> tuple[MarketPlan, int, int]:
    """Return the plan with the lambda of Lemma 1, this lambda, and the least L with all done by tau_L = 2**(L-1)."""
    rounds = rounds_needed(_worth_something(market), feasible_theta(market))
    plan = posted_prices(market, rounds=rounds)
    return plan, rounds, math.ceil(math.log2(max(makespan(plan), 1))) + 1


def _best_round(market: Market) -> float:
    """Return the largest ideal revenue of a round (Definition 1); NaN if no plan was found."""
    now = replace(market, jobs=replace(market.jobs, arrival=np.zeros_like(market.jobs.arrival)))
    plan = optimum(now, horizon=TAU)[1]
    return float("nan") if plan is None else total_revenue(plan)


def _best(market: Market) -> float:
    """Return the largest revenue of the first `FAR` slots; NaN if no plan was found."""
    plan = optimum(market, horizon=FAR)[1]
    return float("nan") if plan is None else total_revenue(plan)


def _earlier(market: Market, s: Schedule) -> Iterator[Schedule]:
    """Yield the same job earlier in its interval (2**l, 2**(l+1)], on its servers or, from one server, on any."""
    begin = 1 << (int(s.start).bit_length() - 1)
    for start in range(begin, s.start):
        end = start + s.end - s.start
        yield replace(s, start=start, end=end)
        if len(s.server) == 1:
            yield from (replace(s, start=start, end=end, server=np.array([k])) for k in range(len(market.workers)))
