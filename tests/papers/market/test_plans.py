"""What cannot be a market, each constraint of a plan, broken once, and what a plan earned and for whom."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from market_small import market as small
from market_small import with_jobs

from astraea.core.errors import InputError
from papers.market import metrics
from papers.market.constraints import violations
from papers.market.model import Market, Plan, Schedule, checked
from papers.market.policies.astraea.batches import astraea_market
from papers.market.study.example import small_market, worked_example

M = worked_example()
GOOD = Schedule(1, 8, 12, np.array([2, 3]), np.array([2, 1]), np.array([1, 0]), is_shared=True)


def of(*schedules: Schedule, market: Any = M) -> list[str]:
    return violations(market, Plan(market, schedules, np.zeros((2, 2))))


def but(**changes: Any) -> Schedule:
    return dataclasses.replace(GOOD, **{k: np.array(v) if isinstance(v, list) else v for k, v in changes.items()})


@pytest.mark.parametrize(
    "schedule, said",
    [
        (but(end=8), "(3m), (3n) job 'j12': it must end after its start 8, got 8"),
        (but(start=2), "(3l) job 'j12': it starts at 2, before it arrives at 3"),
        (but(start=9), "(3j), (3k) job 'j12': 3 workers, distributed, train 4.5 mini-batches"),
        (but(ps=[0, 0]), "(3g) job 'j12': it needs a parameter server, got 0"),
        (but(workers=[1, 2]), "(3i) job 'j12', server 2: workers elsewhere need 2 Mbit/s, its 1"),
        (but(workers=[2, -1]), "(3o) job 'j12': workers must be whole numbers of at least 0, got [2, -1]"),
        (but(server=[2, 2]), "(3o) job 'j12': its servers must be different ones from 0 to 3, got [2, 2]"),
        (but(server=[2, 4]), "(3o) job 'j12': its servers must be different ones from 0 to 3, got [2, 4]"),
        (but(start=-1), "(3o) job 'j12': its start must be at least 0, got -1"),
        (but(job=4), "(3o) job 4: it must be one of the 4 jobs"),
        (but(workers=[3, 1]), "(3e) job 'j12': 4 workers, allowed are its 3 chunks"),
        (but(workers=[3, 1]), "(3c) server 2, slot 9: 3 workers, allowed 2"),
        (but(ps=[2, 0]), "(3d) server 2, slot 9: 2 parameter servers, allowed 1"),
    ],
)
def test_one_broken(schedule: Schedule, said: str) -> None:
    assert any(said in line for line in of(schedule))


def test_none_broken_or_one_schedule_too_many() -> None:
    assert of() == of(GOOD) == []
    assert "(5c) job 'j12': it must have one schedule at most, got another" in of(GOOD, but(start=12, end=16))


def test_shares() -> None:
    small = dataclasses.replace(M, worker_quota=np.array([2, 6]), ps_quota=np.array([0, 4]))
    assert of(GOOD, market=small) == []
    assert of(but(is_shared=False), market=small) == [
        "(3a) own share of tenant 0, slot 9: 3 workers, allowed 2",
        "(3b) own share of tenant 0, slot 9: 1 parameter servers, allowed 0",
    ]
    big = with_jobs(M, chunks=np.array([2, 9, 2, 30]))
    many = but(server=[0, 1, 2, 3], workers=[3, 2, 2, 2], ps=[2, 1, 1, 1], end=99)
    said = of(many, market=big)
    assert "(3a) all tenants, slot 9: 9 workers, allowed 8" in said
    assert "(3b) all tenants, slot 9: 5 parameter servers, allowed 4" in said


def test_one_after_the_other_on_the_same_server() -> None:
    a = Schedule(0, 8, 10, np.array([0]), np.array([2]), np.array([1]))
    b = Schedule(2, 10, 12, np.array([0]), np.array([2]), np.array([1]))
    assert of(a, b) == []
    assert "(3c) server 0, slot 10: 4 workers, allowed 2" in of(a, dataclasses.replace(b, start=9))


def market(**changes: Any) -> Market:
    return dataclasses.replace(M, **changes)


def jobs(**changes: Any) -> Market:
    return with_jobs(M, **changes)


@pytest.mark.parametrize(
    "bad, said",
    [
        (market(worker_quota=np.array([4, 3])), "worker_quota must add up to the 8 workers of the servers, got 7"),
        (market(ps_quota=np.array([4])), "ps_quota must have 2 values, one a tenant, got shape (1,)"),
        (market(workers=np.array([9, -1, 0, 0])), "server 1: workers must be a whole number of at least 0, got -1"),
        (market(ps_bandwidth=0.0), "ps_bandwidth must be above 0 [Mbit/s], got 0.0"),
        (
            market(ps=np.zeros(4, np.int64), ps_quota=np.zeros(2, np.int64)),
            "job 'j11': it fits nowhere; a server must host a worker and a parameter server, "
            "or parameter servers with the bandwidth of a worker on another server",
        ),
        (jobs(slope=np.array([-1, -1, 2.0, -1])), "slope must be below 0: a job that ends later is worth less, got 2"),
        (jobs(tenant=np.array([0, 2, 0, 0])), "job 'j12': tenant must be a whole number from 0 to 1, got 2"),
        (jobs(chunks=np.array([0, 2, 1, 1])), "job 'j11': chunks must be a whole number of at least 1, got 0"),
        (jobs(train=np.array([1, 1, np.nan, 1])), "job 'j21': train must be a time above 0, got nan"),
        (jobs(job_id=("a", "a", "b", "c")), "job_id must be unique, got 4 jobs with 3 names"),
        (jobs(utility="concave"), "utility must be one of linear, convex, got 'concave'"),
        (jobs(job_id=()), "there is no job in it"),
    ],
)
def test_no_market(bad: Market, said: str) -> None:
    with pytest.raises(InputError) as err:
        checked(bad)
    assert str(err.value).startswith("market 'worked example'")
    assert str(err.value).endswith(said)


@pytest.mark.parametrize(
    "settings, said",
    [
        ({"theta": (2.0,)}, "theta must be two numbers, theta_w and theta_p, got (2.0,)"),
        ({"theta": (1.0, 16.0)}, "theta_w: must be above 1, so that what is in use has a price, got 1.0"),
        ({"theta": (16.0, np.nan)}, "theta_p: must be above 1, so that what is in use has a price, got nan"),
        ({"rounds": 0}, "rounds: lambda must be a whole number of at least 1, got 0"),
    ],
)
def test_no_setting(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as err:
        astraea_market(M, **{"theta": (16.0, 16.0)} | settings)
    assert str(err.value) == said


def test_a_queue_that_few_rounds_never_end() -> None:
    """One worker, one job a round that is worth anything, and one round an interval."""
    n = 60
    queue = small_market("small", [1], [1], [(1, 1)], chunks=[1] * n, epochs=9, height=19.0)
    with pytest.raises(InputError, match=r"'small': 1125899906842624 slots are too short for 1 rounds.*; \d+ jobs"):
        astraea_market(queue, theta=(16.0, 16.0), rounds=1)
    assert len(astraea_market(queue, theta=(16.0, 16.0), rounds=n).schedules) == n


def _plan() -> Plan:
    """Three tenants' jobs on 4 workers and 2 parameter servers; the last never runs, the second pays 8."""
    m = small([2, 2, 1, 1], [2] * 4, tenant=[0, 1, 1, 2], arrival=[0, 1, 3, 0], quota=[2, 1, 1], ps_quota=[1, 0, 1])
    one, two = np.array([0]), np.array([2])
    schedules = (
        Schedule(0, 0, 2, one, two, np.array([1])),
        Schedule(1, 1, 3, np.array([1]), two, np.array([1]), 8.0, True, 90.0),
        Schedule(2, 4, 5, one, two, np.array([1])),
    )
    income = np.zeros((3, 3))
    income[:, 1] = [4.0, 1.0, 3.0]
    return Plan(m, schedules, income)


