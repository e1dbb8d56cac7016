"""Forecasts of agents for their apps, and the finish-time fairness that follows, compiled for many agents at once.

The facts that an agent knows are one array of numbers. First come those of `HEAD`, then a row for each of `PLAN` with
a number for every rung, then a row for each of `TABLE` with a number for every job. The facts of several agents are put
one behind the other. Phases are rows of jobs and work [gang-s], as `apps.Phase`.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.compilation import compiled

HEAD: Final = 11
JOBS, RUNGS, NOW_AT, LENGTH, FACTOR, EPOCH, ARRIVAL, GANG, SLOWDOWN, SEEN, LIE = range(HEAD)
"""Jobs; rungs; the rung that it is in; estimated epochs until the best job converges; error of all work to come. Time
of an epoch [s]; arrival [s]; GPUs of a gang; slowdown of a spread gang. Seconds of all apps before it came; factor on
every rho that it reports."""

PLAN: Final = 3
COUNT, END, DONE = range(PLAN)
"""Jobs; epochs that each has had at the end; work done in a rung that is over [gang-s]."""

TABLE: Final = 7
EPOCHS, BEFORE, READY, PACE, LOCAL, RUNG, UNDONE = range(TABLE)
"""Epochs without those of the current run; epochs at the beginning of this rung; since when it makes progress [s], inf
if it does not run. Time of an epoch where it runs [s]; 1 if that is on one machine; 1 if it is in this rung; 1 if it
has not reached the end of it."""


@compiled
def plan_of(facts: FloatArray) -> FloatArray:
    """Rows of `PLAN`."""
    rungs = int(facts[RUNGS])
    return facts[HEAD : HEAD + PLAN * rungs].reshape(PLAN, rungs)


@compiled
def table_of(facts: FloatArray) -> FloatArray:
    """Rows of `TABLE`."""
    jobs, begin = int(facts[JOBS]), HEAD + PLAN * int(facts[RUNGS])
    return facts[begin : begin + TABLE * jobs].reshape(TABLE, jobs)


@compiled
def _size(facts: FloatArray) -> int:
    """Number of facts of the first agent."""
    return HEAD + PLAN * int(facts[RUNGS]) + TABLE * int(facts[JOBS])


@compiled
def looks_best(facts: FloatArray, loss: FloatArray, now: float) -> tuple[int, int, float]:
    """The job of this rung with the lowest loss seen, -1 without any, its whole epochs, and when a job has one more."""
    jobs = table_of(facts)
    best, whole, until, lowest = -1, 0, np.inf, np.inf
    for j in range(jobs.shape[1]):
        epochs = int(_had(jobs, j, now))
        if jobs[RUNG, j] and epochs >= 1 and (best < 0 or loss[j, epochs - 1] < lowest):
            best, whole, lowest = j, epochs, loss[j, epochs - 1]
        if jobs[READY, j] < np.inf:
            until = min(until, jobs[READY, j] + (epochs + 1 - jobs[EPOCHS, j]) * jobs[PACE, j])
    return best, whole, until


@compiled
def outlook(facts: FloatArray, now: float) -> tuple[FloatArray, FloatArray]:
    """Phases of what is left, from this rung on, and of the whole exploration."""
    jobs, plan, rung, scale = table_of(facts), plan_of(facts), int(facts[NOW_AT]), facts[EPOCH]
    end, work, done = _last(facts, plan, rung), 0.0, 0.0
    for j in range(jobs.shape[1]):
        had = _had(jobs, j, now)
        if jobs[UNDONE, j]:
            work += end - had if had < end else 1.0  # a job that outlives its estimate needs another epoch
        if jobs[RUNG, j]:
            done += had - jobs[BEFORE, j]
    total = np.empty((plan.shape[1], 2))
    for r in range(len(total)):
        total[r, 0], total[r, 1] = plan[COUNT, r], plan[DONE, r]
        if r > rung:
            total[r, 1] = plan[COUNT, r] * (_last(facts, plan, r) - _last(facts, plan, r - 1)) * scale * facts[FACTOR]
    total[rung, 1] = work * scale * facts[FACTOR]
    left = total[rung:].copy()
    total[rung, 1] += scale * done
    return left, total


@compiled
def _had(jobs: FloatArray, j: int, now: float) -> float:
    """Epochs that a job has had by now."""
    had: float = jobs[EPOCHS, j]
    return had + (now - jobs[READY, j]) / jobs[PACE, j] if jobs[READY, j] < now else had


@compiled
def _last(facts: FloatArray, plan: FloatArray, r: int) -> float:
    """Epochs of its jobs at the end of a rung, as far as one can tell."""
    length: float = facts[LENGTH]
    return length if plan[COUNT, r] == 1 else min(plan[END, r], length)


@compiled
def isolated(phases: FloatArray, gangs: float) -> float:
    """Time that the phases take with room for so many gangs, a fraction too, all on one machine [s]."""
    time = 0.0
    for r in range(len(phases)):
        time += phases[r, 1] / min(phases[r, 0], gangs)
    return time


@compiled
def finish(phases: FloatArray, local: int, spread: int, slowdown: float) -> float:
    """Time that the phases take on so many gangs on one machine each and on so many spread ones [s]; inf with none."""
    time = 0.0
    for r in range(len(phases)):
        jobs, work = phases[r]
        near = min(float(local), jobs)
        if work > 0:
            time += work / (near + min(float(spread), jobs - near) / slowdown)
    return time


@compiled
def share(facts: FloatArray, now: float, seconds: float, active: int, gpus: int) -> float:
    """Gangs of an app for which 1/N of the GPUs has room, N the average number of active apps in its life so far."""
    lived = now - facts[ARRIVAL]
    contention = (seconds - facts[SEEN]) / lived if lived > 0 else float(active)
    gangs: float = gpus / contention / facts[GANG]
    return gangs


@compiled
def rhos(everyone: FloatArray, count: int, now: float, seconds: float, active: int, gpus: int) -> FloatArray:
    """Finish-time fairness that agents report: if they have 1/N of the cluster from now on."""
    out = np.empty(count)
    for i in range(count):
        facts = everyone[: _size(everyone)]
        everyone = everyone[_size(everyone) :]
        left, total = outlook(facts, now)
        gangs = share(facts, now, seconds, active, gpus)
        out[i] = (now - facts[ARRIVAL] + isolated(left, gangs)) / isolated(total, gangs) * facts[LIE]
    return out


@compiled
def rhos_with(
    facts: FloatArray, now: float, seconds: float, active: int, gpus: int, lease: float, more: IntArray
) -> FloatArray:
    """The same if an agent kept to the end what it holds, and so many `more` gangs on one machine and spread (rows, 2).

    An app without any waits for a lease [s], or at most for T_isolated, and then has one gang.
    """
    jobs = table_of(facts)
    near, far = 0, 0
    for j in range(jobs.shape[1]):
        if jobs[READY, j] < np.inf:
            near += int(jobs[LOCAL, j])
            far += 1 - int(jobs[LOCAL, j])
    left, total = outlook(facts, now)
    alone = isolated(total, share(facts, now, seconds, active, gpus))
    out = np.empty(len(more))
    for i in range(len(more)):
        local, spread = near + more[i, 0], far + more[i, 1]
        is_nothing = local + spread == 0
        lasts = min(lease, alone) + isolated(left, 1.0) if is_nothing else finish(left, local, spread, facts[SLOWDOWN])
        out[i] = (now - facts[ARRIVAL] + lasts) / alone * facts[LIE]
    return out
