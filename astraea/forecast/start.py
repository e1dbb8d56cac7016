"""Forecast of a job's start: simulations of the queue from one moment on, with the unknown future drawn (`draws`)."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.cluster.rules import Rules
from astraea.cluster.simulate import simulate
from astraea.core.arrays import FloatArray, IntArray
from astraea.core.errors import InputError
from astraea.core.units import DAY, HOUR
from astraea.forecast.draws import MOST_ARRIVALS, SHORTEST, Past
from astraea.forecast.moment import Moment
from astraea.traces.trace import Trace

DRAWS: Final = 100
"""Number of simulations behind a forecast."""

PROMISE: Final = 0.8
"""Part of the forecasts whose interval should contain the true start."""

WIDER: Final = 2.0
"""Factor by which both ends of the interval are moved outwards, because a simulated Slurm is not the real one.

It was chosen on nine logs and measured on others (docs/audit_reference.md).
"""

REACTION: Final = 5.0
"""Time by which the interval is extended at both ends [s]: a scheduler's passes are seconds apart."""

LIMITS: Final = tuple(60.0 * minutes for minutes in (2880, 1440, 720, 480, 240, 120, 60, 30, 15, 10, 5, 2, 1))
"""Time limits that are tried instead of a longer one [s]."""

FIRST: Final = 1e12
"""Priority of running jobs: they are on their GPUs before any other job starts."""

HORIZONS: Final = (HOUR, 8 * HOUR, 3 * DAY, 30 * DAY)
"""Horizons of a simulation [s]: the next one is used only if the job does not start before."""

MOST_PASSES: Final = 40_000
"""Most passes of the scheduler up to the horizon: if that is far, passes are further apart."""

RUNS, WAITS, COMES = "r", "w", "x"
NEW: Final = "y"
"""First letters of names in a simulation, and the whole name of the job in question: in order of rank."""


class Ahead(NamedTuple):
    """A job that is waiting and starts before the job in question."""

    job: str
    tenant: str
    gpus: int
    often: float  #: part of the simulations


class Drawn(NamedTuple):
    """Results of some simulations."""

    start: FloatArray  #: (draws,) sorted start of the job in question [s]
    ahead: Counter[str]  #: how often a waiting job starts before it
    last: Counter[str]  #: how often a running job is the last to end before its start
    come: int  #: jobs that come later and start before it, over all draws

    @property
    def interval(self) -> tuple[float, float, float]:
        """Low end, median and high end of the interval [s]."""
        low, middle, high = np.quantile(self.start, [(1 - PROMISE) / 2, 0.5, (1 + PROMISE) / 2])
        return max(0.0, float(low) / WIDER - REACTION), float(middle), float(high) * WIDER + REACTION


class Forecast(NamedTuple):
    """The forecast of a job's start; times count from the moment [s]."""

    tenant: str
    gpus: int
    limit: float  #: its time limit [s]; NaN if none
    draws: int
    interval: tuple[float, float, float]  #: low end, median and high end [s]
    ahead: tuple[Ahead, ...]  #: waiting jobs that start before it in most simulations, the most certain first
    come: float  #: jobs that come later and start before it, on average
    last: tuple[Ahead, ...]  #: running jobs at whose end it starts, the most frequent first
    at_once: bool  #: true if it starts at the next pass of the scheduler
    fewer: int  #: number of GPUs with which it would start at once, 0 if none
    shorter: float  #: time limit with which it would start at once [s], 0 if none


