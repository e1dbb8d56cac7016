"""The naive twin of KAI's rules, written from the text of `../shared/reference/kai/README.md`; it shares no code.

A queue is a dict of `name`, `parent`, `priority`, `created` and, for each resource, a dict of numbers; -1 is no limit.
"""

from __future__ import annotations

import math
from typing import Any

Queue = dict[str, Any]
RESOURCES = ("GPU", "CPU", "Memory")


def divide(total: float, k: float, queues: list[Queue], resource: str) -> dict[str, float]:
    """Fair shares of one level, by name."""
    rows = {q["name"]: q[resource] for q in queues}
    wanted = {n: row["request"] if row["limit"] == -1 else min(row["request"], row["limit"]) for n, row in rows.items()}
    # 1. Deserved
    share = {n: min(total if row["deserved"] == -1 else row["deserved"], wanted[n]) for n, row in rows.items()}
    left = total - sum(share.values())
    if left <= 0:
        return share
    # 2. Over quota, one class of priority after the other
    classes = sorted({q["priority"] for q in queues}, reverse=True)
    remainder: dict[str, float] = {}
    for priority in classes:
        names = [q["name"] for q in queues if q["priority"] == priority]
        while left > 0:
            unsatisfied = [n for n in names if wanted[n] > share[n]]
            weights = sum(rows[n]["overQuotaWeight"] for n in unsatisfied)
            if weights == 0:
                break
            p = {}
            for n in unsatisfied:
                w = rows[n]["overQuotaWeight"] / weights
                p[n] = max(0.0, w + k * (w - rows[n]["usage"]))
            if sum(p.values()) == 0:
                break
            pot, again = left, False
            for n in unsatisfied:
                if rows[n]["overQuotaWeight"] == 0:
                    continue
                part, want = pot * (p[n] / sum(p.values())), wanted[n] - share[n]
                if want <= part:
                    gets = want
                    remainder.pop(n, None)
                else:
                    gets = float(math.floor(part))
                    if part - gets != 0:
                        remainder[n] = part - gets
                again = again or want < part
                share[n] += gets
                left -= gets
            if not again:
                break
    # 3. Remainders
    age = {q["name"]: q["created"] for q in queues}
    for priority in classes:
        names = [q["name"] for q in queues if q["priority"] == priority and q["name"] in remainder]
        for n in sorted(names, key=lambda n: (-remainder[n], age[n])):
            if left > 0:
                gets = min(1.0, left)
                share[n] += gets
                left -= gets
    return share


def divide_tree(total: dict[str, float], k: float, queues: list[Queue], parent: str = "") -> None:
    """Set `fairShare` of all queues below a parent, level by level."""
    level = [q for q in queues if q["parent"] == parent]
    for resource in RESOURCES:
        for name, share in divide(total[resource], k, level, resource).items():
            next(q for q in level if q["name"] == name)[resource]["fairShare"] = share
    for q in level:
        divide_tree({r: q[r]["fairShare"] for r in RESOURCES}, k, queues, q["name"])


def at_most(amount: float, most: float) -> bool:
    return most == -1 or amount <= most


def allocatable(row: dict[str, float]) -> float:
    """-1 if it is infinite."""
    if row["deserved"] == -1:
        return row["limit"]
    most = max(row["deserved"], row["fairShare"])
    return most if row["limit"] == -1 else min(most, row["limit"])


def left_goes_first(a: Queue, b: Queue, jobs: list[Any], victims: list[Any], total: dict[str, float]) -> bool:
    """The order of two queues, each with its job or its victims, by resource."""

    def keys(q: Queue, job: dict[str, float], lost: dict[str, float]) -> tuple[Any, ...]:
        def dominant(more: dict[str, float]) -> float:
            parts = []
            for resource in RESOURCES:
                most = allocatable(q[resource])
                most = total[resource] if most == -1 else most
                held = q[resource]["allocated"] + more[resource]
                parts.append(1000 * held if most == 0 else held / most)
            return max(0.0, *parts)

        over = all(q[x]["fairShare"] < q[x]["allocated"] for x in RESOURCES)
        within = all(at_most(q[x]["allocated"] + job[x], q[x]["deserved"]) for x in RESOURCES)
        without = any(allocatable(q[x]) == 0 and q[x]["allocated"] + job[x] > 0 for x in RESOURCES)
        now = dominant(dict.fromkeys(RESOURCES, 0.0))
        return over, not within, -q["priority"], without, dominant({x: job[x] - lost[x] for x in RESOURCES}), now

    left, right = keys(a, jobs[0], victims[0]), keys(b, jobs[1], victims[1])
    if left != right:
        return left < right
    most = [[math.inf if allocatable(q[x]) == -1 else allocatable(q[x]) for x in RESOURCES] for q in (a, b)]
    if most[0] != most[1]:
        pairs = list(zip(*most, strict=True))
        if all(x <= y for x, y in pairs):
            return True
        if all(y <= x for x, y in pairs):
            return False
    return bool(a["created"] < b["created"])


