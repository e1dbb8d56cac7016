"""Markets: invalid ones, and those sampled from a trace. Plans: each constraint broken once, and their revenue."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from market_small import market as small
from synthetic_traces import synthetic

from astraea.core.errors import InputError
from astraea.traces.trace import Trace
from papers.market import metrics
from papers.market.constraints import violations
from papers.market.example import small_market, worked_example
from papers.market.model import Market, MarketPlan, Schedule, checked
from papers.market.policies.batches import posted_prices
from papers.market.workload import MIX, REAL, WHOLE, sample_market

M = worked_example()
GOOD = Schedule(1, 8, 12, np.array([2, 3]), np.array([2, 1]), np.array([1, 0]), is_shared=True)


def of(*schedules: Schedule, market: Any = M) -> list[str]:
    return violations(market, MarketPlan(market, schedules, np.zeros((2, 2))))


def changed(one: Any, **changes: Any) -> Any:
    """Replace values; lists become arrays."""
    return dataclasses.replace(one, **{k: np.array(v) if isinstance(v, list) else v for k, v in changes.items()})


but = partial(changed, GOOD)
cluster = partial(changed, M)


def jobs(**changes: Any) -> Any:
    return cluster(jobs=changed(M.jobs, **changes))


@pytest.mark.parametrize(
    "schedule, said",
    [
        (but(end=8), "(3m), (3n) job 'j12': it must end after its start 8, got 8"),
        (but(start=2), "(3l) job 'j12': it starts at 2, before it arrives at 3"),
        (but(start=9), "(3j), (3k) job 'j12': 3 workers, distributed, train 4.5 mini-batches"),
        (but(ps=[0, 0]), "(3g) job 'j12': it needs a parameter server, got 0"),
        (but(workers=[1, 2]), "(3i) job 'j12', server 2: workers elsewhere need 2 Mbit/s, its 1"),
        (but(workers=[2, -1]), "(3o) job 'j12': workers must be whole numbers of at least 0, got [2, -1]"),
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


def test_shares_and_servers_are_kept_by_all_together() -> None:
    uneven = cluster(worker_quota=[2, 6], ps_quota=[0, 4])
    assert of(GOOD, market=uneven) == []
    assert of(but(is_shared=False), market=uneven) == [
        "(3a) own share of tenant 0, slot 9: 3 workers, allowed 2",
        "(3b) own share of tenant 0, slot 9: 1 parameter servers, allowed 0",
    ]
    many = but(server=[0, 1, 2, 3], workers=[3, 2, 2, 2], ps=[2, 1, 1, 1], end=99)
    said = of(many, market=jobs(chunks=[2, 9, 2, 30]))
    assert "(3a) all tenants, slot 9: 9 workers, allowed 8" in said
    assert "(3b) all tenants, slot 9: 5 parameter servers, allowed 4" in said
    # one after the other on the same server
    a = Schedule(0, 8, 10, np.array([0]), np.array([2]), np.array([1]))
    b = Schedule(2, 10, 12, np.array([0]), np.array([2]), np.array([1]))
    assert of(a, b) == []
    assert "(3c) server 0, slot 10: 4 workers, allowed 2" in of(a, changed(b, start=9))


@pytest.mark.parametrize(
    "bad, said",
    [
        (cluster(worker_quota=[4, 3]), "worker_quota must add up to the 8 workers of the servers, got 7"),
        (cluster(ps_quota=[4]), "ps_quota must have 2 values, one a tenant, got shape (1,)"),
        (cluster(workers=[9, -1, 0, 0]), "server 1: workers must be a whole number of at least 0, got -1"),
        (cluster(ps_bandwidth=0.0), "ps_bandwidth must be above 0 [Mbit/s], got 0.0"),
        (
            cluster(ps=[0] * 4, ps_quota=[0] * 2),
            "job 'j11': it fits nowhere; a server must host a worker and a parameter server, "
            "or parameter servers with the bandwidth of a worker on another server",
        ),
        (jobs(slope=[-1, -1, 2.0, -1]), "slope must be below 0: a job that ends later is worth less, got 2"),
        (jobs(tenant=[0, 2, 0, 0]), "job 'j12': tenant must be a whole number from 0 to 1, got 2"),
        (jobs(train=[1, 1, np.nan, 1]), "job 'j21': train must be a time above 0, got nan"),
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
        ({"theta": (16.0, np.nan)}, "theta_p: must be above 1, so that what is in use has a price, got nan"),
        ({"rounds": 0}, "rounds: lambda must be a whole number of at least 1, got 0"),
    ],
)
def test_no_setting(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as err:
        posted_prices(M, **{"theta": (16.0, 16.0)} | settings)
    assert str(err.value) == said


def test_a_queue_that_few_rounds_never_end() -> None:
    """One worker, one job a round that is worth anything, and one round an interval."""
    n = 60
    queue = small_market("small", [1], [1], [(1, 1)], chunks=[1] * n, epochs=9, height=19.0)
    with pytest.raises(InputError, match=r"'small': 1125899906842624 slots are too short for 1 rounds.*; \d+ jobs"):
        posted_prices(queue, theta=(16.0, 16.0), rounds=1)
    assert len(posted_prices(queue, theta=(16.0, 16.0), rounds=n).schedules) == n


def three_jobs() -> MarketPlan:
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
    return MarketPlan(m, schedules, income)


def test_what_a_plan_earned_and_for_whom() -> None:
    plan = three_jobs()
    assert plan.revenues.tolist() == [98.0, 98.0, 98.0, 0.0]  # from arrival; nothing for a job that never runs
    assert metrics.total_revenue(plan) == 294.0
    # the second has the ideal revenue of its round; the others run for two slots and one
    assert metrics.ideal_revenue(plan) == 98.0 + 90.0 + 99.0
    gains = metrics.gains(plan)
    # of the 8 that the second tenant pays, it would get 1 itself, which is no income (§5.1)
    assert gains.to_dict() == {"tenant 1": 98.0 + 4.0, "tenant 2": 196.0 - 8.0, "tenant 3": 3.0}
    alpha = [102 / 294 / 0.5, 188 / 294 / 0.125, 3 / 294 / 0.375]
    assert metrics.revenue_fairness(plan) == pytest.approx(alpha)
    assert metrics.makespan(plan) == 5
    assert metrics.utilization(plan, 9).tolist() == [0.5, 1.0, 0.5, 0.0, 0.5]
    assert metrics.utilization(plan, 2).tolist() == [0.5, 1.0]
    assert metrics.summary(plan) == pytest.approx({
        "revenue": 294.0, "ideal_revenue": 287.0, "floored_revenue": 294.0, "revenue_per_job": 73.5,
        "variance": np.var(alpha), "makespan": 5, "peak": 1.0, "shared": 1,
    })  # fmt: skip
    # a late job costs, and convex revenue never ends
    late = changed(plan.schedules[0], start=148, end=150)
    assert changed(plan, schedules=(late,)).revenues[0] == -50.0
    lost = metrics.summary(changed(plan, schedules=(late, *plan.schedules[1:])))
    assert (lost["revenue"], lost["floored_revenue"]) == (146.0, 196.0)
    convex = changed(plan.market, jobs=changed(plan.market.jobs, utility="convex", slope=[-2.0] * 4))
    assert changed(plan, market=convex).revenues.tolist() == [2500.0] * 3 + [0.0]


def test_no_revenue_fairness_without_revenue_or_share() -> None:
    empty = changed(three_jobs(), schedules=())
    assert np.isnan(metrics.revenue_fairness(empty)).all()
    assert metrics.makespan(empty) == 0 and len(metrics.utilization(empty, 9)) == 0
    nothing = changed(three_jobs().market, worker_quota=[2, 2, 0], ps_quota=[1, 1, 0])
    alpha = metrics.revenue_fairness(changed(three_jobs(), market=nothing))
    assert np.isnan(alpha).tolist() == [False, False, True]


def three_tenants() -> Trace:
    """Jobs of three tenants, one every half hour from 1000 s on; b is the smallest."""
    columns = {
        "job_id": [f"j{i}" for i in range(12)],
        "tenant": ["a", "b", "c"] * 4,
        "demand": 1,
        "submit_time": 1000.0 + 1800.0 * np.arange(12),
        "duration": 60.0,
    }
    return Trace.from_frame(pd.DataFrame(columns), name="three", weights={"a": 5.0, "b": 1.0, "c": 4.0})


def test_the_smallest_tenant_and_its_jobs_are_left_out() -> None:
    market = sample_market(three_tenants(), jobs=8, servers=3, tenants=2, seed=0)
    assert market.jobs.job_id == ("j0", "j2", "j3", "j5", "j6", "j8", "j9", "j11")
    assert market.jobs.tenant.tolist() == [0, 1] * 4
    # half hours 0, 2, 3, 5, ... since the first of them
    assert market.jobs.arrival.tolist() == [0, 1, 1, 2, 3, 4, 4, 5]
    assert market.worker_quota.tolist() == [16, 8]  # whole servers in parts of 5 : 4, 1.67 and 1.33
    assert market.ps_quota.tolist() == [2, 1]
    assert market.workers.tolist() == [8, 8, 8]


def test_a_stretch_is_contiguous_and_starts_at_0() -> None:
    firsts = set()
    for seed in range(8):
        market = sample_market(three_tenants(), jobs=4, servers=3, tenants=3, seed=seed)
        number = [int(name[1:]) for name in market.jobs.job_id]
        assert number == list(range(number[0], number[0] + 4))
        assert market.jobs.arrival.tolist() == [0, 0, 1, 1]
        firsts.add(number[0])
        assert len(sample_market(three_tenants(), jobs=12, servers=3, tenants=3, seed=seed).jobs) == 12
    assert len(firsts) > 2
    assert len(sample_market(three_tenants(), jobs=1, servers=1, tenants=1, seed=0).jobs) == 1


@pytest.mark.parametrize("utility", ["linear", "convex"])
def test_everything_drawn_is_in_its_printed_range(utility: str) -> None:
    market = sample_market(synthetic("philly"), jobs=3000, seed=5, utility=utility, chunks="drawn")  # type: ignore[arg-type]
    for name, (low, high) in WHOLE.items():
        values = getattr(market.jobs, name)
        assert values.min() == low and values.max() == high, name
    slope = "slope" if utility == "linear" else "power"
    for name in ("train", "update", "size", "height", "slope"):
        values, (least, most) = getattr(market.jobs, name), REAL[slope if name == "slope" else name]
        assert least <= values.min() < least + 0.01 * (most - least), name
        assert most - 0.01 * (most - least) < values.max() <= most, name
    assert len(market.worker_quota) == 14
    assert market.worker_quota.sum() == 800 and market.ps_quota.sum() == 100


def test_a_property_depends_on_the_seed_alone() -> None:
    trace = synthetic("philly")
    few = sample_market(trace, jobs=50, seed=3, utility="convex", servers=10, tenants=5, mixed=True, chunks="drawn")
    many = sample_market(trace, jobs=80, seed=3, chunks="drawn")
    for name in (*WHOLE, "train", "update", "size", "height"):
        assert np.array_equal(getattr(few.jobs, name), getattr(many.jobs, name)[:50]), name
    assert few.worker_bandwidth == many.worker_bandwidth and few.ps_bandwidth == many.ps_bandwidth
    other = sample_market(trace, jobs=50, seed=4, chunks="drawn")
    assert not np.array_equal(few.jobs.train, other.jobs.train)


def test_chunks_can_be_what_the_trace_asked_for() -> None:
    trace = synthetic("philly")
    asked = dict(zip(trace.job_id, trace.demand, strict=True))
    market = sample_market(trace, jobs=200, seed=2)
    assert market.jobs.chunks.tolist() == [asked[name] for name in market.jobs.job_id]


def test_every_tenant_brings_in_whole_servers() -> None:
    for servers, owned in ((3, [1, 1, 1]), (4, [2, 1, 1]), (10, [5, 1, 4]), (20, [10, 2, 8])):
        for mixed in (False, True):
            market = sample_market(three_tenants(), jobs=4, servers=servers, tenants=3, seed=0, mixed=mixed)
            assert market.ps_quota.tolist() == owned
            parts = np.split(market.workers, np.cumsum(owned)[:-1])
            assert market.worker_quota.tolist() == [part.sum() for part in parts]
    # those of the trace if mixed
    workers = sample_market(synthetic("philly"), jobs=5, servers=550, seed=0, mixed=True).workers
    large, few = MIX
    assert np.count_nonzero(workers == 8) == int(large * 550) and set(workers.tolist()) == {8, few}
    assert abs(workers.sum() - 2490) < 10
    assert np.count_nonzero(workers[:100] == 8) == 42 and np.count_nonzero(workers[100:150] == 8) == 21


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"servers": 2}, "each of 3 tenants brings in a server, so 2 servers are too few"),
        ({"tenants": 4}, "three: it has 3 tenants, so 4 cannot be taken"),
        ({"jobs": 9, "tenants": 2}, "three: its 2 largest tenants have 8 jobs, so 9 cannot be taken"),
        ({"chunks": "none"}, "chunks must be one of drawn, requested, got 'none'"),
        ({"jobs": 0}, "the number of jobs must be a whole number of at least 1, got 0"),
    ],
)
def test_bad_numbers_are_refused(change: dict[str, object], sentence: str) -> None:
    arguments = {"jobs": 2, "servers": 4, "tenants": 3, "seed": 0} | change
    with pytest.raises(InputError, match=f"^{sentence}$"):
        sample_market(three_tenants(), **arguments)  # type: ignore[arg-type]
