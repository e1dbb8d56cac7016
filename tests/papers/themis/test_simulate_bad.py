"""Input that a simulation of Themis refuses, and the smallest and largest that it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from themis_small import app, ends, workload

from astraea.core.errors import InputError, PolicyError
from papers.themis.apps import MODELS
from papers.themis.arbiter import ROUND, AppPolicy, Arbiter
from papers.themis.policies import get_policy
from papers.themis.simulate import simulate

TINY = workload([app("a", [1]), app("b", [1])], 2)


@pytest.mark.parametrize(
    "given, said",
    [
        *(
            ({"lease_term": bad}, f"lease_term must be a time of at least one round, 60 s, or inf, got {bad!r}")
            for bad in (59.9, float("nan"), True, "900")
        ),
        *(
            ({"error": bad}, f"error must be a part from 0 to below 1, got {bad!r}")
            for bad in (1.0, -0.1, True)
        ),
        *(
            ({"seed": bad}, f"the seed must be a whole number of at least 0, got {bad!r}")
            for bad in (-1, 0.5)
        ),
        ({"lies": {"c": 2.0}}, "small: there is no app 'c' that could lie"),
        *(
            ({"lies": {"b": bad}}, f"app 'b': the factor on its rho must be above 0, got {bad!r}")
            for bad in (0.0, float("inf"))
        ),
    ],
)
def test_bad_input(given: dict[str, Any], said: str) -> None:
    """One sentence with the place, the value and what is expected."""
    with pytest.raises(InputError) as error:
        simulate(TINY, get_policy("tiresias"), **given)
    assert str(error.value) == said


def test_smallest_and_largest_input() -> None:
    """What is just not bad is taken; the shortest lease lasts for a round: 60, 55 and 5 s of 2 minutes."""
    jobs = simulate(workload([app("a", [2])], 1), get_policy("tiresias"), lease_term=60).jobs
    assert list(jobs["end_time"]) == [130.0]
    result = simulate(TINY, get_policy("themis"), lease_term=np.inf, error=0.999, lies={"a": 1e-6}, seed=0)
    assert ends(result) == [60.0, 60.0]


def test_a_policy_that_never_gives() -> None:
    """It is named, with the app that waits and the time, and does not run for ever."""
    with pytest.raises(PolicyError, match=r"^policy never, at [0-9.e+]+ s: leaves app 'a' and 1 more waiting"):
        simulate(TINY, AppPolicy("never", lambda arbiter: None))


def test_a_policy_may_wait() -> None:
    """Nothing is wrong with a policy that gives nothing for hours; the round is held again every minute."""
    asked: list[float] = []

    def late(arbiter: Arbiter) -> None:
        asked.append(arbiter.now)
        if arbiter.now >= 600 * ROUND:
            for agent in arbiter.agents:
                arbiter.give(agent)

    jobs = simulate(TINY, AppPolicy("late", late)).jobs
    assert asked == [ROUND * k for k in range(601)]
    assert list(jobs["end_time"]) == [601 * ROUND] * 2
    assert list(jobs["queueing_delay"]) == [600 * ROUND] * 2


def test_every_model_can_be_simulated() -> None:
    """Spread on machines of one GPU each, a gang of 2 is slower by the slowdown of its model."""

    def spread(arbiter: Arbiter) -> None:
        arbiter.give(arbiter.agents[0], "spread")

    for model, kind in MODELS.items():
        w = workload([app("a", [10], gang=2, model=model), app("b", [1], gang=2, arrival=6000.0)], 2, 1, 1)
        jobs = simulate(w, AppPolicy("spread", spread), lease_term=np.inf).jobs
        assert jobs["jct"][0] == pytest.approx(600 * kind.slowdown)
        assert jobs["placement"][0] == pytest.approx(1 / kind.slowdown)
