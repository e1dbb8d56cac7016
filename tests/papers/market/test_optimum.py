"""The offline optimum, compared with exhaustive search."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from market_small import market, spans

from astraea.core.arrays import IntArray
from papers.market.metrics import total_revenue
from papers.market.model import Market
from papers.market.optimum import optimum


def naive(m: Market, job: int, workers: IntArray, ps: IntArray) -> float:
    """Best revenue of this job and the later ones on free resources: every start, host, and number on every server."""
    if job == len(m.jobs):
        return 0.0
    best = naive(m, job + 1, workers, ps)
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
                    best = max(best, value + naive(m, job + 1, w, p))
    return best


@pytest.mark.parametrize(
    ("m", "horizon", "where", "best"),
    [
        # who loses most goes first
        (market([3, 1], [2, 2], servers=1), 10, {0: (1, 4), 1: (0, 1)}, 99 + 96),
        # a job that is worth nothing by then is not run
        (market([5, 5], [2, 2], servers=1, height=[4.0, 20.0]), 50, {1: (0, 5)}, 15),
        # nor one that does not end by the horizon
        (market([3], [2]), 2, {}, 0),
        # of two jobs on one worker each, one waits for the parameter server
        (market([2, 1], [1, 1], servers=1), 9, {0: (1, 3), 1: (0, 1)}, 99 + 97),
    ],
)
def test_it_is_found(m: Market, horizon: int, where: dict[int, tuple[int, int]], best: float) -> None:
    bound, plan = optimum(m, horizon=horizon)
    assert plan is not None and spans(plan) == where
    assert bound == pytest.approx(best)


def test_servers_bind_where_all_of_them_together_do_not() -> None:
    # two gangs of two need a server each, and one of the servers has a single worker
    bound, plan = optimum(replace(market([2, 2], [2, 2], reach=0.5), workers=np.array([3, 1])), horizon=9)
    assert plan is not None and sorted(end for _, end in spans(plan).values()) == [2, 4]
    assert bound == pytest.approx(98 + 96)


JOBS = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(0, 2), st.sampled_from([4.0, 20.0]))


@given(data=st.data())
def test_nothing_is_better(data: st.DataObject) -> None:
    work, chunks, arrival, height = zip(*data.draw(st.lists(JOBS, min_size=1, max_size=3)), strict=True)
    m = market(
        list(work),
        list(chunks),
        arrival=list(arrival),
        height=list(height),
        servers=2,
        workers=data.draw(st.integers(1, 2)),
        network=data.draw(st.sampled_from([0.0, 0.7])),
        reach=data.draw(st.sampled_from([0.5, 1.0, 2.5])),
    )
    horizon = data.draw(st.integers(3, 5))
    best = naive(m, 0, np.tile(m.workers, (horizon, 1)), np.tile(m.ps, (horizon, 1)))
    bound, plan = optimum(m, horizon=horizon)
    assert bound >= best - 1e-6
    if plan is not None:
        assert all(end <= horizon for _, end in spans(plan).values())
        assert total_revenue(plan) == pytest.approx(bound)
        assert total_revenue(plan) == pytest.approx(best)
        known = data.draw(st.sampled_from([0.5, 0.9, 1.0])) * best
        assert optimum(m, horizon=horizon, known=known)[0] == pytest.approx(best)


def test_what_was_not_known_or_no_time_leaves_a_bound() -> None:
    m = market([3] * 8, [4] * 8, servers=3, reach=2.0)
    best, _ = optimum(m, horizon=40)
    for options in ({"known": 1.01 * best}, {"time_limit": 1e-6}):
        bound, plan = optimum(m, horizon=40, **options)
        assert plan is None
        assert bound >= best
