"""KAI's own test cases (`../shared/reference/kai/README.md`), asked of the functions that the policy calls."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from astraea.cluster.engine.state import F
from astraea_ops.policies import kai_queues as order
from astraea_ops.policies import kai_reclaim as reclaim
from astraea_ops.policies.kai_queues import Queues, divide_level, divide_over_quota, set_fair_shares

Case = dict[str, Any]
RESOURCES = ("GPU", "CPU", "Memory")
FIELDS = {
    "deserved": "deserved", "limit": "limit", "weight": "overQuotaWeight", "usage": "usage", "request": "request",
    "allocated": "allocated", "fixed": "allocatedNotPreemptible", "share": "fairShare",
}  # fmt: skip


def cases_of(folder: Path) -> dict[str, Case]:
    """All cases of a folder, by file and number."""
    files = sorted(folder.glob("*.json"))
    return {f"{file.stem}-{k}": case for file in files for k, case in enumerate(json.loads(file.read_text()))}


def queues_of(rows: dict[str, Case]) -> tuple[Queues, dict[str, int]]:
    """Some queues by name as arrays, those below first, and the place of each."""
    names = sorted(rows, key=lambda name: -len(above(rows, name)))
    place = {name: i for i, name in enumerate(names)}
    by_age = sorted(names, key=lambda name: (rows[name].get("created", 0), rows[name].get("uid", name)))
    numbers = {
        field: np.array([[unlimited(rows[n].get(r, {}).get(word, 0.0)) for r in RESOURCES] for n in names])
        for field, word in FIELDS.items()
    }
    return Queues(
        parent=np.array([place.get(rows[n].get("parent") or "", -1) for n in names]),
        priority=np.array([rows[n]["priority"] for n in names]),
        created=np.array([by_age.index(n) for n in names]),
        **numbers,
    ), place


def above(rows: dict[str, Case], name: str) -> list[str]:
    """Return the names of the queues above one."""
    parent = rows[name].get("parent") or ""
    return [parent, *above(rows, parent)] if parent in rows else []


def unlimited(number: float) -> float:
    """Return infinity for KAI's -1."""
    return math.inf if number == -1 else float(number)


def amounts(found: dict[str, float] | None) -> F:
    """Return the request for each resource."""
    return np.array([(found or {}).get(r, 0.0) for r in RESOURCES])


def agrees(case: Case) -> bool:
    """Return true if the policy's functions give what a case expects, shares to the last digits of a float."""
    if "resources" not in case:
        expected = case.get("expected", case.get("expected_order"))
        return bool((reclaimed if "test" in case else ordered)(case) == expected)
    shares, left = divided(case)
    found = {(r, name): shares[r][name] for r, expected in case["expected"].items() for name in expected}
    expected = {(r, name): share for r, shares in case["expected"].items() for name, share in shares.items()}
    if case.get("expected_remaining") is not None:
        found["left", ""], expected["left", ""] = left, case["expected_remaining"]
    return found == pytest.approx(expected)


def divided(case: Case) -> tuple[dict[str, dict[str, float]], float]:
    """Return the fair shares of a case, by resource and queue, and what is left of its first resource."""
    rows = {queue["name"]: queue for queue in case["queues"]}
    q, place = queues_of(rows)
    total, k, left = amounts(case["total"]), float(case["k_value"]), np.zeros(len(RESOURCES))
    if case["function"] == "divideOverQuotaResource":
        for r, resource in enumerate(RESOURCES):
            share = np.array([float(rows[name].get(resource, {}).get("initialFairShare", 0)) for name in place])
            wanted = np.minimum(q.request, q.limit)[:, r].copy()
            weight, usage = q.weight[:, r].copy(), q.usage[:, r].copy()
            left[r] = divide_over_quota(total[r], share, wanted, weight, usage, q.priority, q.created, k)
            q.share[:, r] = share
    elif case["function"] == "setFairShare":
        set_fair_shares(q, total, k)
    else:
        left = divide_level(q, -1, total, k)
    shares = {r: dict(zip(place, q.share[:, k].tolist(), strict=True)) for k, r in enumerate(RESOURCES)}
    return shares, float(left[RESOURCES.index(case["resources"][0])])


def ordered(case: Case) -> Any:
    """Return -1 if the left one of two queues goes first, 1 otherwise; or priorities in the order of their turns."""
    if "priorities" in case:
        priority = np.array(list(case["priorities"].values()))
        n, turns = len(priority), []
        for left in sorted({(priority >= p).sum() for p in priority}):  # every queue wants one unit
            share = np.zeros(n)
            divide_over_quota(float(left), share, np.ones(n), np.ones(n), np.zeros(n), priority, np.arange(n), 0.0)
            turns += [int(p) for p in np.unique(priority[share > 0]) if p not in turns]
        return turns
    q, place = queues_of({side: case[side] for side in "lr"})
    q = q._replace(created=np.array([case[side].get("created", 0) for side in place]))  # of equal ones the right one
    jobs, nothing = [amounts(case[side].get("job")) for side in "lr"], np.zeros(len(RESOURCES))
    first = order.goes_first(q, place["l"], place["r"], *jobs, nothing, nothing, amounts(case["total"]))
    return -1 if first else 1


def reclaimed(case: Case) -> bool:
    """Return true if something may be reclaimed."""
    if "queues" not in case:
        return strategy(case)
    name, who = case["function"], case["reclaimer"]
    q, place = queues_of(case["queues"])
    i, job, preemptible = place[who["queue"]], amounts(who["required"]), who["preemptible"]
    if name == "CanReclaimResources":
        return bool(reclaim.may_reclaim(q, i, job, preemptible))
    if name == "FilterVictim":
        return bool(reclaim.is_candidate(q, i, job, place[case["victim_queue"]]))
    victims = [(place[queue], amounts(held)) for queue, taken in case["victims"].items() for held in taken]
    queues, held = np.array([v for v, _ in victims], np.int64), np.array([h for _, h in victims]).reshape(-1, 3)
    return bool(reclaim.is_reclaimable(q, i, job, preemptible, queues, held, float(case["saturation_multiplier"])))


def strategy(case: Case) -> bool:
    """Return the answer of one rule of reclaim, for a reclaimer, or for a reclaimee with this much left."""
    q, place = queues_of({side: case[side] for side in ("reclaimer", "reclaimee") if side in case})
    i, v = place.get("reclaimer", 0), place.get("reclaimee", 0)
    job, left = amounts(case.get("required")), amounts(case.get("reclaimee_remaining"))
    return bool({
        "canBeDeservedQuotaReclaimCandidate": lambda: reclaim.could_exceed_deserved(q, v, job),
        "FitsMaintainFairShare": lambda: reclaim.exceeds_allocatable(q, v, left),
        "MaintainFairShareStrategy": lambda: reclaim.exceeds_allocatable(q, v, left),
        "ReclaimerFitsDeservedQuota": lambda: order.stays_within_deserved(q, i, job),
        "ReclaimeeExceedsDeservedQuota": lambda: reclaim.exceeds_deserved(q, v, left),
        "GuaranteeDeservedQuotaStrategy": lambda: order.stays_within_deserved(q, i, job)
        and reclaim.exceeds_deserved(q, v, left),
    }[case["function"]]())  # fmt: skip
