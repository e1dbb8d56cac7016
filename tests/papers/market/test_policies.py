"""Posted prices on every market, Lemma 2 against all schedules, the worked example of §4.2-§4.4; the baselines."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from market_small import market, spans

from astraea.core.errors import InputError
from papers.market.constraints import violations
from papers.market.example import (
    EXAMPLE_ROUNDS,
    J11,
    J12,
    J21,
    J22,
    SLOTS,
    THETA,
    example_table,
    small_market,
    worked_example,
)
from papers.market.model import Market, MarketPlan
from papers.market.policies import fair
from papers.market.policies.batch_sche import batch_sche
from papers.market.policies.batches import division, posted_prices, rounds_needed
from papers.market.policies.capacity import Round, demand, empty_round, feasible_theta, least, occupy, price
from papers.market.policies.fair import gandiva_fair, gangs, hived
from papers.market.policies.max_revenue import NOWHERE, best_schedule, cost, min_cost_d, spread


@st.composite
def markets(draw: st.DrawFn) -> Market:
    """Up to 6 jobs of 3 tenants on up to 4 servers."""
    servers, tenants, n = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 6))
    workers = draw(st.lists(st.integers(1, 3), min_size=servers, max_size=servers))
    ps = draw(st.lists(st.integers(1, 2), min_size=servers, max_size=servers))
    quota = []
    for units in (workers, ps):
        cuts = sorted(draw(st.lists(st.integers(0, sum(units)), min_size=tenants - 1, max_size=tenants - 1)))
        quota.append(np.diff([0, *cuts, sum(units)]))
    values = {
        "tenant": st.integers(0, tenants - 1),
        "arrival": st.integers(0, 9),
        "epochs": st.integers(1, 3),
        "chunks": st.integers(1, 4),
        "batches": st.integers(1, 2),
        "slope": st.sampled_from([-4.0, -2.0, -1.0]),
        "height": st.sampled_from([20.0, 60.0, 100.0]),
    }
    columns = {name: draw(st.lists(value, min_size=n, max_size=n)) for name, value in values.items()}
    utility = draw(st.sampled_from(["linear", "convex"]))
    m = small_market("small", workers, ps, np.array(quota).T, utility=utility, **columns)
    return dataclasses.replace(m, ps_bandwidth=draw(st.sampled_from([0.5, 1.0, 2.0])))


FAIR: list[Callable[[Market], MarketPlan]] = [gandiva_fair, hived]
THETAS = st.sampled_from([None, (2.0, 2.0), (16.0, 16.0), (1000.0, 50.0)])


@given(markets(), THETAS, st.integers(1, 3), st.booleans())
def test_every_plan(m: Market, theta: tuple[float, float] | None, rounds: int, is_own_priced: bool) -> None:
    plan = posted_prices(m, theta=theta, rounds=rounds, is_own_priced=is_own_priced)
    assert violations(m, plan) == []
    paid = np.zeros(len(m.worker_quota))
    for s in plan.schedules:
        assert s.ideal > s.cost >= 0  # admission control, Fig 12
        assert s.is_shared or s.cost == 0
        paid[m.jobs.tenant[s.job]] += s.cost
    assert plan.income.sum(axis=0) == pytest.approx(paid)
    assert (plan.income >= 0).all()
    # all run in the end that are worth anything alone on the empty cluster
    assert {s.job for s in plan.schedules} == {j for j in range(len(m.jobs)) if demand(m, j).revenue > 0}
    # within an interval (lambda tau, 2 lambda tau] and a round of tau slots
    for s in plan.schedules:
        tau = 2 ** int(math.log2(s.start // rounds))
        assert m.jobs.arrival[s.job] <= tau
        assert s.start // tau == (s.end - 1) // tau


def naive_best(m: Market, r: Round, job: int, whose: int, ideal: np.ndarray) -> float:
    """Greatest income over every start, number of workers and server for the parameter servers."""
    best = 0.0
    slots = len(ideal) - 1
    for a, w in itertools.product(range(slots), range(1, int(m.jobs.chunks[job]) + 1)):
        for is_central in (0, 1):
            b = a + int(m.duration(job, w)[is_central])
            if b > slots:
                continue
            free_w, free_p = r.free[0][0, a:b].min(axis=0), r.free[1][0, a:b].min(axis=0)
            own_w, own_p = r.own[0][0, a:b, whose].min(), r.own[1][0, a:b, whose].min()
            if own_w < w:
                continue
            for s in range(len(free_w)):
                for local in range(min(w, free_w[s]) + 1):
                    if (local == w) != bool(is_central) or free_w.sum() - free_w[s] < w - local:
                        continue
                    ps = max(1, math.ceil((w - local) * m.worker_bandwidth / m.ps_bandwidth))
                    if ps <= min(free_p[s], own_p):
                        paid = w * np.diff(r.sums[0])[a:b].sum() + ps * np.diff(r.sums[1])[a:b].sum()
                        best = max(best, ideal[b] - paid)
    return best


@given(markets(), st.data())
def test_lemma_2_optimal_schedule(m: Market, data: st.DataObject) -> None:
    slots = data.draw(st.integers(1, 9))
    r = empty_round(m, slots, (16.0, 4.0))
    everyone = len(m.worker_quota)
    for _ in range(data.draw(st.integers(0, 3))):
        a = data.draw(st.integers(0, slots - 1))
        b = data.draw(st.integers(a + 1, slots))
        s = data.draw(st.integers(0, len(m.workers) - 1))
        used = np.zeros(len(m.workers), np.int64)
        used[s] = min(1, least(r.free[0], a, b, s), least(r.free[1], a, b, s))
        occupy(r, a, b, everyone, used, used)
    for job in range(len(m.jobs)):
        ideal = m.jobs.ideal(job, slots)
        found = best_schedule(r, everyone, ideal, demand(m, job))
        expected = naive_best(m, r, job, everyone, ideal)
        assert (found.income if found.server != NOWHERE else 0.0) == pytest.approx(expected, abs=1e-6)


def test_several_types() -> None:
    """Eq. 11: a job with type-1 workers pays nothing for type 0."""
    unused = np.array([[[4, 4]], [[1, 3]], [[2, 0]]])
    assert division(unused, np.array([[0.0], [8.0], [5.0]])).tolist() == [2 + 5, 6]
    with pytest.raises(ValueError, match="no tenant left any unused"):
        division(unused * 0, np.array([[0.0], [8.0], [5.0]]))


def test_maximal_prices_keep_every_job_out() -> None:
    m = small_market("small", [2, 2], [1, 1], [(4, 2)], chunks=[3, 1], height=[50.0, 100.0], epochs=[1, 4])
    theta = feasible_theta(m)
    assert price(4, 4, theta[0]) == theta[0] - 1 == 23  # one worker for four slots, worth 100 - 8
    full = empty_round(m, 16, theta)
    full.sums[0][:] = np.arange(17) * (theta[0] - 1)
    full.sums[1][:] = np.arange(17) * (theta[1] - 1)
    for job in range(2):
        assert best_schedule(full, 1, m.jobs.ideal(job, 16), demand(m, job)).server == NOWHERE
    assert feasible_theta(m, 0.8)[0] - 1 == pytest.approx(0.8 * (theta[0] - 1))


def test_a_job_may_take_the_whole_cluster() -> None:
    d = demand(market([1], [4], servers=2, reach=2.0), 0)
    assert d.distributed[1:].tolist() == [4, 2, 2, 1] and d.central[1:3].tolist() == [4, 2]


def test_lambda_of_lemma_1() -> None:
    m = small_market("small", [1], [1], [(1, 1)], chunks=[1, 1], height=[100.0, 51.0])
    theta = (math.e, math.e)
    # sigma is 4, (98 + 49) / 49 = 3 and each round leaves at most 3/4
    demands = [demand(m, job) for job in range(2)]
    assert rounds_needed(demands, theta) == math.ceil(math.log(3) / math.log(4 / 3)) + 1 == 5
    assert rounds_needed(demands, (1.1, 1.1)) == 1


EXAMPLE = worked_example()
S1, S2, S3, S4 = range(4)
EVERYONE = 2


def chosen(r: Round, job: int, whose: int) -> tuple[object, ...]:
    return best_schedule(r, whose, EXAMPLE.jobs.ideal(job, SLOTS), demand(EXAMPLE, job))


def test_first_jobs_distributed() -> None:
    r, needed = empty_round(EXAMPLE, SLOTS, THETA), EXAMPLE.ps_needed(2)
    assert min_cost_d(r, 0, 4, 2, 2, needed) == (S1, 1)
    assert spread(r, 0, 4, 2, S1, False).tolist() == [1, 1, 0, 0]
    assert cost(r, 0, 4, 2, 1) == 0
    occupy(r, 0, 4, 0, np.array([1, 1, 0, 0]), np.array([1, 0, 0, 0]))
    # then j21 likewise; the text has it on s3 and s4, but line 16 starts with the servers that have fewest free
    # workers, which are s1 and s2
    assert min_cost_d(r, 0, 4, 2, 2, needed) == (S2, 1)
    assert spread(r, 0, 4, 2, S2, False).tolist() == [1, 1, 0, 0]


def test_own_shares_and_the_job_that_pays() -> None:
    r = empty_round(EXAMPLE, SLOTS, THETA)
    assert chosen(r, J11, 0) == (0, 2, 2, 1, S1, True, 96.0)
    occupy(r, 0, 2, 0, np.array([2, 0, 0, 0]), np.array([1, 0, 0, 0]))
    start, end, workers, ps, _, is_central, income = chosen(r, J21, 1)
    # "any server" of line 7: the text takes s2; s1 is free again and as good
    assert (start, end, workers, ps, is_central, income) == (2, 4, 2, 1, True, 92.0)
    # §4.3 says that its own share is not enough for j12; two workers of one server do it in three slots
    assert chosen(r, J12, 0) == (1, 4, 2, 1, S2, True, 89.0)  # 92 - 3 for the one slot that has a price
    occupy(r, 2, 4, 1, np.array([0, 2, 0, 0]), np.array([0, 1, 0, 0]))
    assert min_cost_d(r, 0, 4, 3, 3, EXAMPLE.ps_needed(3)) == (S3, 1)
    assert spread(r, 0, 4, 3, S3, False).tolist() == [0, 0, 2, 1]
    assert r.unused.sum(axis=2).tolist() == [[6] * 4, [3] * 4]  # a_w and a_p
    start, end, workers, _, _, is_central, income = chosen(r, J12, EVERYONE)
    assert (start, end, workers, is_central, income) == (0, 3, 2, True, 85.0)  # 94 - 9, more than the paper's 76


def test_every_number_of_the_example_is_the_papers() -> None:
    table = example_table().set_index("quantity")
    printed = table["paper"].dropna()
    assert len(printed) == 13 and table.loc[printed.index, "value"].to_dict() == printed.to_dict()
    assert table["value"].iloc[-1] == 5  # j22 waits for rounds of 32 slots


def test_whole_example() -> None:
    plan = posted_prices(EXAMPLE, theta=THETA, rounds=EXAMPLE_ROUNDS)
    # j22 takes 30 slots: postponed to the fifth interval, whose rounds have 32
    assert spans(plan) == {J11: (8, 10), J12: (9, 12), J21: (10, 12), J22: (64, 94)}
    assert not any(s.is_shared for s in plan.schedules)
    last = plan.schedules[-1]
    assert last.ideal == 40
    assert EXAMPLE.jobs.value(J22, last.end - 3) == -82  # admitted by ideal revenue, at a loss


def test_a_gang_is_no_larger_than_its_parameter_servers_can_feed() -> None:
    for servers, reach, most in ((4, 3.0, 5), (4, 0.9, 2), (2, 9.0, 4)):
        assert gangs(market([1, 1], [1, 50], servers=servers, reach=reach)).tolist() == [1, most]


def test_parameter_servers_go_where_they_can_feed_the_gang() -> None:
    needed, free, one = np.array([1, 1, 1, 2, 2, 3]), np.array([2, 4, 3]), np.ones(3, np.int64)
    host, taken = fair.spread(free, one, np.arange(3), 5, needed)
    assert (host, taken.tolist()) == (1, [2, 3, 0])  # server 0 has only two workers of its own
    assert fair.spread(free, np.zeros(3, np.int64), np.arange(3), 5, needed)[0] == -1


def test_gandiva_fair_takes_turns_by_share() -> None:
    # the first tenant has three quarters; each job takes one of four servers for a slot
    m = market([1] * 8, [2] * 8, tenant=[0] * 4 + [1] * 4, servers=4, quota=[6, 2], ps_quota=[3, 1])
    plan = gandiva_fair(m)
    assert [s.job for s in plan.schedules if s.start == 0] == [0, 4, 1, 2]
    assert [s.is_shared for s in plan.schedules][:4] == [False] * 4


@pytest.mark.parametrize(
    ("schedule", "m", "where", "shared"),
    [
        # the second of two tenants is alone: idle workers are lent
        (gandiva_fair, market([1] * 3, [2] * 3, tenant=[1] * 3, servers=4, quota=[6, 2], ps_quota=[3, 1]),
         {0: (0, 1), 1: (0, 1), 2: (0, 1)}, [False, True, True]),
        (hived, market([2, 2], [2] * 2, tenant=[0, 0], quota=[2, 2], ps_quota=[1, 1]),
         {0: (0, 2), 1: (0, 2)}, [False, True]),
        # not while the owner has use for them: a job of tenant 0 waits until tenant 1's are done
        (hived, market([2, 2, 1, 1], [2] * 4, tenant=[0, 0, 1, 1], quota=[2, 2], ps_quota=[1, 1]),
         {0: (0, 2), 2: (0, 1), 3: (1, 2), 1: (2, 4)}, [False] * 4),
        # gangs that no virtual cluster holds run on idle servers
        (hived, market([1, 1], [4, 4], tenant=[0, 1], quota=[2, 2], ps_quota=[1, 1], reach=2.0),
         {0: (0, 1), 1: (1, 2)}, [True, True]),
    ],
)  # fmt: skip
def test_what_is_lent(
    schedule: Callable[[Market], MarketPlan], m: Market, where: dict[int, tuple[int, int]], shared: list[bool]
) -> None:
    plan = schedule(m)
    assert spans(plan) == where
    assert [s.is_shared for s in plan.schedules] == shared
    assert plan.income.sum() == 0


def test_batch_sche_lends_nothing_and_leaves_out_who_has_no_parameter_server() -> None:
    m = market([1] * 4, [2] * 4, tenant=[1] * 4, servers=4, quota=[6, 2], ps_quota=[3, 1])
    plan = batch_sche(m, theta=(1.5, 1.5), rounds=1)
    assert {s.server.tolist()[0] for s in plan.schedules} == {3}
    assert len(plan.schedules) == len({s.start for s in plan.schedules}) == 4
    m = market([1, 1], [2, 2], tenant=[0, 1], quota=[2, 2], ps_quota=[2, 0])
    assert spans(batch_sche(m, theta=(1.5, 1.5), rounds=1)).keys() == {0}


def test_gandiva_fair_does_not_look_for_one_server_and_hived_does() -> None:
    # one worker of server 0 is taken, so a gang of three begins there and is slowed down
    m = market([9, 2], [1, 3], servers=2, workers=3, reach=9.0, network=1.0)
    blind, cells = gandiva_fair(m), hived(m)
    assert blind.schedules[1].server.tolist() == [0, 1] and spans(blind)[1] == (0, 4)
    assert cells.schedules[1].server.tolist() == [1] and spans(cells)[1] == (0, 2)


@pytest.mark.parametrize("schedule", FAIR)
@given(m=markets())
def test_every_job_runs_and_every_constraint_holds(schedule: Callable[[Market], MarketPlan], m: Market) -> None:
    assert len(spans(schedule(m))) == len(m.jobs)


@pytest.mark.parametrize("schedule", [*FAIR, partial(batch_sche, theta=(2.0, 2.0), rounds=1)])
def test_quotas_that_do_not_add_up_are_refused(schedule: Callable[[Market], MarketPlan]) -> None:
    with pytest.raises(InputError, match="worker_quota must add up to the 4 workers"):
        schedule(market([1], [1], quota=[3]))
