"""Kueue's admission fair sharing, written naively: every second is simulated, and usage is summed up anew.

Times are whole seconds of the simulation; a queue is a tenant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass
class Job:
    """A job and when it starts."""

    queue: str
    gpus: int
    submit: int
    duration: int
    start: float = math.inf

    def runs(self, now: float) -> bool:
        return self.start <= now < self.start + self.duration


def admit(jobs: list[Job], weights: dict[str, float], gpus: int, half_life: float, sampling: float, every: int) -> None:
    """Compute the starts of the jobs, which are in order of submission."""
    marks: dict[str, list[tuple[float, float]]] = {queue: [(0.0, 0.0)] for queue in weights}  # when, and usage then
    penalty, now = 1 - 0.5 ** (sampling / half_life), 0
    while any(job.start + job.duration > now for job in jobs):
        running = [job for job in jobs if job.runs(now)]

        def held(queue: str, running: list[Job] = running) -> int:
            return sum(job.gpus for job in running if job.queue == queue)

        def look(queue: str, now: int = now) -> None:
            when, before = marks[queue][-1]
            kept = 0.5 ** ((now - when) / half_life)
            marks[queue].append((now, before * kept + held(queue) * (1 - kept)))

        for queue in weights:
            if now - marks[queue][-1][0] >= sampling:
                look(queue)
        fresh: list[Job] = []
        while True:
            room = gpus - sum(job.gpus for job in running)
            fitting = [job for job in jobs if job.start == math.inf and job.submit <= now and job.gpus <= room]
            if not fitting:
                break

            def rank(job: Job, fresh: list[Job] = fresh) -> tuple[float, int]:
                noted = sum(penalty * other.gpus for other in fresh if other.queue == job.queue)
                return round((marks[job.queue][-1][1] + noted) / weights[job.queue], 8), jobs.index(job)

            first = min(fitting, key=rank)
            first.start = now
            fresh.append(first)
            running.append(first)
        for job in fresh:
            look(job.queue)
            when, usage = marks[job.queue].pop()
            marks[job.queue].append((when, usage + penalty * job.gpus))
        now += every
