"""Forecast of a job's start: simulations of the queue from one moment on, with the unknown future drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.cluster.simulate import simulate
from astraea.core.arrays import FloatArray, IntArray
from astraea.core.errors import InputError
from astraea.core.units import DAY, HOUR
from astraea.traces.trace import Trace
from astraea_ops.forecast.moment import COLUMNS, Moment

DRAWS: Final = 100
"""Number of simulations behind a forecast."""

PROMISE: Final = 0.8
"""Part of the forecasts whose interval should contain the true start."""

WIDER: Final = 2.0
"""Factor by which both ends of the interval are moved outwards, because a simulated Slurm is not the real one.

It was chosen on nine logs and measured on others (ops/docs/forecast.md).
"""

REACTION: Final = 5.0
"""Time by which the interval is extended at both ends [s]: a scheduler's passes are seconds apart."""

LIMITS: Final = tuple(60.0 * minutes for minutes in (2880, 1440, 720, 480, 240, 120, 60, 30, 15, 10, 5, 2, 1))
"""Time limits that are tried instead of a longer one [s]."""

TRIED: Final = 10
"""Number of simulations in which a changed job is tried."""

SOONER: Final = 0.9
"""A change counts if the job waits at most this part of the time."""

FIRST: Final = 1e12
"""Priority of running jobs: they are on their GPUs before any other job starts."""

HORIZONS: Final = (HOUR, 8 * HOUR, 3 * DAY, 30 * DAY)
"""Horizons of a simulation [s]: the next one is used only if the job does not start before."""

MOST_PASSES: Final = 40_000
"""Most passes of the scheduler up to the horizon: if that is far, passes are further apart."""

RUNS, WAITS, COMES = "r", "w", "x"
NEW: Final = "y"
"""First letters of names in a simulation, and the whole name of the job in question: in order of rank."""

LEAST: Final = 10
"""Smallest number of jobs of a user, or of a tenant, that say enough about how long their jobs run."""

MOST_ARRIVALS: Final = 500
"""Most jobs that come in one simulation."""

SHORTEST: Final = 1.0
"""Shortest time that a job still runs [s]: a log has whole seconds."""


