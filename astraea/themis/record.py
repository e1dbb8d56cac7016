"""What happened to apps in a simulation, and the tables of a `Result` made of it.

One row per app stands for a job: its tenant is the app itself, its demand the GPUs that its first rung asks for. What
an app is owed is an equal share of the cluster among the active apps, at most its demand ([Ye2022] Eqs. 4, 9 with equal
weights); `rho_job` is its long-term GPU-time fairness, `finish_time_fairness` that of [Mahajan2020].
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray
from astraea.core.provenance import provenance
from astraea.core.result import Result
from astraea.core.step_function import Stepped, contention
from astraea.themis.agent import Agent, Lot, isolated
from astraea.themis.apps import Workload
from astraea.themis.successive_halving import course

HOUR: Final = 3600.0


class Record:
    """Leases, demands and preemptions, as they happen."""

    def __init__(self) -> None:
        self.leases: list[tuple[int, int, float, float, bool]] = []  # app, GPUs, begin, end, on one machine
        self.demands: list[tuple[int, float, int]] = []  # app, from when on, GPUs
        self.preemptions: dict[int, int] = {}

    def lease(self, agent: Agent, lot: Lot, end: float) -> None:
        """A lot is returned."""
        self.leases.append((agent.index, agent.app.gang, lot.since, end, lot.is_local))

    def demand(self, agent: Agent, now: float) -> None:
        """What an app can use may have changed."""
        self.demands.append((agent.index, now, 0 if agent.is_done else len(agent.todo) * agent.app.gang))

    def preempted(self, agent: Agent, times: int) -> None:
        """Jobs that lost their GPUs."""
        self.preemptions[agent.index] = self.preemptions.get(agent.index, 0) + times


def result(
    w: Workload, agents: list[Agent], record: Record, policy: str, parameters: dict[str, Any], seconds: float
) -> Result:
    """Tables and provenance of a simulation that has ended."""
    leases = pd.DataFrame(record.leases, columns=["app", "demand", "start", "end", "is_local"])
    leases = leases.sort_values(["start", "app", "end"], kind="stable", ignore_index=True)
    asked = [_asked(record, i) for i in range(len(w.apps))]
    end = np.array([curve.time[-1] for curve in asked])
    owed = [_owed(w, asked, end, i) for i in range(len(w.apps))]
    jobs = app_table(w, agents, record, leases, owed, end)
    inputs = {
        "trace": w.name,
        "trace_sha256": workload_digest(w),
        "nodes": w.gpus,
        "gpus_per_node": 1,
        "machines": w.machines.tolist(),
        "policy": policy,
        "parameters": parameters,
    }
    return Result(
        jobs=jobs,
        excluded_jobs=pd.DataFrame(columns=["job_id", "tenant", "demand", "duration", "reason"]),
        timeline=_timeline(w, leases, asked, owed, float(end.max())),
        grants=leases.assign(job_id=np.array([a.name for a in w.apps], dtype=object)[leases["app"]]).drop(
            columns="app"
        ),
        provenance=provenance(inputs, "numpy", "numba", "pandas", "scipy"),
        seconds=seconds,
    )


def app_table(
    w: Workload, agents: list[Agent], record: Record, leases: pd.DataFrame, owed: list[Stepped], end: FloatArray
) -> pd.DataFrame:
    """`Result.jobs`: `JOB_COLUMNS`, and what this setting adds.

    `duration` is the time with the whole cluster, every gang on one machine [s]; `queueing_delay` the time without any
    GPU [s]; `overhead` the time that its gangs spent on checkpoints and restarts together [s]; `placement` the
    placement score, what is left of the speed of its gangs where they were, 1 if each was on one machine always;
    `work` what it needs on gangs on one machine [GPU-s]; `exploration` the number of its jobs. `finish_time_fairness`
    is `jct` over the time with 1/N of the cluster, N the average number of active apps in its life (`contention`).
    """
    arrival = np.array([app.arrival for app in w.apps])
    courses = [course(app) for app in w.apps]
    gangs = [w.gpus / app.gang for app in w.apps]
    crowd = contention(arrival, end, float(end.max()))
    jct = end - arrival
    duration = np.array([isolated(phases, n) for phases, n in zip(courses, gangs, strict=True)])
    alone = np.array([isolated(p, n / c) for p, n, c in zip(courses, gangs, crowd, strict=True)])
    leases = leases.assign(service=leases["demand"] * (leases["end"] - leases["start"]))
    by_app = leases.groupby("app")
    attained = by_app["service"].sum()
    slowdown = np.array([app.slowdown for app in w.apps])[leases["app"]]
    speed = leases["service"] * np.where(leases["is_local"], 1.0, 1 / slowdown)
    fair = np.array([curve.until(end[i : i + 1])[0] for i, curve in enumerate(owed)])
    held = [_busy(part) for _, part in by_app]
    return pd.DataFrame(
        {
            "job_id": [app.name for app in w.apps],
            "tenant": [app.name for app in w.apps],
            "demand": [len(app.loss) * app.gang for app in w.apps],
            "submit_time": arrival,
            "first_start_time": by_app["start"].min().to_numpy(),
            "end_time": end,
            "duration": duration,
            "jct": jct,
            "queueing_delay": np.maximum(jct - np.array(held), 0.0),
            "slowdown": jct / duration,
            "attained_service": attained.to_numpy(),
            "fair_service": fair,
            "rho_job": attained.to_numpy() / fair,
            "leases": by_app.size().to_numpy(),
            "preemptions": [record.preemptions.get(i, 0) for i in range(len(w.apps))],
            "overhead": [agent.overhead for agent in agents],
            "user": [app.name for app in w.apps],
            "contention": crowd,
            "model": [app.model for app in w.apps],
            "gang": [app.gang for app in w.apps],
            "exploration": [len(app.loss) for app in w.apps],
            "work": [app.gang * sum(p.work for p in c) for app, c in zip(w.apps, courses, strict=True)],
            "placement": (speed.groupby(leases["app"]).sum() / attained).to_numpy(),
            "finish_time_fairness": jct / alone,
        }
    )


def _asked(record: Record, app: int) -> Stepped:
    """GPUs that an app can use, from its arrival on; 0 from its end on."""
    rows = [(time, gpus) for i, time, gpus in record.demands if i == app]
    return Stepped(np.array([time for time, _ in rows]), np.array([float(gpus) for _, gpus in rows]))


def _owed(w: Workload, asked: list[Stepped], end: FloatArray, app: int) -> Stepped:
    """GPUs that an app is owed: its demand, or 1/N of the cluster if that is less."""
    arrival = np.array([a.arrival for a in w.apps])
    active = Stepped.of_changes(np.concatenate([arrival, end]), np.repeat([1.0, -1.0], len(arrival)))
    time = np.unique(np.concatenate([asked[app].time, active.time]))
    return Stepped(time, np.minimum(asked[app].at(time), w.gpus / np.maximum(active.at(time), 1.0)))


def _busy(leases: pd.DataFrame) -> float:
    """Time in which at least one of these leases runs [s]."""
    ends = np.maximum.accumulate(leases["end"].to_numpy())
    starts = leases["start"].to_numpy()
    gaps = np.maximum(starts[1:] - ends[:-1], 0.0).sum()
    return float(ends[-1] - starts[0] - gaps)


def _timeline(
    w: Workload, leases: pd.DataFrame, asked: list[Stepped], owed: list[Stepped], last: float
) -> pd.DataFrame:
    """`Result.timeline` up to the last whole hour before `last`."""
    hours: FloatArray = np.arange(int(last // HOUR) + 1, dtype=np.float64) * HOUR
    parts = []
    for i, app in enumerate(w.apps):
        mine = leases[leases["app"] == i]
        change = np.repeat([float(app.gang), -float(app.gang)], len(mine))
        held = Stepped.of_changes(np.concatenate([mine["start"], mine["end"]]), change)
        parts.append(
            pd.DataFrame(
                {
                    "time": hours,
                    "tenant": app.name,
                    "attained_service": held.until(hours),
                    "fair_service": owed[i].until(hours),
                    "held": held.at(hours),
                    "waiting": asked[i].at(hours) - held.at(hours),
                }
            )
        )
    return pd.concat(parts).sort_values("time", kind="stable", ignore_index=True)


def workload_digest(w: Workload) -> str:
    """SHA-256 of apps and machines."""
    h = hashlib.sha256(w.machines.astype(np.int64).tobytes())
    for app in w.apps:
        numbers = map(float, (app.arrival, app.gang, app.epoch, *app.tuner, len(app.loss)))
        h.update(repr((app.name, app.model, *numbers)).encode())
        for loss in app.loss:
            h.update(np.ascontiguousarray(loss, np.float64).tobytes())
    return h.hexdigest()
