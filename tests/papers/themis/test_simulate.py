"""Simulations of apps: against a second simulator, by hand, what is conserved, and the sharing incentive."""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import processes
import pytest
from places import HELPERS, ROOT
from themis_naive import Naive
from themis_small import app, ends, first_come, leases, tables, watched, workload

from astraea.core.errors import InputError, PolicyError
from astraea.core.metrics import summary
from astraea.core.result import JOB_COLUMNS, Result
from papers.themis import arbiter as arbiter_module
from papers.themis import simulate as simulate_module
from papers.themis.apps import MODELS, AppTrace, Tuner, course
from papers.themis.arbiter import ROUND, AppPolicy, Arbiter
from papers.themis.policies import POLICIES, get_policy
from papers.themis.simulate import simulate
from papers.themis.workload import sample_workload

HERE = Path(__file__).resolve().parent
MACHINES = np.array([4] * 4 + [2] * 4)

# the second simulator

SEEDS = range(12)


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


@pytest.mark.parametrize("policy", ["first-come", "tiresias", "astraea"])
@pytest.mark.parametrize("seed", SEEDS)
def test_same_as_a_second_simulator(seed: int, policy: str) -> None:
    """Every lease begins and ends at the same time, each app too, and so much of it was lost to checkpoints."""
    w, term = drawn(seed)
    term = min(term, 3600.0) if policy == "astraea" else term
    expected = Naive(w, policy, term).run()
    result = simulate(w, first_come() if policy == "first-come" else get_policy(policy), lease_term=term)
    assert leases(result) == expected.leases
    assert ends(result) == expected.ends
    assert list(result.jobs["overhead"]) == expected.overhead


def test_drawn_workloads_are_no_trifles() -> None:
    """They have spread gangs, preempted jobs, waiting apps, and explorations of several rungs."""
    results = [simulate(w, get_policy("tiresias"), lease_term=term) for w, term in map(drawn, SEEDS)]
    assert np.mean([not local for result in results for *_, local in leases(result)]) > 0.05
    assert sum(result.jobs["preemptions"].sum() for result in results) > 24
    assert sum((result.jobs["queueing_delay"] > 60).sum() for result in results) > 19
    assert sum(sum(p.work > 0 for p in course(a)) > 1 for w, _ in map(drawn, SEEDS) for a in w.apps) > 28


# whatever the policy


@cache
def sampled(seed: int = 0) -> AppTrace:
    return sample_workload(10, 2.0, seed, MACHINES)


@cache
def simulated(policy: str, seed: int, lease_term: float) -> Result:
    return simulate(sampled(seed), get_policy(policy), lease_term=lease_term)


cases = pytest.mark.parametrize(
    "policy, seed, term",
    [(policy, *case) for policy in POLICIES for case in ((0, 900.0), (1, 200.0), (2, np.inf))],
)


@cases
def test_gpus_are_neither_made_nor_lost(policy: str, seed: int, term: float) -> None:
    """Free and held GPUs of each machine are those that it has, at every decision; in all never more than there are."""
    sizes, seen = sampled(seed).machines, []

    def look(arbiter: Arbiter) -> None:
        held = np.zeros(len(sizes), np.int64)
        for agent in arbiter.agents:
            for lot in agent.lots:
                assert sum(gpus for _, gpus in lot.pieces) == agent.app.gang
                assert len({machine for machine, _ in lot.pieces}) == len(lot.pieces)
                for machine, gpus in lot.pieces:
                    assert gpus > 0
                    held[machine] += gpus
        assert min(arbiter.free) >= 0
        assert np.array_equal(held + arbiter.free, sizes)
        seen.append(arbiter.offered())

    result = simulate(sampled(seed), watched(get_policy(policy), look), lease_term=term)
    assert max(seen[::2]) > 0 and min(seen[1::2]) == 0
    assert tables(result) == tables(simulated(policy, seed, term)), "the same, byte by byte, when it is run again"
    grants = result.grants
    assert grants is not None
    times = np.concatenate([grants["end"], grants["start"]])  # at one moment ends come first
    change = np.concatenate([-grants["demand"], grants["demand"]])[np.argsort(times, kind="stable")]
    assert 0 < np.cumsum(change).max() <= sizes.sum()


