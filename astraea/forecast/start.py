"""When a job would start: simulations of the queue from one moment on, whose unknowns are drawn (`draws`)."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.cluster.cluster import Cluster
from astraea.cluster.policy import Policy
from astraea.cluster.simulate import simulate
from astraea.core.arrays import FloatArray
from astraea.core.errors import InputError
from astraea.core.random import streams
from astraea.forecast.draws import MOST_ARRIVALS, SHORTEST, Past
from astraea.forecast.moment import Moment
from astraea.forecast.wish import Wish
from astraea.traces.trace import Trace

DRAWS: Final = 100
"""Simulations of which a forecast is made."""

PROMISE: Final = 0.8
"""Part of the forecasts whose interval contains the true start."""

WIDER: Final = 1.5
"""The interval is from the low end over this to the high end times this: measured on logs (docs/your_own_cluster.md), as
a simulated Slurm is not the real one."""

REACTION: Final = 5.0
"""The interval is longer by this at either end [s]: passes of a scheduler are seconds apart."""

LIMITS: Final = tuple(60.0 * minutes for minutes in (2880, 1440, 720, 480, 240, 120, 60, 30, 15, 10, 5, 2, 1))
"""Time limits that are tried in place of a longer one [s]."""

RUNS, WAITS, COMES = "r", "w", "x"
NEW: Final = "y"
"""First letters of the names in a simulation, and the whole name of the job that is asked about: in order of rank."""


class Ahead(NamedTuple):
    """A job that waits, and starts before the one that is asked about."""

    job: str
    tenant: str
    gpus: int
    often: float  #: part of the simulations


class Forecast(NamedTuple):
    """When a job would start; times are counted from the moment [s]."""

    tenant: str
    wish: Wish
    start: FloatArray  #: (draws,) of the simulations, in order
    ahead: tuple[Ahead, ...]  #: jobs that wait and start before it in most of the simulations, the most certain first
    come: float  #: jobs that come later and start before it, on average
    last: tuple[Ahead, ...]  #: running jobs at whose end it starts, the most frequent first
    at_once: bool  #: it starts at the next pass of the scheduler
    fewer: int  #: GPUs with which it would start at once, 0 if with none
    shorter: float  #: time limit with which it would start at once [s], 0 if with none

    @property
    def interval(self) -> tuple[float, float, float]:
        """Low end, median and high end of the interval [s]."""
        low, middle, high = np.quantile(self.start, [(1 - PROMISE) / 2, 0.5, (1 + PROMISE) / 2])
        return max(0.0, float(low) / WIDER - REACTION), float(middle), float(high) * WIDER + REACTION


def would_start(moment: Moment, wish: Wish, tenant: str, policy: Policy, draws: int = DRAWS) -> Forecast:
    """Simulate the queue with the new job in it; `InputError` if the cluster is too small for it."""
    gpus = int(moment.node_gpus.sum())
    if wish.gpus > gpus:
        raise InputError(f"a job: gpus={wish.gpus} is more than the {gpus} GPUs that can be used")
    past, interval = Past(moment.past), policy.parameters["interval"]
    starts, ahead, last, come = np.empty(draws), Counter[str](), Counter[str](), 0
    for k, rng in enumerate(streams(0, map(str, range(draws))).values()):
        start, end = simulated(moment, wish, tenant, policy, past, rng, k % 2 * MOST_ARRIVALS)
        starts[k] = start[NEW]
        earlier = start.index[start < starts[k]]
        ahead.update(name for name in earlier if name[0] == WAITS)
        come += sum(name[0] == COMES for name in earlier)
        ended = end[[name for name in end.index if name[0] == RUNS and end[name] <= starts[k]]]
        if len(ended) and starts[k] > 2 * interval:
            last[ended.idxmax().partition(" ")[0]] += 1

    def at_once(other: Wish) -> bool:
        start, _ = simulated(moment, other, tenant, policy, past, np.random.default_rng(0), 0)
        return bool(start[NEW] <= interval)

    now = at_once(wish)
    return Forecast(
        tenant=tenant,
        wish=wish,
        start=np.sort(starts),
        ahead=_named(moment.waiting, ahead, draws, least=0.5),
        come=come / draws,
        last=_named(moment.running, last, draws),
        at_once=now,
        fewer=next((n for n in _fewer(wish.gpus) if not now and at_once(wish._replace(gpus=n))), 0),
        shorter=next((t for t in LIMITS if not now and not t >= wish.time and at_once(wish._replace(time=t))), 0.0),
    )


def simulated(
    moment: Moment, wish: Wish, tenant: str, policy: Policy, past: Past, rng: np.random.Generator, arrivals: int
) -> tuple[pd.Series, pd.Series]:
    """Simulate one draw, in which so many jobs come at most: starts and ends [s] by the names of the simulation.

    Second 0 is the first pass after the moment; jobs that run are there one pass earlier, so that they start first.
    """
    interval = policy.parameters["interval"]
    new = pd.DataFrame(
        {"tenant": [tenant], "user": [wish.user or tenant], "demand": [wish.gpus], "time_limit": [wish.time]}
    )
    there = pd.concat([moment.running, moment.waiting, new], ignore_index=True)
    elapsed = there["elapsed"].fillna(0.0).to_numpy(dtype=float)
    runs, waits = len(moment.running), len(moment.waiting)
    there = there[["tenant", "user", "demand", "time_limit"]].assign(
        job_id=[*(f"{RUNS}{k}" for k in range(runs)), *(f"{WAITS}{k}" for k in range(waits)), NEW],
        submit_time=np.where(np.arange(len(there)) < runs, 0.0, interval),
        duration=past.run_times(there, elapsed, rng) - elapsed,
        time_limit=np.maximum(there["time_limit"].to_numpy(dtype=float) - elapsed, SHORTEST),
    )
    come = past.arrivals(rng, arrivals)
    come = come[come["demand"] <= moment.node_gpus.sum()].drop(columns="job_id")
    come = come.assign(job_id=[f"{COMES}{k}" for k in range(len(come))], submit_time=come["submit_time"] + interval)
    jobs = pd.concat([there, come], ignore_index=True) if len(come) else there
    trace = Trace.from_frame(jobs, name="the queue", weights=moment.weights)
    cluster = Cluster(len(moment.node_gpus), int(moment.node_gpus.max()))
    found = simulate(trace, cluster, policy).jobs.set_index("job_id")
    return found["first_start_time"] - interval, found["end_time"] - interval


def _fewer(gpus: int) -> list[int]:
    """Return sizes that are tried in place of a larger one: 3/4, 1/2, 3/8, ... of it."""
    found = {max(1, int(gpus * part / 2**k)) for k in range(20) for part in (0.75, 0.5)}
    return sorted(found - {gpus}, reverse=True)


def _named(jobs: pd.DataFrame, often: Counter[str], draws: int, least: float = 0.0) -> tuple[Ahead, ...]:
    """Name the jobs that are counted in at least a part of the draws, the most frequent first."""
    rows = [(jobs.iloc[int(name[1:])], count) for name, count in often.most_common() if count >= least * draws]
    return tuple(Ahead(str(job["job_id"]), str(job["tenant"]), int(job["demand"]), n / draws) for job, n in rows)
