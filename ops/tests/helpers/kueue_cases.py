"""Kueue's own test cases of admission fair sharing, each asked of the policy or of its parts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

import numpy as np
import pytest
from places import ROOT
from schedules import jobs, small_state, trace_of

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.leases import arrive
from astraea.cluster.engine.state import RUNNING, View
from astraea.cluster.policies import get_policy
from astraea_ops.policies.kueue_afs import (
    JOB_MEMORY,
    TENANT_MEMORY,
    Parameters,
    decayed,
    entry_penalty,
    goes_before,
    note,
    settle,
    usage,
)

Case = dict[str, Any]
FILE = ROOT.parent / "shared" / "reference" / "kueue" / "afs.json"
CASES: list[Case] = json.loads(FILE.read_text()) if FILE.exists() else []

OTHERWISE = {
    "local queue seed merges persisted status into a settlement-created entry":
        "usage is in one place, so a saved one is never added to one that there is",
    "one queue cannot be looked up: base order for all": "a tenant of a trace can always be looked up",
    "workloads with higher LQ usage first": "nobody is preempted, as is Kueue's default within a ClusterQueue",
    "workloads from different CQ are sorted based on priority and timestamp": "nobody is preempted",
}  # fmt: skip
"""Cases that have no counterpart here, with the reason."""


def numbers(amounts: dict[str, str] | None) -> dict[str, float]:
    return {resource: float(amount) for resource, amount in (amounts or {}).items()}


def parameters(case: Case, *, fair: bool = True) -> Parameters:
    """Parameters of a case; without fair sharing usage is forgotten at once."""
    return Parameters(float(case.get("half_life_s", 1e12)) if fair else 0.0, float(case.get("sampling_interval_s", 1)))


def of_tenants(s: View) -> Any:
    """Return the policy's records of the tenants."""
    return s.tenant_memory.view(TENANT_MEMORY)


def state(rows: list[str], p: Parameters, *, gpus: int = 8, now: float = 0.0, weight: float | None = None) -> View:
    """The policy's view when these jobs wait and their usage was sampled just now; the tenants share one weight."""
    trace = trace_of(jobs(*rows))
    if weight is not None:
        trace = trace.with_weights(dict.fromkeys(trace.tenants, weight))
    s: View
    s, x = small_state(
        trace, Cluster(1, gpus), parameters=np.array([*p, 0.0]), memory=JOB_MEMORY, tenant_memory=TENANT_MEMORY
    )
    s.now = now
    of_tenants(s).sampled = now
    for j in range(len(trace)):
        if trace.submit_time[j] <= now:
            arrive(s, x, j, trace.submit_time[j])
    return s


def choose(s: View) -> list[int]:
    """Jobs that are admitted, in order."""
    get_policy("kueue-afs").select(s)
    return [int(j) for j in s.granted[: s.n_granted]]


def decay(case: Case) -> None:
    p, elapsed, interval = parameters(case), case["elapsed_s"], float(case["sampling_interval_s"])
    expected, runs = numbers(case["expected"]), numbers(case["running"])
    saved = {} if case.get("status_accounted") else numbers(case.get("persisted_status"))
    before = numbers(case["consumed"]) or saved
    for resource in {*expected, *runs, *before, "cpu"}:
        s = state(["a0 1 9 1"], p)
        s.tenant[0].held, of_tenants(s)[0].consumed = runs.get(resource, 0), before.get(resource, 0)
        of_tenants(s)[0].sampled = -(elapsed or 0)
        choose(s)
        assert of_tenants(s)[0].consumed == pytest.approx(expected.get(resource, 0.0), abs=1.01e-9)
        if "requeue_after_s" in case:  # that is when it looks again
            s.now = case["requeue_after_s"]
            choose(s)
            assert s.now - -elapsed == interval
            assert of_tenants(s)[0].sampled == s.now


def decay_many(case: Case) -> None:
    p, expected = parameters(case), case["expected"]
    for resource, runs in numbers(case["running"]).items():
        found = [0.0]
        for _ in range(case["samples"]):
            found.append(decayed(found[-1], runs, float(case["elapsed_s"]), p))
        if expected == "strictly growing":
            assert (np.diff(found) > 0).all()
        else:
            assert found[-1] == pytest.approx(float(expected[resource]), abs=case["tolerance"])
        assert max(found) <= runs


def multiply(case: Case) -> None:
    """Usage times the part that is left after some half-lives."""
    half_lives = -math.log2(case["factor"]) if case["factor"] > 0 else math.inf
    found = decayed(float(case["value"]), 0.0, half_lives, Parameters(1.0, 1.0))
    assert found == pytest.approx(float(case["expected"]), rel=1e-12, abs=1.01e-9)


def usage_compared(case: Case) -> None:
    """Resources add up, each with its weight; the simulator needs no weights."""
    consumed, penalty, weight = numbers(case["consumed"]), numbers(case["penalty"]), float(case["lq_weight"])
    weights = {r: float(case["resource_weights"].get(r, 1)) for r in {*consumed, *penalty} or {"cpu"}}
    found = sum(w * usage(consumed.get(r, 0.0), penalty.get(r, 0.0), weight) for r, w in weights.items())
    assert found == float(case["expected"])


def weight_of_a_queue(case: Case) -> None:
    given = case["weight"] if isinstance(case["weight"], int) else None
    s = state(["a0 1 0 1", "b1 1 0 1"], Parameters(), weight=given)
    of_tenants(s).consumed = 6.0
    assert usage(6.0, 0.0, s.tenant[0].weight) == 6 / case["expected"]


