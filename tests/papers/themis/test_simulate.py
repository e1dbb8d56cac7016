"""Simulations of apps: compared with a second simulator, laws for every policy, sharing incentive, and by hand."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from themis_naive import Naive
from themis_small import app, leases, tables, workload

from astraea.core.errors import InputError, PolicyError
from papers.themis.apps import AppTrace, Tuner, course
from papers.themis.arbiter import ROUND, AppPolicy, Arbiter
from papers.themis.measures import rho_summary
from papers.themis.policies import POLICIES, get_policy
from papers.themis.simulate import Run, simulate
from papers.themis.workload import sample_workload


def drawn(seed: int) -> tuple[AppTrace, float]:
    """A few apps on a few machines, and a lease term; epochs are powers of 2 so that no time is ever rounded."""
    rng = np.random.default_rng([4, seed])
    machines = rng.choice([4, 2, 2], rng.integers(2, 5))
    sizes = [gang for gang in (1, 2, 4) if gang <= machines.max()]
    apps, arrival = [], 0
    for i in range(rng.integers(3, 7)):
        longest = int(rng.integers(4, 11))
        first = int(rng.integers(1, min(3, longest) + 1))
        jobs = [rng.integers(1, 9, rng.integers(1, longest + 1)).tolist() for _ in range(rng.integers(1, 9))]
        one = app(
            f"app-{i}",
            jobs,
            arrival=float(arrival),
            model=str(rng.choice(["vgg16", "inception-v3"])),
            gang=int(rng.choice(sizes[-2:])),
            epoch=float(rng.choice([16, 32, 64])),
            tuner=Tuner(first, int(rng.integers(2, 4)), 5e-4, longest),
        )
        apps.append(one)
        arrival += int(rng.integers(0, 120)) * int(rng.random() < 0.8)
    return workload(apps, *machines.tolist()), float(rng.choice([60, 90, 120, 300, np.inf]))


@pytest.mark.parametrize("policy", ["tiresias", "astraea"])
@pytest.mark.parametrize("seed", range(12))
def test_same_as_a_second_simulator(seed: int, policy: str) -> None:
    """Every lease begins and ends at the same time, and each app lost the same time to checkpoints."""
    w, term = drawn(seed)
    term = min(term, 3600.0) if policy == "astraea" else term
    result = simulate(w, get_policy(policy), lease_term=term)
    assert (leases(result), list(result.apps["overhead"])) == Naive(w, policy, term).run()


@cache
def sampled(seed: int = 0) -> AppTrace:
    return sample_workload(10, 2.0, seed, np.array([4] * 4 + [2] * 4))


@cache
def simulated(policy: str, seed: int, lease_term: float) -> Run:
    return simulate(sampled(seed), get_policy(policy), lease_term=lease_term)


@pytest.mark.parametrize("seed, term", [(0, 900.0), (1, 200.0), (2, np.inf)])
@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_conserved(policy: str, seed: int, term: float) -> None:
    """At every decision, free and held GPUs of each machine add up to its GPUs.

    GPU-time of the leases is what each app attained: its work, spread gangs slower, and its overhead. All leases begin
    at rounds and none lasts beyond its term, rounded up; no app is quicker than alone on everything.
    """
    w, seen, inner = sampled(seed), [], get_policy(policy)

    def look(arbiter: Arbiter) -> None:
        held = np.zeros(len(w.machines), np.int64)
        for agent in arbiter.agents:
            for lot in agent.lots:
                assert sum(gpus for _, gpus in lot.pieces) == agent.app.gang
                for machine, gpus in lot.pieces:
                    held[machine] += gpus
        assert min(arbiter.free) >= 0
        assert np.array_equal(held + arbiter.free, w.machines)
        seen.append(arbiter.offered)

    def decide(arbiter: Arbiter) -> None:
        look(arbiter)
        inner.decide(arbiter)
        look(arbiter)

    result = simulate(w, AppPolicy(policy, decide, inner.parameters), lease_term=term)
    assert max(seen[::2]) > 0 and min(seen[1::2]) == 0
    assert tables(result) == tables(simulated(policy, seed, term)), "the same, byte by byte, when it is run again"
    jobs, grants = result
    service = (grants["demand"] * (grants["end"] - grants["start"])).groupby(grants["job_id"]).sum()
    assert np.allclose(service.loc[jobs["job_id"]], jobs["attained_service"], rtol=1e-12)
    work = [one.gang * sum(phase.work for phase in course(one)) for one in w.apps]
    assert np.allclose(jobs["work"], work, rtol=1e-12)
    on_gpus = jobs["attained_service"] - jobs["gang"] * jobs["overhead"]
    slowdown = np.array([one.slowdown for one in w.apps])
    assert (on_gpus >= jobs["work"] * (1 - 1e-9)).all()
    assert (on_gpus <= jobs["work"] * slowdown * (1 + 1e-9)).all()
    spread = jobs["job_id"].isin(grants["job_id"][~grants["is_local"]])
    assert (jobs["placement"][~spread | (slowdown == 1)] == 1).all()
    assert (jobs["placement"][spread & (slowdown > 1)] < 1).all()
    assert (grants["start"] % ROUND == 0).all()
    longest = (grants["end"] - grants["start"]).max()
    assert np.isinf(term) or longest == ROUND * np.ceil(term / ROUND), "some lease lasts its whole term, none longer"
    assert (jobs["jct"] >= jobs["duration"] * (1 - 1e-12)).all()
    waited = jobs["first_start_time"] - jobs["submit_time"]
    assert (waited >= 0).all() and (jobs["queueing_delay"] >= waited * (1 - 1e-12)).all()
    assert jobs["leases"].sum() == len(grants)
    assert term < np.inf or (jobs["preemptions"] == 0).all()


def test_no_two_policies_do_the_same() -> None:
    """Every policy is another one, here too."""
    assert len({tables(simulated(policy, 0, 900.0)) for policy in POLICIES}) == len(POLICIES)


def test_summary_of_two_apps_by_hand() -> None:
    """Every figure, from distinct numbers; the bounds themselves are neither late nor short."""
    columns = {
        "finish_time_fairness": [1.0, 1.5, 1 / 0.95], "attained_service": [3600.0, 10800.0, 3600.0],
        "work": [3600.0, 5400.0, 1800.0], "placement": [1.0, 0.5, 1.0], "jct": [100.0, 300.0, 500.0],
        "rho_job": [0.9, 0.96, 0.95],
    }  # fmt: skip
    assert rho_summary(pd.DataFrame(columns)) == pytest.approx(
        {
            "max_rho": 1.5, "mean_rho": (2.5 + 1 / 0.95) / 3, "late": 1 / 3, "short": 1 / 3, "gpu_time": 5.0,
            "relative_gpu_time": 5 / 3, "placement": 3.5 / 5, "average_jct": 300.0,
        }
    )  # fmt: skip


def test_errors_hang_on_the_seed() -> None:
    """Themis decides by estimates, so another seed of their errors gives another run; Tiresias uses none."""

    for policy, error, is_same in (("themis", 0.9, False), ("themis", 0.0, True), ("tiresias", 0.9, True)):
        one, other = (simulate(sampled(), get_policy(policy), error=error, seed=seed) for seed in (0, 1))
        assert (tables(one) == tables(other)) == is_same, (policy, error)


def many_short_jobs(seed: int) -> AppTrace:
    """Five apps that can share 3 GPUs as finely as wished: hundreds of jobs of one GPU each, done after one rung."""
    rng = np.random.default_rng([7, seed])
    arrivals = np.sort([0.0, *rng.uniform(0.0, 6 * 3600.0, 4)])
    brief = {"model": "inception-v3", "tuner": Tuner(first=2, eta=2, tolerance=1e-9, longest=2)}
    jobs = [[2] * int(rng.integers(300, 600)) for _ in arrivals]
    apps = [app(f"app-{i}", jobs[i], arrival=float(arrival), **brief) for i, arrival in enumerate(arrivals)]
    return workload(apps, 2, 1)


@pytest.mark.parametrize("seed", range(2))
def test_sharing_incentive(seed: int) -> None:
    """With f = 1 no app is worse off than with 1/N of the cluster to itself, where apps are divisible.

    Jobs stop and start at no cost here. Policies that look at other things serve in order of arrival.
    """
    w, free = many_short_jobs(seed), (0.0, 0.0)
    jobs = simulate(w, get_policy("themis", f=1.0), lease_term=60.0, overheads=free).apps
    assert (jobs["overhead"] == 0).all() and (jobs["contention"] > 1.5).all()
    assert (jobs["finish_time_fairness"] <= 1).all()
    for policy in ("optimus", "gandiva-packing"):
        jobs = simulate(w, get_policy(policy), lease_term=60.0, overheads=free).apps
        assert jobs["finish_time_fairness"].max() > 1.2


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
        "job_id": ["a", "b"], "model": ["vgg16", "vgg16"], "gang": [1, 1],
        "exploration": [4, 4], "leases": [4, 4], "preemptions": [0, 0],
        "submit_time": [0, 300], "first_start_time": [0, 600], "end_time": [600, 900], "jct": [600, 600],
        "duration": [600, 300], "queueing_delay": [0, 300], "overhead": [0, 0],
        "attained_service": [2400, 1200], "work": [2400, 1200], "placement": [1, 1],
        "fair_service": [1800, 1800], "rho_job": [4 / 3, 2 / 3],
        "contention": [1.5, 1.5], "finish_time_fairness": [600 / 900, 600 / 450],
    }  # fmt: skip
    assert set(expected) == set(result.apps.columns)
    for column, values in expected.items():
        assert list(result.apps[column]) == pytest.approx(values), column


def test_what_an_app_cannot_use_it_is_not_owed() -> None:
    """Jobs of 600 s and 300 s on 4 GPUs: 2 GPUs are owed for 300 s, then 1 for 300 s."""
    jobs = simulate(workload([app("a", [10, 5])], 4), get_policy("themis")).apps
    assert jobs["fair_service"][0] == jobs["attained_service"][0] == 900.0


TINY = workload([app("a", [1]), app("b", [1])], 2)
HALVING = Tuner(first=2, eta=2, tolerance=5e-4, longest=8)
FOUR_LOSSES = ([9, 8, 1, 1, 1, 1, 1, 1], [9, 7], [9, 3, 3], [9, 4, 2, 2, 2, 2, 2, 2])
"""Four jobs: first is cut after 2 epochs and never shows how good it would be; the last one wins."""


@pytest.mark.parametrize("policy", POLICIES)
def test_one_app_alone_by_hand(policy: str) -> None:
    """Four jobs on two gangs, in three rungs, with one lease that does not end.

    Two epochs of a minute each: jobs 0 and 1 until 120 s, 2 and 3 until 240 s, which go on where they are. Job 2 has
    converged at 300 s, its lot is returned; job 3 has had 4 epochs at 360 s, goes on alone and has converged at 600 s.
    T_isolated does without the barriers: 480 / 2 + 180 / 2 + 240 s.
    """
    w = workload([app("a", FOUR_LOSSES, gang=2, tuner=HALVING)], 4)
    result = simulate(w, get_policy(policy), lease_term=np.inf)
    assert leases(result) == [("a", 0.0, 300.0, True), ("a", 0.0, 600.0, True)]
    row = result.apps.iloc[0]
    assert (row["end_time"], row["duration"], row["contention"]) == (600.0, 570.0, 1.0)
    assert row["finish_time_fairness"] == pytest.approx(600 / 570)
    assert row["attained_service"] == 2 * (300 + 600)


def test_a_preempted_job_by_hand() -> None:
    """Two apps take turns on one GPU: checkpoints, restarts, and losses of the GPU.

    Leases of 60 s, Tiresias. At 60 s apps a and b have held it for 60 s and not at all: b runs until 120 s. Then both
    have had as much, and a came first: ready at 145 s, it has 25 of its 120 s left at 180 s. b is next, ready at 205 s,
    with 25 s left at 240 s. Again a: ready at 265 s, it is done at 290 s. b continues at 300 s; its lease ended a
    minute ago, so it restarts too: ready at 325 s, done at 350 s.
    """
    w = workload([app("a", [2]), app("b", [2])], 1)
    jobs = simulate(w, get_policy("tiresias"), lease_term=60.0).apps
    found = jobs[["end_time", "preemptions", "overhead", "leases", "queueing_delay"]].to_numpy()
    assert found.tolist() == [[290.0, 2, 50.0, 3, 120.0], [350.0, 2, 50.0, 3, 180.0]]


@pytest.mark.parametrize(
    "given, said",
    [
        ({"lease_term": 59.9}, "lease_term must be a time of at least one round, 60 s, or inf, got 59.9"),
        ({"error": 1.0}, "error must be a part from 0 to below 1, got 1.0"),
        ({"overheads": (5.0, -1.0)}, "a restart must be a time from 0 [s], got -1.0"),
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


def test_a_policy_may_wait_for_hours_but_not_for_ever() -> None:
    """The round is held again every minute; a policy that never gives is named, with the app that waits."""
    with pytest.raises(PolicyError, match=r"^policy never, at [0-9.e+]+ s: leaves app 'a' and 1 more waiting"):
        simulate(TINY, AppPolicy("never", lambda arbiter: None))
    asked: list[float] = []

    def late(arbiter: Arbiter) -> None:
        asked.append(arbiter.now)
        if arbiter.now >= 600 * ROUND:
            for agent in arbiter.agents:
                arbiter.give(agent)

    jobs = simulate(TINY, AppPolicy("late", late)).apps
    assert asked == [ROUND * k for k in range(601)]
    assert list(jobs["end_time"]) == [601 * ROUND] * 2
