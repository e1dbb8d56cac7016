"""Seconds that Gavel's policies take to solve one moment, and its simulations, on one core, as lines of a table.

The jobs of a moment are a static workload on the project's own throughputs, on as many GPUs of each type as a sixth of
the jobs. `bench/run.py` adds these lines to its results; called alone, this file prints them.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from astraea.gavel.generators import continuous, static
from astraea.gavel.policies import get_policy
from astraea.gavel.problem import Problem
from astraea.gavel.simulate import simulate
from astraea.gavel.throughputs.table import Throughputs
from astraea.gavel.workload import read_workload
from verification import gavel_runs
from verification.gavel_rounds import RELEASED_ROUNDS

PLAIN = ("las-het", "makespan-het", "ftf-het", "fifo-het", "las-het-water-filling", "hierarchical-het")
SHARED = ("las-het-ss", "makespan-het-ss", "ftf-het-ss", "fifo-het-ss")
ENTITIES = 6
RUNS = 3
LIMITS = {
    ("las-het", 1024): 0.1,
    ("hierarchical-het", 256): 1.0,
    ("hierarchical-het", 1024): 15.0,
    ("hierarchical-het", 2048): 60.0,
    ("las-het-ss", 256): 30.0,
}
"""What a solve may take at most, by policy and number of jobs [s]."""

SIMULATION = 120.0
"""What a simulation to job 5,000 may take at most [s]."""

SHARED_FOLDER = Path(__file__).resolve().parents[2] / "shared"
RELEASED = {"max_min_fairness_perf": 16.0, "finish_time_fairness_perf": 71.0}
"""What Gavel's own simulator takes for a reference run on the trace `single` [s]; a third of it is the limit."""


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
    kind = np.array([throughputs.kind(*job) for job in zip(work.job_type, work.scale_factor.tolist(), strict=True)])
    return replace(problem, pairs=pairs, pair_throughput=throughputs.pairs(*kind[pairs].T))


def seconds(action: Callable[[], object], runs: int = RUNS) -> float:
    """Median of several runs, after one that does not count."""
    action()
    taken = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def solve_line(policy: str, problem: Problem, runs: int) -> str:
    """Time of a solve, each by a new object."""
    jobs, pairs = len(problem.job), len(problem.pairs)
    taken = seconds(lambda: get_policy(policy).make()(problem), runs)
    limit = LIMITS.get((policy, jobs))
    what = f"one solve, {jobs:,} jobs" + (f", {pairs:,} pairs" if pairs else "")
    return f"| {what} | {policy} | {taken:.3f} | {f'{limit:g}' if limit else ''} |"


def simulation_line(until: int, runs: int) -> str:
    """Time of a simulation of 36 + 36 + 36 GPUs at moderate load, to a job."""
    throughputs = Throughputs.compact()
    work = continuous(until * 6 // 5, rate_per_hour=4.0, throughputs=throughputs, multiple=False, seed=0)
    taken = seconds(lambda: simulate(work, throughputs, (36, 36, 36), get_policy("las-het"), until=until), runs)
    return f"| simulation of continuous-single, 4 jobs/h, to job {until:,} | las-het | {taken:.1f} | {SIMULATION:g} |"


def released_lines(until: int, runs: int) -> list[str]:
    """Time of the reference runs on `single`, where the machine has them."""
    folder, data = SHARED_FOLDER / "reference", SHARED_FOLDER / "data" / "gavel"
    if not folder.is_dir() or not data.is_dir():
        return []
    throughputs = Throughputs.read(data / "simulation_throughputs.json")
    work = read_workload(gavel_runs.find_trace("single", folder, data), throughputs)
    summary = gavel_runs.read_summary(folder)
    summary = summary[(summary["trace"] == "single") & summary["policy"].isin(RELEASED)]
    lines = []
    for run in summary.itertuples():
        workers, end = [int(n) for n in run.cluster.split(":")], min(until, int(run.jobs.split("-")[1]) + 1)
        policy, limit = gavel_runs.POLICIES[run.policy], RELEASED[run.policy] / 3
        inputs = (work, throughputs, workers, policy)
        taken = seconds(lambda i=inputs, u=end: simulate(*i, mechanism=RELEASED_ROUNDS, until=u), runs)
        lines.append(f"| simulation of single as released | {run.policy} | {taken:.1f} | {limit:.1f} |")
    return lines


def lines(sizes: tuple[int, ...] = (256, 1024, 2048), until: int = 5000, runs: int = RUNS) -> list[str]:
    """The table; of the largest number of jobs, if there are three, only the hardest program."""
    rows = ["| what | policy | seconds | at most |", "| --- | --- | --- | --- |"]
    for jobs in sizes:
        problem = moment(jobs)
        rows += [solve_line(name, problem, runs) for name in (PLAIN if jobs in sizes[:2] else ("hierarchical-het",))]
    problem = moment(sizes[0], shared=True)
    rows += [solve_line(name, problem, runs) for name in SHARED]
    return [*rows, simulation_line(until, runs), *released_lines(until, runs)]


if __name__ == "__main__":
    print("\n".join(lines()))
