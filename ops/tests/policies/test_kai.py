"""KAI's division, order and reclaim, compared with KAI's own test cases and a naive twin; and its schedules."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import kai_cases
import kai_naive
import numpy as np
import pandas as pd
import pytest
import reference
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from places import ROOT
from reference_state import JobSpec
from schedules import check, jobs, simulated, small_state, trace_of

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.accounting import change_active, change_held
from astraea.cluster.settings import Settings
from astraea.cluster.simulation import split_off_impossible
from astraea.traces.readers.shares import shares_of
from astraea.traces.tree import Shares
from astraea_ops.policies import kai_queues, kai_reclaim
from astraea_ops.policies.kai import Parameters, queues_now

CASES = kai_cases.cases_of(ROOT.parent / "shared" / "reference" / "kai")

@pytest.mark.parametrize("name", CASES or ["none"])
def test_case_of_kai(name: str, shared: Path) -> None:
    assert kai_cases.agrees(CASES[name]), CASES[name]["name"]


def test_all_of_kais_cases_are_there(shared: Path) -> None:
    assert len(CASES) >= 199


NUMBER = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 7.0, 10.0])
UNLIMITED = st.one_of(NUMBER, st.just(-1.0))
NUMBERS = {
    "deserved": UNLIMITED, "limit": st.one_of(st.just(-1.0), UNLIMITED), "overQuotaWeight": NUMBER,
    "usage": st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), "request": NUMBER, "allocated": NUMBER, "fairShare": NUMBER,
    "allocatedNotPreemptible": st.sampled_from([0.0, 0.0, 1.0]),
}  # fmt: skip
UNUSED = st.just(dict.fromkeys(NUMBERS, 0.0))
RESOURCES = {"GPU": st.fixed_dictionaries(NUMBERS)} | {
    r: st.one_of(UNUSED, UNUSED, st.fixed_dictionaries(NUMBERS)) for r in kai_naive.RESOURCES[1:]
}
QUEUE = st.tuples(st.integers(-1, 3), st.integers(0, 1), st.fixed_dictionaries(RESOURCES))
AMOUNTS = st.fixed_dictionaries(
    {r: st.sampled_from([1.0, 0.5, 2.0] if r == "GPU" else [0.0, 0.0, 0.0, 1.0]) for r in kai_naive.RESOURCES}
)


def queues_from(drawn: list[Any]) -> dict[str, kai_naive.Queue]:
    """Queues by name, each below an earlier one or at the top."""
    return {
        f"q{k}": {"name": f"q{k}", "parent": f"q{above}" if 0 <= above < k else "", "priority": priority, "created": k}
        | rows for k, (above, priority, rows) in enumerate(drawn)
    }  # fmt: skip


@settings(deadline=None)
@given(st.lists(QUEUE, min_size=1, max_size=8), AMOUNTS, st.sampled_from([0.0, 1.0, 3.0]))
def test_division_agrees_with_the_naive_twin(drawn: list[Any], total: dict[str, float], k: float) -> None:
    queues = queues_from(drawn)
    ours, place = kai_cases.queues_of(queues)
    kai_queues.set_fair_shares(ours, 7 * kai_cases.amounts(total), k)
    kai_naive.divide_tree({r: 7 * amount for r, amount in total.items()}, k, list(queues.values()))
    theirs = [[queues[name][r]["fairShare"] for r in kai_naive.RESOURCES] for name in place]
    np.testing.assert_allclose(ours.share, theirs, atol=1e-9)


@settings(deadline=None)
@given(st.lists(QUEUE, min_size=2, max_size=5), AMOUNTS, AMOUNTS, AMOUNTS, st.booleans(), st.data())
def test_order_and_reclaim_agree_with_the_naive_twin(
    drawn: list[Any], job: dict[str, float], other: dict[str, float], lost: dict[str, float], preemptible: bool,
    data: st.DataObject,
) -> None:  # fmt: skip
    """For all pairs of leaves: which goes first, and may it have what the other loses?"""
    queues = queues_from(drawn)
    ours, place = kai_cases.queues_of(queues)
    leaves = sorted(set(queues) - {q["parent"] for q in queues.values()})
    total, none = {r: 20.0 for r in kai_naive.RESOURCES}, dict.fromkeys(kai_naive.RESOURCES, 0.0)
    needs = kai_cases.amounts(job)
    for a, b in permutations(leaves, 2):
        i, v = place[a], place[b]
        for waits, victims in (((job, other), (none, none)), ((none, none), (job, lost))):
            found = kai_queues.goes_first(ours, i, v, *map(kai_cases.amounts, (*waits, *victims, total)))
            assert found == kai_naive.left_goes_first(queues[a], queues[b], list(waits), list(victims), total)
        assert kai_reclaim.may_reclaim(ours, i, needs, preemptible) == kai_naive.may(queues, a, job, preemptible)
        assert kai_reclaim.is_candidate(ours, i, needs, v) == kai_naive.victim_counts(queues, a, job, b)
        others = st.sampled_from([leaf for leaf in leaves if leaf != a])
        lot = data.draw(st.lists(st.tuples(others, AMOUNTS), min_size=1, max_size=3))
        multiplier = data.draw(st.sampled_from([1.0, 1.5]))
        assert kai_reclaim.is_reclaimable(
            ours, i, needs, preemptible, np.array([place[name] for name, _ in lot]),
            np.array([kai_cases.amounts(held) for _, held in lot]), multiplier,
        ) == kai_naive.lot_is_fair(queues, a, job, preemptible, lot, multiplier)  # fmt: skip


def tree(**queues: dict[str, Any]) -> Shares:
    """Shares of queues by name, 1 where nothing else is said."""
    usual = {"share": 1.0, "quota": math.nan, "limit": math.inf, "priority": 0}
    rows = {name: usual | row for name, row in queues.items()}
    parent = {name: row.get("parent", "") for name, row in queues.items()}
    return shares_of(pd.DataFrame.from_dict(rows, orient="index"), parent, "the case")


KAI = {"lease_term": 1000}
SCHEDULES: dict[str, tuple[Any, ...]] = {
    "the queue that goes least beyond its due with its next job goes first": (
        2, KAI,
        "a0 1 0 30 |S==",
        "a1 1 0 30 |...S==",
        "b2 1 0 30 |S==",
    ),
    "small jobs pass a gang that does not fit": (
        6, KAI,
        "a0 2 0 100 |S=========",
        "b1 3 0 100 |S=========",
        "a2 3 10 50 | .........S====",
        "a3 1 10 50 | S====",
    ),
    "a queue reclaims for every job within its share, from the last submitted of a queue above": (
        4, KAI,  # a holds all; b comes and is owed two
        "a0 1 0 100  |S=========",
        "a1 1 0 100  |S=========",
        "a2 1 10 100 | S===...R=========",
        "a3 1 20 100 |  S==...R=========",
        "b4 1 50 30  |     S==",
        "b5 1 50 30  |     S==",
    ),
    "nobody reclaims from a queue that is not above its share": (
        6, KAI,  # b's jobs are the youngest, but a holds twice its share
        "a0 2 0 100  |S=========",
        "a1 1 0 100  |S====...R=========",
        "a2 1 0 100  |S====...R=========",
        "b3 1 10 100 | S=========",
        "b4 1 10 100 | S=========",
        "c5 1 50 30  |     S==",
        "c6 1 50 30  |     S==",
    ),
    "nobody reclaims beyond its share, deserved or fair": (
        # b holds one of the two GPUs that it is owed: for its gang of two it takes nothing from a
        4, KAI | {"deserved": [1, 0], "k_value": 0},
        "a0 2 0 100  |S=========                |S=========",
        "a1 2 0 100  |S===......R=========      |S===......R=========",
        "b2 1 40 200 |    S===================  |    S===================",
        "b3 2 50 30  |     ...............S==   |     ...............S==",
    ),
    "a gang that lifts its queue above its share is not safe": (
        4, KAI,
        "a0 4 0 100 |S====...R=========",
        "b1 1 50 30 |     S==",
    ),
    "victims that turn out not to be needed are spared": (
        4, KAI | {"weights": tree(a={"quota": 0}, b={"quota": 4})},
        "a0 3 0 100  |S====...R=========",
        "a1 1 10 100 | S=========",
        "b2 3 50 30  |     S==",
    ),
    "a job is not evicted before it has run for long enough": (
        2, KAI | {"min_runtime": [0, 60]},
        "a0 1 0 100  |S=========        |S=====...R=========",
        "a1 1 20 100 |  S==...R=========|  S=========",
        "b2 1 50 30  |     S==          |     .S==",
    ),
    "a queue stops at its limit": (
        4, KAI | {"weights": tree(a={"limit": 2}, b={})},
        "a0 1 0 30 |S==",
        "a1 1 0 30 |S==",
        "a2 1 0 30 |...S==",
        "b3 1 0 30 |S==",
    ),
    "what is over quota goes to the higher priority": (
        4, KAI | {"weights": tree(a={"quota": 0}, b={"quota": 0, "priority": 1})},
        "a0 1 0 30 |S==",
        "a1 1 0 30 |...S==",
        "a2 1 0 30 |...S==",
        "b3 1 0 30 |S==",
        "b4 1 0 30 |S==",
        "b5 1 0 30 |S==",
    ),
    "a department reclaims from another, from the last project in the order first": (
        4, KAI | {"weights": tree(x={}, a={"parent": "x"}, b={"parent": "x"}, y={}, c={"parent": "y"})},
        "a0 1 0 60  |S=====",
        "a1 1 0 60  |S=...R=====",
        "b2 1 0 60  |S=====",
        "b3 1 0 60  |S=....R=====",
        "c4 1 20 30 |  S==",
        "c5 1 20 30 |  S==",
        "c6 1 20 30 |  ...S==",
    ),
    "whole-cluster jobs alternate by usage": (
        # all that a had is held against it; it renews in the round in which b comes
        4, {"lease_term": 50, "deserved": 0},
        "a0 4 0 200   |S====r====r........................................R====r====",
        "b1 4 100 400 |          .S====r====r====r====r====r====r====r====",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SCHEDULES.values(), ids=SCHEDULES)
def test_schedule(case: tuple[Any, ...]) -> None:
    check("kai", *case)


JOB = st.builds(
    JobSpec, tenant=st.integers(0, 2), demand=st.sampled_from([1, 1, 2, 3, 4]),
    submit=st.integers(0, 1500).map(float), duration=st.integers(1, 3000).map(float),
    weight=st.just(1), sensitivity=st.just(1), deadline=st.none(),
)  # fmt: skip


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(JOB, min_size=4, max_size=16), st.tuples(*[st.sampled_from([1, 2, 3])] * 3),
    st.tuples(*[st.sampled_from([-1.0, 4.0, 6.0])] * 3), st.tuples(*[st.integers(0, 1)] * 3),
    st.sampled_from([(0, 0, 1), (0, 1, 1), (1, 0, 0)]), st.sampled_from([1, 0.5, 0]),
)  # fmt: skip
def test_a_tree_agrees_with_the_naive_twin(
    specs: list[JobSpec], shares: tuple[int, ...], limits: tuple[float, ...], priorities: tuple[int, ...],
    parents: tuple[int, ...], deserved: float,
) -> None:  # fmt: skip
    """Two departments with equal shares, whose tenants have shares, limits and priorities; starts of all leases."""
    specs.sort(key=lambda spec: spec.submit)
    below = [sum(share for share, d in zip(shares, parents, strict=True) if d == parent) for parent in parents]
    expected = reference.simulate(
        specs, "kai", {"parents": parents, "limits": limits, "priorities": priorities, "deserved": deserved}, 300,
        tenant_weights=[Fraction(share, of) for share, of in zip(shares, below, strict=True)], nodes=1, gpus_per_node=8,
        checkpoint_overhead=5, restart_overhead=20, placement="consolidated",
    )  # fmt: skip
    leaves = {
        f"t{t}": {"share": shares[t], "limit": math.inf if limits[t] < 0 else limits[t], "priority": priorities[t],
                  "parent": f"d{parents[t]}"} for t in range(3)
    }  # fmt: skip
    rows = [{"job_id": str(k), "tenant": f"t{s.tenant}", "demand": s.demand, "submit_time": s.submit,
             "duration": s.duration} for k, s in enumerate(specs)]  # fmt: skip
    found = simulated(
        rows, 8, "kai", settings=Settings(), weights=tree(d0={}, d1={}, **leaves), lease_term=300, deserved=deserved
    ).grants
    assert found is not None
    ours = sorted(zip(found["start"], found["job_id"].astype(int), found["kind"] == "renewal", strict=True))
    assert ours == sorted((float(g.time), g.job, g.renewed) for g in expected["grants"])


def test_a_job_above_a_limit_is_excluded_and_one_above_its_quota_is_not() -> None:
    weights = tree(x={"limit": 3}, a={"parent": "x"}, b={})
    trace = trace_of(jobs("a0 4 0 30", "a1 3 0 30", "b2 8 0 30"), weights)
    kept, aside = split_off_impossible(trace, Cluster(1, 8), math.inf)
    assert list(kept.job_id) == ["a1", "b2"]
    assert list(aside["reason"]) == ["it exceeds a limit by itself"]
    assert len(simulated(jobs("a1 3 0 30", "b2 8 0 30"), 8, "kai", weights=weights).jobs) == 2


@pytest.mark.parametrize(
    "demands, weights, deserved, k, shares",
    [
        ([8, 1], [1, 1], 1.0, 0.0, [7, 1]),  # what b does not want goes to a
        ([8, 8, 1], [1, 1, 1], 0.5, 0.0, [11 / 3, 10 / 3, 1]),  # 4/3 deserved, two, and a third for the oldest
        # W is a half each and U is 1 and 0, so P is 1/2 - k/2 and 1/2 + k/2
        ([8, 8], [1, 1], 0.0, 0.5, [2, 6]),
        ([8, 8], [1, 1], 0.0, 1.0, [0, 8]),
        ([8, 8], [3, 1], 1.0, 9.0, [6, 2]),  # a deserved quota is not touched by usage
    ],
)
@pytest.mark.parametrize("half_life", [0, 100])
def test_fair_shares(
    demands: list[int], weights: list[float], deserved: float, k: float, shares: list[float], half_life: float
) -> None:
    """Tenants a, b, ... ask for these numbers of GPUs, of eight, and a held all of them so far."""
    names = [tenant for tenant, demand in zip("abc", demands, strict=False) for _ in range(demand)]
    trace = trace_of(jobs(*(f"{t}{k} 1 0 10" for k, t in enumerate(names))), dict(zip("abc", weights, strict=False)))
    s, _ = small_state(trace, Cluster(1, 8), decay=math.log(2) / 100 if half_life else 0.0)
    for j in range(len(trace)):
        change_active(s, j, 1, 0.0)
    change_held(s, 0, 8, 0.0)
    s.now = 250.0
    q = queues_now(s, Parameters(deserved=deserved, k_value=k, half_life=half_life))
    kai_queues.set_fair_shares(q, np.array([8.0, 0.0]), k)
    np.testing.assert_allclose(q.share[:, 0], shares, rtol=1e-8)


@pytest.mark.parametrize("window, usage", [(1e9, [6 / 16, 7 / 16]), (7200, [2 / 8, 5 / 8]), (5400, [1 / 4, 3 / 4])])
def test_usage_is_what_a_tenant_had_of_the_cluster_in_the_window(window: float, usage: list[float]) -> None:
    """GPU-hours that a and b have had of four GPUs after 0, 1, 2, 3 and 4 h; the window begins on the hour."""
    s, _ = small_state(trace_of(jobs("a0 1 0 10", "b1 1 0 10")), Cluster(1, 4))
    for hour, (a, b) in enumerate([(0.0, 0.0), (4.0, 0.0), (4.0, 2.0), (5.0, 4.0)]):
        s.timeline[hour].attained, s.hour[hour] = np.array([a, b]) * 3600, hour
    s.n_rows = 4
    s.tenant.attained, s.tenant.attained_until = np.array([6.0, 7.0]) * 3600, 4 * 3600.0
    s.now = 4 * 3600.0
    np.testing.assert_allclose(queues_now(s, Parameters(window=window)).usage[:, 0], usage)
