"""Successive halving: train all jobs a little, keep the better ones, train these longer ([Jamieson2016]).

Rung r trains n_r jobs until each has had `first * eta**r` epochs, or has converged; then the ceil(n_r / eta) jobs of
the lowest last loss go on. The last job trains until it converges. A rung is over when its slowest job is done.
"""

from __future__ import annotations

from typing import NamedTuple

from astraea.themis.apps import App, Tuner


class Phase(NamedTuple):
    """A rung, as far as it matters to how long it takes."""

    jobs: int  # how many
    work: float  # of all of them together, on gangs on one machine [gang-s]


def rungs(jobs: int, tuner: Tuner) -> list[tuple[int, int]]:
    """(jobs, epochs that each has had at the end) of every rung; the last one ends when its job has converged."""
    out, epochs = [], tuner.first
    while jobs > 1:
        out.append((jobs, min(epochs, tuner.longest)))
        jobs, epochs = -(-jobs // tuner.eta), epochs * tuner.eta
    return [*out, (1, tuner.longest)]


def survivors(app: App, jobs: list[int], epochs: int) -> list[int]:
    """Jobs of a rung that go on, by their losses after so many epochs; the earlier job of equals."""
    last = {j: float(app.loss[j][min(epochs, len(app.loss[j])) - 1]) for j in jobs}
    kept = sorted(jobs, key=lambda j: (last[j], j))[: -(-len(jobs) // app.tuner.eta)]
    return sorted(kept)


def course(app: App) -> list[Phase]:
    """What the exploration will be; known afterwards only."""
    jobs, before, out = list(range(len(app.loss))), 0, []
    for count, epochs in rungs(len(jobs), app.tuner):
        done = sum(min(epochs, len(app.loss[j])) - min(before, len(app.loss[j])) for j in jobs)
        out.append(Phase(count, done * app.epoch))
        if count > 1:
            jobs = survivors(app, jobs, epochs)
        before = epochs
    return out
