"""The tables of a `Result`, from when each job held what.

**Two units of service.** `attained_service` is GPU-time as held, whatever the type. On unequal GPUs it misleads: who
runs on V100s needs less of it for the same progress, so that a policy which gives a job the type that suits it lets the
job end with less GPU-time than it was owed, a "loss" that nobody would mind; and who is left with K80s seems to be well
served. `effective_service` counts progress instead: one GPU-second is what the job does on one GPU at its own mean
speed over all GPUs of the cluster, the scale of `policies.ltgf`. A part of *every* type is then worth the same in both
units, so that fair shares ([Ye2022] Eqs. 4, 8, 13, 14) are the same too, and both may be compared with them:
`rho_job` and `rho_effective` (Eq. 15).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.step_function import Stepped, contention
from astraea.gavel.policy_calls import PRICES, isolated_speed
from astraea.gavel.workload import Workload

HOUR = 3600.0


class Record(NamedTuple):
    """What happened in a simulation: n jobs, J types; times in s, inf if it has not happened."""

    first_start: FloatArray  # (n,)
    end: FloatArray  # (n,)
    overhead: FloatArray  # (n,)
    held: FloatArray  # (n, J) GPU-time [GPU-s]; of shared GPUs, half
    leases: IntArray  # (n,)
    preemptions: IntArray  # (n,)
    job: IntArray  # one row for each time that a job held workers without a break ...
    start: FloatArray
    stop: FloatArray
    part: FloatArray  # ... 0.5 where they were shared
    steps: FloatArray  # done in each of these times
    now: float  # when the simulation ended


def job_table(w: Workload, r: Record, alone: FloatArray, workers: IntArray, types: tuple[str, ...]) -> pd.DataFrame:
    """`Result.jobs` of all jobs that have ended: `JOB_COLUMNS`, and what this setting adds.

    `duration` is the time alone on the fastest type; `slowdown` is `jct` over it. `finish_time_fairness` is `jct` over
    the time with 1/N of every type, N the average number of active jobs during the job's life ([Narayanan2020] §4.2).
    """
    jct = r.end - w.arrival_time
    duration = w.total_steps / alone.max(axis=1)
    crowd = contention(w.arrival_time, r.end, r.now)
    isolated = w.total_steps / isolated_speed(alone, w.scale_factor, workers, np.maximum(crowd, 1.0))
    running = np.zeros(len(w))
    np.add.at(running, r.job, r.stop - r.start)
    fair, attained = np.full(len(w), np.nan), r.held.sum(axis=1)
    for entity in range(len(w.entity_weight)):
        of = np.flatnonzero(w.entity == entity)
        if len(of):
            fair[of] = _fair_service(w, r, of, _share(w, r, of, workers, entity))
    effective = np.bincount(r.job, r.steps / pace(w, alone, workers)[r.job], len(w))
    prices = np.array([PRICES.get(t, np.nan) for t in types])
    has_slo = np.isfinite(w.slo)
    return pd.DataFrame(
        {
            "job_id": np.array(w.job_id, dtype=object),
            "tenant": _names(w)[w.entity],
            "demand": w.scale_factor,
            "submit_time": w.arrival_time,
            "first_start_time": r.first_start,
            "end_time": r.end,
            "duration": duration,
            "jct": jct,
            "queueing_delay": np.maximum(jct - running, 0.0),
            "slowdown": jct / duration,
            "attained_service": attained,
            "fair_service": fair,
            "rho_job": np.divide(attained, fair, out=np.full(len(w), np.nan), where=fair > 0),
            "effective_service": effective,
            "rho_effective": np.divide(effective, fair, out=np.full(len(w), np.nan), where=fair > 0),
            "weight": w.weight,
            "leases": r.leases,
            "preemptions": r.preemptions,
            "overhead": r.overhead,
            "user": _names(w)[w.entity],
            "contention": crowd,
            "job_type": np.array(w.job_type, dtype=object),
            "finish_time_fairness": jct / isolated,
            "cost": (r.held @ prices) / HOUR,
            "slo_met": pd.array(np.where(has_slo, jct <= w.slo, False), dtype="boolean").copy(),
        }
    ).assign(slo_met=lambda t: t["slo_met"].mask(~has_slo))


def pace(w: Workload, alone: FloatArray, workers: IntArray) -> FloatArray:
    """Progress that is worth one effective GPU-second, of each job [steps/GPU-s]: its mean speed on one GPU."""
    return np.asarray(alone @ workers / workers.sum() / w.scale_factor)


def timeline_table(w: Workload, r: Record, alone: FloatArray, workers: IntArray, last: float) -> pd.DataFrame:
    """`Result.timeline` up to the last whole hour before `last`, and `effective_service`.

    Progress is spread evenly over each time that a job held workers without a break, so that the few seconds in which a
    checkpoint is loaded count like the others.
    """
    service = r.steps / pace(w, alone, workers)[r.job] / np.maximum(r.stop - r.start, 1e-12)
    hours: FloatArray = np.arange(int(last // HOUR) + 1, dtype=np.float64) * HOUR
    parts = []
    for entity, name in enumerate(_names(w)):
        of = np.flatnonzero(w.entity == entity)
        rows = np.flatnonzero(np.isin(r.job, of))
        gang = w.scale_factor[r.job[rows]].astype(float)
        held, served, effective = (
            _between(r.start[rows], r.stop[rows], amount) for amount in (gang * r.part[rows], gang, service[rows])
        )
        asked = _between(w.arrival_time[of], np.minimum(r.end[of], r.now), w.scale_factor[of].astype(float))
        columns = {
            "time": hours,
            "tenant": name,
            "attained_service": held.until(hours),
            "effective_service": effective.until(hours),
            "fair_service": _share(w, r, of, workers, entity)[0].until(hours) if len(of) else 0.0,
            "held": held.at(hours),
            "waiting": asked.at(hours) - served.at(hours),
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts).sort_values("time", kind="stable", ignore_index=True)


def _between(start: FloatArray, stop: FloatArray, amount: FloatArray) -> Stepped:
    """Sum of the amounts of those whose time it is."""
    return Stepped.of_changes(np.concatenate([start, stop]), np.concatenate([amount, -amount]))


def grant_table(w: Workload, r: Record) -> pd.DataFrame:
    """One row for each time that a job held the same workers without a break."""
    order = np.argsort(r.start, kind="stable")
    job = r.job[order]
    return pd.DataFrame(
        {
            "job_id": np.array(w.job_id, dtype=object)[job],
            "demand": w.scale_factor[job],
            "start": r.start[order],
            "end": r.stop[order],
            "part": r.part[order],
        }
    )


def _names(w: Workload) -> npt.NDArray[np.object_]:
    return np.array([f"entity {e}" for e in range(len(w.entity_weight))], dtype=object)


def _share(w: Workload, r: Record, of: IntArray, workers: IntArray, entity: int) -> tuple[Stepped, Stepped]:
    """GPUs that an entity is owed, and the sum of the weights of its active jobs ([Ye2022] Eq. 8)."""
    stop = np.minimum(r.end[of], r.now)
    time = np.concatenate([w.arrival_time[of], stop])
    order = np.argsort(time, kind="stable")
    size = w.scale_factor[of].astype(float)
    demand = np.cumsum(np.concatenate([size, -size])[order])
    weight = np.cumsum(np.concatenate([w.weight[of], -w.weight[of]])[order])
    quota = workers.sum() * w.entity_weight[entity] / w.entity_weight.sum()
    return Stepped(time[order], np.minimum(demand, quota)), Stepped(time[order], weight)


def _fair_service(w: Workload, r: Record, of: IntArray, share: tuple[Stepped, Stepped]) -> FloatArray:
    """GPU-time that each job of an entity was owed during its life [GPU-s] ([Ye2022] Eqs. 13, 14)."""
    gpus, weights = share
    out = np.zeros(len(of))
    per_weight = np.divide(gpus.rate, weights.rate, out=np.zeros_like(gpus.rate), where=weights.rate > 1e-9)
    kinds = np.column_stack([w.scale_factor[of], w.weight[of]])
    for size, weight in np.unique(kinds, axis=0):
        mine = (kinds == (size, weight)).all(axis=1)
        owed = Stepped(gpus.time, np.minimum(size, per_weight * weight))
        out[mine] = owed.until(np.minimum(r.end[of][mine], r.now)) - owed.until(w.arrival_time[of][mine])
    return out
