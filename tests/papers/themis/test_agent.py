"""Agents: their forecasts and reports, worked out by hand; and placements of the arbiter."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from themis_small import app, arbiter_of, falling, workload

from papers.themis import foresight
from papers.themis.agent import REFIT, Agent
from papers.themis.apps import App, Phase, Tuner
from papers.themis.arbiter import Arbiter
from papers.themis.foresight import LENGTH, finish, isolated
from papers.themis.loss_curves import estimated_length

HALVING = Tuner(first=2, eta=2, tolerance=5e-4, longest=8)


def let_run(arbiter: Arbiter, until: float) -> None:
    """Jobs that end until then do so, each at its time; lots without a job are returned."""
    while True:
        done = min((lot.done for agent in arbiter.agents for lot in agent.lots), default=np.inf)
        arbiter.now = min(done, until)
        if done > until:
            return
        for agent in arbiter.agents:
            arbiter.take_back(agent, agent.finish_jobs(arbiter.now, 20.0))


def alone(one: App, *machines: int) -> tuple[Arbiter, Agent]:
    """An app alone on some machines, with all the gangs that fit."""
    arbiter = arbiter_of(workload([one], *machines))
    agent = arbiter.agents[0]
    while arbiter.give(agent):
        pass
    return arbiter, agent


def outlook(agent: Agent, now: float) -> tuple[list[Phase], list[Phase]]:
    """Remaining and whole work of an app, as far as its agent can tell."""
    agent.learn(now)
    left, total = ([Phase(int(jobs), float(work)) for jobs, work in t] for t in foresight.outlook(agent.facts, now))
    return left, total


def test_time_that_phases_take() -> None:
    """Four jobs of 480 gang-s, then one of 100: on 2 gangs, on half a one, and on more than they can use.

    With some gangs spread, half as fast, local ones are used first, as far as there are jobs.
    """
    phases = np.array([Phase(4, 480.0), Phase(1, 100.0)])
    for gangs, time in ((2.0, 480 / 2 + 100), (0.5, 480 / 0.5 + 100 / 0.5), (8.0, 480 / 4 + 100)):
        assert isolated(phases, gangs) == time
    cases = {(0, 0): np.inf, (0, 1): 480 * 2 + 100 * 2, (2, 1): 480 / 2.5 + 100, (3, 4): 480 / 3.5 + 100}
    for (local, spread), time in cases.items():
        assert finish(phases, local, spread, 2.0) == pytest.approx(time), (local, spread)
    assert finish(np.array([Phase(2, 0.0)]), 0, 0, 2.0) == 0.0, "nothing to do takes no time"


def test_outlook() -> None:
    """An app of four long jobs, of which the last will win.

    At first it is as long as the tuner allows: 4 * 2 epochs, 2 * 2, and 4, of a minute. There are two gangs. At 60 s
    two jobs have had an epoch. At 90 s half of the last one of the rung is left. At 120 s the others begin. At 300 s
    the next rung of jobs 2 and 3 has had one epoch each.
    """
    total = [Phase(4, 480.0), Phase(2, 240.0), Phase(1, 240.0)]
    arbiter, agent = alone(app("a", [falling(8) + k for k in (4, 3, 1, 0)], tuner=HALVING), 2)
    assert outlook(agent, 0.0) == (total, total)
    for now, left in (
        (60.0, [Phase(4, 360.0), *total[1:]]),
        (90.0, [Phase(4, 300.0), *total[1:]]),
        (120.0, [Phase(4, 240.0), *total[1:]]),
        (300.0, [Phase(2, 120.0), *total[2:]]),
        (360.0, [Phase(1, 240.0)]),
    ):
        let_run(arbiter, now)
        # what a straight line of losses is taken for is no matter of this test
        agent._lengths = dict.fromkeys(range(4), (100, 8.0))
        assert outlook(agent, now) == (left, total), now
    # a job that was to converge after 3 epochs and has had 4.5 may need one more, as far as one can tell
    arbiter, agent = alone(app("a", [8], tuner=HALVING), 1)
    let_run(arbiter, 270.0)
    agent._lengths = {0: (100, 3.0)}
    assert outlook(agent, 270.0) == ([Phase(1, 60.0)], [Phase(1, 330.0)])


def curve(floor: float, epochs: int) -> np.ndarray:
    return floor + np.arange(1.0, epochs + 1) ** -1.0


def test_estimates_are_made_of_losses_seen() -> None:
    """Estimates use the best job's losses so far; they are made anew when its curve has grown by a quarter."""
    tuner = Tuner(first=40, eta=2, tolerance=1e-3, longest=80)
    one = app("a", [curve(0.9, 40), curve(0.2, 60)], tuner=tuner)
    agent = Agent(0, one, 0.0, 0)
    agent.learn(0.0)
    assert agent.facts[LENGTH] == 80.0, "nothing seen"
    last, new = 0, 0
    for epochs in range(1, 41):
        if epochs >= REFIT * last:
            last, new = epochs, new + 1
        agent.epochs[1] = epochs + 0.7
        agent.learn(0.0)
        assert agent.facts[LENGTH] == max(estimated_length(one.loss[1][:last], tuner), epochs), epochs
    assert 8 < new < 20