@cases
def test_gpu_time_is_conserved(policy: str, seed: int, term: float) -> None:
    """GPU-time of the leases is what each app attained: its work, spread gangs slower, and its overhead."""
    w, result = sampled(seed), simulated(policy, seed, term)
    jobs, grants = result.jobs, result.grants
    assert grants is not None
    service = (grants["demand"] * (grants["end"] - grants["start"])).groupby(grants["job_id"]).sum()
    assert np.allclose(service.loc[jobs["job_id"]], jobs["attained_service"], rtol=1e-12)
    work = [one.gang * sum(phase.work for phase in course(one)) for one in w.apps]
    assert np.allclose(jobs["work"], work, rtol=1e-12)
    on_gpus = jobs["attained_service"] - jobs["gang"] * jobs["overhead"]
    slowdown = np.array([one.slowdown for one in w.apps])
    assert (on_gpus >= jobs["work"] * (1 - 1e-9)).all()
    assert (on_gpus <= jobs["work"] * slowdown * (1 + 1e-9)).all()
    assert np.allclose((on_gpus / jobs["work"])[slowdown == 1], 1.0, rtol=1e-9)
    spread = jobs["job_id"].isin(grants["job_id"][~grants["is_local"]])
    assert (jobs["placement"][~spread | (slowdown == 1)] == 1).all()
    assert (jobs["placement"][spread & (slowdown > 1)] < 1).all()


@cases
def test_the_timeline_is_made_of_the_leases(policy: str, seed: int, term: float) -> None:
    """At every whole hour, what each app has held until then and holds then; in the end what the table of apps says."""
    result = simulated(policy, seed, term)
    grants, last = result.grants, result.timeline["time"].max()
    assert grants is not None
    assert last <= result.makespan < last + 3600
    for _, row in result.timeline[result.timeline["time"].isin([3600.0, 7200.0, last])].iterrows():
        mine = grants[grants["job_id"] == row["tenant"]]
        inside = (np.minimum(mine["end"], row["time"]) - mine["start"]).clip(lower=0)
        assert row["attained_service"] == pytest.approx((mine["demand"] * inside).sum(), rel=1e-9, abs=1e-6)
        is_held = (mine["start"] <= row["time"]) & (row["time"] < mine["end"])
        assert row["held"] == mine["demand"][is_held].sum()
        assert row["waiting"] >= 0
    at_end = result.timeline[result.timeline["time"] == last].set_index("tenant").loc[result.jobs["job_id"]]
    over = (result.jobs["end_time"] <= last).to_numpy()
    assert over.any()
    for column in ("attained_service", "fair_service"):
        assert np.allclose(at_end[column][over], result.jobs[column][over], rtol=1e-9), column
    assert (at_end[["held", "waiting"]][over] == 0).all(axis=None)


@cases
def test_times_of_apps_and_leases(policy: str, seed: int, term: float) -> None:
    """All begin at rounds and none lasts beyond its term, rounded up; no app is quicker than alone on everything."""
    result = simulated(policy, seed, term)
    jobs, grants = result.jobs, result.grants
    assert grants is not None
    assert (grants["start"] % ROUND == 0).all()
    longest = (grants["end"] - grants["start"]).max()
    assert longest <= ROUND * np.ceil(term / ROUND)
    assert np.isinf(term) or longest == ROUND * np.ceil(term / ROUND), "some lease lasts its whole term"
    assert np.isfinite(jobs["end_time"]).all()
    assert (jobs["jct"] == jobs["end_time"] - jobs["submit_time"]).all()
    assert (jobs["jct"] >= jobs["duration"] * (1 - 1e-12)).all()
    assert (jobs["first_start_time"] >= jobs["submit_time"]).all()
    assert (jobs["queueing_delay"] >= (jobs["first_start_time"] - jobs["submit_time"]) * (1 - 1e-12)).all()
    assert (jobs["queueing_delay"] < jobs["jct"]).all()
    assert jobs["leases"].sum() == len(grants)
    if np.isinf(term):
        assert (jobs["preemptions"] == 0).all()


@pytest.mark.parametrize("policy", POLICIES)
def test_tables_are_those_of_any_result(policy: str) -> None:
    """The columns that all results share, in their order, and figures by name that are numbers."""
    result = simulated(policy, 0, 900.0)
    assert tuple(result.jobs.columns[: len(JOB_COLUMNS)]) == JOB_COLUMNS
    figures = summary(result)
    assert figures["policy"] == policy and figures["jobs"] == 10
    assert 0 < figures["utilization"] <= 1
    undefined = {name for name, value in figures.items() if name != "policy" and not np.isfinite(value)}
    assert undefined <= {"tenant_sharing_loss"}, "it looks at whole days"
    assert result.gpus == MACHINES.sum()


def test_policies_differ() -> None:
    """No two of them do the same, at least on one of these workloads."""
    ended = {tuple(ends(simulated(policy, seed, 900.0))) for policy in POLICIES for seed in (0,)}
    assert len(ended) == len(POLICIES)


