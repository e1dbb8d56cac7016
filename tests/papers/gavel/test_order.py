"""What Gavel's rounds keep and add up, against the plain way to do it."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from astraea.core.step_function import Stepped
from papers.gavel.record import _merged
from papers.gavel.rounds.selection import is_over, rank, ranking
from papers.gavel.rounds.state import Pairs, new_state


def by_hand(s, r):
    alive = [c for c in range(len(r.order)) if not is_over(s, r.what[c, 0], r.what[c, 1])]
    return sorted(alive, key=lambda c: (*-r.key[c], c))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_order_that_is_kept_is_that_of_a_sort(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    speed = rng.choice([0.0, 1.0, 2.0], (n, 3))
    s = new_state(np.zeros(n), np.ones(n), np.ones(n, np.int64), speed, speed, np.array([2, 2, 2]), 1)
    s.active[:], s.clock[0].active = np.arange(n), n
    s.jobs.share[:], s.jobs.deficit[:] = rng.choice([0.0, 0.25, 0.5], (n, 3)), rng.choice([-1.0, 0.0, 3.0], (n, 3))
    s.jobs.received[:] = 180.0
    share, received = np.full((1, 3), 0.5), np.full((1, 3), 180.0)
    s = s._replace(pairs=Pairs(np.array([[0, 1]]), np.ones((1, 2, 3)), share, received))
    r = ranking(s, False)
    given_time = (s.jobs.share > 0) & (speed > 0)
    assert r.size[0] == given_time.sum() + 3
    for _ in range(4):
        for c, (a, b, k, _) in enumerate(r.what[: len(r.order)]):
            if c in r.order[: r.size[0]]:
                got = s.jobs.received[a, k] if b < 0 else s.pairs.received[0, k]
                assert r.key[c, 0] == r.key[c, 2] / got
        assert r.order[: r.size[0]].tolist() == by_hand(s, r)
        s.jobs.received[rng.random((n, 3)) < 0.3] += 360.0
        s.pairs.received[0, rng.integers(3)] += 100.0
        over = rng.integers(n)
        s.jobs.left[over], s.jobs.end[over] = 0.0, 1.0
        rank(s, r)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_three_sums_in_one_go_are_those_of_three(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 60))
    start = rng.integers(0, 20, n) / 3
    end = start + rng.integers(0, 5, n) / 7
    amounts = rng.random((3, n))
    orders = np.argsort(start, kind="stable"), np.argsort(end, kind="stable")
    time, *rates = _merged(start, end, *orders, *amounts)
    assert (np.diff(time) > 0).all()
    when = np.concatenate([start, end, rng.random(20) * 12])
    for rate, amount in zip(rates, amounts, strict=True):
        one, other = Stepped(time, rate), Stepped.between(start, end, amount)
        assert np.array_equal(one.at(when), other.at(when))
        assert np.array_equal(one.until(when), other.until(when))