class Past:
    """The past, from which the unknown future is drawn: how long jobs run, and which jobs come.

    Run times
        A job uses the same part of its time limit as an earlier job of its user, or else of its tenant, or else
        any. The user's, or the tenant's, count if at least `LEAST` have ended and any used a larger part than
        this job has already. If there is none, it runs to its time limit; without a limit, its whole time is
        its elapsed time divided by a random number from 0 to 1. A job without a time limit runs as long as an
        earlier job. In each draw the past itself is resampled (bootstrap), because a short past says little.
    Arrivals
        The jobs that came in some stretch of the past come again, with their tenants, sizes and run times; at
        the end of the past, it begins again. In every second simulation no job comes.
    """

    def __init__(self, past: pd.DataFrame) -> None:
        done = past[past["duration"].notna() & (past["duration"] > 0)]
        self.duration = done["duration"].to_numpy(dtype=float)
        self.limit = done["time_limit"].to_numpy(dtype=float)
        self.of = [done.groupby(name).indices for name in ("user", "tenant")]
        self.came = past.sort_values("submit_time", kind="stable", ignore_index=True)

    def run_times(self, jobs: pd.DataFrame, elapsed: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw the total running time of each of some jobs, given that `elapsed` of it is over [s]."""
        anew = rng.integers(0, len(self.duration), len(self.duration)) if len(self.duration) else np.zeros(0, np.int64)
        weight = np.bincount(anew, minlength=len(self.duration))
        rows = zip(jobs["user"], jobs["tenant"], jobs["time_limit"].to_numpy(dtype=float), elapsed, strict=True)
        return np.array([self._run_time(*row, weight, rng) for row in rows])

    def _run_time(
        self, user: str, tenant: str, limit: float, elapsed: float, weight: IntArray, rng: np.random.Generator
    ) -> float:
        least = elapsed + SHORTEST
        for rows in (self.of[0].get(user), self.of[1].get(tenant), np.arange(len(self.duration))):
            if rows is None or len(rows) < LEAST:
                continue
            times = self.duration[rows]
            if not np.isnan(limit):
                times = np.where(np.isnan(self.limit[rows]), times, times / self.limit[rows] * limit)
                times = np.minimum(times, limit)
            often = weight[rows] * (times >= least)
            if often.sum() > 0:
                return float(times[np.searchsorted(np.cumsum(often), rng.integers(often.sum()), side="right")])
        if np.isnan(limit):
            return max(elapsed / (1 - rng.random()), least)
        return max(limit, least)

    def arrivals(self, rng: np.random.Generator, most: int) -> pd.DataFrame:
        """Draw future jobs: `COLUMNS`, submit_time [s] and duration [s]; none without a past."""
        came = self.came
        if most == 0 or len(came) < 2 or came["submit_time"].iloc[0] >= 0:
            return pd.DataFrame(columns=[*COLUMNS, "submit_time", "duration"])
        since, first = came["submit_time"].to_numpy(dtype=float), float(came["submit_time"].iloc[0])
        begin = rng.uniform(first, 0.0)
        k = int(np.searchsorted(since, begin))
        rows = (k + np.arange(min(len(came), most))) % len(came)
        jobs = came.iloc[rows].reset_index(drop=True)
        jobs["submit_time"] = np.where(rows >= k, since[rows] - begin, since[rows] - begin - first)
        lacking = jobs["duration"].isna().to_numpy()
        jobs.loc[lacking, "duration"] = self.run_times(jobs[lacking], np.zeros(int(lacking.sum())), rng)
        return jobs


class Change(NamedTuple):
    """A change of the job in question with which it starts sooner."""

    value: float  #: number of GPUs, or time limit [s]
    start: float  #: median start [s], 0 at once


class Forecast(NamedTuple):
    """The forecast of a job's start; times count from the moment [s]."""

    draws: int
    interval: tuple[float, float, float]  #: low end, median and high end [s]
    ahead: pd.DataFrame  #: waiting jobs that start before it in most simulations, the most certain first
    come: float  #: jobs that come later and start before it, on average
    last: pd.DataFrame  #: running jobs at whose end it starts, the most frequent first
    at_once: bool = False  #: true if it starts at the next pass of the scheduler
    fewer: Change | None = None  #: fewer GPUs with which it starts sooner
    shorter: Change | None = None  #: a shorter time limit with which it starts sooner


def would_start(moment: Moment, draws: int = DRAWS) -> Forecast:
    """Simulate the queue with the new job; `InputError` if the cluster is too small for it."""
    found = simulations(moment, draws)
    if _at_once(moment):
        return found._replace(at_once=True)
    gpus, limit = int(moment.asked["demand"].iloc[0]), float(moment.asked["time_limit"].iloc[0])
    smaller = {max(1, int(gpus * part / 2**k)) for k in range(20) for part in (0.75, 0.5)} - {gpus}
    sizes = [(n, _with_fewer(moment, n)) for n in sorted(smaller, reverse=True)]
    limits = [(t, moment._replace(asked=moment.asked.assign(time_limit=t))) for t in LIMITS if not t >= limit]
    usual = _median(moment, min(draws, TRIED))
    return found._replace(
        fewer=_best(sizes, usual, min(draws, TRIED)), shorter=_best(limits, usual, min(draws, TRIED))
    )


def _best(changed: Sequence[tuple[float, Moment]], usual: float, draws: int) -> Change | None:
    """Return the first change with which the job starts at once, else the one with the earliest start, if any helps."""
    for value, moment in changed:
        if _at_once(moment):
            return Change(value, 0.0)
    best, earliest = None, usual
    for value, moment in changed:
        if (start := _median(moment, draws)) < SOONER * earliest - REACTION:
            best, earliest = Change(value, start), start
    return best


def _at_once(moment: Moment) -> bool:
    """Return whether the job starts at the next pass even if all jobs run to their limits."""
    start, _ = Queue(moment._replace(past=moment.past.iloc[:0])).simulated(0, 0, HORIZONS[0])
    return bool(start[NEW] <= moment.policy.parameters["interval"])


def _median(moment: Moment, draws: int) -> float:
    """Return the median start in the first draws, whose future is the same for all changes [s]."""
    queue, horizon, starts = Queue(moment), HORIZONS[0], []
    for k in range(draws):
        begins, _, horizon = _until_start(queue, k, horizon)
        starts.append(min(begins[NEW], horizon))
    return float(np.median(starts))


def _until_start(queue: Queue, k: int, horizon: float) -> tuple[dict[str, float], dict[str, float], float]:
    """Simulate draw `k` as in `Queue.simulated`, with later horizons until the job starts; return also the horizon."""
    begins, ends = queue.simulated(k, k % 2 * MOST_ARRIVALS, horizon)
    while begins[NEW] >= horizon < HORIZONS[-1]:
        horizon = HORIZONS[HORIZONS.index(horizon) + 1]
        begins, ends = queue.simulated(k, k % 2 * MOST_ARRIVALS, horizon)
    return begins, ends, horizon


def _with_fewer(moment: Moment, gpus: int) -> Moment:
    """Ask for fewer GPUs; the amounts that count in limits shrink with them, except counts of one job or node."""
    asked, rules = moment.asked, moment.rules
    row, part = int(asked["row"].iloc[0]), gpus / int(asked["demand"].iloc[0])
    charge, takes = rules.charge.copy(), rules.takes.copy()
    charge[row] *= part
    takes[row] = np.where(takes[row] == 1, 1, takes[row] * part)
    return moment._replace(asked=asked.assign(demand=gpus), rules=rules._replace(charge=charge, takes=takes))


def simulations(moment: Moment, draws: int) -> Forecast:
    """Simulate some draws, and no changes of the job; new jobs come in every second one."""
    queue, horizon = Queue(moment), HORIZONS[0]
    starts, come = np.empty(draws), 0
    ahead, last = Counter[str](), Counter[str]()
    for k in range(draws):
        begins, ends_at, horizon = _until_start(queue, k, horizon)
        starts[k] = start = min(begins[NEW], horizon)
        earlier = [name for name, begin in begins.items() if begin < start]
        ahead.update(name for name in earlier if name[0] == WAITS)
        come += sum(name[0] == COMES for name in earlier)
        ends = [(end, name) for name, end in ends_at.items() if name[0] == RUNS and end <= start]
        if ends and start > REACTION:
            last[max(ends)[1].partition(" ")[0]] += 1
    low, middle, high = np.quantile(starts, [(1 - PROMISE) / 2, 0.5, (1 + PROMISE) / 2])
    return Forecast(
        draws=draws,
        interval=(max(0.0, float(low) / WIDER - REACTION), float(middle), float(high) * WIDER + REACTION),
        ahead=moment.waiting.iloc[[int(name[1:]) for name, count in ahead.most_common() if count >= draws / 2]],
        come=come / draws,
        last=moment.running.iloc[[int(name[1:]) for name, _ in last.most_common()]],
    )


class Queue:
    """A queue to simulate: running jobs come one pass before all others, one part per node if their nodes are known."""

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

    def simulated(self, seed: int, arrivals: int, horizon: float) -> tuple[dict[str, float], dict[str, float]]:
        """Simulate one draw, in which at most `arrivals` jobs come; return starts and ends by the names of jobs [s].

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
        extra = zip((self.node, self.part, self.bonus), more, strict=True)
        node, part, bonus = (np.concatenate(both)[order] for both in extra)
        mine, allowed = moment.rules.of(columns["row"].astype(np.int64)[order]), moment.rules.allowed
        pinned, everywhere = node >= 0, np.eye(moment.cluster.nodes, dtype=np.bool_)
        rules = mine._replace(
            allowed=np.concatenate([allowed, everywhere]) if pinned.any() else allowed,
            kind=np.where(pinned, len(allowed) + node, mine.kind),
            nodes=np.where(pinned, 1, mine.nodes),
            charge=mine.charge * part,
            takes=mine.takes * part[:, None],
            bonus=mine.bonus + bonus,
        )
        result = simulate(trace, moment.cluster, moment.policy.with_parameters(interval=interval), rules=rules).jobs
        begin, end = (result[name].to_numpy() - interval for name in ("first_start_time", "end_time"))
        if NEW not in (ids := result["job_id"].tolist()):
            raise InputError(f"a job: {self.demand[-1]} GPUs do not fit on the nodes that it may use")
        return dict(zip(ids, begin.tolist(), strict=True)), dict(zip(ids, end.tolist(), strict=True))
