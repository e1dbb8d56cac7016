"""The agent of an app: runs its jobs on what the app holds, and says what more GPUs would do ([Mahajan2020] §4.3).

Two levels: the arbiter decides which app holds which GPUs for how long, the agent which job runs on them. A lot is what
one gang holds under one lease. A lot whose job is done takes another job of the app; if there is none, it is returned.

Finish-time fairness is rho = T_shared / T_isolated; T_isolated is with 1/N of the cluster to itself, every gang on one
machine, N the average number of active apps in the app's life so far. What is left to do is an estimate: rungs to come
are known from the tuner, each cut where the job that looks best will have converged by its loss curve (`loss_curves`),
times an error that is drawn for every new estimate. Before the first epoch it is the tuner's `longest`, without error.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.compilation import compiled
from astraea.themis.apps import App, Phase, rungs, survivors
from astraea.themis.loss_curves import estimated_length

NO_JOB: Final = -1

REFIT: Final = 1.25
"""A loss curve is fitted again once it has grown by this factor."""


@dataclass(slots=True)
class Lot:
    """GPUs of one gang under one lease."""

    pieces: tuple[tuple[int, int], ...]  # (machine, GPUs)
    is_local: bool  # whether they are on one machine
    job: int  # that runs on it, or `NO_JOB`
    since: float  # begin of the lease [s]
    until: float  # end of the lease [s]
    ready: float  # when the job begins to make progress [s]
    done: float  # when the job will have reached the end of its rung if nothing stops it [s]


class Agent:
    """A running app.

    index : place in the workload
    error : estimates of what is left are wrong by up to this part, either way
    seed : of the errors
    """

    def __init__(self, index: int, app: App, error: float, seed: int) -> None:
        self.index, self.app, self.error = index, app, error
        self.loss = [loss.tolist() for loss in app.loss]  # lists are read faster
        self.lots: list[Lot] = []
        self.rungs = tuple(rungs(len(app.loss), app.tuner))
        self.rung = 0
        self.is_done = False
        self.jobs = list(range(len(app.loss)))  # of this rung
        self.before = [0] * len(app.loss)  # epochs of each at the beginning of this rung
        self.target = [min(self.rungs[0][1], len(loss)) for loss in app.loss]  # epochs of each at the end of this rung
        self.todo = self.jobs  # those of this rung that have not had them
        self.epochs = [0.0] * len(app.loss)  # that each job has had
        self.has_run = [False] * len(app.loss)
        self.past: list[Phase] = []
        self.leases: list[tuple[float, float, bool]] = []  # that have ended: begin, end, whether on one machine
        self.asked = [(app.arrival, app.gang * len(app.loss))]  # from when on it could use how many GPUs
        self.preemptions = 0  # jobs that lost their GPUs at the end of a lease
        self.returned = 0.0  # GPU-time of `leases` [GPU-s]
        self.overhead = 0.0  # of all gangs together [s]
        self._random = np.random.default_rng([seed, index])
        self._lengths: dict[int, tuple[int, float]] = {}  # of each job: epochs seen, epochs until it converges
        self.due = np.inf  # when the next of its jobs will have reached the end of its rung [s]; inf if none runs
        self._paces = (app.epoch * app.slowdown, app.epoch)  # time of an epoch on a lot that is spread, or local [s]
        self._same_until = -np.inf  # before then no job that runs has had one more whole epoch [s]
        self._factor = 1.0  # error of the last estimate
        self._foreseen: tuple[list[float], list[Phase], list[Phase]] = ([], [], [])  # from which epochs, and what

    def wants(self) -> int:
        """How many gangs more it could use; every lot has a job, but while `finish_jobs` looks for another one."""
        return len(self.todo) - len(self.lots)

    def waiting(self) -> list[int]:
        """Jobs of this rung that are not done and not running, the one that is furthest behind first."""
        running = {lot.job for lot in self.lots}
        return sorted([j for j in self.todo if j not in running], key=self.epochs.__getitem__)

    def progress(self, now: float) -> list[float]:
        """Epochs that each job has had by now."""
        had = self.epochs.copy()
        for lot in self.lots:
            if lot.ready < now:
                had[lot.job] += (now - lot.ready) / self._paces[lot.is_local]
        return had

    def attained(self, now: float) -> float:
        """GPU-time that the app has held [GPU-s]."""
        return self.returned + self.app.gang * sum(now - lot.since for lot in self.lots)

    def start(self, lot: Lot, job: int, now: float, overhead: float = 0.0) -> None:
        """Run a job on a lot; it makes no progress for the overhead [s]."""
        self.overhead += overhead
        lot.job, lot.ready = job, now + overhead
        lot.done = lot.ready + (self.target[job] - self.epochs[job]) * self._paces[lot.is_local]
        self.due = min(self.due, lot.done)
        self.has_run[job] = True
        self._same_until = -np.inf

    def stop(self, lot: Lot, now: float) -> None:
        """Give up a lot; its job, if it has one, keeps its progress."""
        if lot.job != NO_JOB:
            if lot.ready < now:
                self.epochs[lot.job] += (now - lot.ready) / self._paces[lot.is_local]
            self.overhead -= max(0.0, lot.ready - now)
        self.lots.remove(lot)
        if lot.done <= self.due:
            self.due = min([lot.done for lot in self.lots], default=np.inf)
        self._same_until = -np.inf
        self.leases.append((lot.since, now, lot.is_local))
        self.returned += self.app.gang * (now - lot.since)

    def finish_jobs(self, now: float, restart: float) -> list[Lot]:
        """Jobs reach the end of their rung; lots for which there is no other job [restart: s, of one that ran before].

        The rung is over when all are done: then the poor ones end, and the others go on where they are.
        """
        done = {lot.job: lot for lot in self.lots if lot.done <= now}
        for job, lot in done.items():
            self.epochs[job] = float(self.target[job])
            lot.job, lot.done = NO_JOB, np.inf
        self.due = min([lot.done for lot in self.lots], default=np.inf)
        self._same_until = -np.inf
        self.todo = [job for job in self.todo if job not in done]
        while not self.is_done and not self.todo:
            self._next_rung()
        for job, lot in done.items():
            if job in self.todo:
                self.start(lot, job, now)
        for lot in done.values():
            if lot.job == NO_JOB and (waiting := self.waiting()):
                self.start(lot, waiting[0], now, restart if self.has_run[waiting[0]] else 0.0)
        self._foreseen = ([], [], [])
        self.asked.append((now, self.app.gang * len(self.todo)))
        return [lot for lot in done.values() if lot.job == NO_JOB]

    def _next_rung(self) -> None:
        """End the poor jobs, or the app."""
        count, epochs = self.rungs[self.rung]
        self.past.append(Phase(count, self.rung_work(self.epochs)))
        self.is_done = self.rung + 1 == len(self.rungs)
        if not self.is_done:
            self.jobs = survivors(self.app, self.jobs, epochs)
            self.rung += 1
            self.before = self.target
            self.target = [min(self.rungs[self.rung][1], len(loss)) for loss in self.app.loss]
            self.todo = [j for j in self.jobs if self.epochs[j] < self.target[j]]

    def rung_work(self, had: list[float]) -> float:
        """Work done in this rung [gang-s]."""
        return self.app.epoch * sum([had[j] - self.before[j] for j in self.jobs])

    def outlook(self, now: float) -> tuple[list[Phase], list[Phase]]:
        """Estimates of what is left, rung by rung from this one on, and of the whole exploration."""
        had = self.progress(now)
        if had != self._foreseen[0]:
            length = self.length(had)
            count, epochs = self.rungs[self.rung]
            end = min(epochs, length) if count > 1 else length
            # a job that outlives its estimate needs another epoch
            work = sum([end - had[j] if had[j] < end else 1.0 for j in self.todo]) * self.app.epoch * self._factor
            later = to_come(self.rungs[self.rung :], length, self.app.epoch, self._factor)
            total = [*self.past, Phase(count, self.rung_work(had) + work), *later]
            self._foreseen = (had, [Phase(count, work), *later], total)
        return self._foreseen[1:]

    def learn(self, now: float) -> None:
        """Look at the losses so far, as for an estimate."""
        if now < self._same_until:
            return
        had = self.progress(now)
        self.length(had)
        whole = [
            lot.ready + (int(had[lot.job]) + 1 - self.epochs[lot.job]) * self._paces[lot.is_local] for lot in self.lots
        ]
        self._same_until = min(whole, default=np.inf) - 1.0  # rather too early than late by rounding

    def length(self, had: list[float]) -> float:
        """Estimated epochs of the job that looks best so far."""
        loss = self.loss
        seen = [(loss[j][int(had[j]) - 1], j) for j in self.jobs if had[j] >= 1]
        if not seen:
            return float(self.app.tuner.longest)
        best = min(seen)[1]
        epochs = int(had[best])
        if epochs >= REFIT * self._lengths.get(best, (0, 0.0))[0]:
            self._lengths[best] = (epochs, estimated_length(self.app.loss[best][:epochs], self.app.tuner))
            self._factor = 1 + self.error * self._random.uniform(-1, 1) if self.error else 1.0
        return max(self._lengths[best][1], epochs)


@lru_cache(maxsize=1024)
def to_come(rungs: tuple[tuple[int, int], ...], length: float, epoch: float, factor: float) -> list[Phase]:
    """Estimates of all rungs but the first, if the best job converges after `length` epochs."""
    ends = [min(epochs, length) if count > 1 else length for count, epochs in rungs]
    return [
        Phase(count, count * (end - before) * epoch * factor)
        for (count, _), before, end in zip(rungs[1:], ends[:-1], ends[1:], strict=True)
    ]


def isolated(phases: list[Phase], gangs: float) -> float:
    """Time that the phases take with room for so many gangs, a fraction too, all on one machine [s]."""
    return sum([work / (jobs if jobs < gangs else gangs) for jobs, work in phases])


def finish(phases: list[Phase], local: IntArray, spread: IntArray, slowdown: float) -> FloatArray:
    """Time that the phases take on so many gangs on one machine each and on so many spread ones [s]; inf with none."""
    return np.asarray(_finish(np.array(phases), local, spread, slowdown))


@compiled
def _finish(phases: FloatArray, local: IntArray, spread: IntArray, slowdown: float) -> FloatArray:
    out = np.zeros(len(local))
    for jobs, work in phases:
        for i in range(len(local)):
            near = min(local[i], jobs)
            if work > 0:
                out[i] += work / (near + min(spread[i], jobs - near) / slowdown)
    return out
