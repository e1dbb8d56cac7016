"""One exploration seen closely, and how well its end can be foreseen: tables for the first figures of notebook 09."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from astraea.core.result import Result
from astraea.core.step_function import Stepped
from astraea.themis.apps import App, Workload, rungs, survivors
from astraea.themis.loss_curves import estimated_length

SEEN: Final = (4, 8, 16, 32)
"""Epochs after which the end of a job is foreseen: where rungs end by default."""


def loss_table(app: App) -> pd.DataFrame:
    """What the tuner sees.

    Returns
    -------
    DataFrame, columns job, epoch, loss, rung
        Every epoch that a job trains; `rung` is the job's last one, counted from 1.
    """
    jobs, parts = list(range(len(app.loss))), {}
    for rung, (count, epochs) in enumerate(rungs(len(jobs), app.tuner), 1):
        for job in jobs:
            loss = app.loss[job][:epochs]
            epoch = np.arange(1, len(loss) + 1)
            parts[job] = pd.DataFrame({"job": job, "epoch": epoch, "loss": loss, "rung": rung})
        if count > 1:
            jobs = survivors(app, jobs, epochs)
    return pd.concat([parts[job] for job in sorted(parts)], ignore_index=True)


def held_table(workload: Workload, result: Result, app: str) -> pd.DataFrame:
    """What an app and all apps together hold.

    Returns
    -------
    DataFrame, columns time [s], held [GPU], kind
        Kind is "on one machine" and "in all" of the app; time counts from its arrival, a row for every change.
    """
    assert result.grants is not None
    mine = result.grants[result.grants["job_id"] == app]
    arrival = next(a.arrival for a in workload.apps if a.name == app)
    parts = []
    for kind, leases in (("in all", mine), ("on one machine", mine[mine["is_local"]])):
        time = np.concatenate([leases["start"], leases["end"]])
        curve = Stepped.of_changes(time, np.concatenate([leases["demand"], -leases["demand"]]).astype(np.float64))
        at = np.unique(np.concatenate([[arrival], time]))
        parts.append(pd.DataFrame({"time": at - arrival, "held": curve.at(at), "kind": kind}))
    return pd.concat(parts, ignore_index=True)


def foresight(workload: Workload) -> pd.DataFrame:
    """How far off the estimated lengths of jobs are.

    Returns
    -------
    DataFrame, columns epochs, jobs, median, worst_tenth
        After so many epochs, of the jobs that train longer: |log(estimate / truth)|, its median and 90 % quantile.
    """
    rows = []
    for epochs in SEEN:
        off = [
            abs(np.log(estimated_length(loss[:epochs], app.tuner) / len(loss)))
            for app in workload.apps
            for loss in app.loss
            if len(loss) > epochs
        ]
        rows.append((epochs, len(off), *np.quantile(off, (0.5, 0.9))))
    return pd.DataFrame(rows, columns=["epochs", "jobs", "median", "worst_tenth"])
