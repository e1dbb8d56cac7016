"""Schedules small enough to draw."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.leases import expect
from astraea.cluster.engine.state import Private, View, new_state
from astraea.cluster.policies import get_policy
from astraea.cluster.policy import Policy, remaining_service
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.result import Result
from astraea.estimation.estimates import Estimates
from astraea.traces.trace import Trace
from papers.ye2022.with_rules import astraea_with_rules

Rows = list[dict[str, Any]] | pd.DataFrame
FREE = Settings(checkpoint_overhead=0, restart_overhead=0)


def policy_named(name: str) -> Policy:
    """A policy of the package, or Algorithms 1 and 2 with rules of the authors' program."""
    return astraea_with_rules if name == astraea_with_rules.name else get_policy(name)


def jobs(*rows: str) -> list[dict[str, Any]]:
    """Jobs from lines ``name demand submit duration [deadline] [<limit]``; the tenant is the name's first letter."""
    out = []
    for row in rows:
        request, _, limit = row.partition("<")
        name, demand, submit, duration, *deadline = request.split()
        values = {"job_id": name, "tenant": name[0], "demand": int(demand), "submit_time": float(submit)}
        values |= {"duration": float(duration), "deadline": float(deadline[0]) if deadline else np.nan}
        out.append({**values, "time_limit": float(limit or "nan")})
    return out


def trace_of(rows: Rows, weights: dict[str, float] | None = None) -> Trace:
    """Jobs as a trace."""
    return Trace.from_frame(pd.DataFrame(rows), weights=weights)


def simulated(
    rows: Rows,
    cluster: Cluster | int,
    policy: str,
    *,
    weights: dict[str, float] | None = None,
    settings: Settings = FREE,
    **parameters: float | str,
) -> Result:
    """Run with a log; the cluster is one node of so many GPUs, unless it is told."""
    place = cluster if isinstance(cluster, Cluster) else Cluster(1, cluster)
    chosen = policy_named(policy).with_parameters(**parameters)
    result = simulate(trace_of(rows, weights), place, chosen, settings=settings, keep_log=True)
    assert len(result.excluded_jobs) == 0
    return result


def small_state(trace: Trace, cluster: Cluster, **more: Any) -> tuple[View, Private]:
    """The view of policies and engine before anything has happened."""
    usual: dict[str, Any] = {"parameters": np.zeros(5), "estimate": (np.zeros(len(trace)),) * 3}
    return new_state(trace, cluster, **usual | more)


def drawn(result: Result, step: float) -> list[str]:
    """Return the schedule of each job: S start, R restart, r renewal, = runs, . waits; one letter a step.

    It is complete, because every time must be a multiple of the step.
    """
    columns = [result.log["start"], result.log["end"], result.jobs["submit_time"], result.jobs["end_time"]]
    assert all((c % step == 0).all() for c in columns)
    pictures = []
    for job in result.jobs.to_dict("records"):
        cells = [" "] * round(job["submit_time"] / step) + ["."] * round(job["jct"] / step)
        for g in result.log[result.log["job_id"] == job["job_id"]].to_dict("records"):
            a, b = round(g["start"] / step), round(g["end"] / step)
            cells[a:b] = [{"start": "S", "restart": "R", "renewal": "r"}[g["kind"]]] + ["="] * (b - a - 1)
        pictures.append("".join(cells))
    return pictures


def check(policy: str, cluster: Cluster | int, options: dict[str, Any], *lines: str) -> None:
    """Compare schedules with lines ``job |picture``, in the order of submission; a job is as in `jobs`.

    Where an option is a list, there is a picture for each of its values; `step` is that of the pictures.
    """
    options = {"step": 10, **options}
    step = options.pop("step")
    rows, *pictures = zip(*(line.split("|") for line in lines), strict=True)
    for k, picture in enumerate(pictures):
        chosen = {name: value[k] if isinstance(value, list) else value for name, value in options.items()}
        result = simulated(jobs(*rows), cluster, policy, **chosen)
        assert drawn(result, step) == [p.rstrip() for p in picture], chosen


def left(e: Estimates, progress: float) -> tuple[float, float]:
    """Total and remaining service of one job as policies see them."""
    estimate = e.median, e.spread_below, e.spread_above
    view, _ = small_state(trace_of(jobs("t0 1 0 1")), Cluster(1, 1), estimate=estimate)
    view.job[0].progress = progress
    expect(view, 0)
    return float(view.job[0].total_service), float(remaining_service(view, 0))
