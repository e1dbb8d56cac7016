"""The three schedulers that Astraea's market is compared with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from market_small import market, markets, spans

from astraea.core.errors import InputError
from papers.market.model import Market, Plan
from papers.market.policies.batch_sche import batch_sche
from papers.market.policies.fair import gandiva_fair, gangs, hived, spread

FAIR: list[Callable[[Market], Plan]] = [gandiva_fair, hived]


@pytest.mark.parametrize(("servers", "reach", "most"), [(4, 3.0, 5), (4, 0.9, 2), (2, 9.0, 4)])
def test_a_gang_is_no_larger_than_its_parameter_servers_can_feed(servers: int, reach: float, most: int) -> None:
    assert gangs(market([1, 1], [1, 50], servers=servers, reach=reach)).tolist() == [1, most]


def test_parameter_servers_go_where_they_can_feed_the_gang() -> None:
    needed, free, one = np.array([1, 1, 1, 2, 2, 3]), np.array([2, 4, 3]), np.ones(3, np.int64)
    host, taken = spread(free, one, np.arange(3), 5, needed)
    assert (host, taken.tolist()) == (1, [2, 3, 0])  # server 0 has only two workers of its own
    assert spread(free, np.zeros(3, np.int64), np.arange(3), 5, needed)[0] == -1


def test_gandiva_fair_takes_turns_by_share() -> None:
    # the first tenant has three quarters; each job takes one of four servers for a slot
    m = market([1] * 8, [2] * 8, tenant=[0] * 4 + [1] * 4, servers=4, quota=[6, 2], ps_quota=[3, 1])
    plan = gandiva_fair(m)
    assert [s.job for s in plan.schedules if s.start == 0] == [0, 4, 1, 2]
    assert [s.is_shared for s in plan.schedules][:4] == [False] * 4


def test_gandiva_fair_lends_idle_workers_for_nothing() -> None:
    m = market([1] * 4, [2] * 4, tenant=[1] * 4, servers=4, quota=[6, 2], ps_quota=[3, 1])
    plan = gandiva_fair(m)
    assert set(spans(plan).values()) == {(0, 1)}
    assert [s.is_shared for s in plan.schedules] == [False, True, True, True]
    assert plan.income.sum() == 0


def test_gandiva_fair_does_not_look_for_one_server_and_hived_does() -> None:
    # one worker of server 0 is taken, so a gang of three begins there and is slowed down
    m = market([9, 2], [1, 3], servers=2, workers=3, reach=9.0, network=1.0)
    blind, cells = gandiva_fair(m), hived(m)
    assert blind.schedules[1].server.tolist() == [0, 1] and spans(blind)[1] == (0, 4)
    assert cells.schedules[1].server.tolist() == [1] and spans(cells)[1] == (0, 2)


def test_hived_lends_nothing_while_the_owner_has_use_for_it() -> None:
    # tenant 1 has server 1; a second job of tenant 0 waits until tenant 1's are done
    both = market([2, 2, 1, 1], [2] * 4, tenant=[0, 0, 1, 1], quota=[2, 2], ps_quota=[1, 1])
    plan = hived(both)
    assert spans(plan) == {0: (0, 2), 2: (0, 1), 3: (1, 2), 1: (2, 4)}
    alone = market([2, 2], [2] * 2, tenant=[0, 0], quota=[2, 2], ps_quota=[1, 1])
    assert spans(hived(alone)) == {0: (0, 2), 1: (0, 2)}
    assert [s.is_shared for s in hived(alone).schedules] == [False, True]


def test_hived_runs_gangs_that_no_virtual_cluster_holds() -> None:
    m = market([1, 1], [4, 4], tenant=[0, 1], quota=[2, 2], ps_quota=[1, 1], reach=2.0)
    plan = hived(m)
    assert spans(plan) == {0: (0, 1), 1: (1, 2)}
    assert all(s.is_shared for s in plan.schedules)


def test_batch_sche_never_lends() -> None:
    m = market([1] * 4, [2] * 4, tenant=[1] * 4, servers=4, quota=[6, 2], ps_quota=[3, 1])
    plan = batch_sche(m, theta=(1.5, 1.5), rounds=1)
    assert {s.server.tolist()[0] for s in plan.schedules} == {3}
    assert len(plan.schedules) == 4 and len({s.start for s in plan.schedules}) == 4


def test_batch_sche_leaves_out_who_has_no_parameter_server() -> None:
    m = market([1, 1], [2, 2], tenant=[0, 1], quota=[2, 2], ps_quota=[2, 0])
    assert spans(batch_sche(m, theta=(1.5, 1.5), rounds=1)).keys() == {0}


@pytest.mark.parametrize("schedule", FAIR)
@given(m=markets())
def test_every_job_runs_and_every_constraint_holds(schedule: Callable[[Market], Plan], m: Market) -> None:
    assert len(spans(schedule(m))) == len(m.jobs)


@pytest.mark.parametrize("schedule", [*FAIR, batch_sche])
def test_quotas_that_do_not_add_up_are_refused(schedule: Callable[[Market], Plan]) -> None:
    with pytest.raises(InputError, match="worker_quota must add up to the 4 workers"):
        schedule(market([1], [1], quota=[3]))