def test_until_when_an_estimate_is_the_same() -> None:
    """Two jobs run, local and spread, half as fast: at 90 s the first has had 1 epoch, and has another one at 120 s.

    The estimate is asked for again from a second before then on. Where nothing runs, it is the same for ever.
    """
    arbiter = arbiter_of(workload([app("a", [10] * 3, gang=2)], 2, 1, 1))
    agent = arbiter.agents[0]
    assert arbiter.give(agent, "local") and arbiter.give(agent, "spread")
    assert foresight.looks_best(agent.facts, agent.app.curves, 90.0) == (0, 1, 120.0)
    assert foresight.looks_best(agent.facts, agent.app.curves, 130.0) == (0, 2, 180.0)
    agent.learn(90.0)
    assert agent.same_until == 119.0
    agent.stop(agent.lots, 130.0)
    assert foresight.looks_best(agent.facts, agent.app.curves, 130.0) == (0, 2, np.inf)


def test_errors_are_bounded() -> None:
    """The rest is wrong by up to this part either way, by another part for every new estimate."""
    one, error, ratios = app("a", [curve(0.2, 60)], tuner=Tuner(4, 2, 1e-4, 80)), 0.9, []
    for seed in range(40):
        agent, honest = Agent(0, one, error, seed), Agent(0, one, 0.0, seed)
        for epochs in (10, 20, 21):
            agent.epochs[0] = honest.epochs[0] = float(epochs)
            ratios.append(outlook(agent, epochs)[0][0].work / outlook(honest, epochs)[0][0].work)
    first, second, third = np.array(ratios).reshape(40, 3).T
    assert 0.8 * error < np.abs(first - 1).max() <= error + 1e-12
    assert (first > 1).any() and (first < 1).any() and len(np.unique(first)) == 40
    assert (first != second).all() and second == pytest.approx(third), "no new estimate yet"


def test_rho_by_hand() -> None:
    """4 jobs of 600 s of two apps come at 0 and at 600 s, on 4 GPUs; at 1200 s nothing has run.

    N is 1.5 for a, so T_isolated = 2400 / (4 / 1.5) = 900 s; for b it is 1200 s. Without any gang an app waits for a
    lease, or for T_isolated if that is less, and then has one gang.
    """
    w = workload([app("a", [10] * 4), app("b", [10] * 4, arrival=600.0)], 4)
    for term, wait in ((600.0, 600.0), (np.inf, 900.0)):
        arbiter = arbiter_of(w, lease_term=term, lies={1: 3.0})
        arbiter.now = 1200.0
        a, b = arbiter.agents
        rooms = [foresight.share(agent.facts, *arbiter.situation()) for agent in arbiter.agents]  # of 1/N of the GPUs
        assert rooms == pytest.approx([4 / 1.5, 4 / 2.0])
        assert (arbiter.owed(a), arbiter.owed(b)) == (600 * 4 + 600 * 2, 600 * 2)
        assert arbiter.rhos([a]) == pytest.approx((1200 + 900) / 900)
        assert arbiter.rhos([b]) == pytest.approx(3 * (600 + 1200) / 1200)
        local = np.array([(0, 0), (1, 0), (4, 0), (6, 0)])
        expected = [1200 + wait + 2400, 1200 + 2400, 1200 + 600, 1200 + 600]
        assert arbiter.rhos_with(a, local) == pytest.approx(np.array(expected) / 900)
        assert arbiter.rhos_with(b, local[2:]) == pytest.approx(3 * np.array([600 + 600] * 2) / 1200)
        assert arbiter.rhos_with(a, np.array([(0, 4)])) == pytest.approx((1200 + 1200) / 900), "VGG16 is half as fast"


def test_at_the_second_of_its_arrival_an_app_counts_those_that_are_there() -> None:
    """Its life has no length yet, so N is the number of active apps: three, of which each has a third of 6 GPUs.

    Nothing is seen of the losses, so a job is as long as its tuner allows, 10 epochs.
    """
    arbiter = arbiter_of(workload([app("a", [5]), *(app(name, [5], arrival=60.0) for name in "bc")], 6))
    a, b, c = (foresight.share(agent.facts, *arbiter.situation()) for agent in arbiter.agents)
    assert (a, b, c) == pytest.approx((6 / 1.0, 2.0, 2.0))
    assert arbiter.rhos(arbiter.agents) == pytest.approx([(60 + 600) / 600, 1.0, 1.0])


def test_after_a_renewal_another_gang_may_use_the_rest_of_the_machine() -> None:
    """The lease of b on machine 0 ends. A gang of 4 spares that machine until b is renewed; then c fills it."""
    for is_renewed, size, machine in ((False, 4, 1), (True, 2, 0)):
        arbiter = arbiter_of(workload([app("b", [5], gang=2), app("c", [5] * 2, gang=size)], 4, 4))
        b, c = arbiter.agents
        assert arbiter.give(b) and b.lots[0].pieces == ((0, 2),)
        arbiter.now = 900.0
        arbiter.end_leases(b, b.lots)
        assert (arbiter.wished, arbiter.free) == ([2, 0], [4, 4])
        if is_renewed:
            assert arbiter.give(b) and b.lots[0].pieces == ((0, 2),)
            assert (arbiter.wished, arbiter.free) == ([0, 0], [2, 4])
        assert arbiter.give(c) and c.lots[0].pieces == ((machine, size),)


