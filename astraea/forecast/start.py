"""When a job would start: simulations of the queue from one moment on, whose unknowns are drawn (`draws`)."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.cluster.rules import Rules
from astraea.cluster.simulate import simulate
from astraea.core.arrays import FloatArray
from astraea.core.errors import InputError
from astraea.core.units import DAY, HOUR
from astraea.forecast.draws import MOST_ARRIVALS, SHORTEST, Past
from astraea.forecast.moment import Moment
from astraea.traces.trace import Trace

DRAWS: Final = 100
"""Simulations of which a forecast is made."""

PROMISE: Final = 0.8
"""Part of the forecasts whose interval contains the true start."""

WIDER: Final = 1.5
"""The interval is from the low end over this to the high end times this, as a simulated Slurm is not the real one.

It was chosen by five logs and measured on others (docs/your_own_cluster.md).
"""

REACTION: Final = 5.0
"""The interval is longer by this at either end [s]: passes of a scheduler are seconds apart."""

LIMITS: Final = tuple(60.0 * minutes for minutes in (2880, 1440, 720, 480, 240, 120, 60, 30, 15, 10, 5, 2, 1))
"""Time limits that are tried in place of a longer one [s]."""

FIRST: Final = 1e12
"""Priority of the jobs that run: they are on their GPUs before any other starts."""

HORIZONS: Final = (HOUR, 8 * HOUR, 3 * DAY, 30 * DAY)
"""How far a simulation looks [s]: farther only if the job does not start before."""

MOST_PASSES: Final = 40_000
"""Passes of the scheduler up to the horizon: where that is far, they are further apart."""

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
    gpus: int
    limit: float  #: its time limit [s]; NaN without
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


def would_start(moment: Moment, draws: int = DRAWS) -> Forecast:
    """Simulate the queue with the new job in it; `InputError` if the cluster is too small for it."""
    job = moment.asked.iloc[0]
    gpus, limit = int(job["demand"]), float(job["time_limit"])
    if gpus > moment.cluster.gpus:
        raise InputError(f"a job: gpus={gpus} is more than the {moment.cluster.gpus} GPUs that can be used")
    past, horizon = Past(moment.past), HORIZONS[0]
    starts, ahead, last, come = np.empty(draws), Counter[str](), Counter[str](), 0
    for k in range(draws):
        start, end = simulated(moment, past, k, k % 2 * MOST_ARRIVALS, horizon)
        while start[NEW] >= horizon < HORIZONS[-1]:
            horizon = HORIZONS[HORIZONS.index(horizon) + 1]
            start, end = simulated(moment, past, k, k % 2 * MOST_ARRIVALS, horizon)
        starts[k] = min(start[NEW], horizon)
        earlier = start.index[start < starts[k]]
        ahead.update(name for name in earlier if name[0] == WAITS)
        come += sum(name[0] == COMES for name in earlier)
        ended = end[[name for name in end.index if name[0] == RUNS and end[name] <= starts[k]]]
        if len(ended) and starts[k] > REACTION:
            last[str(ended.idxmax()).partition(" ")[0]] += 1

    def at_once(**changes: float) -> bool:
        other = moment._replace(asked=moment.asked.assign(**changes))
        start, _ = simulated(other, Past(moment.past.iloc[:0]), 0, 0, HORIZONS[0])  # all run to their time limits
        return bool(start[NEW] <= moment.policy.parameters["interval"])

    now = at_once()
    return Forecast(
        tenant=str(job["tenant"]),
        gpus=gpus,
        limit=limit,
        start=np.sort(starts),
        ahead=_named(moment.waiting, ahead, draws, least=0.5),
        come=come / draws,
        last=_named(moment.running, last, draws),
        at_once=now,
        fewer=next((n for n in _fewer(gpus) if not now and at_once(demand=n)), 0),
        shorter=next((t for t in LIMITS if not now and not t >= limit and at_once(time_limit=t)), 0.0),
    )


def simulated(moment: Moment, past: Past, seed: int, arrivals: int, horizon: float) -> tuple[pd.Series, pd.Series]:
    """Simulate one draw, in which so many jobs come at most: starts and ends [s] by the names of the simulation.

    What is later than the horizon means nothing: no job lasts longer, or comes later.
    Second 0 is the first pass after the moment. Jobs that run are there one pass earlier, before all others, and those
    whose nodes are known as a part on each of them.
    """
    rng, interval = np.random.default_rng(seed), max(moment.policy.parameters["interval"], horizon / MOST_PASSES)
    names = [*(f"{RUNS}{k}" for k in range(len(moment.running))), *(f"{WAITS}{k}" for k in range(len(moment.waiting)))]
    there = pd.concat([moment.running, moment.waiting, moment.asked], ignore_index=True).assign(job_id=[*names, NEW])
    numbers = there.reindex(columns=["elapsed", "waited", "time_limit"]).astype(float)
    elapsed = numbers["elapsed"].fillna(0.0).to_numpy()
    age = (numbers["waited"].fillna(0.0) / moment.policy.parameters["max_age"]).clip(upper=1.0).to_numpy()
    is_there = np.arange(len(there)) < len(moment.running)
    there["submit_time"] = np.where(is_there, 0.0, interval)
    there["duration"] = np.minimum(past.run_times(there, elapsed, rng) - elapsed, horizon)
    there.loc[len(there) - 1, "duration"] = SHORTEST  # its own run time changes nothing
    there["time_limit"] = np.maximum(numbers["time_limit"] - elapsed, SHORTEST)
    there["bonus"] = np.where(is_there, FIRST, moment.policy.parameters["weight_age"] * age)
    there["node"], there["part"] = -1, 1.0
    come = past.arrivals(rng, arrivals)
    come = come[(come["demand"] <= moment.cluster.gpus) & (come["submit_time"] < horizon)]
    come = come.assign(job_id=[f"{COMES}{k}" for k in range(len(come))], submit_time=come["submit_time"] + interval,
                       duration=come["duration"].clip(upper=horizon), bonus=0.0, node=-1, part=1.0)  # fmt: skip
    columns = ["job_id", "tenant", "user", "demand", "submit_time", "duration", "time_limit"]
    jobs = pd.concat([_in_parts(there, moment), come] if len(come) else [_in_parts(there, moment)], ignore_index=True)
    trace = Trace.from_frame(jobs[columns], name="the queue", weights=moment.weights)
    jobs = jobs.set_index("job_id").loc[list(trace.job_id)]
    policy = moment.policy(interval=interval)
    found = simulate(trace, moment.cluster, policy, rules=_rules(moment, jobs)).jobs.set_index("job_id")
    if NEW not in found.index:
        raise InputError(f"a job: {moment.asked['demand'].iloc[0]} GPUs do not fit on the nodes that it may use")
    return found["first_start_time"] - interval, found["end_time"] - interval


def _in_parts(jobs: pd.DataFrame, moment: Moment) -> pd.DataFrame:
    """Put a job for each part of the jobs whose nodes are known in their place."""
    if not any(moment.running["held"]):
        return jobs
    known = [*moment.running["held"], *[[]] * (len(jobs) - len(moment.running))]
    held = [parts or [(-1, gpus)] for parts, gpus in zip(known, jobs["demand"], strict=True)]
    rows = np.repeat(np.arange(len(jobs)), [len(parts) for parts in held])
    node, gpus = np.array([part for parts in held for part in parts], dtype=np.int64).T
    found = jobs.iloc[rows].reset_index(drop=True)
    names = [f"{id} {k}" if k >= 0 else id for id, k in zip(found["job_id"], node, strict=True)]
    return found.assign(job_id=names, node=node, part=gpus / found["demand"], demand=gpus)


def _rules(moment: Moment, jobs: pd.DataFrame) -> Rules:
    """Return the rules of the jobs of a simulation, in its order; parts of running jobs are kept to their nodes."""
    known, node, part = moment.rules, jobs["node"].to_numpy(), jobs["part"].to_numpy()
    mine, nodes = known.of(jobs["row"].to_numpy(dtype=np.int64)), moment.cluster.nodes
    pinned = node >= 0
    return mine._replace(
        allowed=np.concatenate([known.allowed, np.eye(nodes, dtype=np.bool_)]) if pinned.any() else known.allowed,
        kind=np.where(pinned, len(known.allowed) + node, mine.kind),
        nodes=np.where(pinned, 1, mine.nodes),
        charge=mine.charge * part,
        takes=mine.takes * part[:, None],
        bonus=mine.bonus + jobs["bonus"].to_numpy(),
    )


def _fewer(gpus: int) -> list[int]:
    """Return sizes that are tried in place of a larger one: 3/4, 1/2, 3/8, ... of it."""
    found = {max(1, int(gpus * part / 2**k)) for k in range(20) for part in (0.75, 0.5)}
    return sorted(found - {gpus}, reverse=True)


def _named(jobs: pd.DataFrame, often: Counter[str], draws: int, least: float = 0.0) -> tuple[Ahead, ...]:
    """Name the jobs that are counted in at least a part of the draws, the most frequent first."""
    rows = [(jobs.iloc[int(name[1:])], count) for name, count in often.most_common() if count >= least * draws]
    return tuple(Ahead(str(job["job_id"]), str(job["tenant"]), int(job["demand"]), n / draws) for job, n in rows)
