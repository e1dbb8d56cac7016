"""Measures of a simulation of apps ([Mahajan2020] §6): fairness, GPU-time, placement, completion times."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from astraea.core.arrays import FloatArray
from astraea.core.metrics import SHARING_LOSS
from astraea.core.units import HOUR
from papers.step_function import Stepped, contention
from papers.themis.agent import Agent
from papers.themis.apps import AppTrace, course
from papers.themis.foresight import isolated

LATE: Final = 1 / SHARING_LOSS
"""Finish-time fairness above which an app is late: the same 5 % that sharing loss allows in GPU-time."""


def rho_summary(apps: pd.DataFrame) -> dict[str, float]:
    """Return the figures of the apps of a run (`app_table`); rho is their `finish_time_fairness`.

    Returns
    -------
    dict
        max_rho, mean_rho : of all apps
        late : share of apps with rho above `LATE`, in [0, 1]
        short : share of apps with `rho_job` below 0.95 ([Ye2022] §6.3), in [0, 1]
        gpu_time : held by all apps [GPU-h]
        relative_gpu_time : the same over what they need if every gang is on one machine; at least 1
        placement : placement score, mean weighted by GPU-time held; in (0, 1]
        average_jct : [s]
    """
    rho, held = apps["finish_time_fairness"], apps["attained_service"]
    return {
        "max_rho": float(rho.max()),
        "mean_rho": float(rho.mean()),
        "late": float((rho > LATE).mean()),
        "short": float((apps["rho_job"] < SHARING_LOSS).mean()),
        "gpu_time": float(held.sum() / HOUR),
        "relative_gpu_time": float(held.sum() / apps["work"].sum()),
        "placement": float(np.average(apps["placement"], weights=held)),
        "average_jct": float(apps["jct"].mean()),
    }


def lease_table(w: AppTrace, agents: list[Agent]) -> pd.DataFrame:
    """Return a row per lease in order of time: job_id (the app), demand [GPU], start, end [s], is_local."""
    rows = [
        (lease[0], agent.index, lease[1], w.apps[agent.index].name, agent.app.gang, lease[2])
        for agent in agents
        for lease in agent.leases
    ]
    table = pd.DataFrame(sorted(rows), columns=["start", "app", "end", "job_id", "demand", "is_local"])
    return table[["job_id", "demand", "start", "end", "is_local"]]


def app_table(w: AppTrace, agents: list[Agent]) -> pd.DataFrame:
    """Return a row per app of a simulation that has ended.

    Returns
    -------
    DataFrame
        job_id, model, exploration, gang : the app's name, its kind of model, number of jobs, and GPUs of each
        submit_time, first_start_time, end_time, jct : [s]
        duration : time with the whole cluster, every gang on one machine [s]
        contention : average number N of active apps in its life
        finish_time_fairness : `jct` over the time with 1/N of the cluster
        queueing_delay : time without any GPU [s]
        attained_service, work : GPU-time held, and the need of gangs on one machine [GPU-s]
        fair_service, rho_job : an equal share of the cluster among the active apps, at most what the app can use
            [GPU-s], and `attained_service` over it ([Ye2022] Eqs. 4, 9 with equal weights)
        placement : the part of its gangs' speed that is left where they were, 1 if each was always on one machine
        leases, preemptions : leases held, and jobs that lost their GPUs at the end of one
        overhead : time that its gangs spent on checkpoints and restarts together [s]
    """
    rows = []
    arrival = np.array([app.arrival for app in w.apps])
    end = np.array([agent.asked[-1][0] for agent in agents])
    crowd = contention(arrival, end, float(end.max()))
    active = Stepped.between(arrival, end, np.ones(len(agents)))
    for agent, app, stop, n in zip(agents, w.apps, end.tolist(), crowd.tolist(), strict=True):
        phases, gangs = np.array(course(app)), w.gpus / app.gang
        since, until, is_local = np.array(agent.leases).T
        held = app.gang * (until - since)
        speed = np.where(is_local, 1.0, 1 / app.slowdown)
        owed = _owed(agent, active, w.gpus, stop)
        rows.append({
            "job_id": app.name, "model": app.model, "exploration": len(app.loss), "gang": app.gang,
            "submit_time": app.arrival, "first_start_time": since.min(), "end_time": stop, "jct": stop - app.arrival,
            "duration": isolated(phases, gangs), "contention": n,
            "finish_time_fairness": (stop - app.arrival) / isolated(phases, gangs / n),
            "queueing_delay": max(stop - app.arrival - _busy(since, until), 0.0),
            "attained_service": held.sum(), "work": app.gang * phases[:, 1].sum(),
            "fair_service": owed, "rho_job": held.sum() / owed, "placement": (held * speed).sum() / held.sum(),
            "leases": len(held), "preemptions": agent.preemptions, "overhead": agent.overhead,
        })  # fmt: skip
    return pd.DataFrame(rows)


def _owed(agent: Agent, active: Stepped, gpus: int, end: float) -> float:
    """GPU-time that an app could use, or 1/N of the cluster where that is less, until its end [GPU-s]."""
    asked = Stepped(*np.array(agent.asked).T)
    time = np.unique(np.concatenate([asked.time, active.time]))
    share = Stepped(time, np.minimum(asked.at(time), gpus / np.maximum(active.at(time), 1.0)))
    return float(share.until(np.array([end]))[0])


def _busy(since: FloatArray, until: FloatArray) -> float:
    """Time in which at least one of some leases runs [s]."""
    order = np.argsort(since, kind="stable")
    since, until = since[order], np.maximum.accumulate(until[order])
    return float(until[-1] - since[0] - np.maximum(since[1:] - until[:-1], 0.0).sum())
