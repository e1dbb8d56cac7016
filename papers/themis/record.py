"""Tables of a `Result` for a simulation of apps.

A row per app stands for a job: its tenant is the app itself, its demand the GPUs that its first rung asks for. It is
owed an equal share of the cluster among the active apps, at most its demand ([Ye2022] Eqs. 4, 9 with equal weights).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray
from astraea.core.digest import Part, digest_of
from astraea.core.result import Result, provenance
from astraea.core.units import HOUR
from papers.step_function import Stepped, contention
from papers.themis.agent import Agent
from papers.themis.apps import AppTrace, course
from papers.themis.foresight import isolated


def result(w: AppTrace, agents: list[Agent], policy: str, parameters: dict[str, Any], seconds: float) -> Result:
    """Tables and provenance of a simulation that has ended."""
    gang, count = [agent.app.gang for agent in agents], [len(agent.leases) for agent in agents]
    start, stop, is_local = map(np.array, zip(*(lease for agent in agents for lease in agent.leases), strict=True))
    app = np.repeat(np.arange(len(agents)), count)
    columns = {"demand": np.repeat(gang, count), "start": start, "end": stop, "is_local": is_local, "app": app}
    leases = pd.DataFrame(columns).sort_values(["start", "app", "end"], kind="stable", ignore_index=True)
    asked = [Stepped(*np.array(agent.asked).T) for agent in agents]  # 0 from the end of the app on
    arrival, end = (np.array([curve.time[k] for curve in asked]) for k in (0, -1))
    active = Stepped.between(arrival, end, np.ones(len(agents)))
    owed = []  # what an app can use, or 1/N of the cluster if that is less [GPU]
    for curve in asked:
        time = np.unique(np.concatenate([curve.time, active.time]))
        owed.append(Stepped(time, np.minimum(curve.at(time), w.gpus / np.maximum(active.at(time), 1.0))))
    names = np.array([app.name for app in w.apps], dtype=object)
    inputs = {
        "trace": w.name, "trace_sha256": workload_digest(w), "nodes": w.gpus, "gpus_per_node": 1,
        "machines": w.machines.tolist(), "policy": policy, "parameters": parameters,
    }  # fmt: skip
    return Result(
        jobs=app_table(w, agents, leases, owed, end),
        excluded_jobs=pd.DataFrame(columns=["job_id", "tenant", "demand", "duration", "reason"]),
        timeline=_timeline(agents, asked, owed, float(end.max())),
        grants=leases.drop(columns="app").assign(job_id=names[leases["app"]]),
        provenance=provenance(inputs, "numpy", "numba", "pandas", "scipy"),
        seconds=seconds,
    )


def app_table(
    w: AppTrace, agents: list[Agent], leases: pd.DataFrame, owed: list[Stepped], end: FloatArray
) -> pd.DataFrame:
    """`Result.jobs`: `JOB_COLUMNS`, and what this setting adds.

    `duration` is the time with the whole cluster, every gang on one machine [s], and `queueing_delay` the time without
    any GPU [s]. `overhead` is the time that its gangs spent on checkpoints and restarts together [s]. `placement` is
    the placement score, the part of its gangs' speed that is left where they were, 1 if each was always on one machine.
    `work` is the need of gangs on one machine [GPU-s], and `exploration` the number of its jobs. `finish_time_fairness`
    is `jct` over the time with 1/N of the cluster, N the average number of active apps in its life (`contention`),
    `rho_job` the long-term GPU-time fairness of [Ye2022].
    """
    names, arrival = [app.name for app in w.apps], np.array([app.arrival for app in w.apps])
    courses = [(np.array(course(app)), w.gpus / app.gang) for app in w.apps]  # phases, and gangs that have room
    crowd = contention(arrival, end, float(end.max()))
    jct = end - arrival
    duration = np.array([isolated(phases, gangs) for phases, gangs in courses])
    alone = np.array([isolated(phases, gangs / n) for (phases, gangs), n in zip(courses, crowd, strict=True)])
    service = leases["demand"] * (leases["end"] - leases["start"])
    slowdown = np.array([app.slowdown for app in w.apps])[leases["app"]]
    speed = service * np.where(leases["is_local"], 1.0, 1 / slowdown)
    attained, progress = (part.groupby(leases["app"]).sum().to_numpy() for part in (service, speed))
    fair = np.array([curve.until(end[i : i + 1])[0] for i, curve in enumerate(owed)])
    return pd.DataFrame(
        {
            "job_id": names,
            "tenant": names,
            "demand": [len(app.loss) * app.gang for app in w.apps],
            "submit_time": arrival,
            "first_start_time": leases.groupby("app")["start"].min().to_numpy(),
            "end_time": end,
            "duration": duration,
            "jct": jct,
            "queueing_delay": np.maximum(jct - np.array([_busy(agent) for agent in agents]), 0.0),
            "slowdown": jct / duration,
            "attained_service": attained,
            "fair_service": fair,
            "rho_job": attained / fair,
            "leases": [len(agent.leases) for agent in agents],
            "preemptions": [agent.preemptions for agent in agents],
            "overhead": [agent.overhead for agent in agents],
            "user": names,
            "contention": crowd,
            "model": [app.model for app in w.apps],
            "gang": [app.gang for app in w.apps],
            "exploration": [len(app.loss) for app in w.apps],
            "work": [app.gang * sum(phases[:, 1].tolist()) for app, (phases, _) in zip(w.apps, courses, strict=True)],
            "placement": progress / attained,
            "finish_time_fairness": jct / alone,
        }
    )


def _busy(agent: Agent) -> float:
    """Time in which at least one of its leases runs [s]."""
    starts, ends, _ = np.array(sorted(agent.leases)).T
    ends = np.maximum.accumulate(ends)
    return float(ends[-1] - starts[0] - np.maximum(starts[1:] - ends[:-1], 0.0).sum())


def _timeline(agents: list[Agent], asked: list[Stepped], owed: list[Stepped], last: float) -> pd.DataFrame:
    """`Result.timeline` up to the last whole hour before `last`."""
    hours: FloatArray = np.arange(int(last // HOUR) + 1, dtype=np.float64) * HOUR
    numbers = np.empty((4, len(hours), len(agents)))
    for i, (agent, wanted, share) in enumerate(zip(agents, asked, owed, strict=True)):
        start, end, _ = np.array(agent.leases).T
        held = Stepped.between(start, end, np.full(len(start), float(agent.app.gang)))
        holds = held.at(hours)
        numbers[:, :, i] = held.until(hours), share.until(hours), holds, wanted.at(hours) - holds
    tenant = np.tile(np.array([agent.app.name for agent in agents], dtype=object), len(hours))
    columns = zip(("attained_service", "fair_service", "held", "waiting"), numbers.reshape(4, -1), strict=True)
    return pd.DataFrame({"time": np.repeat(hours, len(agents)), "tenant": tenant, **dict(columns)})


@lru_cache(maxsize=16)
def workload_digest(w: AppTrace) -> str:
    """SHA-256 of apps and machines."""
    parts: dict[str, Part] = {"machines": w.machines}
    for i, app in enumerate(w.apps):
        parts[f"app {i}"] = (app.name, app.model)
        parts[f"numbers {i}"] = np.array([app.arrival, app.gang, app.epoch, *app.tuner], np.float64)
        parts |= {f"loss {i} {j}": loss for j, loss in enumerate(app.loss)}
    return digest_of(**parts)
