"""Nodes that differ, and rules: every scheduler obeys the nodes on which a job may run; limits; refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from schedules import FREE, jobs, trace_of
from small_runs import same

from astraea.cluster.cluster import Cluster
from astraea.cluster.observed import observed
from astraea.cluster.policies import all_policies, get_policy
from astraea.cluster.rules import Rules, checked, no_rules, nodes_of_gangs
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.errors import InputError
from astraea.core.result import Result
from astraea.traces.trace import Trace

SIZES = (4, 8, 8, 2, 0, 4)
CLASSES = np.array([[1, 1, 1, 1, 1, 1], [0, 1, 1, 0, 0, 0], [1, 0, 0, 1, 0, 1], [0, 1, 0, 0, 1, 0]], dtype=bool)


def crowd() -> tuple[Trace, Cluster, Rules]:
    """150 jobs of three tenants that overload six nodes of four kinds; each job may run on one of four classes."""
    rng, n = np.random.default_rng(5), 150
    rows = pd.DataFrame(
        {
            "job_id": range(n), "tenant": rng.choice(["a", "b", "c"], n), "demand": rng.choice([1, 1, 2, 3, 4, 8], n),
            "submit_time": np.sort(rng.uniform(0, 8000, n)), "duration": rng.lognormal(6, 1, n) + 10,
        }
    )  # fmt: skip
    trace, cluster = trace_of(rows), Cluster.of(SIZES)
    return trace, cluster, no_rules(trace, cluster)._replace(allowed=CLASSES, kind=rng.integers(0, 4, n))


def keeps_to_its_nodes(made: Result, trace: Trace, rules: Rules) -> None:
    """No job is on a wrong node, no node gives more than it has, and every job had its whole service."""
    assert made.grants is not None and made.placements is not None
    kind = made.grants["job_id"].map(dict(zip(trace.job_id, rules.kind, strict=True)))
    assert rules.allowed[kind.loc[made.placements["grant"]], made.placements["node"]].all()
    new = made.grants["kind"] != "renewal"
    held_until = made.grants.groupby(["job_id", new.groupby(made.grants["job_id"]).cumsum()])["end"].transform("max")
    pieces = made.placements.assign(
        start=made.grants["start"].loc[made.placements["grant"]].to_numpy(),
        end=held_until.loc[made.placements["grant"]].to_numpy(),
    )
    for node, size in enumerate(SIZES):
        mine = pieces[pieces["node"] == node]
        time, change = pd.concat([mine["start"], mine["end"]]), pd.concat([mine["gpus"], -mine["gpus"]])
        held = np.cumsum(change.to_numpy()[np.lexsort((change, time))])
        assert held.max(initial=0) <= size
    assert (made.jobs["end_time"] > 0).all()


@pytest.mark.parametrize("policy", [name for name in all_policies() if name != "hived"])
def test_every_policy_keeps_to_the_nodes_of_each_job(policy: str) -> None:
    trace, cluster, rules = crowd()
    made = simulate(trace, cluster, policy, rules=rules, keep_log=True)
    assert made.gpus == sum(SIZES) == 26
    keeps_to_its_nodes(made, trace, rules)
    assert set(made.excluded_jobs["reason"]) <= {
        "its gang does not fit on the nodes where it may run", "demand exceeds the quota of its tenant (8 GPUs)",
    }  # fmt: skip


@pytest.mark.parametrize("placement", ["strict", "spread", "random"])
def test_every_placement_keeps_to_them(placement: str) -> None:
    trace, cluster, rules = crowd()
    made = simulate(trace, cluster, "fifo", rules=rules, keep_log=True, settings=Settings(placement=placement))
    keeps_to_its_nodes(made, trace, rules)
    if placement == "strict":
        fewest = dict(zip(trace.job_id, nodes_of_gangs(rules, trace, cluster), strict=True))
        assert (made.log["nodes"] <= made.log["job_id"].map(fewest)).all()


def test_a_job_that_waits_for_its_nodes_keeps_nothing_from_others() -> None:
    """a1 may run on node 0 only, which a0 has; b2 comes later and starts on node 1."""
    trace, cluster = trace_of(jobs("a0 4 0 100", "a1 4 10 50", "b2 4 20 30")), Cluster(2, 4)
    rules = no_rules(trace, cluster)._replace(allowed=np.array([[1, 0], [1, 1]], bool), kind=np.array([0, 0, 1]))
    made = simulate(trace, cluster, "fifo", rules=rules, settings=FREE)
    assert made.jobs["first_start_time"].tolist() == [0, 100, 20]
    assert simulate(trace, cluster, "fifo", settings=FREE).jobs["first_start_time"].tolist() == [0, 10, 60]


@pytest.mark.parametrize("policy", ["fifo", "slurm"])
def test_rules_that_say_nothing_change_nothing(policy: str) -> None:
    trace, _, _ = crowd()
    cluster = Cluster(4, 8)
    plain = simulate(trace, cluster, policy, keep_log=True)
    ruled = simulate(trace, cluster, policy, keep_log=True, rules=no_rules(trace, cluster))
    origin = ruled.provenance
    assert origin.pop("rules_sha256") == checked(no_rules(trace, cluster), trace, cluster).digest
    same(plain, replace(ruled, provenance=origin))


def test_an_account_above_its_cap_is_passed_over_and_keeps_nobody_waiting() -> None:
    """Both jobs of account a count against 4 GPUs: a1 waits for a0, and b2 behind it does not; a3 alone is too much."""
    trace, cluster = trace_of(jobs("a0 3 0 100", "a1 2 10 50", "b2 2 20 50", "a3 5 30 10")), Cluster(1, 8)
    rules = no_rules(trace, cluster)._replace(
        cap=np.array([4.0]), caps=np.array([[0], [0], [-1], [0]]), takes=np.array([[3.0], [2.0], [2.0], [5.0]])
    )
    made = simulate(trace, cluster, get_policy("slurm").with_parameters(interval=1), rules=rules)
    assert made.jobs["first_start_time"].tolist() == [0, 100, 20]
    assert made.excluded_jobs["reason"].tolist() == ["it exceeds a limit by itself"]


@pytest.mark.parametrize(
    "sizes, kind, asks, demand, nodes, in_parts",
    [
        ((8, 8, 8), 0, 0, 20, 3, 3),
        ((4, 8, 8), 0, 0, 16, 2, 2),
        ((4, 4, 8), 0, 0, 12, 2, 3),
        ((4, 8, 8), 0, 0, 20, 3, 0),  # no three equal parts
        ((4, 8, 8), 0, 3, 20, 0, 0),
        ((4, 8, 8), 0, 1, 20, 0, 0),  # nor does one node hold it
        ((4, 8, 8), 0, 3, 12, 3, 3),
        ((4, 8, 8), 0, 3, 16, 2, 2),  # three parts as asked for do not fit
        ((4, 8, 8), 0, 3, 2, 2, 2),  # a GPU on each
        ((4, 8, 8), 1, 0, 8, 1, 1),
        ((4, 8, 8), 2, 0, 8, 0, 0),
    ],
)
def test_nodes_of_a_gang(sizes: tuple[int, ...], kind: int, asks: int, demand: int, nodes: int, in_parts: int) -> None:
    cluster = Cluster.of(sizes)
    trace = trace_of(jobs(f"a {demand} 0 1"))
    rules = no_rules(trace, cluster)._replace(
        allowed=np.array([[1, 1, 1], [0, 1, 1], [1, 0, 0]], bool), kind=np.array([kind]), nodes=np.array([asks])
    )
    assert nodes_of_gangs(rules, trace, cluster).tolist() == [nodes]
    assert nodes_of_gangs(rules, trace, cluster, equal_parts=True).tolist() == [in_parts]


def test_a_cluster_of_unlike_nodes() -> None:
    cluster = Cluster.of([8, 4, 0])
    assert (cluster.gpus, cluster.gpus_per_node, str(cluster)) == (12, 8, "3 nodes with 12")
    assert Cluster.of([4, 4]) == Cluster(2, 4)
    with pytest.raises(InputError, match="GPUs of node 1 must be a whole number of at least 0, got -1"):
        Cluster.of([8, -1])
    with pytest.raises(InputError, match="sizes must be 3 numbers of GPUs, the largest 8, got"):
        Cluster(3, 8, (8, 4))
    trace = trace_of(jobs("a0 8 0 10").copy()).head(1)
    trace = Trace.from_frame(trace.frame.assign(queueing_delay=0.0))
    with pytest.raises(InputError, match="8 GPUs were in use, more than the cluster of 2 nodes with 6 has"):
        observed(trace, Cluster.of([4, 2]))


@pytest.mark.parametrize(
    "change, says",
    [
        ({"kind": np.array([0])}, r"kind must have the shape \(2,\), got \(1,\)"),
        ({"allowed": np.ones((1, 3), bool)}, r"allowed must have the shape \(1, 2\), got \(1, 3\)"),
        ({"kind": np.array([0, 1])}, r"kind\[1\] is out of range, got 1"),
        ({"association": np.array([0, 5])}, r"association\[1\] is out of range, got 5"),
        ({"parent": np.array([1, -1, -1])}, r"parent\[0\] is out of range, got 1"),
        ({"parent": np.array([-1, 0, -1])}, r"association\[0\] is out of range, got 0"),  # an account, no user
        ({"shares": np.array([1, -1, 1.0])}, r"shares\[1\] is out of range, got -1"),
        ({"bonus": np.array([0, np.nan])}, r"bonus\[1\] is out of range, got nan"),
        ({"nodes": np.array([0, 3])}, r"nodes\[1\] is out of range, got 3"),
    ],
)
def test_rules_that_do_not_fit_are_refused(change: dict[str, Any], says: str) -> None:
    trace, cluster = trace_of(jobs("a0 1 0 10", "b1 1 0 10")), Cluster(2, 4)
    with pytest.raises(InputError, match=f"trace: rules: {says}"):
        simulate(trace, cluster, "fifo", rules=no_rules(trace, cluster)._replace(**change))


def test_hived_needs_nodes_that_are_alike() -> None:
    trace, cluster, rules = crowd()
    with pytest.raises(InputError, match="policy hived needs nodes of equal size"):
        simulate(trace, cluster, "hived")
    even = Cluster(6, 8)
    with pytest.raises(InputError, match="policy hived needs nodes of equal size"):
        simulate(trace, even, "hived", rules=rules)
