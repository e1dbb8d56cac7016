"""Measures of a simulation in the setting of Themis ([Mahajan2020] §6): fairness, GPU-time, placement, JCT."""

from __future__ import annotations

from typing import Final

import numpy as np

from astraea.core.metrics import SHARING_LOSS, average_jct, sharing_loss
from astraea.core.result import Result
from astraea.core.units import HOUR

LATE: Final = 1 / SHARING_LOSS
"""Finish-time fairness above which an app is late: the same 5 % that sharing loss allows in GPU-time."""


def rho_summary(result: Result) -> dict[str, float]:
    """Return the figures of a run of `themis.simulate`; rho is the `finish_time_fairness` of its apps.

    Returns
    -------
    dict
        max_rho, mean_rho : of all apps
        jain : Jain's index (sum rho)**2 / (n sum rho**2), in (0, 1]; 1 if all are equal
        gpu_time : held by all apps [GPU-h]
        relative_gpu_time : the same over what they need if every gang is on one machine; at least 1
        placement : placement score, mean weighted by GPU-time held; in (0, 1]
        average_jct : [s]
        late_apps : share of apps with rho > `LATE`, in [0, 1]
        sharing_loss : share of apps with `rho_job` < 0.95 ([Ye2022] §6.3), in [0, 1]
        makespan : end of the last app [s]
    """
    apps = result.jobs
    rho, held = apps["finish_time_fairness"], apps["attained_service"]
    return {
        "max_rho": float(rho.max()),
        "mean_rho": float(rho.mean()),
        "jain": float(rho.sum() ** 2 / (len(rho) * (rho**2).sum())),
        "gpu_time": float(held.sum() / HOUR),
        "relative_gpu_time": float(held.sum() / apps["work"].sum()),
        "placement": float(np.average(apps["placement"], weights=held)),
        "average_jct": average_jct(result),
        "late_apps": float((rho > LATE).mean()),
        "sharing_loss": sharing_loss(result),
        "makespan": result.makespan,
    }
