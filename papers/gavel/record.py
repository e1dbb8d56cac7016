"""Tables of a `Result`, from the times at which each job held workers.

**Two units of service.** `attained_service` is GPU-time as held, whatever the type. On unequal GPUs it misleads. A job
on V100s needs less of it for the same progress, so a job on a type that suits it ends with less GPU-time than it was
owed, a "loss" that nobody would mind. A job that is left with K80s seems to be well served. `effective_service` counts
progress instead: one GPU-second is what the job does on one GPU at its own mean speed over all GPUs of the cluster, the
scale of `policies.ltgf`. A part of *every* type is then worth the same in both units, so that fair shares ([Ye2022]
Eqs. 4, 8, 13, 14) are the same too, and both may be compared with them: `rho_job` and `rho_effective` (Eq. 15).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.compilation import compiled
from astraea.core.units import HOUR
from papers.gavel.problem import equal_split
from papers.gavel.rounds import Log, State
from papers.gavel.sums import dot
from papers.gavel.workload import Workload
from papers.step_function import Stepped, contention


def job_table(w: Workload, s: State, workers: IntArray, prices: FloatArray) -> pd.DataFrame:
    """`Result.jobs` of all jobs that have ended: `JOB_COLUMNS`, and what this setting adds.

    `duration` is the time alone on the fastest type; `slowdown` is `jct` over it. `finish_time_fairness` is `jct` over
    the time with 1/N of every type, N the average number of active jobs during the job's life ([Narayanan2020] §4.2).
    """
    j, log, now = s.jobs, s.log, s.now
    jct = j.end - w.arrival_time
    duration = w.total_steps / j.alone.max(axis=1)
    crowd = contention(w.arrival_time, j.end, now)
    isolated = (j.alone * equal_split(w.scale_factor, workers, np.maximum(crowd, 1.0))).sum(axis=1)
    running = np.bincount(log.job, log.end - log.start, len(w))
    fair, attained = np.full(len(w), np.nan), j.held.sum(axis=1)
    for entity in range(len(w.entity_weight)):
        of = np.flatnonzero(w.entity == entity)
        fair[of] = _fair_service(w, s, of, *_share(w, s, of, workers, entity))
    effective = np.bincount(log.job, log.steps / pace(w, j.alone, workers)[log.job], len(w))
    has_slo = np.isfinite(w.slo)
    return pd.DataFrame(
        {
            "job_id": np.array(w.job_id, dtype=object),
            "tenant": _names(w)[w.entity],
            "demand": w.scale_factor,
            "submit_time": w.arrival_time,
            "first_start_time": j.first_start,
            "end_time": j.end,
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
            "leases": j.leases,
            "preemptions": j.preemptions,
            "overhead": j.overhead,
            "user": _names(w)[w.entity],
            "contention": crowd,
            "job_type": np.array(w.job_type, dtype=object),
            "finish_time_fairness": jct / (w.total_steps / isolated),
            "cost": dot(j.held, prices) / HOUR,
            "slo_met": pd.array(np.where(has_slo, jct <= w.slo, False), dtype="boolean").copy(),
        }
    ).assign(slo_met=lambda t: t["slo_met"].mask(~has_slo))


def pace(w: Workload, alone: FloatArray, workers: IntArray) -> FloatArray:
    """Return each job's progress per effective GPU-second [steps/GPU-s]: its mean speed on one GPU."""
    return np.asarray(dot(alone, workers) / workers.sum() / w.scale_factor)


