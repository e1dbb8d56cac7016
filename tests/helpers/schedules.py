"""Schedules small enough to draw."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.engine.leases import expect
from astraea.cluster.engine.state import View, new_state
from astraea.cluster.policies import get_policy
from astraea.cluster.policy import remaining_service
from astraea.cluster.settings import Settings
from astraea.cluster.simulate import simulate
from astraea.core.result import Result
from astraea.estimation.estimates import Estimates
from astraea.traces.trace import Trace


def jobs(*rows: str) -> list[dict[str, Any]]:
    """Jobs from lines ``name demand submit duration [deadline]``; the tenant is the first letter of the name."""
    out = []
    for row in rows:
        name, demand, submit, duration, *deadline = row.split()
        values = {"job_id": name, "tenant": name[0], "demand": int(demand), "submit_time": float(submit)}
        out.append({**values, "duration": float(duration), "deadline": float(deadline[0]) if deadline else np.nan})
    return out


def simulated(
    rows: list[dict[str, Any]], gpus: int, policy: str, *, flawed: bool = False, **parameters: float | str
) -> Result:
    """Run on one node, without overheads."""
    settings = Settings(checkpoint_overhead=0, restart_overhead=0, list_removal_flaw=flawed)
    trace = Trace.from_frame(pd.DataFrame(rows))
    result = simulate(trace, Cluster(1, gpus), get_policy(policy)(**parameters), settings=settings, keep_log=True)
    assert len(result.excluded_jobs) == 0
    return result


def small_view(trace: Trace, cluster: Cluster, memory: tuple[int, int] = (0, 0), decay: float = 0.0) -> View:
    """What policies see before anything has happened."""
    nothing = (np.zeros(len(trace)),) * 3
    return new_state(
        trace, cluster, parameters=np.zeros(5), estimate=nothing, memory=memory, seed=0, keep_log=False, decay=decay
    )[0]


def drawn(result: Result, step: float) -> list[str]:
    """The schedule as lines ``name picture``: S start, R restart, r renewal, = goes on, . waits; one letter a step.

    It leaves nothing out, as every time must be a multiple of the step.
    """
    assert result.grants is not None
    columns = [result.grants["start"], result.grants["end"], result.jobs["submit_time"], result.jobs["end_time"]]
    assert all((c % step == 0).all() for c in columns)
    lines = []
    for job in result.jobs.to_dict("records"):
        cells = [" "] * round(job["submit_time"] / step) + ["."] * round(job["jct"] / step)
        for g in result.grants[result.grants["job_id"] == job["job_id"]].to_dict("records"):
            a, b = round(g["start"] / step), round(g["end"] / step)
            cells[a:b] = [{"start": "S", "restart": "R", "renewal": "r"}[g["kind"]]] + ["="] * (b - a - 1)
        lines.append(f"{job['job_id']} {''.join(cells)}")
    return lines


def left(e: Estimates, progress: float) -> tuple[float, float]:
    """Total and remaining service of one job as policies see them."""
    view = small_view(Trace.from_frame(pd.DataFrame(jobs("t0 1 0 1"))), Cluster(1, 1))
    view.job[0].estimate, view.job[0].progress = e.median[0], progress
    view.job[0].spread_below, view.job[0].spread_above = e.spread_below[0], e.spread_above[0]
    expect(view, 0)
    return float(view.job[0].total_service), float(remaining_service(view, 0))
