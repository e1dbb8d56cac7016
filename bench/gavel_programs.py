"""Seconds that Gavel's policies take to solve one moment, on one core, as lines of a table.

The jobs are a static workload on the project's own throughputs, on as many GPUs of each type as a sixth of the jobs.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import replace

import numpy as np

from astraea.gavel.generate import static
from astraea.gavel.policies import POLICIES
from astraea.gavel.problem import Problem
from astraea.gavel.throughputs import Throughputs

PLAIN = ("las-het", "makespan-het", "ftf-het", "fifo-het", "las-het-water-filling", "hierarchical-het")
SHARED = ("las-het-ss", "makespan-het-ss", "ftf-het-ss", "fifo-het-ss")
ENTITIES = 6


def moment(jobs: int, *, shared: bool = False) -> Problem:
    """All jobs just arrived; a fifth have the weight 5, to make their programs differ."""
    throughputs = Throughputs.compact()
    work = static(jobs, throughputs, multiple=True, seed=0)
    speed = np.array([throughputs.alone(*kind) for kind in zip(work.job_type, work.scale_factor, strict=True)])
    types = speed.shape[1]
    problem = Problem(
        throughput=speed,
        scale_factor=work.scale_factor,
        workers=np.full(types, max(8, jobs // 6)),
        weight=np.where(np.arange(jobs) % 5 == 0, 5.0, 1.0),
        steps=work.total_steps,
        elapsed=np.arange(jobs, 0, -1) * 60.0,
        isolated_elapsed=np.arange(jobs, 0, -1) * 40.0,
        slo=np.full(jobs, np.inf),
        entity=np.arange(jobs) % ENTITIES,
        entity_weight=np.arange(1.0, ENTITIES + 1),
        cost=np.ones(types),
        job=np.arange(jobs),
        types=throughputs.types,
    )
    if not shared:
        return problem
    pairs = np.argwhere(np.triu(work.scale_factor[:, None] == work.scale_factor, 1))
    kinds = [(work.job_type[m], int(work.scale_factor[m])) for m in range(jobs)]
    together = np.array([throughputs.pair(kinds[a], kinds[b]) for a, b in pairs])
    return replace(problem, pairs=pairs, pair_throughput=together)


def seconds(policy: str, problem: Problem, runs: int) -> float:
    """Median of several solves, each by a new object."""
    taken = []
    for _ in range(runs):
        allocate = POLICIES[policy].make()
        start = time.perf_counter()
        allocate(problem)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def lines(sizes: tuple[int, ...] = (256, 1024)) -> list[str]:
    """The table."""
    rows = ["| jobs | policy | seconds |", "| --- | --- | --- |"]
    for jobs in sizes:
        problem = moment(jobs)
        rows += [f"| {jobs:,} | {name} | {seconds(name, problem, 3):.3f} |" for name in PLAIN]
    problem = moment(256, shared=True)
    rows += [f"| 256, {len(problem.pairs):,} pairs | {name} | {seconds(name, problem, 1):.2f} |" for name in SHARED]
    return rows


if __name__ == "__main__":
    print("\n".join(lines()))
