"""Ideal execution: every job runs all the time at its effective throughput ([Narayanan2020] §7.5, Fig 13b).

No rounds, no gangs to fit, no preemption: throughput(m, X) = sum over types of T X, for exactly as long as the
allocation stands. What the mechanism loses against this is the price of running in rounds.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from astraea.core.result import Result
from astraea.gavel.policy_calls import PolicyCaller, Speeds, checked_workers
from astraea.gavel.problem import Policy
from astraea.gavel.record import Record
from astraea.gavel.simulate import Options, checked_target, finished, stranded
from astraea.gavel.throughputs.table import Throughputs
from astraea.gavel.workload import Workload


def simulate_ideal(
    workload: Workload, throughputs: Throughputs, workers: Sequence[int], policy: Policy,
    options: Options | None = None, **changes: Any,
) -> Result:  # fmt: skip
    """Run a workload as if each allocation were given exactly.

    Of the options, `solve_interval` and `until` count; by default the program is solved again whenever a job comes or
    goes. A job that came since waits for the next time, unless nothing else runs.

    Parameters, returned value and errors are those of `astraea.gavel.simulate.simulate`; a job's GPU-time held is its
    fraction of time times its gang, and the timeline takes it as held evenly from its first to its last second.
    """
    options = replace(options or Options(solve_interval=0.0), **changes)
    count = checked_workers(workers, throughputs.types)
    speeds = Speeds(workload, throughputs, count, 1)
    target = checked_target(workload, options.until)
    caller = PolicyCaller(policy, workload, speeds, throughputs.types, count)
    n, types = speeds.alone.shape
    left, end = workload.total_steps.copy(), np.full(n, np.inf)
    held, first_start = np.zeros((n, types)), np.full(n, np.nan)
    rate, use = np.zeros(n), np.zeros((n, types))
    active: list[int] = []
    arrived, now, solved_at, changed = 0, float(workload.arrival_time[0]), -np.inf, False
    began = time.perf_counter()
    while not np.isfinite(end[:target]).all():
        while arrived < n and workload.arrival_time[arrived] <= now:
            active.append(arrived)
            arrived, changed = arrived + 1, True
        jobs = np.array(active, np.int64)
        due = now - solved_at >= options.solve_interval or not rate[jobs].any()
        if changed and due and len(jobs):
            problem, answer = caller.ask(now, jobs, left)
            rate[:], use[:] = 0.0, 0.0
            rate[jobs] = (speeds.alone[jobs] * answer.alone).sum(axis=1)
            use[jobs] = answer.alone * workload.scale_factor[jobs, None]
            for side in (0, 1):
                of = jobs[problem.pairs[:, side]]
                np.add.at(rate, of, (problem.pair_throughput[:, side] * answer.paired).sum(axis=1))
                np.add.at(use, of, answer.paired * workload.scale_factor[of, None] / 2)
            solved_at, changed = now, False
        running = jobs[rate[jobs] > 0]
        first_start[running] = np.where(np.isnan(first_start[running]), now, first_start[running])
        ends = now + left[running] / rate[running]
        until = float(min(ends.min(initial=np.inf), workload.arrival_time[arrived] if arrived < n else np.inf))
        if changed and len(jobs):
            until = min(until, max(solved_at + options.solve_interval, now))
        if not np.isfinite(until):
            raise stranded(policy, workload, now, active)
        held[running] += use[running] * (until - now)
        left[running] = np.maximum(left[running] - rate[running] * (until - now), 0.0)
        over = running[ends <= until]
        left[over], end[over], rate[over] = 0.0, until, 0.0
        if len(over):
            gone = set(over.tolist())
            active = [j for j in active if j not in gone]
            changed = True
        now = until
    seconds = time.perf_counter() - began
    began_at = np.flatnonzero(np.isfinite(first_start))
    stop = np.minimum(end[began_at], now)
    length = np.maximum(stop - first_start[began_at], 1e-12)
    part = held[began_at].sum(axis=1) / (workload.scale_factor[began_at] * length)
    none = np.zeros(n, np.int64)
    record = Record(
        first_start, end, np.zeros(n), held, none, none, began_at, first_start[began_at], stop, part,
        workload.total_steps[began_at] - left[began_at], now,
    )  # fmt: skip
    return finished(workload, throughputs, count, policy, record, speeds, target, seconds, {
        "mechanism": "ideal", **asdict(options), "solves": caller.solves,
    })  # fmt: skip
