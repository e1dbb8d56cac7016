"""Simulations of apps: against a second simulator, what holds whatever the policy, and the sharing incentive."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from themis_naive import Naive
from themis_small import app, ends, leases, tables, workload

from astraea.core.metrics import summary
from astraea.core.result import JOB_COLUMNS, Result
from papers.themis import arbiter as themis_arbiter
from papers.themis import simulate as themis_simulate
from papers.themis.apps import AppTrace, Tuner, course
from papers.themis.arbiter import ROUND, AppPolicy, Arbiter
from papers.themis.policies import POLICIES, get_policy
from papers.themis.simulate import simulate
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
    """Every lease begins and ends at the same time, each app too, and so much of it was lost to checkpoints."""
    w, term = drawn(seed)
    term = min(term, 3600.0) if policy == "astraea" else term
    result = simulate(w, get_policy(policy), lease_term=term)
    assert (leases(result), ends(result), list(result.jobs["overhead"])) == Naive(w, policy, term).run()


@cache
def sampled(seed: int = 0) -> AppTrace:
    return sample_workload(10, 2.0, seed, np.array([4] * 4 + [2] * 4))


@cache
def simulated(policy: str, seed: int, lease_term: float) -> Result:
    return simulate(sampled(seed), get_policy(policy), lease_term=lease_term)


@pytest.mark.parametrize("seed, term", [(0, 900.0), (1, 200.0), (2, np.inf)])
@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_conserved(policy: str, seed: int, term: float) -> None:
    """Free and held GPUs of each machine are those that it has, at every decision.

    GPU-time of the leases is what each app attained: its work, spread gangs slower, and its overhead. All leases begin
    at rounds and none lasts beyond its term, rounded up; no app is quicker than alone on everything.
    """
    sizes, seen, inner = sampled(seed).machines, [], get_policy(policy)

    def look(arbiter: Arbiter) -> None:
        held = np.zeros(len(sizes), np.int64)
        for agent in arbiter.agents:
            for lot in agent.lots:
                assert sum(gpus for _, gpus in lot.pieces) == agent.app.gang
                for machine, gpus in lot.pieces:
                    held[machine] += gpus
        assert min(arbiter.free) >= 0
        assert np.array_equal(held + arbiter.free, sizes)
        seen.append(arbiter.offered)

    def decide(arbiter: Arbiter) -> None:
        look(arbiter)
        inner.decide(arbiter)
        look(arbiter)

    w, result = sampled(seed), simulate(sampled(seed), AppPolicy(policy, decide, inner.parameters), lease_term=term)
    assert max(seen[::2]) > 0 and min(seen[1::2]) == 0
    assert tables(result) == tables(simulated(policy, seed, term)), "the same, byte by byte, when it is run again"
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


@pytest.mark.parametrize("policy", POLICIES)
def test_the_timeline_is_made_of_the_leases(policy: str) -> None:
    """At every whole hour, what each app has held until then and holds then; in the end what the table of apps says.

    The columns are those that all results share, in their order, and figures by name are numbers.
    """
    result = simulated(policy, 0, 900.0)
    grants, last = result.grants, result.timeline["time"].max()
    assert grants is not None
    assert last <= result.makespan < last + 3600
    for _, row in result.timeline[result.timeline["time"].isin([3600.0, last])].iterrows():
        mine = grants[grants["job_id"] == row["tenant"]]
        inside = (np.minimum(mine["end"], row["time"]) - mine["start"]).clip(lower=0)
        assert row["attained_service"] == pytest.approx((mine["demand"] * inside).sum(), rel=1e-9, abs=1e-6)
        is_held = (mine["start"] <= row["time"]) & (row["time"] < mine["end"])
        assert row["held"] == mine["demand"][is_held].sum()
    at_end = result.timeline[result.timeline["time"] == last].set_index("tenant").loc[result.jobs["job_id"]]
    over = (result.jobs["end_time"] <= last).to_numpy()
    for column in ("attained_service", "fair_service"):
        assert np.allclose(at_end[column][over], result.jobs[column][over], rtol=1e-9), column
    assert (at_end[["held", "waiting"]][over] == 0).all(axis=None)
    assert tuple(result.jobs.columns[: len(JOB_COLUMNS)]) == JOB_COLUMNS
    assert summary(result)["jobs"] == 10
    others = [ends(simulated(other, 0, 900.0)) for other in POLICIES if other != policy]
    assert ends(result) not in others, "no two policies do the same"


def test_errors_hang_on_the_seed() -> None:
    """Themis decides by estimates, so that another seed of their errors is another run; Tiresias asks for none."""

    def run(policy: str, seed: int, error: float = 0.9) -> str:
        return tables(simulate(sampled(), get_policy(policy), error=error, seed=seed))

    assert run("themis", 0) != run("themis", 1)
    assert run("themis", 0, 0.0) == run("themis", 1, 0.0)
    assert run("tiresias", 0) == run("tiresias", 1, 0.0)


def many_short_jobs(seed: int) -> AppTrace:
    """Five apps that can share 3 GPUs as finely as wished: hundreds of jobs of one GPU each, done after one rung."""
    rng = np.random.default_rng([7, seed])
    arrivals = np.sort([0.0, *rng.uniform(0.0, 6 * 3600.0, 4)])
    brief = {"model": "inception-v3", "tuner": Tuner(first=2, eta=2, tolerance=1e-9, longest=2)}
    jobs = [[2] * int(rng.integers(300, 600)) for _ in arrivals]
    apps = [app(f"app-{i}", jobs[i], arrival=float(arrival), **brief) for i, arrival in enumerate(arrivals)]
    return workload(apps, 2, 1)


def granularity(w: AppTrace, lease: float) -> np.ndarray:
    """By how much rho can be above 1 because time is not infinitely divisible.

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
    """
    work = np.array([phase.work for one in w.apps for phase in course(one) if phase.work > 0])
    assert len(work) == len(w.apps), "one rung"
    job = max(len(one.loss[0]) * one.epoch for one in w.apps)
    most = w.gpus * (lease * (1 + work.sum() / work.min()) + len(work) * (job + 2 * lease))
    return np.asarray(most / work)


@pytest.mark.parametrize("seed", range(2))
def test_sharing_incentive(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With f = 1 no app is worse off than with 1/N of the cluster to itself, where apps are divisible.

    It is possible: with equal shares W = int R / n dt over its life, at least R A / N by Jensen's inequality. Jobs stop
    and start at no cost here. Policies that look at other things serve in order of arrival.
    """
    for module, name in ((themis_arbiter, "CHECKPOINT"), (themis_arbiter, "RESTART"), (themis_simulate, "RESTART")):
        monkeypatch.setattr(module, name, 0.0)
    w = many_short_jobs(seed)
    allowed = granularity(w, 60.0)
    assert allowed.max() < 0.15
    jobs = simulate(w, get_policy("themis", f=1.0), lease_term=60.0).jobs
    assert (jobs["overhead"] == 0).all() and (jobs["contention"] > 1.5).all()
    assert (jobs["finish_time_fairness"] <= 1 + allowed).all()
    for policy in ("optimus", "gandiva-packing"):
        fairness = simulate(w, get_policy(policy), lease_term=60.0).jobs["finish_time_fairness"]
        assert (fairness > 1.2 + allowed).any()
