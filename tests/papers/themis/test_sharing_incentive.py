"""The sharing incentive of Themis, where its rules promise it and where they do not."""

from __future__ import annotations

import numpy as np
import pytest
from themis_small import app, workload

from papers.themis import arbiter
from papers.themis import simulate as themis_simulate
from papers.themis.apps import AppTrace, Tuner, course
from papers.themis.policies import get_policy
from papers.themis.simulate import simulate


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
    for module, name in ((arbiter, "CHECKPOINT"), (arbiter, "RESTART"), (themis_simulate, "RESTART")):
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