def test_what_a_plan_earned_and_for_whom() -> None:
    plan = _plan()
    assert plan.revenues.tolist() == [98.0, 98.0, 98.0, 0.0]  # from arrival; nothing for a job that never runs
    assert metrics.total_revenue(plan) == 294.0
    # the second has the ideal revenue of its round; the others run for two slots and one
    assert metrics.ideal_revenue(plan) == 98.0 + 90.0 + 99.0
    gains = metrics.gains(plan)
    assert gains.to_dict() == {"tenant 1": 98.0 + 4.0, "tenant 2": 196.0 + 1.0 - 8.0, "tenant 3": 3.0}
    assert gains.sum() == 294.0
    assert metrics.revenue_fairness(plan) == pytest.approx([102 / 294 / 0.5, 189 / 294 / 0.125, 3 / 294 / 0.375])
    assert metrics.makespan(plan) == 5
    assert metrics.utilization(plan, 9).tolist() == [0.5, 1.0, 0.5, 0.0, 0.5]
    assert metrics.utilization(plan, 2).tolist() == [0.5, 1.0]


def test_a_late_job_costs_and_convex_revenue_never_ends() -> None:
    plan = _plan()
    late = dataclasses.replace(plan.schedules[0], start=148, end=150)
    assert dataclasses.replace(plan, schedules=(late,)).revenues[0] == -50.0
    convex = with_jobs(plan.market, utility="convex", slope=np.full(4, -2.0))
    assert dataclasses.replace(plan, market=convex).revenues.tolist() == [2500.0] * 3 + [0.0]


def test_no_revenue_fairness_without_revenue_or_share() -> None:
    empty = dataclasses.replace(_plan(), schedules=())
    assert np.isnan(metrics.revenue_fairness(empty)).all()
    assert metrics.makespan(empty) == 0 and len(metrics.utilization(empty, 9)) == 0
    nothing = dataclasses.replace(_plan().market, worker_quota=np.array([2, 2, 0]), ps_quota=np.array([1, 1, 0]))
    alpha = metrics.revenue_fairness(dataclasses.replace(_plan(), market=nothing))
    assert np.isnan(alpha).tolist() == [False, False, True]
