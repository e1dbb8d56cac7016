"""Choices that [Ye2022] leaves open: schedules that can be followed by hand, and a naive choice beside policies."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from listed_jobs import listed
from workloads import crowd

from astraea.cluster.cluster import Cluster
from astraea.cluster.policies import get_policy
from astraea.cluster.policy import Policy
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from papers.ye2022.open_choices import astraea_by_demand, astraea_new_not_first, with_deadlines

FREE = Settings(checkpoint_overhead=0, restart_overhead=0)
ASTRAEA = get_policy("astraea")


def held_by_late(policy: Policy) -> float:
    """GPU-s that a tenant attains in the 400 s after its first submission; it asked for nothing in the 400 s before."""
    jobs = [
        *((f"a{k}", "busy", 1, 0.0, 5000.0) for k in range(2)),
        *((f"b{k}", "late", 1, 400.0, 5000.0) for k in (0, 1)),
    ]
    run = simulate(listed(*jobs), Cluster(1, 2), policy.with_parameters(lease_term=100), settings=FREE, keep_log=True)
    log = run.log[run.log["job_id"].isin(["b0", "b1"])]
    return float(np.clip(np.minimum(log["end"], 800) - np.maximum(log["start"], 400), 0, None).sum())


def test_by_demand_an_idle_tenant_saves_nothing() -> None:
    # a quota of 1 GPU each: by Eq. 16 the late tenant is behind by all that it lent, and gets both GPUs for 400 s; by
    # Eq. 8 it is owed nothing for that time, and its first lease sets it level
    assert held_by_late(ASTRAEA) == 800
    assert held_by_late(astraea_by_demand) < 700


def naive_rho(got: float, demands: list[tuple[float, float]], quota: float, now: float, lease: float) -> float:
    """Eq. 12 with Eqs. 8 and 9 up to the end of a lease, second by second; `demands` are (since [s], GPUs)."""
    owed = 0.0
    for second in range(int(now)):
        owed += min(quota, max((gpus for since, gpus in demands if since <= second), default=0.0))
    return got / (owed + lease * min(quota, demands[-1][1]))


def test_by_demand_the_next_tenant_is_the_one_that_a_naive_sum_says() -> None:
    # a: 1 GPU since 0; b: 3 GPUs since 200, quotas of 2; at 300 both ask for the GPU that ends its lease then
    jobs = [
        ("a0", "a", 1, 0.0, 900.0),
        ("c0", "c", 1, 0.0, 300.0),
        *((f"b{k}", "b", 1, 200.0, 900.0) for k in range(3)),
    ]
    trace = listed(*jobs, ("a1", "a", 1, 290.0, 900.0), weights={"a": 2, "b": 2, "c": 1})
    run = simulate(
        trace, Cluster(1, 5), astraea_by_demand.with_parameters(lease_term=300), settings=FREE, keep_log=True
    )
    at_300 = set(run.log.loc[run.log["start"] == 300, "job_id"])
    rho = {
        "a": naive_rho(300.0, [(0.0, 1.0), (290.0, 2.0)], 2.0, 300.0, 300.0),
        "b": naive_rho(300.0 * 3, [(200.0, 3.0)], 2.0, 300.0, 300.0),  # leases of 300 s count in full
    }
    assert rho["a"] < rho["b"] and {"a0", "a1"} <= at_300


def test_new_jobs_lead_without_the_rule_too() -> None:
    """A job that has not run has rho = 0, so the rule changes nothing unless renewals have a bonus."""
    case = crowd()
    plain, without = (simulate(case.trace, case.cluster, policy) for policy in (ASTRAEA, astraea_new_not_first))
    assert plain.jobs.equals(without.jobs)
    first, other = (
        simulate(case.trace, case.cluster, policy.with_parameters(renewal_bonus=1))
        for policy in (ASTRAEA, astraea_new_not_first)
    )
    assert not first.jobs.equals(other.jobs)


def test_a_bonus_keeps_the_lease() -> None:
    # one GPU, leases of 100 s; the job that runs has the larger rho, and a bonus beyond every rho lets it go on
    trace = listed(("a", "t", 1, 0.0, 300.0), ("b", "t", 1, 50.0, 300.0))
    policy = astraea_new_not_first.with_parameters(lease_term=100)
    taking_turns = simulate(trace, Cluster(1, 1), policy, settings=FREE)
    going_on = simulate(trace, Cluster(1, 1), policy.with_parameters(renewal_bonus=9), settings=FREE)
    assert taking_turns.jobs["preemptions"].sum() > 0 == going_on.jobs["preemptions"].sum()
    assert going_on.jobs["end_time"].tolist() == [300, 600]


def test_deadlines_by_a_stated_rule() -> None:
    trace = crowd().trace
    due = with_deadlines(trace, share=0.25, times=3.0, least=600.0, seed=1)
    chosen = ~np.isnan(due.deadline)
    assert 0.15 < chosen.mean() < 0.35
    expected = trace.submit_time + np.maximum(3 * trace.duration, 600)
    assert due.deadline[chosen].tolist() == pytest.approx(expected[chosen].tolist())
    assert dataclasses.replace(due, deadline=trace.deadline).frame.equals(trace.frame)
