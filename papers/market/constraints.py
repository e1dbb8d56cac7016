"""Check of a plan against the constraints of the problem ([Wang2023] §3.2, (3a)-(3o))."""

from __future__ import annotations

import numpy as np

from papers.market.model import NEARLY, Market, MarketPlan, Schedule


def violations(market: Market, plan: MarketPlan) -> list[str]:
    """One sentence for each constraint that is not kept, with place, value and what is allowed.

    (3a) and (3b), with what each tenant does not use moved to the left, say the same for every tenant: all together use
    at most all quotas. The right to one's own share that the text derives from them is in addition held against the
    jobs that run within it (``is_shared=False``). (3e)-(3i) hold for each slot because a schedule is constant from
    start to end. (3i) is checked for servers that host parameter servers of the job, because no distributed placement
    could keep it on the others. (3j) and (3k): the speed is that of centralized placement only if all is on one server.
    """
    out: list[str] = []
    sound = [s for s in plan.schedules if _is_sound(market, s, out)]
    ids = market.jobs.job_id
    seen: set[int] = set()
    for s in sound:
        if s.job in seen:
            out.append(f"(5c) job {ids[s.job]!r}: it must have one schedule at most, got another")
        seen.add(s.job)
        out += _of_job(market, s)
    times = np.unique([t for s in sound for t in (s.start, s.end)])
    for all_, each, unit, name, quota, capacity in (
        ("(3a)", "(3c)", "workers", "workers", market.worker_quota, market.workers),
        ("(3b)", "(3d)", "parameter servers", "ps", market.ps_quota, market.ps),
    ):
        places = [f"{all_} all tenants"]
        places += [f"{all_} own share of tenant {u}" for u in range(len(quota))]
        places += [f"{each} server {k}" for k in range(len(capacity))]
        allowed = np.concatenate([[quota.sum()], quota, capacity])
        used = np.zeros((len(times), len(places)), np.int64)
        for s in sound:
            runs, units = (s.start <= times) & (times < s.end), getattr(s, name)
            used[runs, 0] += units.sum()
            used[runs, 1 + market.jobs.tenant[s.job]] += 0 if s.is_shared else units.sum()
            used[np.ix_(runs, 1 + len(quota) + s.server)] += units
        for c in np.flatnonzero((used > allowed).any(axis=0)):
            first = int(np.argmax(used[:, c] > allowed[c]))
            out.append(f"{places[c]}, slot {times[first] + 1}: {used[first, c]} {unit}, allowed {allowed[c]}")
    return out


def _is_sound(market: Market, s: Schedule, out: list[str]) -> bool:
    """Return True if the numbers of a schedule are in their ranges (3m)-(3o)."""
    if not 0 <= s.job < len(market.jobs):
        out.append(f"(3o) job {s.job}: it must be one of the {len(market.jobs)} jobs")
        return False
    where = f"job {market.jobs.job_id[s.job]!r}"
    servers = len(market.workers)
    before = len(out)
    if not s.start < s.end:
        out.append(f"(3m), (3n) {where}: it must end after its start {s.start}, got {s.end}")
    if s.start < 0:
        out.append(f"(3o) {where}: its start must be at least 0, got {s.start}")
    if len(np.unique(s.server)) < len(s.server) or ((s.server < 0) | (s.server >= servers)).any():
        out.append(f"(3o) {where}: its servers must be different ones from 0 to {servers - 1}, got {s.server.tolist()}")
    for unit, values in (("workers", s.workers), ("parameter servers", s.ps)):
        if ((values < 0) | (np.floor(values) != values)).any():
            out.append(f"(3o) {where}: {unit} must be whole numbers of at least 0, got {values.tolist()}")
    return len(out) == before


def _of_job(market: Market, s: Schedule) -> list[str]:
    """List the violations that concern one job alone, (3e), (3g), (3i)-(3l)."""
    jobs, j = market.jobs, s.job
    where = f"job {jobs.job_id[j]!r}"
    out = []
    total = int(s.workers.sum())
    if total > jobs.chunks[j]:
        out.append(f"(3e) {where}: {total} workers, allowed are its {jobs.chunks[j]} chunks")
    if s.ps.sum() < 1:
        out.append(f"(3g) {where}: it needs a parameter server, got 0")
    for server, near, ps in zip(s.server, s.workers, s.ps, strict=True):
        needs, has = (total - near) * market.worker_bandwidth, ps * market.ps_bandwidth
        if ps > 0 and needs > has * (1 + NEARLY):
            out.append(
                f"(3i) {where}, server {server}: workers elsewhere need {needs:g} Mbit/s, "
                f"its {ps} parameter servers have {has:g}"
            )
    is_central = int(((s.workers > 0) | (s.ps > 0)).sum()) == 1
    done = total * float(market.speed[j, int(is_central)]) * (s.end - s.start)
    work = market.work(j)
    if done < work * (1 - NEARLY):
        placement = "centralized" if is_central else "distributed"
        out.append(
            f"(3j), (3k) {where}: {total} workers, {placement}, train {done:g} mini-batches in slots {s.start + 1} to "
            f"{s.end}, it has {work:g}"
        )
    if s.start < jobs.arrival[j]:
        out.append(f"(3l) {where}: it starts at {s.start}, before it arrives at {jobs.arrival[j]}")
    return out