def would_start(moment: Moment, draws: int = DRAWS) -> Forecast:
    """Simulate the queue with the new job; `InputError` if the cluster is too small for it."""
    drawn = simulations(moment, draws)
    job, quick = moment.asked.iloc[0], moment.policy.parameters["interval"]
    gpus, limit = int(job["demand"]), float(job["time_limit"])

    def at_once(**changes: float) -> bool:
        other = moment._replace(asked=moment.asked.assign(**changes), past=moment.past.iloc[:0])
        return bool(Queue(other).simulated(0, 0, HORIZONS[0]).start[NEW] <= quick)  # all jobs run to their limits

    now = at_once()
    return Forecast(
        tenant=str(job["tenant"]),
        gpus=gpus,
        limit=limit,
        draws=draws,
        interval=drawn.interval,
        ahead=_named(moment.waiting, drawn.ahead, draws, least=0.5),
        come=drawn.come / draws,
        last=_named(moment.running, drawn.last, draws),
        at_once=now,
        fewer=next((n for n in _fewer(gpus) if not now and at_once(demand=n)), 0),
        shorter=next((t for t in LIMITS if not now and not t >= limit and at_once(time_limit=t)), 0.0),
    )


def simulations(moment: Moment, draws: int) -> Drawn:
    """Simulate some draws; new jobs come in every second one."""
    queue, horizon = Queue(moment), HORIZONS[0]
    found = Drawn(np.empty(draws), Counter(), Counter(), 0)
    come = 0
    for k in range(draws):
        one = queue.simulated(k, k % 2 * MOST_ARRIVALS, horizon)
        while one.start[NEW] >= horizon < HORIZONS[-1]:
            horizon = HORIZONS[HORIZONS.index(horizon) + 1]
            one = queue.simulated(k, k % 2 * MOST_ARRIVALS, horizon)
        found.start[k] = start = min(one.start[NEW], horizon)
        earlier = [name for name, begin in one.start.items() if begin < start]
        found.ahead.update(name for name in earlier if name[0] == WAITS)
        come += sum(name[0] == COMES for name in earlier)
        ends = [(end, name) for name, end in one.end.items() if name[0] == RUNS and end <= start]
        if ends and start > REACTION:
            found.last[max(ends)[1].partition(" ")[0]] += 1
    return found._replace(start=np.sort(found.start), come=come)


class Times(NamedTuple):
    """Starts and ends of a simulation, by the names of its jobs, from the moment on [s]."""

    start: dict[str, float]
    end: dict[str, float]


