"""The arbiter: where gangs go, who keeps its GPUs, and what fits; a second simulator has the rest."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from themis_small import app, arbiter_of, gangs, next_round, workload


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


def packs(free: tuple[int, ...], local: list[int]) -> bool:
    """Whether lots of these sizes can be placed on one machine each, by trying it all."""
    if not local:
        return True
    return any(
        gpus >= local[0] and packs((*free[:m], gpus - local[0], *free[m + 1 :]), local[1:])
        for m, gpus in enumerate(free)
    )


def taken(sizes: tuple[int, ...], gang: int, local: bool) -> np.ndarray:
    """Lots of each size that a gang takes up; a spread gang is made of the smallest ones."""
    return np.array([gang // size if local or size == sizes[0] else 0 for size in sizes])


@pytest.mark.parametrize(
    "sizes, machines",
    [((1, 2, 4), (4, 3, 2)), ((2, 4), (5, 3)), ((1, 3), (4, 4)), ((2, 6), (6, 4, 2))],
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
            assert arbiter.offered == sum(machines) - needed
    assert any(fits_at_all) and not all(fits_at_all)
