"""Ideal execution: every job runs all the time at its effective throughput ([Narayanan2020] §7.5, Fig 13b).

No rounds, no gangs to fit, no preemption: throughput(m, X) = sum over types of T X, for exactly as long as the
allocation lasts. The difference to the mechanism is the price of running in rounds.

Of the options, `solve_interval` and `until` count; with an interval of 0 the program is solved again whenever a job
comes or goes. A job that came since waits for the next time, unless nothing else runs. A job's GPU-time held is its
fraction of time times its gang, and the timeline takes it as held evenly from its first to its last second.
"""

from __future__ import annotations

import numpy as np

from astraea.core.arrays import IntArray
from papers.gavel.rounds import CLOCK, DONE, LOG_FULL, SOLVE, STUCK, Rules, State


class Fluid:
    """A run of one simulation: all steps of each job, its `rate` [steps/s], and its GPUs of each type, (n, J)."""

    def __init__(self, s: State) -> None:
        self.steps, self.rate, self.use = s.jobs.left.copy(), np.zeros(len(s.queue)), np.zeros(s.jobs.alone.shape)
        self.clock = s.clock.view(CLOCK, np.ndarray)[0]  # whose columns are found faster

    def __call__(self, s: State, rules: Rules) -> int:
        """Run until the program must be solved or the jobs have ended; says which."""
        clock, jobs = self.clock, s.jobs
        if len(s.log.job) < len(jobs.arrival):
            return LOG_FULL
        self.follow(s)
        solve_at = float(clock["solved_at"])
        solve_at += rules.solve_interval if solve_at > 0 else 0.0  # as in `rounds`
        while clock["ended"] < rules.target:
            self.admit(s)
            now, active = float(clock["now"]), s.queue[: clock["active"]]
            running = active[self.rate[active] > 0]
            if clock["changed"] and len(active) and (now >= solve_at or not len(running)):
                return SOLVE
            fresh = running[np.isnan(jobs.first_start[running])]
            jobs.first_start[fresh] = now
            rate, left = self.rate[running], jobs.left[running]
            ends = now + left / rate
            until = float(ends.min(initial=np.inf))
            if clock["arrived"] < len(jobs.arrival):
                until = min(until, float(jobs.arrival[clock["arrived"]]))
            if clock["changed"] and len(active):
                until = min(until, max(solve_at, now))
            if until == np.inf:
                return STUCK
            jobs.held[running] += self.use[running] * (until - now)
            jobs.left[running] = np.maximum(left - rate * (until - now), 0.0)
            clock["now"] = until
            if len(over := running[ends <= until]):
                self.dismiss(s, over, rules.target)
        self.log_lives(s)
        return DONE

    def admit(self, s: State) -> None:
        """Do the same as `rounds.admit`, in Python, which is faster than handing the state to compiled code."""
        clock, arrival = self.clock, s.jobs.arrival
        while clock["arrived"] < len(arrival) and arrival[clock["arrived"]] <= clock["now"]:
            s.queue[clock["active"]] = clock["arrived"]
            clock["active"] += 1
            clock["arrived"] += 1
            clock["changed"] = True

    def dismiss(self, s: State, over: IntArray, target: int) -> None:
        """End these jobs now, all at once."""
        clock, jobs = self.clock, s.jobs
        jobs.left[over], jobs.end[over], self.rate[over] = 0.0, clock["now"], 0.0
        active = s.queue[: clock["active"]]
        rest = active[np.isinf(jobs.end[active])]
        s.queue[: len(rest)], clock["active"], clock["changed"] = rest, len(rest), True
        clock["ended"] += np.count_nonzero(over < target)

    def follow(self, s: State) -> None:
        """Set the rates and the GPUs in use from the last allocation."""
        active: IntArray = s.queue[: self.clock["active"]]
        share, gang = s.jobs.share[active], s.jobs.scale[active]
        self.rate[:], self.use[:] = 0.0, 0.0
        self.rate[active] = (s.jobs.alone[active] * share).sum(axis=1)
        self.use[active] = share * gang[:, None]
        if len(s.pairs.members) == 0:
            return
        for of, speed in zip(s.pairs.members.T, s.pairs.speed.transpose(1, 0, 2), strict=True):
            np.add.at(self.rate, of, (speed * s.pairs.share).sum(axis=1))
            np.add.at(self.use, of, s.pairs.share * s.jobs.scale[of, None] / 2)

    def log_lives(self, s: State) -> None:
        """One row for each job that ran, from its first to its last second."""
        jobs, log = s.jobs, s.log
        ran = np.flatnonzero(np.isfinite(jobs.first_start))
        start, stop = jobs.first_start[ran], np.minimum(jobs.end[ran], s.now)
        rows = slice(len(ran))
        log.job[rows], log.start[rows], log.end[rows], log.steps[rows] = ran, start, stop, (self.steps - jobs.left)[ran]
        log.part[rows] = jobs.held[ran].sum(axis=1) / (jobs.scale[ran] * np.maximum(stop - start, 1e-12))
        s.logged = len(ran)
