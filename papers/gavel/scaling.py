"""Moments of Figs 11, 12 and 21 ([Narayanan2020] §7.3, §7.4): a hierarchy that grows, and crowds to solve for."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd

from papers.gavel.generators import continuous, hierarchical
from papers.gavel.moment import answer, moment_of, normalized
from papers.gavel.policies import get_policy
from papers.gavel.problem import Problem
from papers.gavel.throughputs.table import Throughputs

TIMESTEPS: Final = 4
"""Timesteps between two new jobs in Figs 11 and 21."""

WORKERS: Final = (3, 3, 3)
"""GPUs of each type in Figs 11 and 21."""


def hierarchy(throughputs: Throughputs, policy: str, *, seed: int = 0) -> pd.DataFrame:
    """Figs 11 and 21: what each of 18 jobs gets as one after another is added.

    No job ends, and the policies remember nothing, so that the allocation changes only when a job is added. One row per
    number of `jobs` present and job. `throughput` is normalized by that of an equal time share on each worker, `total`
    its sum over the jobs, and `share` the job's part of it. `timestep` is the first one with this number of jobs.
    """
    workload, rows = hierarchical(throughputs, seed=seed), []
    for present in range(1, len(workload) + 1):
        problem = moment_of(workload.first(present), throughputs, WORKERS)
        got = normalized(problem, answer(policy, problem))
        total = float(got.sum())
        at = (TIMESTEPS * (present - 1), present)
        rows += [(*at, m, int(problem.entity[m]), float(x), float(x / total), total) for m, x in enumerate(got)]
    return pd.DataFrame(rows, columns=["timestep", "jobs", "job", "entity", "throughput", "share", "total"])


def crowd(throughputs: Throughputs, jobs: int, *, pairs: bool) -> Problem:
    """Return the moment of Fig 12: so many jobs on one GPU, entities 0, 1, 2 of weight 1, 2, 3 in turn.

    There are a quarter as many GPUs of each type as jobs.
    """
    workload = continuous(jobs, 1.0, throughputs, multiple=False, seed=0)
    problem = moment_of(workload, throughputs, (max(jobs // 4, 1),) * 3, pairs=pairs)
    return replace(problem, entity=np.arange(jobs, dtype=np.int64) % 3, entity_weight=np.array([1.0, 2.0, 3.0]))


def told_apart(problem: Problem) -> Problem:
    """Return the problem with each job as a kind of its own, so that the program has a variable for each."""
    together = problem.together[np.ix_(problem.kind, problem.kind)] if len(problem.together) else problem.together
    return replace(problem, kind=np.arange(len(problem.job)), together=together)


def seconds_to_solve(throughputs: Throughputs, policy: str, jobs: int, *, by_job: bool) -> float:
    """Measure one solve for a `crowd` [s]; with `by_job`, no two jobs are taken for alike.

    Code that is compiled at its first call has been called before.
    """
    pairs = get_policy(policy).space_sharing
    answer(policy, crowd(throughputs, 8, pairs=pairs))
    problem = crowd(throughputs, jobs, pairs=pairs)
    problem = told_apart(problem) if by_job else problem
    began = time.perf_counter()
    answer(policy, problem)
    return time.perf_counter() - began