def test_contention_is_an_average_over_a_life() -> None:
    """a is alone for 100 s, with b for 100 s, and alone again for 100 s."""
    arbiter = arbiter_of(workload([app("a", [5]), app("b", [5], arrival=100.0)], 6))
    a, b = arbiter.agents
    arbiter.now = 200.0
    arbiter.leave(b)
    arbiter.now = 300.0
    assert foresight.share(a.facts, *arbiter.situation()) == pytest.approx(6 / (4 / 3))
    assert arbiter.owed(a) == pytest.approx(100 * (6 + 3 + 6))


def test_rho_with_counts_what_it_holds() -> None:
    """At 60 s one of two gangs is local, one spread: as fast as 1.5; with one more, 2.5 or 2."""
    one = app("a", [10] * 4, gang=2)
    arbiter = arbiter_of(workload([one], 2, 1, 1, 2))
    agent = arbiter.agents[0]
    assert arbiter.give(agent, "local") and arbiter.give(agent, "spread")
    assert [lot.is_local for lot in agent.lots] == [True, False]
    arbiter.now = 60.0
    agent._lengths = dict.fromkeys(range(4), (100, 10.0))
    left = 2400 - 60 - 30
    alone_for = 2400 / 3
    found = arbiter.rhos_with(agent, np.array([(0, 0), (1, 0), (0, 1)]))
    # the spread job is within its first epoch: 9.5 are left
    assert found == pytest.approx((60 + left / np.array([1.5, 2.5, 2.0])) / alone_for)


@pytest.mark.parametrize("model, moves", [("vgg16", True), ("inception-v3", False)])
def test_who_suffers_from_being_spread_is_moved_together(model: str, moves: bool) -> None:
    """It moves once there is room on one machine; otherwise it stays where it is."""
    arbiter = arbiter_of(workload([app("a", [10], gang=2, model=model)], 2, 1, 1))
    agent = arbiter.agents[0]
    arbiter.give(agent, "spread")
    lot = agent.lots[0]
    lot.pieces, arbiter.free = ((1, 1), (2, 1)), [0, 0, 0]
    arbiter.end_leases(agent, [lot])
    assert arbiter.give(agent) and agent.overhead == 5.0
    arbiter.now = 60.0
    arbiter.forget()
    arbiter.end_leases(agent, agent.lots)
    arbiter.free = [2, 1, 1]
    assert arbiter.give(agent)
    assert agent.lots[0].pieces == (((0, 2),) if moves else ((1, 1), (2, 1)))
    assert agent.overhead == 5.0 + (25.0 if moves else 5.0)


def packs(free: tuple[int, ...], local: list[int]) -> bool:
    """Return true if lots of these sizes can be placed on one machine each, by trying everything."""
    return not local or any(
        gpus >= local[0] and packs((*free[:m], gpus - local[0], *free[m + 1 :]), local[1:])
        for m, gpus in enumerate(free)
    )


@pytest.mark.parametrize("sizes, machines", [((1, 2, 4), (4, 3, 2)), ((2, 4), (5, 3)), ((2, 6), (6, 4, 2))])
def test_what_fits_can_be_counted(sizes: tuple[int, ...], machines: tuple[int, ...]) -> None:
    """Room and use say exactly which gangs can be placed, some on one machine each, some spread; and `give` does it.

    A local gang takes up lots of every size that divides it, a spread one only the smallest.
    """
    apps = [app(f"{gang}", [5] * 4, gang=gang) for gang in sizes]
    fits_at_all = []
    for local, spread in product(product(range(4), repeat=len(sizes)), repeat=2):
        both = np.add(local, spread)
        if both.max() > 4:
            continue
        arbiter = arbiter_of(workload(apps, *machines))
        use = np.array([np.dot(local, np.array(sizes) // size) for size in arbiter.sizes])
        use[0] += np.dot(spread, sizes) // arbiter.sizes[0]
        needed = np.dot(both, sizes)
        fits = needed <= sum(machines) and packs(machines, np.repeat(sizes, local).tolist())
        assert bool((use <= arbiter.room()).all()) == fits, (local, spread)
        fits_at_all.append(fits)
        if fits:
            for agent, n in reversed(list(zip(arbiter.agents, local, strict=True))):
                assert all(arbiter.give(agent, "local") for _ in range(n)), (local, spread)
            for agent, n in zip(arbiter.agents, spread, strict=True):
                assert all(arbiter.give(agent, "spread") for _ in range(n)), (local, spread)
            assert [len(agent.lots) for agent in arbiter.agents] == both.tolist()
            assert arbiter.offered == sum(machines) - needed
    assert any(fits_at_all) and not all(fits_at_all)