DIGEST = """
import hashlib, sys
import test_simulate as here
from papers.themis.policies import POLICIES
print(here.digest())
"""


def digest() -> str:
    """Of everything that the policies do on one workload, with errors and lies."""
    out = hashlib.sha256()
    for policy in POLICIES:
        w = sampled(3)
        result = simulate(w, get_policy(policy), error=0.3, lies={w.apps[4].name: 3.0, w.apps[2].name: 0.5}, seed=5)
        out.update(tables(result).encode())
        out.update(repr(sorted(result.provenance.items())).encode())
    return out.hexdigest()


def test_same_bytes_in_another_process() -> None:
    """Nothing hangs on hash seeds, or on what was simulated before."""
    places = os.pathsep.join(map(str, (HELPERS, ROOT, HERE)))
    other = processes.run(sys.executable, "-c", DIGEST, env={"PYTHONHASHSEED": "1234", "PYTHONPATH": places})
    assert other.stdout.strip() == digest()


def test_errors_hang_on_the_seed() -> None:
    """Themis decides by estimates, so that another seed of their errors is another run; Tiresias asks for none."""

    def run(policy: str, seed: int, error: float = 0.9) -> str:
        return tables(simulate(sampled(), get_policy(policy), error=error, seed=seed))

    assert run("themis", 0) == run("themis", 0)
    assert run("themis", 0) != run("themis", 1)
    assert run("themis", 0, 0.0) == run("themis", 1, 0.0)
    assert run("tiresias", 0) == run("tiresias", 1) == run("tiresias", 0, 0.0)


# by hand


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
    assert jobs["end_time"][0] == 600.0


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


def test_survivors_stay_where_they_are() -> None:
    """Two jobs reach the end of their rung at once: the better one stays, though the other's lot is the first."""
    w = workload([app("a", [[3, 3], [2, 1, 1, 1]], gang=2, tuner=HALVING)], 4)
    result = simulate(w, get_policy("tiresias"))
    assert leases(result) == [("a", 0.0, 120.0, True), ("a", 0.0, 240.0, True)]
    assert result.jobs["overhead"][0] == 0.0


def test_overhead_that_a_lease_cuts_short_is_not_counted() -> None:
    """Only the time that was lost counts.

    One GPU, epochs of 72.5 s, leases of 300 s. Jobs 0 and 1 have two epochs each until 290 s. Then job 0 takes over;
    its restart would take until 310 s, but the lease ends at 300 s, and it goes on after a checkpoint.
    """
    w = workload([app("a", [[2, 1, 1], [3, 3]], epoch=72.5, tuner=HALVING)], 1)
    jobs = simulate(w, get_policy("tiresias"), lease_term=300.0).jobs
    assert jobs["leases"][0] == 2
    assert jobs["work"][0] == 5 * 72.5
    assert jobs["overhead"][0] == jobs["attained_service"][0] - jobs["work"][0]


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


# the sharing incentive


def many_short_jobs(seed: int, epochs: int = 2, epoch: float = 60.0) -> AppTrace:
    """Five apps that can share 3 GPUs as finely as wished: hundreds of jobs of one GPU each, done after one rung."""
    rng = np.random.default_rng([7, seed])
    arrivals = np.sort([0.0, *rng.uniform(0.0, 6 * 3600.0, 4)])
    tuner = Tuner(first=epochs, eta=2, tolerance=1e-9, longest=epochs)
    return workload(
        [
            app(
                f"app-{i}",
                [epochs] * int(rng.integers(300, 600)),
                arrival=float(arrival),
                model="inception-v3",
                epoch=epoch,
                tuner=tuner,
            )
            for i, arrival in enumerate(arrivals)
        ],
        2, 1,
    )  # fmt: skip


