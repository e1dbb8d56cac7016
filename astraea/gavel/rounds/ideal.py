"""Ideal execution: every job runs all the time at its effective throughput ([Narayanan2020] §7.5, Fig 13b).

No rounds, no gangs to fit, no preemption: throughput(m, X) = sum over types of T X, for exactly as long as the
allocation stands. What the mechanism loses against this is the price of running in rounds.

Of the options, `solve_interval` and `until` count; with an interval of 0 the program is solved again whenever a job
comes or goes. A job that came since waits for the next time, unless nothing else runs. A job's GPU-time held is its
fraction of time times its gang, and the timeline takes it as held evenly from its first to its last second.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from astraea.core.arrays import IntArray
from astraea.gavel.rounds.mechanism import Mechanism
from astraea.gavel.rounds.state import DONE, LOG_FULL, SOLVE, STUCK, Rules, State, admit, dismiss


class Fluid:
    """A run of one simulation: all steps of each job, its `rate` [steps/s], and its GPUs of each type, (n, J)."""

    def __init__(self, s: State, rules: Rules) -> None:
        self.steps, self.rate, self.use = s.jobs.left.copy(), np.zeros(len(s.active)), np.zeros(s.jobs.alone.shape)

    def __call__(self, s: State, rules: Rules) -> int:
        """Run until the program must be solved or the jobs have ended; says which."""
        clock, jobs = s.clock[0], s.jobs
        if len(s.log.job) < len(jobs.arrival):
            return LOG_FULL
        self.follow(s)
        while clock.ended < rules.target:
            admit(s)
            active = s.active[: clock.active]
            due = clock.now >= clock.solved_at + rules.solve_interval or not self.rate[active].any()
            if clock.changed and due and len(active):
                return SOLVE
            running = active[self.rate[active] > 0]
            fresh = running[np.isnan(jobs.first_start[running])]
            jobs.first_start[fresh] = clock.now
            ends = clock.now + jobs.left[running] / self.rate[running]
            until = np.append(ends, jobs.arrival[clock.arrived : clock.arrived + 1]).min(initial=np.inf)
            if clock.changed and len(active):
                until = min(until, max(clock.solved_at + rules.solve_interval, clock.now))
            if not np.isfinite(until):
                return STUCK
            lasted = until - clock.now
            jobs.held[running] += self.use[running] * lasted
            jobs.left[running] = np.maximum(jobs.left[running] - self.rate[running] * lasted, 0.0)
            over = running[ends <= until]
            jobs.left[over], jobs.end[over], self.rate[over] = 0.0, until, 0.0
            for j in over:
                dismiss(s, j, rules.target)
            clock.now = until
        self.log_lives(s)
        return DONE

    def follow(self, s: State) -> None:
        """Rates and GPUs in use by the allocation of the last solved program."""
        active: IntArray = s.active[: s.clock[0].active]
        share, gang = s.jobs.share[active], s.jobs.scale[active]
        self.rate[:], self.use[:] = 0.0, 0.0
        self.rate[active] = (s.jobs.alone[active] * share).sum(axis=1)
        self.use[active] = share * gang[:, None]
        for of, speed in zip(s.pairs.members.T, s.pairs.speed.transpose(1, 0, 2), strict=True):
            np.add.at(self.rate, of, (speed * s.pairs.share).sum(axis=1))
            np.add.at(self.use, of, s.pairs.share * s.jobs.scale[of, None] / 2)

    def log_lives(self, s: State) -> None:
        """One row for each job that ran, from its first to its last second."""
        jobs, log = s.jobs, s.log
        ran = np.flatnonzero(np.isfinite(jobs.first_start))
        start, stop = jobs.first_start[ran], np.minimum(jobs.end[ran], s.clock[0].now)
        rows = slice(len(ran))
        log.job[rows], log.start[rows], log.end[rows], log.steps[rows] = ran, start, stop, (self.steps - jobs.left)[ran]
        log.part[rows] = jobs.held[ran].sum(axis=1) / (jobs.scale[ran] * np.maximum(stop - start, 1e-12))
        s.clock[0].logged = len(ran)


IDEAL: Final = Mechanism("ideal", Fluid, tells_early_deadlines=False)
"""Each allocation as if it were given exactly."""