def penalty_of_entry(case: Case) -> None:
    for resource, asked in numbers(case["requests"]).items():
        expected = numbers(case["by_the_formula"])[resource]
        assert entry_penalty(asked, parameters(case)) == pytest.approx(expected, abs=1.01e-9)
        assert expected > 0


def penalty_applies(case: Case) -> None:
    fair = case["configured"] and case["admission_mode"] == "usage"
    s = state(["a0 2 0 1"], parameters({"half_life_s": 10}, fair=fair))
    if case["holds_reservation"]:
        s.job[0].decided = True  # it has its quota, and is no candidate
        s.open_gangs[2] = 0
    choose(s)
    assert (of_tenants(s)[0].consumed > 0) == case["expected"]


def ledger(case: Case) -> None:
    steps, expected = case["operations"], numbers(case["expected"])
    resources = {*expected, *(r for step in steps for r in step.get("push", {})), "cpu"}
    left = {}
    for resource in resources:
        s = state(["a1 1 0 1", "a2 1 0 1"], Parameters())
        for step in steps:
            j = int(step["workload"] == "wl2")
            if step.get("subtract"):
                settle(s, Parameters(), j)
            else:
                s.job[j].demand = int(step["push"].get(resource, 0))
                note(s, j)
        left[resource] = of_tenants(s)[0].notes
        assert left[resource] == s.memory.view(JOB_MEMORY).noted.sum()
    assert {r: v for r, v in left.items() if v} == expected
    assert any(left.values()) == case["expected_pending"]


def settlement(case: Case) -> None:
    p = parameters(case)
    s = state([f"a0 {case['workload_requests']['cpu']} 0 1"], p)
    of_tenants(s)[0].consumed = numbers(case["consumed"]).get("cpu", 0.0)
    of_tenants(s)[0].sampled = -case["elapsed_s"]
    note(s, 0)
    assert entry_penalty(of_tenants(s)[0].notes, p) == float(case["pending_penalty"]["cpu"])
    for _ in range(case["settle_times"]):
        settle(s, p, 0)
    assert of_tenants(s)[0].consumed == float(case["expected"]["cpu"])
    assert of_tenants(s)[0].sampled == max(0, -case["elapsed_s"])


def transition(case: Case) -> None:
    """A chosen job becomes admitted; a job that has its GPUs or is gone stays as it is."""
    s = state(["a0 2 0 1"], parameters({"half_life_s": 10}))
    if case["from"] != "pending" or case["to"] == "reserved":
        note(s, 0)
    if case["from"] == "admitted" or case["to"] != "admitted":
        s.job[0].status = RUNNING
        s.region["length"] = 0
        s.open_gangs[2] = 0
    choose(s)
    assert (of_tenants(s)[0].consumed > 0) == case["expected_folded_into_consumed"]
    assert (of_tenants(s)[0].notes > 0) == case["expected_still_pending"]


def order(case: Case) -> None:
    fair = case["admission_mode"] == "usage"
    p = parameters(case, fair=fair)

    def used(queue: str) -> float:
        about = case["queues"][queue]
        weights, weight = case["resource_weights"], float(about["weight"] or 1)
        consumed = {r: decayed(amount, 0.0, 0.0, p) for r, amount in numbers(about["consumed"]).items()}
        return float(sum(float(weights.get(r, 1)) * usage(c, 0.0, weight) for r, c in consumed.items()))

    found = sorted(case["workloads"], key=lambda w: (w["created"], w["name"]))
    place = {w["name"]: k for k, w in enumerate(found)}

    def before(a: Case, b: Case) -> int:
        sides = [(used(w["queue"]), float(w["priority"]), place[w["name"]]) for w in (a, b)]
        return -1 if goes_before(*sides[0], *sides[1]) else 1

    names = [w["name"] for w in sorted(found, key=cmp_to_key(before))]
    assert names[: len(case["expected_order"])] == case["expected_order"]


def admission(case: Case) -> None:
    p = parameters(case, fair=case["admission_fair_sharing"])
    waits = sorted(case["workloads"], key=lambda w: w.get("created_s", 0))
    letters = {queue: queue.removeprefix("lq-")[0] for queue in case["queue_weights"]}
    rows = [f"{letters[w['queue']]}{k} {w['requests']['cpu']} {w.get('created_s', 0)} 9" for k, w in enumerate(waits)]
    s = state(rows, p, gpus=int(case["quota"]["cpu"]), now=100.0)
    tenants = sorted({row[0] for row in rows})
    for queue, weight in case["queue_weights"].items():
        if letters[queue] in tenants:
            t = tenants.index(letters[queue])
            s.tenant[t].weight = weight
            of_tenants(s)[t].consumed = decayed(numbers(case["consumed"].get(queue)).get("cpu", 0.0), 0.0, 0.0, p)
    assert {waits[j]["name"] for j in choose(s)} == set(case["expected_admitted"])


GROUPS: dict[str, Callable[[Case], None]] = {
    "decay": decay, "decay_many": decay_many, "multiply": multiply, "usage": usage_compared,
    "weight": weight_of_a_queue, "entry_penalty": penalty_of_entry, "penalty_applies": penalty_applies,
    "ledger": ledger, "settlement": settlement, "transition": transition, "order": order, "admission": admission,
}  # fmt: skip
