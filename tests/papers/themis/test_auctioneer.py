"""Themis' own policy: who bids, who pays, what is left over, who stays where it is."""

from __future__ import annotations

import numpy as np
import pytest
from themis_small import app, arbiter_of, decided, ends, given, next_round, workload

from papers.themis.policies import POLICIES, get_policy
from papers.themis.policies.themis import partial_prize
from papers.themis.simulate import simulate


def test_only_the_worst_off_bids() -> None:
    """f = 1 on 4 GPUs: the worst off gets the 2 gangs that it wants, the leftovers the others, worst off first.

    At 1200 s nothing has run. a, 2 jobs of 600 s, came at 0: N = 2.25, T_isolated = 1200 / (4 / 2.25) = 675 s and
    rho = 1 + 1200 / 675 = 2.8. b, 3 jobs, came at 300 s: N = 8/3, 1800 / 1.5 = 1200 s, rho = 1.75. c, one job, came at
    600 s: 600 s, rho = 2.
    """
    apps = [app("a", [10] * 2), app("b", [10] * 3, arrival=300.0), app("c", [10], arrival=600.0)]
    arbiter = arbiter_of(workload(apps, 4))
    arbiter.now = 1200.0
    assert arbiter.rhos(arbiter.agents) == pytest.approx([1 + 1200 / 675, 1.75, 2.0])
    assert decided(arbiter, "themis", f=1.0) == [2, 1, 1]


def test_leftovers_on_one_machine_come_first() -> None:
    """f = 1 with 2 + 1 + 1 GPUs free: the worst off, a, had better wait than be spread, when VGG16 is half as fast.

    Of the others b is worse off but could only be spread; so c goes first, and nothing is left for b.
    """
    apps = [
        app("a", [10], gang=4, epoch=600.0),
        app("b", [10], gang=4, epoch=600.0, arrival=60.0),
        app("c", [10], gang=2, epoch=600.0, arrival=900.0),
    ]
    arbiter = arbiter_of(workload(apps, 4, 2, 2, 2))
    arbiter.now, arbiter.free = 1200.0, [0, 2, 1, 1]
    a, b, c = arbiter.rhos(arbiter.agents)
    assert a > b > c
    assert decided(arbiter, "themis", f=1.0) == [0, 0, 1]
    assert given(arbiter) == [("c", ((1, 2),), 0)]
    arbiter = arbiter_of(workload(apps[:2], 4, 2, 2, 2))
    arbiter.now, arbiter.free = 1200.0, [0, 2, 1, 1]
    assert decided(arbiter, "themis", f=1.0) == [0, 1], "without c, b is spread"


def test_everybody_bids_and_pays() -> None:
    """f = 0, two equal apps on 4 GPUs, each with 4 jobs of 600 s, leases of 900 s.

    N = 2, so T_isolated = 2400 / 2 = 1200 s. With n gangs, 2400 / n s: 1 / rho = n / 2. With none, 900 + 2400 s:
    1 / rho = 4 / 11. Two each is best: 1, against 3/2 * 1/2 and 2 * 4/11. Without the other, either would have 4, worth
    2 instead of 1, so each keeps one half: 1 gang. The other 2 GPUs are withheld. With 8 GPUs nobody pays.
    """
    arbiter = arbiter_of(workload([app("a", [10] * 4), app("b", [10] * 4)], 4))
    assert decided(arbiter, "themis", f=0.0) == [1, 1]
    assert arbiter.offered() == 2
    assert decided(arbiter_of(workload([app("a", [10] * 4), app("b", [10] * 4)], 8)), "themis", f=0.0) == [4, 4]


def test_what_is_withheld_is_for_those_who_did_not_bid() -> None:
    """f = 0.5: of four equal apps the earlier two bid as above, the others share what they may not keep."""
    arbiter = arbiter_of(workload([app(name, [10] * 4) for name in "abcd"], 4))
    a, b, c, d = decided(arbiter, "themis", f=0.5)
    assert 0 < a + b < 4 and c == 4 - a - b and d == 0


def test_parts_of_gangs_are_drawn() -> None:
    """0.3 of 2 gangs is one gang in 6 of 10 rounds, never two; what is on one machine is kept first."""
    arbiter = arbiter_of(workload([app("a", [1])], 1))
    agent, kept = arbiter.agents[0], []
    for k in range(2000):
        arbiter.now = 60.0 * k
        kept.append(partial_prize(arbiter, agent, np.array([1, 1]), 0.3))
    assert set(kept) == {(0, 0), (1, 0)}
    assert np.mean([local for local, _ in kept]) == pytest.approx(0.6, abs=0.05)
    assert partial_prize(arbiter, agent, np.array([1, 2]), 2 / 3) == (1, 1)
    assert partial_prize(arbiter, agent, np.array([3, 2]), 1.0) == (3, 2)
    assert partial_prize(arbiter, agent, np.array([0, 0]), 1.0) == (0, 0)


@pytest.mark.parametrize("policy", POLICIES)
def test_renewal_in_place(policy: str) -> None:
    """One app alone goes on where it is after every lease of 120 s, and loses 5 s at the end of each.

    Two jobs of 640 s, 120 s and then 4 times 115 s until 600 s, and 60 s in the sixth lease. Its gangs of 4 do not mind
    being spread, so that one of the two is on two machines.
    """
    w = workload([app("a", [10] * 2, gang=4, model="inception-v3", epoch=64.0)], 4, 2, 2)
    result = simulate(w, get_policy(policy), lease_term=120.0)
    assert ends(result) == [665.0]
    assert result.jobs["overhead"][0] == 50.0


@pytest.mark.parametrize("policy", POLICIES)
def test_gangs_that_do_not_mind_being_spread_are_not_moved(policy: str) -> None:
    """b goes on on two small machines although a large one is free and a came first."""
    apps = [app("a", [10], gang=4), app("b", [10], gang=4, model="inception-v3")]
    arbiter = arbiter_of(workload(apps, 4, 4, 2, 2))
    arbiter.give(arbiter.agents[1], "spread")
    next_round(arbiter, 60.0)
    get_policy(policy, **({"f": 1.0} if policy == "themis" else {})).decide(arbiter)
    assert given(arbiter) == [("a", ((0, 4),), 0), ("b", ((2, 2), (3, 2)), 0)]
    assert arbiter.agents[1].overhead == 5.0
