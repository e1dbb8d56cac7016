"""The offline optimum, against trying everything."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from market_examples import check, market, spans

from astraea.core.arrays import IntArray
from astraea.core.errors import InputError
from papers.market.metrics import makespan, total_revenue
from papers.market.model import Market
from papers.market.optimum import optimum
from papers.market.policies.gandiva_fair import gandiva_fair


def _everything(m: Market, horizon: int) -> float:
    """Best revenue over every start, every number of workers on every server, and every host."""
    free = np.tile(m.workers, (horizon, 1)), np.tile(m.ps, (horizon, 1))
    return _rest(m, 0, *free)


def _rest(m: Market, job: int, workers: IntArray, ps: IntArray) -> float:
    """Best revenue of this job and the later ones on what is free."""
    if job == len(m.jobs):
        return 0.0
    best = _rest(m, job + 1, workers, ps)
    horizon, arrival = len(workers), int(m.jobs.arrival[job])
    for y in product(*(range(int(c) + 1) for c in m.workers)):
        size = sum(y)
        if not 1 <= size <= m.jobs.chunks[job]:
            continue
        for host in range(len(y)):
            far = size - y[host]
            z = max(1, int(np.ceil(far * m.worker_bandwidth / m.ps_bandwidth - 1e-9)))
            slots = int(m.duration(job, size)[int(far == 0)])
            for a in range(arrival, horizon - slots + 1):
                b = a + slots
                if (workers[a:b] >= y).all() and (ps[a:b, host] >= z).all():
                    w, p = workers.copy(), ps.copy()
                    w[a:b] -= np.array(y)
                    p[a:b, host] -= z
                    value = float(m.jobs.value(job, float(b - arrival)))
                    best = max(best, value + _rest(m, job + 1, w, p))
    return best


def test_the_job_that_loses_most_goes_first() -> None:
    m = market([3, 1], [2, 2], servers=1)
    bound, plan = optimum(m, horizon=10)
    assert plan is not None
    assert spans(plan) == {0: (1, 4), 1: (0, 1)}
    assert bound == pytest.approx(99 + 96)


def test_a_job_worth_nothing_by_then_is_not_run() -> None:
    bound, plan = optimum(market([5, 5], [2, 2], servers=1, height=[4.0, 20.0]), horizon=50)
    assert plan is not None and spans(plan) == {1: (0, 5)}
    bound, plan = optimum(market([5], [2], servers=1, height=[4.0]), horizon=50)
    assert bound == 0 and plan is not None and plan.schedules == ()


def test_parameter_servers_bind_too() -> None:
    # four jobs of one worker, two servers of one parameter server each
    _, plan = optimum(market([1] * 4, [1] * 4, workers=4), horizon=9)
    assert plan is not None
    assert sorted(spans(plan).values()) == [(0, 1), (0, 1), (1, 2), (1, 2)]


def test_the_horizon_binds() -> None:
    assert optimum(market([3], [2]), horizon=2)[0] == 0
    assert optimum(market([3], [2]), horizon=3)[0] == pytest.approx(97)


def test_servers_bind_where_all_of_them_together_do_not() -> None:
    # two gangs of two need a server each, and one of the servers has a single worker
    m = market([2, 2], [2, 2], reach=0.5, quota=[4])
    bound, plan = optimum(replace(m, workers=np.array([3, 1])), horizon=9)
    assert plan is not None
    assert sorted(s.end for s in plan.schedules) == [2, 4]
    assert bound == pytest.approx(98 + 96)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_nothing_is_better(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 3))
    m = market(
        data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)),
        data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)),
        arrival=data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)),
        servers=2,
        workers=data.draw(st.integers(1, 2)),
        network=data.draw(st.sampled_from([0.0, 0.7])),
        reach=data.draw(st.sampled_from([0.5, 1.0, 2.5])),
        height=data.draw(st.lists(st.sampled_from([4.0, 20.0]), min_size=n, max_size=n)),
    )
    horizon = data.draw(st.integers(3, 5))
    best = _everything(m, horizon)
    bound, plan = optimum(m, horizon=horizon)
    assert bound >= best - 1e-6
    if plan is not None:
        check(plan)
        assert makespan(plan) <= horizon
        assert total_revenue(plan) == pytest.approx(bound)
        assert total_revenue(plan) == pytest.approx(best)
        known = data.draw(st.sampled_from([0.5, 0.9, 1.0])) * best
        assert optimum(m, horizon=horizon, known=known)[0] == pytest.approx(best)


def test_what_was_not_known_leaves_a_bound() -> None:
    m = market([3] * 8, [4] * 8, servers=3, reach=2.0)
    best, _ = optimum(m, horizon=40)
    bound, plan = optimum(m, horizon=40, known=1.01 * best)
    assert plan is None
    assert bound >= best


def test_no_time_leaves_a_bound() -> None:
    m = market([3] * 8, [4] * 8, servers=3, reach=2.0)
    bound, plan = optimum(m, horizon=40, time_limit=1e-6)
    assert plan is None
    assert bound >= total_revenue(gandiva_fair(m))


def test_bad_limits_are_refused() -> None:
    with pytest.raises(InputError, match=r"^the horizon must be at least 1 slot, got 0$"):
        optimum(market([1], [1]), horizon=0)
    with pytest.raises(InputError, match=r"^the time limit must be above 0 s, got -1$"):
        optimum(market([1], [1]), horizon=5, time_limit=-1)
