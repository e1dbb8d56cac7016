"""KAI on the naive twin of the simulator: every waiting job is tried, in the order of `kai_naive`."""

from __future__ import annotations

from fractions import Fraction
from functools import cmp_to_key
from typing import Any

import kai_naive
from reference_state import Twin

from astraea.textbook import HOUR, Exact, Job, exact

NOTHING = dict.fromkeys(kai_naive.RESOURCES, 0.0)


def kai(
    s: Twin, deserved: float = 1, k_value: float = 1, window: float = 604_800, min_runtime: float = 0,
    parents: tuple[int, ...] = (), limits: tuple[float, ...] = (), priorities: tuple[int, ...] = (),
) -> None:  # fmt: skip
    """One cycle: allocate, then reclaim. Tenants may have a parent, 0 or 1, a limit (-1 is none) and a priority."""
    for job in s.candidates:
        if job.status == "asking":
            s.grant(job)
    cycle = Cycle(s, deserved, k_value, window, parents, limits, priorities)
    for job in cycle.in_order():
        if job.demand <= s.free and cycle.within_limits(job):
            cycle.start(job)
    failed: dict[int, int] = {}
    for job in cycle.in_order():
        needs = NOTHING | {"GPU": float(job.demand)}
        may = kai_naive.may(cycle.queues, cycle.name(job.tenant), needs, True) and cycle.within_limits(job)
        if not may or job.demand >= failed.get(job.tenant, job.demand + 1):
            continue
        victims = cycle.victims(job, needs, exact(min_runtime))
        if victims is None:
            failed[job.tenant] = job.demand
            continue
        for k in victims:
            s.revoked.append(k)
            s.free += k.demand
            cycle.hold(k.tenant, -k.demand)
        cycle.start(job)


