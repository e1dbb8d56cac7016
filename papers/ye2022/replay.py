"""One day of a simulated Venus, every ten minutes: the frames that the page docs/site/replay shows.

``python -m papers.ye2022.replay`` makes docs/site/replay/frames.js anew. It simulates two weeks under each scheduler,
as its own paper describes it, with each lease term. From each simulation it cuts out one day, which begins with the
queue of the day before.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.observed import observed
from astraea.cluster.policies import get_policy
from astraea.cluster.policy import Policy
from astraea.cluster.simulate import simulate
from astraea.cluster.simulation import split_off_impossible
from astraea.core.arrays import FloatArray, IntArray
from astraea.core.files import write_atomically
from astraea.core.metrics import hourly, tenant_windows
from astraea.core.result import Result
from astraea.core.units import DAY, HOUR, MINUTE
from astraea.traces.trace import Trace
from papers.step_function import Stepped
from papers.ye2022.workloads import INTERVAL, load_workload

FRAMES_FILE: Final = Path("docs/site/replay/frames.js")
DAY_SHOWN: Final = 10
"""Counted from 0: the day on which most GPUs are waited for under ASTRAEA with leases of 15 min."""

STEP: Final = 10 * MINUTE
LEASE_TERMS: Final = (5, 15, 60)  # [min]
NAMES: Final = {
    "astraea": "ASTRAEA", "hived": "HiveD", "tiresias-l": "Tiresias-L", "themis": "Themis",
    "gandiva-fair": "Gandiva_fair", "yarn-cs": "YARN-CS", "fifo": "FIFO",
}  # fmt: skip
FOLLOWED: Final = (1 * HOUR, 6 * HOUR)
"""Shortest and longest running time of a job that can be followed [s]."""


def workload() -> tuple[Trace, Cluster]:
    """The jobs of the evaluation's first Venus that static quotas can run, on 100 nodes of 8 GPUs."""
    trace, cluster = load_workload("venus")
    return split_off_impossible(trace.in_rounds(INTERVAL), cluster)[0], cluster


def sides() -> Iterator[tuple[str, int, Policy]]:
    """Every scheduler under every lease term [min], with its key in the frames; term 0 where there are no leases."""
    for name in NAMES:
        scheduler = get_policy(name)
        if "lease_term" not in scheduler.parameters:
            yield name, 0, scheduler
            continue
        for term in LEASE_TERMS:
            yield name, term, scheduler.with_parameters(lease_term=term * MINUTE)


def simulated(trace: Trace, cluster: Cluster, scheduler: Policy) -> Result:
    """Two weeks under a scheduler, with every lease."""
    return simulate(trace, cluster, scheduler, keep_log=True, estimator="gradient-boosting")


def stretched(trace: Trace, cluster: Cluster, result: Result, times: float) -> Result:
    """Return the same schedule in slow motion, so that its hourly timeline tells of every ``1 / times`` hour."""
    runs = (result.log[["start", "end"]] * times).assign(job_id=result.log["job_id"])
    slow = dataclasses.replace(trace, submit_time=trace.submit_time * times, recorded=runs)
    return observed(slow, cluster)


def frames(trace: Trace, cluster: Cluster, result: Result, followed: IntArray) -> dict[str, Any]:
    """Cut the day out of one simulation, a value per frame.

    Returns
    -------
    dict
        share: rho_tenant of the 24 h before each frame [%], None where nothing was owed; held and wanted: GPUs that
        each tenant has and its waiting jobs ask for; waiting: waiting jobs of each tenant. All are lists of a list per
        tenant. runs: of each followed job, when it began and stopped holding GPUs, in minutes of the day; done: whether
        it ended on that day.
    """
    times = HOUR / STEP
    slow = stretched(trace, cluster, result, times)
    shape = (-1, len(trace.tenants))
    first, last = (int(day * DAY / STEP) for day in (DAY_SHOWN, DAY_SHOWN + 1))
    rho = tenant_windows(slow, window=DAY * times)["rho_tenant"].to_numpy().reshape(shape)
    every_hour = hourly(slow)
    shown = {name: every_hour[name].to_numpy().reshape(shape)[first : last + 1] for name in ("held", "waiting")}
    rho = rho[first - int(DAY / STEP) :][: last + 1 - first]  # a window is a day long, and its row is where it begins
    ends = result.jobs.set_index("job_id")["end_time"]
    return {
        "share": [[None if np.isnan(x) else round(100 * x) for x in row] for row in rho.T],
        "held": shown["held"].T.astype(int).tolist(),
        "wanted": shown["waiting"].T.astype(int).tolist(),
        "waiting": waiting_jobs(trace, result, np.arange(first, last + 1, dtype=float) * STEP).tolist(),
        "runs": [runs_of_day(result, trace.job_id[j]) for j in followed],
        "done": [bool(end < (DAY_SHOWN + 1) * DAY) for end in ends.loc[list(trace.job_id[followed])]],
    }