def timeline_table(w: Workload, s: State, workers: IntArray, last: float) -> pd.DataFrame:
    """`Result.timeline` up to the last whole hour before `last`, and `effective_service`.

    Progress is spread evenly over each time that a job held workers without a break, so that the few seconds in which a
    checkpoint is loaded count like the others.
    """
    log, end = s.log, np.minimum(s.jobs.end, s.now)
    service = log.steps / pace(w, s.jobs.alone, workers)[log.job] / np.maximum(log.end - log.start, 1e-12)
    hours: FloatArray = np.arange(int(last // HOUR) + 1, dtype=np.float64) * HOUR
    parts = []
    for entity, name in enumerate(_names(w)):
        of = np.flatnonzero(w.entity == entity)
        rows = slice(None) if len(of) == len(w) else np.flatnonzero(w.entity[log.job] == entity)
        gang, begin, stop = w.scale_factor[log.job[rows]].astype(float), log.start[rows], log.end[rows]
        orders = np.argsort(begin, kind="stable"), np.argsort(stop, kind="stable")
        time, *rates = _merged(begin, stop, *orders, gang * log.part[rows], gang, service[rows])
        held, served, effective = (Stepped(time, rate) for rate in rates)
        asked = Stepped.between(w.arrival_time[of], end[of], w.scale_factor[of].astype(float))
        columns = {
            "time": hours,
            "tenant": name,
            "attained_service": held.until(hours),
            "effective_service": effective.until(hours),
            "fair_service": _share(w, s, of, workers, entity)[0].until(hours),
            "held": held.at(hours),
            "waiting": asked.at(hours) - served.at(hours),
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts).sort_values("time", kind="stable", ignore_index=True)


@compiled
def _merged(
    start: FloatArray, end: FloatArray, by_start: IntArray, by_end: IntArray, a: FloatArray, b: FloatArray,
    c: FloatArray,
) -> FloatArray:  # fmt: skip
    """Moments at which one of many rows begins or ends, and sums of their amounts a, b and c from then on, (4, M).

    It does three times the work of `Stepped.between` at once.
    """
    out, last, i, j = np.empty((4, 2 * start.shape[0])), -1, 0, 0
    sum_a = sum_b = sum_c = 0.0
    while j < end.shape[0]:
        begins = i < start.shape[0] and start[by_start[i]] <= end[by_end[j]]
        row, sign = (by_start[i], 1.0) if begins else (by_end[j], -1.0)
        now = start[row] if begins else end[row]
        sum_a, sum_b, sum_c = sum_a + sign * a[row], sum_b + sign * b[row], sum_c + sign * c[row]
        if last < 0 or now > out[0, last]:
            last += 1
        out[0, last], out[1, last], out[2, last], out[3, last] = now, sum_a, sum_b, sum_c
        i, j = i + begins, j + (not begins)
    return out[:, : last + 1]


def grant_table(w: Workload, log: Log) -> pd.DataFrame:
    """Return a row for each time that a job held the same workers without a break."""
    order = np.argsort(log.start, kind="stable")
    job = log.job[order]
    return pd.DataFrame(
        {
            "job_id": pd.Series(w.job_id).array.take(job),  # which looks at each name once
            "demand": w.scale_factor[job],
            "start": log.start[order],
            "end": log.end[order],
            "part": log.part[order],
        },
        copy=False,
    )


def _names(w: Workload) -> npt.NDArray[np.object_]:
    return np.array([f"entity {e}" for e in range(len(w.entity_weight))], dtype=object)


def _share(w: Workload, s: State, of: IntArray, workers: IntArray, entity: int) -> tuple[Stepped, Stepped]:
    """GPUs that an entity is owed, and the sum of the weights of its active jobs ([Ye2022] Eq. 8)."""
    stop = np.minimum(s.jobs.end[of], s.now)
    demand, weight = (
        Stepped.between(w.arrival_time[of], stop, part) for part in (w.scale_factor[of].astype(float), w.weight[of])
    )
    quota = workers.sum() * w.entity_weight[entity] / w.entity_weight.sum()
    return Stepped(demand.time, np.minimum(demand.rate, quota)), weight


def _fair_service(w: Workload, s: State, of: IntArray, gpus: Stepped, weights: Stepped) -> FloatArray:
    """Return the GPU-time owed to each job of an entity during its life [GPU-s] ([Ye2022] Eqs. 13, 14)."""
    out, stop = np.zeros(len(of)), np.minimum(s.jobs.end[of], s.now)
    per_weight = np.divide(gpus.rate, weights.rate, out=np.zeros_like(gpus.rate), where=weights.rate > 1e-9)
    kinds = np.column_stack([w.scale_factor[of], w.weight[of]])
    for size, weight in np.unique(kinds, axis=0):
        mine = (kinds == (size, weight)).all(axis=1)
        owed = Stepped(gpus.time, np.minimum(size, per_weight * weight))
        out[mine] = owed.until(stop[mine]) - owed.until(w.arrival_time[of][mine])
    return out