class Cycle:
    """The queues of a cycle: a dict for each tenant, and for the two departments if there are any."""

    def __init__(
        self, s: Twin, deserved: float, k: float, window: float,
        parents: tuple[int, ...], limits: tuple[float, ...], priorities: tuple[int, ...],
    ) -> None:  # fmt: skip
        self.s, gpus = s, sum(tenant.quota for tenant in s.tenants)
        hour = max(0, -(-(s.now - exact(window)) // HOUR))
        capacity = gpus * (s.now - hour * HOUR)
        self.queues: dict[str, kai_naive.Queue] = {}
        for t, tenant in enumerate(s.tenants):
            used = tenant.attained - s.hours[int(hour)][t][0]
            row = {
                "deserved": tenant.quota, "overQuotaWeight": float(tenant.weight),
                "usage": Fraction(used) / capacity if capacity else 0,
                "request": sum(job.demand for job in s.jobs if job.active and job.tenant == t),
                "allocated": s.gpus_of(t), "limit": limits[t] if limits else -1.0, "allocatedNotPreemptible": 0.0,
            }  # fmt: skip
            parent = f"d{parents[t]}" if parents else ""
            self.add(self.name(t), parent, priorities[t] if priorities else 0, t, row)
        for d in sorted(set(parents)):
            below = [q["GPU"] for q in self.queues.values() if q["parent"] == f"d{d}"]
            row = {c: sum(b[c] for b in below) for c in ("deserved", "usage", "request", "allocated")}
            row |= {"overQuotaWeight": 1.0, "limit": -1.0, "allocatedNotPreemptible": 0.0}
            self.add(f"d{d}", "", 0, 9 + d, row)
        for q in self.queues.values():
            q["GPU"]["deserved"] = round(deserved * float(q["GPU"]["deserved"]), 9)
            q["GPU"]["usage"] = float(q["GPU"]["usage"])
        self.total = NOTHING | {"GPU": float(gpus)}
        kai_naive.divide_tree(self.total, k, list(self.queues.values()))

    def add(self, name: str, parent: str, priority: int, created: int, row: dict[str, Any]) -> None:
        """Add a queue, which has nothing of the other resources."""
        others = {r: dict.fromkeys(row, 0.0) for r in kai_naive.RESOURCES}
        self.queues[name] = {"name": name, "parent": parent, "priority": priority, "created": created, **others}
        self.queues[name]["GPU"] = row

    def name(self, tenant: int) -> str:
        return f"t{tenant}"

    def hold(self, tenant: int, more: int) -> None:
        for q in kai_naive.way(self.queues, self.name(tenant)):
            q["GPU"]["allocated"] += more

    def within_limits(self, job: Job) -> bool:
        way = kai_naive.way(self.queues, self.name(job.tenant))
        return all(kai_naive.at_most(q["GPU"]["allocated"] + job.demand, q["GPU"]["limit"]) for q in way)

    def start(self, job: Job) -> None:
        self.s.grant(job)
        self.hold(job.tenant, job.demand)

    def leaf(self, jobs: dict[str, float], lost: dict[str, float], last: bool, parent: str = "") -> str:
        """Go down from the top to the first queue, or the last, of those that have a next job, or a next victim."""

        def best(q: kai_naive.Queue) -> str:
            return q["name"] if q["name"] in jobs else self.leaf(jobs, lost, last, q["name"])

        def before(a: kai_naive.Queue, b: kai_naive.Queue) -> int:
            needs = [NOTHING | {"GPU": 0.0 if last else jobs[best(q)]} for q in (a, b)]
            gone = [NOTHING | {"GPU": lost[best(q)] if last else 0.0} for q in (a, b)]
            return -1 if kai_naive.left_goes_first(a, b, needs, gone, self.total) else 1

        level = [q for q in self.queues.values() if q["parent"] == parent and self.has_below(q, jobs)]
        return best(sorted(level, key=cmp_to_key(before))[-1 if last else 0])

    def has_below(self, q: kai_naive.Queue, jobs: dict[str, float]) -> bool:
        return any(q in kai_naive.way(self.queues, name) for name in jobs)

    def in_order(self) -> Any:
        """Yield the waiting jobs, always the next of the first queue."""
        granted = {job.index for job in self.s.picks}
        queues = {
            self.name(t): [job for job in jobs if job.status == "pending" and job.index not in granted]
            for t, jobs in self.s.queues().items()
        }
        while any(queues.values()):
            jobs = {name: float(waiting[0].demand) for name, waiting in queues.items() if waiting}
            yield queues[self.leaf(jobs, {}, False)].pop(0)

    def victims(self, job: Job, needs: dict[str, float], least: Exact) -> list[Job] | None:
        """Return jobs to evict, found one by one, without those that are not needed; None if there are too few."""
        own, granted = self.name(job.tenant), {k.index for k in self.s.picks}
        queues: dict[str, list[Job]] = {}
        for k in self.s.running():
            name = self.name(k.tenant)
            ran = self.s.now - self.started(k)
            if name != own and k.index not in granted and ran >= least:
                if kai_naive.victim_counts(self.queues, own, needs, name):
                    queues.setdefault(name, []).append(k)
        left = {name: float(q["GPU"]["allocated"]) for name, q in self.queues.items()}
        found: list[Job] = []
        lost = dict.fromkeys(self.queues, 0.0)
        while True:
            spare = self.s.free + sum(k.demand for k in found) - job.demand
            kept, rest = [], spare
            for k in found:
                if k.demand <= rest:
                    rest -= k.demand
                else:
                    kept.append(k)
            lot = [(self.name(k.tenant), NOTHING | {"GPU": float(k.demand)}) for k in kept]
            if spare >= 0 and kai_naive.lot_is_fair(self.queues, own, needs, True, lot, 1.0):
                return kept
            jobs = {name: float(waiting[-1].demand) for name, waiting in queues.items() if waiting}
            if not jobs:
                return None
            name = self.leaf(jobs, {n: lost[n] + jobs[n] for n in jobs}, True)
            k = queues[name].pop()
            lost[name] += k.demand
            mine, other = kai_naive.siblings(self.queues, own, name)
            has = left[other["name"]]
            above_quota = kai_naive.within_deserved(mine, needs) and has > other["GPU"]["deserved"]
            if above_quota or not kai_naive.at_most(has, kai_naive.allocatable(other["GPU"])):
                found.append(k)
                for q in kai_naive.way(self.queues, name):
                    left[q["name"]] -= k.demand

    def started(self, job: Job) -> Exact:
        """Return the start of a job's run, over all renewed leases."""
        return max(grant.time for grant in self.s.grants if grant.job == job.index and not grant.renewed)
