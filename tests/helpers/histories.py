"""Traces with a history, for estimators to learn from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from astraea.traces.trace import Trace

DAY = 86_400.0
MONDAY = pd.Timestamp("2026-01-05")


def busy(n: int = 900, seed: int = 3) -> Trace:
    """Jobs of six users whose running times differ by factors, over four days; the last day is the window."""
    rng = np.random.default_rng(seed)
    user = rng.integers(0, 6, n)
    demand = rng.choice([1, 2, 4], n)
    jobs = pd.DataFrame(
        {
            "job_id": range(n),
            "tenant": [f"t{u % 2}" for u in user],
            "user": [f"u{u}" for u in user],
            "demand": demand,
            "submit_time": np.sort(rng.uniform(0, 4 * DAY, n)).round(1),
            "duration": np.round(60 * 2.0**user * demand * rng.lognormal(0, 0.3, n), 1) + 1,
            "state": rng.choice(["completed", "failed"], n),
        }
    )
    return Trace.from_frame(jobs, name="busy", origin=MONDAY).window(3 * DAY, 4 * DAY)


def of(past: list[tuple[Any, ...]], present: list[tuple[Any, ...]], origin: pd.Timestamp | None = MONDAY) -> Trace:
    """Trace of jobs (tenant, user, demand, submission, duration) before and after 1,000 s."""
    columns = ["tenant", "user", "demand", "submit_time", "duration"]
    jobs = pd.DataFrame([*past, *present], columns=columns).assign(job_id=range(len(past) + len(present)))
    return Trace.from_frame(jobs, name="mine", origin=origin).window(1000, 1e6)
