"""Simulations of Themis by hand: two apps, one app alone, preempted jobs; and input that is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from themis_small import app, ends, leases, workload

from astraea.core.errors import InputError, PolicyError
from papers.themis.apps import Tuner
from papers.themis.arbiter import ROUND, AppPolicy, Arbiter
from papers.themis.policies import POLICIES, get_policy
from papers.themis.simulate import simulate


def test_two_apps_by_hand() -> None:
    """Shares, contention and fairness of two apps one after the other.

    4 GPUs; a comes at 0 with 4 jobs of 600 s, b at 300 s with 4 of 300 s. Tiresias gives a all GPUs until 600 s, then b
    until 900 s. Two apps are active from 300 to 600 s. Each is owed 4 GPUs for 300 s and 2 for 300 s, 1800 GPU-s. The
    average number of apps is 1.5 for both, so T_isolated is on 4 / 1.5 GPUs: 900 s and 450 s.
    """
    w = workload([app("a", [10] * 4), app("b", [5] * 4, arrival=300.0)], 4)
    result = simulate(w, get_policy("tiresias"), lease_term=600.0)
    assert leases(result) == [("a", 0.0, 600.0, True)] * 4 + [("b", 600.0, 900.0, True)] * 4
    expected = {
        "job_id": ["a", "b"], "tenant": ["a", "b"], "user": ["a", "b"], "model": ["vgg16", "vgg16"],
        "demand": [4, 4], "gang": [1, 1], "exploration": [4, 4], "leases": [4, 4], "preemptions": [0, 0],
        "submit_time": [0, 300], "first_start_time": [0, 600], "end_time": [600, 900], "jct": [600, 600],
        "duration": [600, 300], "slowdown": [1, 2], "queueing_delay": [0, 300], "overhead": [0, 0],
        "attained_service": [2400, 1200], "work": [2400, 1200], "placement": [1, 1],
        "fair_service": [1800, 1800], "rho_job": [4 / 3, 2 / 3],
        "contention": [1.5, 1.5], "finish_time_fairness": [600 / 900, 600 / 450],
    }  # fmt: skip
    assert set(expected) == set(result.jobs.columns)
    for column, values in expected.items():
        assert list(result.jobs[column]) == pytest.approx(values), column
    row = {"time": [0, 0], "attained_service": [0, 0], "fair_service": [0, 0], "held": [4, 0], "waiting": [0, 0]}
    for column, values in row.items():
        assert list(result.timeline[column]) == values, column


def test_what_an_app_cannot_use_it_is_not_owed() -> None:
    """Jobs of 600 s and 300 s on 4 GPUs: 2 GPUs are owed for 300 s, then 1 for 300 s."""
    jobs = simulate(workload([app("a", [10, 5])], 4), get_policy("themis")).jobs
    assert jobs["fair_service"][0] == jobs["attained_service"][0] == 900.0


HALVING = Tuner(first=2, eta=2, tolerance=5e-4, longest=8)
LOSSES = ([9, 8, 1, 1, 1, 1, 1, 1], [9, 7], [9, 3, 3], [9, 4, 2, 2, 2, 2, 2, 2])
"""Four jobs: first is cut after 2 epochs and never shows how good it would be; the last one wins."""


@pytest.mark.parametrize("policy", POLICIES)
def test_one_app_alone_by_hand(policy: str) -> None:
    """Four jobs on two gangs, in three rungs, with one lease that does not end.

    Two epochs of a minute each: jobs 0 and 1 until 120 s, 2 and 3 until 240 s, which go on where they are. Job 2 has
    converged at 300 s, its lot is returned; job 3 has had 4 epochs at 360 s, goes on alone and has converged at 600 s.
    T_isolated does without the barriers: 480 / 2 + 180 / 2 + 240 s.
    """
    w = workload([app("a", LOSSES, gang=2, tuner=HALVING)], 4)
    result = simulate(w, get_policy(policy), lease_term=np.inf)
    assert leases(result) == [("a", 0.0, 300.0, True), ("a", 0.0, 600.0, True)]
    assert ends(result) == [600.0]
    assert result.jobs["finish_time_fairness"][0] == pytest.approx(600 / 570)
    assert result.jobs["duration"][0] == 570.0
    assert result.jobs["attained_service"][0] == 2 * (300 + 600)
    assert result.jobs["contention"][0] == 1.0


def test_a_preempted_job_by_hand() -> None:
    """Two apps take turns on one GPU: checkpoints, restarts, and who lost the GPU how often.

    Leases of 60 s, Tiresias. At 60 s apps a and b have held it for 60 s and not at all: b runs until 120 s. Then both
    have had as much, and a came first: ready at 145 s, it has 25 of its 120 s left at 180 s. b is next, ready at 205 s,
    with 25 s left at 240 s. Again a: ready at 265 s, it is done at 290 s. b goes on at 300 s; its lease ended a minute
    ago, so it restarts too: ready at 325 s, done at 350 s.
    """
    w = workload([app("a", [2]), app("b", [2])], 1)
    jobs = simulate(w, get_policy("tiresias"), lease_term=60.0).jobs
    assert list(jobs["end_time"]) == [290.0, 350.0]
    assert list(jobs["preemptions"]) == [2, 2]
    assert list(jobs["overhead"]) == [50.0, 50.0]
    assert list(jobs["leases"]) == [3, 3]
    assert list(jobs["queueing_delay"]) == [120.0, 180.0]


TINY = workload([app("a", [1]), app("b", [1])], 2)


@pytest.mark.parametrize(
    "given, said",
    [
        ({"lease_term": 59.9}, "lease_term must be a time of at least one round, 60 s, or inf, got 59.9"),
        ({"lease_term": "900"}, "lease_term must be a time of at least one round, 60 s, or inf, got '900'"),
        ({"error": 1.0}, "error must be a part from 0 to below 1, got 1.0"),
        ({"seed": -1}, "the seed must be a whole number of at least 0, got -1"),
        ({"lies": {"c": 2.0}}, "small: there is no app 'c' that could lie"),
        ({"lies": {"b": 0.0}}, "app 'b': the factor on its rho must be above 0, got 0.0"),
    ],
)
def test_bad_input(given: dict[str, Any], said: str) -> None:
    """One sentence with the place, the value and what is expected."""
    with pytest.raises(InputError) as error:
        simulate(TINY, get_policy("tiresias"), **given)
    assert str(error.value) == said


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
