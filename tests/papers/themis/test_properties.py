"""The promises of the auction, its two open rules, the package's own auction beside it, and small workloads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from themis_small import app, workload

from astraea.cluster.policies.themis import auction as auction_of_jobs
from papers.smallest import smallest
from papers.themis import properties
from papers.themis.apps import AppTrace
from papers.themis.auction import Bid, Outcome, auction
from papers.themis.policies import bid, themis
from papers.themis.properties import PROPERTIES, offer, random_case, random_offer, violated
from papers.themis.smallest import EPOCH, described, small_workloads


def test_the_auction_keeps_its_promises() -> None:
    """No counter-example to its promises, and some to other properties."""
    found = [violated(seed) for seed in range(40)]
    assert all(list(one) == list(PROPERTIES) for one in found)
    assert [any(one[name] for one in found) for name in PROPERTIES] == [False, False, False, True, True]


def test_the_search_notices_what_is_not_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """An auction that gives nothing is found where something could be won, one whose losers pay wherever one loses."""
    cases = [random_case(seed) for seed in range(60)]
    won = [auction(*case).row > 0 for case in cases]

    def nothing(bids: list[Bid], _: object) -> Outcome:
        return Outcome(np.zeros(len(bids), np.int64), np.ones(len(bids)))

    def losers_pay(bids: list[Bid], room: np.ndarray) -> Outcome:
        out = auction(bids, room)
        return out._replace(kept=np.where(out.row > 0, out.kept, 0.5))

    monkeypatch.setattr(properties, "auction", nothing)
    assert [properties.is_maximal(case) for case in cases] == [not any(rows) for rows in won]
    assert 0 < sum(any(rows) for rows in won) < len(won)
    monkeypatch.setattr(properties, "auction", losers_pay)
    assert [violated(seed)[PROPERTIES[1]] for seed in range(15)] == [not all(rows) for rows in won[:15]]


def test_the_random_instances_are_those_of_the_stored_table() -> None:
    """Check sums over the auctions, lies and offers of fifty seeds, and the gains by lies of six."""
    cases, offers = [random_case(seed) for seed in range(50)], [random_offer(seed) for seed in range(50)]
    bids = [one for case, _ in cases for one in case]
    assert (sum(room.sum() for _, room in cases), len(bids), sum(one.use.sum() for one in bids)) == (408, 158, 2113)
    assert sum(one.value.sum() for one in bids) == pytest.approx(773.522997)
    lies = [lie for seed in range(50) for lie in properties.misreports(cases[seed][0][0].value, seed)]
    assert sum(lie.sum() for lie in lies) == pytest.approx(16374.056781)
    agents = [agent for one in offers for agent in one.agents]
    assert (sum(one.gpus for one in offers), len(agents)) == (474, 148)
    assert sum(len(agent.app.loss) * agent.app.gang for agent in agents) == 1222
    shapes = (agent.app.epoch + agent.app.arrival + agent.app.tuner.longest + agent.app.slowdown for agent in agents)
    assert sum(shapes) == pytest.approx(293115.571218) and {one.now for one in offers} == {3600.0}
    found = [properties.gain_in_gangs(seed) for seed in range(6)]
    assert found == pytest.approx([0.081268, 0.201599, 0.068621, 0.129594, 0.0, 0.171593], abs=1e-6)


def test_parts_of_a_prize_are_worth_what_the_app_says() -> None:
    """Whole parts are rows of the bid, others lie between; what is on one machine is kept first."""
    for seed in range(20):
        arbiter = random_offer(seed)
        agent = arbiter.agents[0]
        table, rows = bid(arbiter, agent)
        known = {tuple(row): value for row, value in zip(rows.tolist(), table.value, strict=True)}
        for row in rows:
            gangs = int(row.sum())
            kept = [min(n, row[0]) for n in range(gangs + 1)]
            worth = [known[local, n - local] for n, local in enumerate(kept)]
            for n in range(gangs):
                for part in (0.0, 0.25, 1.0):
                    got = properties.expected_value(arbiter, agent, row, (n + part) / gangs)
                    assert got == pytest.approx((1 - part) * worth[n] + part * worth[n + 1])


def test_only_an_app_that_holds_nothing_fears_a_wait() -> None:
    """Only the value of nothing changes, to 10 T_isolated later; an app that holds a gang bids as before."""
    arbiter = random_offer(3)
    for agent in arbiter.agents:
        (plain, _), (afraid, _) = bid(arbiter, agent), bid(arbiter, agent, 10.0)
        assert 1 / afraid.value[0] == pytest.approx(1 / plain.value[0] + 10.0)
        assert (afraid.value[1:] == plain.value[1:]).all() and (afraid.use == plain.use).all()
    first = arbiter.agents[0]
    assert arbiter.give(first)
    assert (bid(arbiter, first)[0].value == bid(arbiter, first, 10.0)[0].value).all()


def test_losers_get_what_is_left() -> None:
    """If every app bids, none is outside of the auction; GPUs then stay free, otherwise they do not."""
    free = []
    for losers_too in (False, True):
        free.append(0)
        for seed in range(20):
            arbiter = random_offer(seed)
            themis(arbiter, f=0.0, losers_too=losers_too)
            free[-1] += len(arbiter.in_need())
    assert free[0] > free[1] == 0


def test_an_offer_by_hand() -> None:
    """Two apps of one job of 10 epochs of a minute, on offer 600 s and 300 s after their arrivals; N is 1, then 2."""
    arbiter = offer([app("a", [10]), app("b", [10], arrival=300.0)], (2, 2), 600.0)
    assert (arbiter.now, arbiter.free, arbiter.lease_term) == (600.0, [2, 2], 900.0)
    assert arbiter.rhos(arbiter.agents) == pytest.approx([(600 + 600) / 600, (300 + 600) / 600])
    assert [arbiter.owed(agent) for agent in arbiter.agents] == [300 * 4 + 300 * 2, 300 * 2]


@pytest.mark.parametrize("seed", range(30))
def test_the_auction_of_single_gangs_is_the_package_s(seed: int) -> None:
    """Both auctions have the same winners and hidden payments where a bid is one gang or nothing."""
    rng = np.random.default_rng(seed)
    demand, free = rng.integers(1, 9, rng.integers(1, 8)), int(rng.integers(1, 17))
    without = rng.uniform(0.1, 1.0, len(demand))
    with_gang = without * rng.uniform(1.01, 3.0, len(demand))
    bids = [Bid(np.array([[0], [d]]), np.array(pair)) for d, *pair in zip(demand, without, with_gang, strict=True)]
    out = auction(bids, np.array([free]))
    expected = auction_of_jobs(demand, with_gang, without, free)
    assert np.where(out.row > 0, out.kept, 0.0) == pytest.approx(expected, abs=1e-6)


@given(w=small_workloads())
def test_small_workloads(w: AppTrace) -> None:
    """They can be simulated, as `AppTrace` checks, and are as small as they should be."""
    assert 2 <= len(w.apps) <= 4 and 1 <= len(w.machines) <= 2 and w.machines.max() <= 4
    assert [one.name for one in w.apps] == list("ABCD")[: len(w.apps)]
    for one in w.apps:
        assert one.arrival % EPOCH == 0 <= one.arrival <= 3 * EPOCH and one.gang <= min(2, w.machines.max())
        assert 1 <= len(one.loss) <= 2 and all(1 <= len(loss) <= 6 and (np.diff(loss) < 0).all() for loss in one.loss)
    assert described(w)["epochs of its jobs"].tolist() == [[len(loss) for loss in one.loss] for one in w.apps]


def test_the_smallest_ones_of_their_kind() -> None:
    """Hypothesis finds the bounds, the same at each call, and nothing where there is nothing."""
    found = smallest(small_workloads(), lambda w: any(one.gang == w.machines.max() == 2 for one in w.apps))
    assert found is not None
    assert (found.machines.tolist(), sorted(one.gang for one in found.apps)) == ([2], [1, 2])
    assert [[len(loss) for loss in one.loss] for one in found.apps] == [[1], [1]]
    late = smallest(small_workloads(), lambda w: w.apps[-1].arrival >= 2 * EPOCH)
    assert late is not None and [one.arrival for one in late.apps] == [0.0, 2 * EPOCH]
    assert described(late)["arrives [min]"].tolist() == [0.0, 30.0]
    assert smallest(small_workloads(), lambda w: len(w.apps) > 4, tries=50) is None
    assert workload(found.apps, 2).gpus == 2