class Queue:
    """A queue in the form in which it is simulated.

    Running jobs come one pass before all others; if their nodes are known, each is simulated as one part per node.
    """

    def __init__(self, moment: Moment) -> None:
        self.moment, self.past = moment, Past(moment.past)
        jobs = pd.concat([moment.running, moment.waiting, moment.asked], ignore_index=True)
        runs, waits, n = len(moment.running), len(moment.waiting), len(jobs)
        if int(jobs["demand"].iloc[-1]) > moment.cluster.gpus:
            have = f"{moment.cluster.gpus} GPUs that can be used"
            raise InputError(f"a job: gpus={jobs['demand'].iloc[-1]} is more than the {have}")
        numbers = jobs.reindex(columns=["elapsed", "waited", "time_limit"]).astype(float)
        self.jobs, self.elapsed = jobs, numbers["elapsed"].fillna(0.0).to_numpy()
        known = [*moment.running["held"], *[[]] * (n - runs)]
        held = [parts or [(-1, gpus)] for parts, gpus in zip(known, jobs["demand"], strict=True)]
        self.of = np.repeat(np.arange(n), [len(parts) for parts in held])
        self.node, self.demand = np.array([part for parts in held for part in parts], dtype=np.int64).T
        self.part = self.demand / jobs["demand"].to_numpy()[self.of]
        names = [*(f"{RUNS}{k}" for k in range(runs)), *(f"{WAITS}{k}" for k in range(waits)), NEW]
        parts = zip(self.of, self.node, strict=True)
        self.names = [names[k] if node < 0 else f"{names[k]} {node}" for k, node in parts]
        parameters = moment.policy.parameters
        age = np.minimum(numbers["waited"].fillna(0.0).to_numpy() / parameters["max_age"], 1.0)
        self.bonus = np.where(np.arange(n) < runs, FIRST, parameters["weight_age"] * age)[self.of]
        self.limit = np.maximum(numbers["time_limit"].to_numpy() - self.elapsed, SHORTEST)[self.of]

    def simulated(self, seed: int, arrivals: int, horizon: float) -> Times:
        """Simulate one draw, in which at most `arrivals` jobs come.

        Times after the horizon have no meaning: no job lasts longer, or comes later.
        """
        moment, rng = self.moment, np.random.default_rng(seed)
        interval = max(moment.policy.parameters["interval"], horizon / MOST_PASSES)
        runs = np.minimum(self.past.run_times(self.jobs, self.elapsed, rng) - self.elapsed, horizon)
        runs[-1] = SHORTEST  # its own run time changes nothing
        come = self.past.arrivals(rng, arrivals)
        come = come[(come["demand"] <= moment.cluster.gpus) & (come["submit_time"] < horizon)]
        n, jobs, of = len(come), self.jobs, self.of
        columns = {name: np.concatenate([jobs[name].to_numpy()[of], come[name]]) for name in ("tenant", "user", "row")}
        frame = pd.DataFrame({
            "job_id": [*self.names, *(f"{COMES}{k}" for k in range(n))],
            "tenant": columns["tenant"], "user": columns["user"],
            "demand": np.concatenate([self.demand, come["demand"]]),
            "submit_time": np.concatenate([(of >= len(moment.running)) * interval, come["submit_time"] + interval]),
            "duration": np.concatenate([runs[of], np.minimum(come["duration"], horizon)]),
            "time_limit": np.concatenate([self.limit, come["time_limit"]]),
        })  # fmt: skip
        trace = Trace.from_frame(frame, name="the queue", weights=moment.weights)
        order = pd.Index(frame["job_id"]).get_indexer(pd.Index(trace.job_id))
        more = (np.full(n, -1), np.ones(n), np.zeros(n))
        extra = (np.concatenate([a, b])[order] for a, b in zip((self.node, self.part, self.bonus), more, strict=True))
        rules = _rules(moment, columns["row"].astype(np.int64)[order], *extra)
        result = simulate(trace, moment.cluster, moment.policy(interval=interval), rules=rules).jobs
        begin, end = (result[name].to_numpy() - interval for name in ("first_start_time", "end_time"))
        if NEW not in (ids := result["job_id"].tolist()):
            raise InputError(f"a job: {self.demand[-1]} GPUs do not fit on the nodes that it may use")
        return Times(dict(zip(ids, begin.tolist(), strict=True)), dict(zip(ids, end.tolist(), strict=True)))


def _rules(moment: Moment, rows: IntArray, node: IntArray, part: FloatArray, bonus: FloatArray) -> Rules:
    """Return the rules of a simulation's jobs, in its order; parts of running jobs are pinned to their nodes."""
    known, pinned = moment.rules, node >= 0
    mine, everywhere = known.of(rows), np.eye(moment.cluster.nodes, dtype=np.bool_)
    return mine._replace(
        allowed=np.concatenate([known.allowed, everywhere]) if pinned.any() else known.allowed,
        kind=np.where(pinned, len(known.allowed) + node, mine.kind),
        nodes=np.where(pinned, 1, mine.nodes),
        charge=mine.charge * part,
        takes=mine.takes * part[:, None],
        bonus=mine.bonus + bonus,
    )


def _fewer(gpus: int) -> list[int]:
    """Return smaller sizes to try: 3/4, 1/2, 3/8, ... of `gpus`."""
    found = {max(1, int(gpus * part / 2**k)) for k in range(20) for part in (0.75, 0.5)}
    return sorted(found - {gpus}, reverse=True)


def _named(jobs: pd.DataFrame, often: Counter[str], draws: int, least: float = 0.0) -> tuple[Ahead, ...]:
    """Return the jobs that are counted in at least a part `least` of the draws, the most frequent first."""
    rows = [(jobs.iloc[int(name[1:])], count) for name, count in often.most_common() if count >= least * draws]
    return tuple(Ahead(str(job["job_id"]), str(job["tenant"]), int(job["demand"]), n / draws) for job, n in rows)
