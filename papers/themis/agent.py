"""The agent of an app: it runs the app's jobs on its GPUs, and rates further GPUs ([Mahajan2020] §4.3).

Two levels: the arbiter decides which app holds which GPUs for how long, the agent which job runs on them. A lot is what
one gang holds under one lease. A lot whose job is done takes another job of the app; if there is none, it is returned.

Finish-time fairness is rho = T_shared / T_isolated; T_isolated is with 1/N of the cluster to itself, every gang on one
machine, N the average number of active apps in the app's life so far. The work left is an estimate. The tuner gives the
rungs to come, each cut where the job that looks best will have converged by its loss curve (`loss_curves`). The result
is multiplied by an error that is drawn for every new estimate. Before the first epoch it is the tuner's `longest`,
without error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from papers.themis import foresight
from papers.themis.apps import App, rungs
from papers.themis.foresight import (
    BEFORE,
    COUNT,
    DONE,
    END,
    EPOCHS,
    FACTOR,
    HEAD,
    LENGTH,
    LOCAL,
    NOW_AT,
    PACE,
    PLAN,
    READY,
    RUNG,
    TABLE,
    UNDONE,
)  # fmt: skip
from papers.themis.loss_curves import estimated_length

NO_JOB: Final = -1

REFIT: Final = 1.25
"""A loss curve is fitted again once it has grown by this factor."""


@dataclass(slots=True, eq=False)
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
    """A running app, at place `index` of the workload.

    Its estimates of what is left are wrong by up to the part `error`, either way; `seed` is that of the errors.
    """

    def __init__(self, index: int, app: App, error: float, seed: int) -> None:
        count = len(app.loss)
        self.index, self.app, self.error = index, app, error
        self.lots: list[Lot] = []
        self.rung = 0
        self.is_done = False
        self.jobs, self.target = app.stages[0]  # of this rung, and epochs of each at the end of it
        self.todo = self.jobs.copy()  # those of this rung that have not had them
        self.has_run = [False] * count
        plan = rungs(count, app.tuner)
        self.facts = np.zeros(HEAD + PLAN * len(plan) + TABLE * count)
        self.facts[:HEAD] = count, len(plan), 0, 0, 1, app.epoch, app.arrival, app.gang, app.slowdown, 0, 1
        self.plan, self.table = foresight.plan_of(self.facts), foresight.table_of(self.facts)
        self.plan[COUNT], self.plan[END] = zip(*plan, strict=True)
        self.table[READY], self.table[PACE], self.table[RUNG], self.table[UNDONE] = np.inf, app.epoch, True, True
        self.epochs = self.table[EPOCHS]  # that each job has had, without those of the run that goes on
        self.leases: list[tuple[float, float, bool]] = []  # that have ended: begin, end, whether on one machine
        self.asked = [(app.arrival, app.gang * count)]  # from when on it could use how many GPUs
        self.preemptions = 0  # jobs that lost their GPUs at the end of a lease
        self.returned = 0.0  # GPU-time of `leases` [GPU-s]
        self.overhead = 0.0  # of all gangs together [s]
        self.due = np.inf  # when the next of its jobs will have reached the end of its rung [s]; inf if none runs
        self._random = np.random.default_rng([seed, index])
        self._paces = (app.epoch * app.slowdown, app.epoch)  # time of an epoch on a lot that is spread, or local [s]
        self._waiting: list[int] | None = None  # as of `waiting`, if it is known
        self._lengths: dict[int, tuple[int, float]] = {}  # of each job: epochs seen, epochs until it converges
        self.same_until = -np.inf  # before then no job that runs has had one more whole epoch [s]

    def wants(self) -> int:
        """Number of further gangs the app could use; every lot has a job, except within `finish_jobs`."""
        return len(self.todo) - len(self.lots)

    def waiting(self) -> list[int]:
        """Jobs of this rung that are not done and not running, the one that is furthest behind first."""
        if self._waiting is None:
            running = {lot.job for lot in self.lots}
            epochs = self.epochs.tolist()
            self._waiting = sorted([j for j in self.todo if j not in running], key=epochs.__getitem__)
        return self._waiting

    def attained(self, now: float) -> float:
        """GPU-time that the app has held [GPU-s]."""
        return self.returned + self.app.gang * sum(now - lot.since for lot in self.lots)

    def start(self, lot: Lot, job: int, now: float, overhead: float = 0.0) -> None:
        """Run a job on a lot; it makes no progress for the overhead [s]."""
        pace = self._paces[lot.is_local]
        self.overhead += overhead
        lot.job, lot.ready = job, now + overhead
        lot.done = lot.ready + (self.target[job] - self.epochs.item(job)) * pace
        self.due = min(self.due, lot.done)
        self.has_run[job] = True
        self.table[READY, job], self.table[PACE, job], self.table[LOCAL, job] = lot.ready, pace, lot.is_local
        if self._waiting is not None:
            self._waiting.remove(job)
        self.same_until = -np.inf

    def stop(self, lots: list[Lot], now: float) -> None:
        """Give up lots; their jobs, if they have one, keep their progress."""
        for lot in lots:
            if lot.job != NO_JOB:
                if lot.ready < now:
                    self.epochs[lot.job] += (now - lot.ready) / self._paces[lot.is_local]
                self.overhead -= max(0.0, lot.ready - now)
                self.table[READY, lot.job] = np.inf
            self.leases.append((lot.since, now, lot.is_local))
            self.returned += self.app.gang * (now - lot.since)
        self.lots = [lot for lot in self.lots if lot not in lots] if len(lots) < len(self.lots) else []
        self.due = min([lot.done for lot in self.lots], default=np.inf)
        self.same_until, self._waiting = -np.inf, None

    def finish_jobs(self, now: float, restart: float) -> list[Lot]:
        """End the rung of some jobs; return lots without another job ; `restart` [s] is of a job that ran before.

        The rung is over when all are done: then the poor ones end, and the others go on where they are.
        """
        done = {lot.job: lot for lot in self.lots if lot.done <= now}
        for job, lot in done.items():
            self.epochs[job] = self.target[job]
            self.table[READY, job], self.table[UNDONE, job] = np.inf, False
            lot.job, lot.done = NO_JOB, np.inf
        self.due = min([lot.done for lot in self.lots], default=np.inf)
        self.same_until, self._waiting = -np.inf, None
        self.todo = [job for job in self.todo if job not in done]
        while not self.is_done and not self.todo:
            self._next_rung()
        for job, lot in done.items():
            if job in self.todo:
                self.start(lot, job, now)
        for lot in done.values():
            if lot.job == NO_JOB and (waiting := self.waiting()):
                self.start(lot, waiting[0], now, restart if self.has_run[waiting[0]] else 0.0)
        self.asked.append((now, self.app.gang * len(self.todo)))
        return [lot for lot in done.values() if lot.job == NO_JOB]

    def _next_rung(self) -> None:
        """End the poor jobs, or the app."""
        self.plan[DONE, self.rung] = self.app.epoch * sum(
            [self.epochs.item(j) - self.table.item(BEFORE, j) for j in self.jobs]
        )
        self.is_done = self.rung + 1 == len(self.app.stages)
        if not self.is_done:
            self.rung += 1
            self.facts[NOW_AT] = self.rung
            self.table[BEFORE] = self.target
            self.jobs, self.target = self.app.stages[self.rung]
            epochs = self.epochs.tolist()
            self.todo = [j for j in self.jobs if epochs[j] < self.target[j]]
            for row, jobs in ((RUNG, self.jobs), (UNDONE, self.todo)):
                self.table[row] = False
                self.table[row, jobs] = True

    def learn(self, now: float) -> None:
        """Look at the losses so far: estimate how many epochs the job that looks best so far needs until it converges.

        A new estimate is made once as many epochs have been seen as `REFIT` says, with another error.
        """
        best, epochs, until = foresight.looks_best(self.facts, self.app.curves, now)
        self.same_until = until - 1.0  # rather too early than late by rounding
        if best == NO_JOB:
            self.facts[LENGTH] = self.app.tuner.longest
            return
        if epochs >= REFIT * self._lengths.get(best, (0, 0.0))[0]:
            self._lengths[best] = (epochs, estimated_length(self.app.loss[best][:epochs], self.app.tuner))
            self.facts[FACTOR] = 1 + self.error * self._random.uniform(-1, 1)
        self.facts[LENGTH] = max(self._lengths[best][1], epochs)
