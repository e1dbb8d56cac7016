"""Time of Gavel's policies to solve one moment, and of its simulations, on one core, as lines of a table [s].

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

from papers.gavel.generators import continuous, static
from papers.gavel.policies import get_policy
from papers.gavel.problem import Problem
from papers.gavel.simulate import AS_RELEASED, simulate
from papers.gavel.throughputs.table import Throughputs
from papers.gavel.workload import read_workload
from verification import gavel_runs

PLAIN = ("las-het", "makespan-het", "ftf-het", "fifo-het", "las-het-water-filling", "hierarchical-het")
BY_CLASS = ("las-het", "hierarchical-het")
SHARED = ("las-het-ss", "makespan-het-ss", "ftf-het-ss", "fifo-het-ss")
ENTITIES = 6
RUNS = 3
LIMITS = {
    ("las-het", 4096): 0.01,
    ("hierarchical-het", 256): 1.0,
    ("hierarchical-het", 1024): 15.0,
    ("hierarchical-het", 4096): 60.0,
    ("las-het-ss", 256): 30.0,
}
"""Longest time allowed for a solve, by policy and number of jobs [s]."""

SIMULATIONS = {"las-het": 1.5, "fifo": 1.0, "las-het-ss": 6.0}
"""Policies of a simulation of 2,000 jobs, and its longest allowed time [T]."""

RATE = 5.8
"""Jobs that arrive in an hour there."""

SHARED_FOLDER = Path(__file__).resolve().parents[2] / "shared"
RELEASED = {"max_min_fairness_perf": 16.0, "finish_time_fairness_perf": 71.0}
"""Time of Gavel's own simulator for a reference run on the trace `single` [s]; a third of it is the limit."""


def moment(jobs: int, *, shared: bool = False) -> Problem:
    """All jobs just arrived; a fifth have the weight 5, to make their programs differ."""
    throughputs = Throughputs.compact()
    work = static(jobs, throughputs, multiple=True, seed=0)
    speed = np.array([throughputs.alone(*kind) for kind in zip(work.job_type, work.scale_factor, strict=True)])
    types = speed.shape[1]
    kind = np.array([throughputs.kind(*job) for job in zip(work.job_type, work.scale_factor.tolist(), strict=True)])
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
        kind=kind,
        types=throughputs.types,
    )
    return replace(problem, together=throughputs.shared[0]) if shared else problem


def seconds(action: Callable[[], object], runs: int = RUNS) -> float:
    """Return the median of several runs, after one that does not count."""
    action()
    taken = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def solve_line(policy: str, problem: Problem, runs: int) -> str:
    """Time of a solve, each by a new object."""
    jobs, pairs = len(problem.job), len(problem.pairs) if len(problem.together) else 0
    taken = seconds(lambda: get_policy(policy).make()(problem), runs)
    limit = LIMITS.get((policy, jobs))
    what = f"one solve, {jobs:,} jobs" + (f", {pairs:,} pairs" if pairs else "")
    return f"| {what} | {policy} | {taken:.3f} | {f'{limit:g}' if limit else ''} |"


def simulation_lines(until: int, runs: int, unit: float) -> list[str]:
    """Time of simulations of 36 + 36 + 36 GPUs at high load, to a job; `unit` is one T [s]."""
    throughputs, lines = Throughputs.compact(), []
    work = continuous(until * 3 // 2, rate_per_hour=RATE, throughputs=throughputs, multiple=False, seed=0)
    for policy, most in SIMULATIONS.items():
        taken = seconds(
            lambda p=policy: simulate(work, throughputs, (36, 36, 36), get_policy(p), until=until), runs
        )  # fmt: skip
        what = f"simulation of continuous-single, {RATE:g} jobs/h, to job {until:,}"
        lines.append(f"| {what} | {policy} | {taken:.2f} = {taken / unit:.1f} T | {most:g} T |")
    return lines


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
        taken = seconds(lambda i=inputs, u=end: simulate(*i, AS_RELEASED, until=u), runs)
        lines.append(f"| simulation of single as released | {run.policy} | {taken:.1f} | {limit:.1f} |")
    return lines


def lines(
    sizes: tuple[int, ...] = (256, 1024, 4096), until: int = 2000, runs: int = RUNS, unit: float = 1.0
) -> list[str]:  # fmt: skip
    """The table; of the largest number of jobs, if there are three, only programs that do not grow with them."""
    rows = ["| what | policy | seconds | at most |", "| --- | --- | --- | --- |"]
    for jobs in sizes:
        problem = moment(jobs)
        rows += [solve_line(name, problem, runs) for name in (PLAIN if jobs in sizes[:2] else BY_CLASS)]
    problem = moment(sizes[0], shared=True)
    rows += [solve_line(name, problem, runs) for name in SHARED]
    return [*rows, *simulation_lines(until, runs, unit), *released_lines(until, runs)]


if __name__ == "__main__":
    print("\n".join(lines()))
