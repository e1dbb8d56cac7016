"""An agent's lots: who takes the next job, who keeps its GPUs, where gangs go."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from themis_agents import HALVING, alone, four_jobs, let_run, phases_of
from themis_small import app, arbiter_of, falling, gangs, given, next_round, workload

from papers.themis.apps import Phase, Tuner, course
from papers.themis.foresight import COUNT, DONE, taken_by

# who runs where


def test_furthest_behind_first() -> None:
    """Jobs wait in order of their epochs, equals in their own; those that run or are done do not wait."""
    agent = arbiter_of(workload([app("a", [5] * 6, tuner=Tuner(4, 2, 1e-4, 8))], 1)).agents[0]
    agent.epochs[:] = [3.0, 1.5, 0.0, 1.0, 0.0, 4.0]
    agent.todo.remove(5)
    assert agent.waiting() == [2, 4, 3, 1, 0]
    assert agent.wants() == 5


def test_a_lot_takes_the_next_job() -> None:
    """One GPU: jobs of 2 minutes one after the other within the lease; none that never ran needs a restart."""
    arbiter, agent = alone(four_jobs(), 1)
    running = []
    for now in (0.0, 120.0, 240.0, 360.0):
        let_run(arbiter, now)
        running.append(agent.lots[0].job)
    assert running == [0, 1, 2, 3]
    assert agent.overhead == 0.0 and len(agent.lots) == 1
    let_run(arbiter, 480.0)  # the next rung: job 3 goes on where it is, job 2 will need a restart
    assert (agent.lots[0].job, agent.overhead, agent.lots[0].done) == (3, 0.0, 600.0)
    let_run(arbiter, 600.0)
    assert (agent.lots[0].job, agent.overhead, agent.lots[0].done) == (2, 20.0, 740.0)
    let_run(arbiter, 740.0)
    assert (agent.lots[0].job, agent.overhead, agent.lots[0].done) == (3, 40.0, 740.0 + 20 + 240)


def test_survivors_keep_their_lots() -> None:
    """Four jobs end their rung at once on four lots: the better two, the last ones, go on where they are at no cost."""
    arbiter, agent = alone(four_jobs(), 4, 4)
    agent.lots[2].pieces = ((1, 1),)
    arbiter.free = [1, 3]
    let_run(arbiter, 120.0)
    assert [(lot.job, lot.pieces) for lot in agent.lots] == [(2, ((1, 1),)), (3, ((0, 1),))]
    assert agent.overhead == 0.0
    assert arbiter.free == [3, 3]


def test_rungs_without_work_are_passed_through() -> None:
    """All jobs have converged in the first rung: the app is done with it."""
    arbiter, agent = alone(app("a", [2, 2, 1], tuner=HALVING), 4)
    let_run(arbiter, 120.0)
    assert agent.is_done and not agent.lots and agent.wants() == 0
    assert (
        phases_of(agent.plan[[COUNT, DONE]].T) == course(agent.app) == [Phase(3, 300.0), Phase(2, 0.0), Phase(1, 0.0)]
    )


def test_what_it_did_is_the_course() -> None:
    """Rung by rung, the work that an app has done in the end is what was known to be its course."""
    arbiter, agent = alone(app("a", [falling(n) + n % 3 for n in (8, 7, 2, 5, 8, 1, 3)], tuner=HALVING), 3)
    let_run(arbiter, 1e6)
    assert agent.is_done
    assert phases_of(agent.plan[[COUNT, DONE]].T) == course(agent.app)
    assert agent.attained(arbiter.now) == sum(phase.work for phase in course(agent.app)) + agent.overhead


# who gets which GPUs


def test_best_fit() -> None:
    """The machine on which a gang leaves least free; then the next."""
    arbiter = arbiter_of(workload([app("a", [5] * 4, gang=2)], 4, 2, 3))
    agent = arbiter.agents[0]
    while arbiter.give(agent, "local"):
        pass
    assert [pieces for _, pieces, _ in given(arbiter)] == [((1, 2),), ((2, 2),), ((0, 2),), ((0, 2),)]
    assert arbiter.free == [0, 0, 1]
    assert not arbiter.give(agent), "no room"


def test_smallest_holes() -> None:
    """A gang that is spread takes what is left of the machines with least free."""
    arbiter = arbiter_of(workload([app("a", [5] * 2, gang=4)], 4, 3, 1, 2))
    agent = arbiter.agents[0]
    arbiter.free = [0, 3, 1, 2]
    assert not arbiter.give(agent, "local")
    assert arbiter.give(agent)
    assert agent.lots[0].pieces == ((2, 1), (3, 2), (1, 1))
    assert not agent.lots[0].is_local
    assert arbiter.free == [0, 2, 0, 0]


def test_renewal_comes_first() -> None:
    """A gang goes on where it was after 5 s, with its own job, though another is further behind and fits better."""
    arbiter = arbiter_of(workload([app("a", [10] * 3, gang=2), app("b", [2], gang=2)], 4, 2), lease_term=60.0)
    a, b = arbiter.agents
    assert arbiter.give(b) and arbiter.give(a)
    assert given(arbiter) == [("a", ((0, 2),), 0), ("b", ((1, 2),), 0)]
    let_run(arbiter, 59.0)
    next_round(arbiter, 60.0)
    assert arbiter.give(a)
    assert given(arbiter) == [("a", ((0, 2),), 0)]
    assert (a.lots[0].ready, a.lots[0].until, a.overhead) == (65.0, 120.0, 5.0)
    assert arbiter.give(a)
    assert given(arbiter)[1] == ("a", ((0, 2),), 1), "not where b was as long as there is another place"
    assert arbiter.give(a)
    assert given(arbiter)[2] == ("a", ((1, 2),), 2)
    assert not arbiter.give(a), "no job waits"


def test_what_is_taken_is_not_renewed() -> None:
    """Somebody else was faster: the job starts elsewhere, after 25 s."""
    arbiter = arbiter_of(workload([app("a", [10], gang=2), app("b", [10], gang=2)], 2, 4))
    a, b = arbiter.agents
    arbiter.give(a)
    next_round(arbiter, 60.0)
    arbiter.free = [2, 0]
    assert arbiter.give(b)
    arbiter.free = [arbiter.free[0], 4]
    assert arbiter.give(a)
    assert given(arbiter) == [("a", ((1, 2),), 0), ("b", ((0, 2),), 0)]
    assert (a.overhead, b.overhead) == (25.0, 0.0)


@pytest.mark.parametrize("model, moves", [("vgg16", True), ("resnet50", True), ("inception-v3", False)])
def test_who_suffers_from_being_spread_is_moved_together(model: str, moves: bool) -> None:
    """Once there is room on one machine; if there is none, it goes on where it is."""
    arbiter = arbiter_of(workload([app("a", [10], gang=2, model=model)], 2, 1, 1))
    agent = arbiter.agents[0]
    arbiter.give(agent, "spread")
    agent.lots[0].pieces, arbiter.free = ((1, 1), (2, 1)), [0, 0, 0]
    next_round(arbiter, 60.0)
    assert arbiter.give(agent) and agent.overhead == 5.0
    next_round(arbiter, 120.0)
    arbiter.free = [2, 1, 1]
    assert arbiter.give(agent)
    assert agent.lots[0].pieces == (((0, 2),) if moves else ((1, 1), (2, 1)))
    assert agent.overhead == 5.0 + (25.0 if moves else 5.0)


@pytest.mark.parametrize("term, until", [(1.0, 120.0), (60.0, 120.0), (61.0, 180.0), (900.0, 960.0), (np.inf, np.inf)])
def test_leases_end_at_rounds(term: float, until: float) -> None:
    """At the first one after the term; this one begins at 60 s."""
    arbiter = arbiter_of(workload([app("a", [10])], 1), lease_term=term)
    arbiter.now = 60.0
    arbiter.give(arbiter.agents[0])
    assert arbiter.agents[0].lots[0].until == until


# what fits


def packs(free: tuple[int, ...], local: list[int]) -> bool:
    """Whether lots of these sizes can be placed on one machine each, by trying it all."""
    if not local:
        return True
    return any(
        gpus >= local[0] and packs((*free[:m], gpus - local[0], *free[m + 1 :]), local[1:])
        for m, gpus in enumerate(free)
    )


def taken(sizes: tuple[int, ...], gang: int, local: bool) -> np.ndarray:
    """Lots of each size that a gang takes up."""
    return np.array([taken_by(np.array(sizes), k, gang, local) for k in range(len(sizes))])


@pytest.mark.parametrize(
    "sizes, machines",
    [((1, 2, 4), (4, 3, 2)), ((2, 4), (4, 2, 2)), ((2, 4), (5, 3)), ((1, 3), (4, 4)), ((2, 6), (6, 4, 2))],
)
def test_what_fits_can_be_counted(sizes: tuple[int, ...], machines: tuple[int, ...]) -> None:
    """Room and use say exactly which gangs can be placed, some on one machine each, some spread; and `give` does it."""
    apps = [app(f"{gang}", [5] * 4, gang=gang) for gang in sizes]
    fits_at_all = []
    for numbers in product(range(4), repeat=2 * len(sizes)):
        local, spread = numbers[: len(sizes)], numbers[len(sizes) :]
        if any(n + s > 4 for n, s in zip(local, spread, strict=True)):
            continue
        arbiter = arbiter_of(workload(apps, *machines))
        use = sum(
            n * taken(arbiter.sizes, gang, True) + s * taken(arbiter.sizes, gang, False)
            for gang, n, s in zip(sizes, local, spread, strict=True)
        )
        lots = [gang for gang, n in zip(sizes, local, strict=True) for _ in range(n)]
        needed = sum(gang * (n + s) for gang, n, s in zip(sizes, local, spread, strict=True))
        fits = needed <= sum(machines) and packs(machines, lots)
        assert bool((use <= arbiter.room()).all()) == fits, (local, spread)
        fits_at_all.append(fits)
        if fits:
            for agent, n in reversed(list(zip(arbiter.agents, local, strict=True))):
                assert all(arbiter.give(agent, "local") for _ in range(n)), (local, spread)
            for agent, s in zip(arbiter.agents, spread, strict=True):
                assert all(arbiter.give(agent, "spread") for _ in range(s)), (local, spread)
            assert gangs(arbiter) == [n + s for n, s in zip(local, spread, strict=True)]
            assert arbiter.offered() == sum(machines) - needed
    assert any(fits_at_all) and not all(fits_at_all)


def test_lots_without_a_job_are_returned_at_once() -> None:
    """Of three jobs one has converged after a minute, and there is no other."""
    arbiter, agent = alone(app("a", [8, 1, 2], tuner=HALVING), 4)
    assert arbiter.offered() == 1
    let_run(arbiter, 60.0)
    assert [lot.job for lot in agent.lots] == [0, 2]
    assert arbiter.offered() == 2
    assert agent.wants() == 0