def way(queues: dict[str, Queue], name: str) -> list[Queue]:
    """Queues from the top down to one."""
    parent = queues[name]["parent"]
    return [*(way(queues, parent) if parent else []), queues[name]]


def siblings(queues: dict[str, Queue], a: str, b: str) -> tuple[Queue, Queue]:
    return next((x, y) for x, y in zip(way(queues, a), way(queues, b), strict=False) if x is not y)


def may(queues: dict[str, Queue], own: str, job: dict[str, float], preemptible: bool) -> bool:
    """CanReclaimResources."""
    row = queues[own]
    return all(row[x]["allocated"] + job[x] <= row[x]["fairShare"] for x in RESOURCES) and (
        preemptible or all(at_most(row[x]["allocatedNotPreemptible"] + job[x], row[x]["deserved"]) for x in RESOURCES)
    )


def within_deserved(q: Queue, job: dict[str, float]) -> bool:
    return all(at_most(q[x]["allocated"] + job[x], q[x]["deserved"]) for x in RESOURCES)


def victim_counts(queues: dict[str, Queue], own: str, job: dict[str, float], other: str) -> bool:
    """FilterVictim."""
    reclaimer, victim = siblings(queues, own, other)
    if not within_deserved(reclaimer, job):
        return any(not at_most(victim[x]["allocated"], allocatable(victim[x])) for x in RESOURCES)
    needed = [x for x in RESOURCES if job[x] > 0 and victim[x]["deserved"] != -1]
    if any(victim[x]["allocated"] > victim[x]["deserved"] for x in needed):
        return True
    return not any(victim[x]["allocated"] < victim[x]["deserved"] for x in needed)


def lot_is_fair(
    queues: dict[str, Queue], own: str, job: dict[str, float], preemptible: bool,
    victims: list[tuple[str, dict[str, float]]], multiplier: float,
) -> bool:  # fmt: skip
    """Reclaimable."""
    left = {n: {x: q[x]["allocated"] for x in RESOURCES} for n, q in queues.items()}
    involved: dict[str, set[str]] = {}
    for name, held in victims:
        reclaimer, victim = siblings(queues, own, name)
        has = left[victim["name"]]
        fair = any(not at_most(has[x], allocatable(victim[x])) for x in RESOURCES)
        quota = within_deserved(reclaimer, job) and any(not at_most(has[x], victim[x]["deserved"]) for x in RESOURCES)
        if not (fair or quota):
            return False
        for q in way(queues, name):
            involved.setdefault(q["name"], set()).update(x for x in RESOURCES if held[x] > 0)
            for x in RESOURCES:
                left[q["name"]][x] -= held[x]

    def ratio(amount: float, share: float) -> float:
        return amount / share if share else math.inf if amount > 0 else 0.0

    for q in way(queues, own):
        for name, resources in involved.items():
            other = queues[name]
            if other["parent"] != q["parent"] or other is q:
                continue
            for x in resources | {x for x in RESOURCES if job[x] > 0}:
                a = ratio(left[q["name"]][x] + job[x], q[x]["fairShare"])
                b = ratio(left[name][x], other[x]["fairShare"])
                if a > 1 and other[x]["fairShare"] > 0 and a * multiplier >= b:
                    return False
        if not preemptible and not all(
            at_most(q[x]["allocatedNotPreemptible"] + job[x], q[x]["deserved"]) for x in RESOURCES
        ):
            return False
    return True