def waiting_jobs(trace: Trace, result: Result, when: FloatArray) -> IntArray:
    """Jobs of each tenant that hold no GPUs at each moment, shape (tenants, moments)."""
    jobs, grants = result.jobs, result.log
    found = np.zeros((len(trace.tenants), len(when)), dtype=int)
    for t, name in enumerate(trace.tenants):
        mine, held = jobs[jobs["tenant"] == name], grants[grants["tenant"] == name]
        active, running = (
            Stepped.between(start.to_numpy(), end.to_numpy(), np.ones(len(start)))
            for start, end in ((mine["submit_time"], mine["end_time"]), (held["start"], held["end"]))
        )
        found[t] = np.rint(active.at(when) - running.at(when))
    return found


def runs_of_day(result: Result, job_id: str) -> list[list[int]]:
    """Minutes of the day at which a job got its GPUs and gave them back, leases that follow each other as one."""
    grants = result.log
    runs: list[list[int]] = []
    for start, end in grants.loc[grants["job_id"] == job_id, ["start", "end"]].to_numpy() - DAY_SHOWN * DAY:
        begin, stop = round(start / MINUTE), round(end / MINUTE)
        if runs and begin == runs[-1][1]:
            runs[-1][1] = stop
        elif start < DAY:
            runs.append([begin, stop])
    return runs


def jobs_to_follow(trace: Trace) -> IntArray:
    """Choose of each tenant the job with most GPU-time among those of `FOLLOWED` that come before 14:00."""
    submitted = trace.submit_time - DAY_SHOWN * DAY
    least, most = FOLLOWED
    fits = (submitted >= 0) & (submitted < 14 * HOUR) & (trace.duration >= least) & (trace.duration <= most)
    work = np.where(fits, trace.demand * trace.duration, 0.0)
    best = [max(np.flatnonzero(trace.tenant == t), key=lambda j: float(work[j])) for t in range(len(trace.tenants))]
    return np.array([j for j in best if work[j] > 0])


def content() -> str:
    """The text of frames.js."""
    trace, cluster = workload()
    followed = jobs_to_follow(trace)
    assert trace.origin is not None
    date = trace.origin + pd.Timedelta(days=DAY_SHOWN)
    listed: dict[str, list[int]] = {}
    runs: dict[str, Any] = {}
    for name, term, scheduler in sides():
        listed.setdefault(name, []).append(term)
        runs[f"{name}/{term}"] = frames(trace, cluster, simulated(trace, cluster, scheduler), followed)
    about = {
        "day": f"{date.day_name()}, {date.day} {date.month_name()} {date.year}",
        "step": int(STEP / MINUTE),
        "gpus": cluster.gpus,
        "tenants": list(trace.tenants),
        "schedulers": [{"id": name, "name": NAMES[name], "terms": terms} for name, terms in listed.items()],
        "jobs": [
            {
                "id": str(trace.job_id[j]),
                "tenant": int(trace.tenant[j]),
                "gpus": int(trace.demand[j]),
                "minutes": round(trace.duration[j] / MINUTE),
                "submitted": round((trace.submit_time[j] - DAY_SHOWN * DAY) / MINUTE),
            }
            for j in followed
        ],
        "runs": runs,
    }
    return f"const REPLAY = {json.dumps(about, separators=(',', ':'))};\n"


if __name__ == "__main__":
    write_atomically(FRAMES_FILE, content())