def granularity(w: AppTrace, lease: float, lost: float = 0.0) -> np.ndarray:
    """By how much rho can be above 1 because time is not infinitely divisible; `lost` is the overhead of all [GPU-s].

    Of an app with work W on R GPUs that has been there for A, with N apps on average and x of its work done, let
    d = R A / N - x. It reports rho = 1 + d / W, and rho is 1 + d / W at its end. With n apps active, R A / N grows by
    at most R / n a second: its derivative is R / n (2 y - 1) / y**2 with y = N / n. So all d together grow by at most R
    a second, which is what running jobs take off. Let D be the sum of all d that are above 0. As long as the worst off
    has d >= R lease and work for all GPUs, they all go to an app whose d is in D, and D does not grow. Otherwise:

    - The worst off has d < R lease. Then no other app j has more than W_j / W of that. D is below R lease sum_j W_j / W
      now, and by at most R lease above it when the next lease begins.
    - The worst off has fewer jobs left than there are GPUs. All of them run, so that it is worst off for no longer than
      a job and a lease, in which D grows by R a second.
    - An app comes between two rounds to an idle cluster, or GPUs that are returned wait for a round: less than a lease
      for each app.
    - What is lost is not taken off from D.
    """
    work = np.array([phase.work for one in w.apps for phase in course(one) if phase.work > 0])
    assert len(work) == len(w.apps), "one rung"
    job = max(len(one.loss[0]) * one.epoch for one in w.apps)
    most = w.gpus * (lease * (1 + work.sum() / work.min()) + len(work) * (job + 2 * lease)) + lost
    return np.asarray(most / work)


@pytest.fixture
def no_overheads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs stop and start at no cost."""
    for module, name in ((arbiter_module, "CHECKPOINT"), (arbiter_module, "RESTART"), (simulate_module, "RESTART")):
        monkeypatch.setattr(module, name, 0.0)


SHARED = range(2)


@pytest.mark.usefixtures("no_overheads")
@pytest.mark.parametrize("seed", SHARED)
def test_sharing_incentive(seed: int) -> None:
    """With f = 1 no app is worse off than with 1/N of the cluster to itself, where apps are divisible.

    It is possible: with equal shares W = int R / n dt over its life, at least R A / N by Jensen's inequality.
    """
    w = many_short_jobs(seed)
    jobs = simulate(w, get_policy("themis", f=1.0), lease_term=60.0).jobs
    allowed = granularity(w, 60.0)
    assert allowed.max() < 0.15
    assert (jobs["overhead"] == 0).all()
    assert (jobs["contention"] > 1.5).all()
    assert (jobs["finish_time_fairness"] <= 1 + allowed).all()


@pytest.mark.usefixtures("no_overheads")
@pytest.mark.parametrize("policy", ["optimus", "gandiva-packing"])
@pytest.mark.parametrize("seed", SHARED)
def test_no_sharing_incentive_without_a_rule_for_it(seed: int, policy: str) -> None:
    """The same apps under policies that look at other things, which then serve in order of arrival."""
    w = many_short_jobs(seed)
    fairness = simulate(w, get_policy(policy), lease_term=60.0).jobs["finish_time_fairness"]
    assert (fairness > 1.2 + granularity(w, 60.0)).any()


def test_sharing_incentive_with_overheads() -> None:
    """What checkpoints and restarts cost, of all apps together, is all that comes on top.

    Epochs are so short that it does not matter that an agent takes the last one, once it is begun, for a whole one.
    """
    w = many_short_jobs(0, epochs=60, epoch=6.0)
    jobs = simulate(w, get_policy("themis", f=1.0), lease_term=600.0).jobs
    assert (jobs["overhead"] > 0).all()
    assert (jobs["overhead"] < 0.05 * jobs["work"]).all()
    allowed = granularity(w, 600.0, lost=jobs["overhead"].sum())
    assert (jobs["finish_time_fairness"] <= 1 + allowed).all()
    assert (simulate(w, get_policy("optimus"), lease_term=600.0).jobs["finish_time_fairness"] > 1 + allowed).any()


# bad input

TINY = workload([app("a", [1]), app("b", [1])], 2)


@pytest.mark.parametrize(
    "given, said",
    [
        *(
            ({"lease_term": bad}, f"lease_term must be a time of at least one round, 60 s, or inf, got {bad!r}")
            for bad in (0.0, 59.9, -1.0, float("nan"), True, "900", None)
        ),
        *(
            ({"error": bad}, f"error must be a part from 0 to below 1, got {bad!r}")
            for bad in (1.0, -0.1, float("nan"), True)
        ),
        *(
            ({"seed": bad}, f"the seed must be a whole number of at least 0, got {bad!r}")
            for bad in (-1, 0.5, True, None)
        ),
        ({"lies": {"c": 2.0}}, "small: there is no app 'c' that could lie"),
        *(
            ({"lies": {"b": bad}}, f"app 'b': the factor on its rho must be above 0, got {bad!r}")
            for bad in (0.0, -1.0, float("nan"), float("inf"))
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
    decided = []

    def look(arbiter: Arbiter) -> None:
        decided.append(arbiter.now)
        assert len(decided) < 100, "time stands still"

    w = workload([app("a", [2])], 1)
    jobs = simulate(w, watched(first_come(), look), lease_term=60).jobs
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
