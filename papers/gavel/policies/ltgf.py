"""Long-term GPU-time fairness on GPUs of several types: ASTRAEA's two phases, here with the type to run on.

[Ye2022] Algorithm 1 picks the tenant that is furthest below its share of GPU-time since the beginning (Eq. 12 with
Eq. 16), then that tenant's job furthest below its own (Eq. 15), and counts what it grants as if it had run
(`cluster.policies.astraea`). Granted in small pieces, the two phases are two water-fillings, so that is how they are
written for time fractions: entities first, then the jobs of each, over one lease to come. A new job has attained
nothing and so goes first, as in §6.1.1. A second step chooses types:

    maximize theta   subject to   service_m(X) >= theta × target_m for all jobs m, and [Narayanan2020] (1)-(3),

and, at that theta, maximizes the sum of service, so that no GPU idles while a job could use it.

**GPU-time on unequal GPUs.** One GPU-second is the progress that a job makes on one GPU of the cluster at its own mean
speed over all GPUs. The mean, not the fastest type, because a quota is a part of *every* type: 1/n of each type for a
second then is worth exactly M/n GPU-seconds to every job, and Eqs. 3 to 16 hold as they are ([Ye2022] §4.2). Counted
by the fastest type, a tenant would be charged more for the same GPUs if its jobs gain less from fast ones. It is also
the scale of [Narayanan2020] §4.1, X^equal. Hence theta >= 1 where `ltgf-het` chooses: the targets spread over all GPUs
evenly are a solution with theta = 1, so no job gets less than the two phases owe it.

The agnostic twin `ltgf` takes all GPUs for equal: service is the GPU-time held, and each job has the cluster's mix of
the types on which it can run, cut where that oversubscribes a type.

Departures from [Ye2022]: an allocation of fractions lasts until jobs come or go, not for one lease. The fair share of
a job (Eq. 13) is a part of its tenant's whole quota, as in Eq. 16. What a job attained between two calls is read from
its steps; where they do not tell the GPU-time held (`ltgf`), the speed of the mix that it was granted does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from astraea.core.arrays import FloatArray
from astraea.core.errors import InputError
from papers.gavel.problem import Allocation, Allocator, Problem
from papers.gavel.programs.program import SLACK, Program
from papers.gavel.sums import dot

LEASE: Final = 1920.0
"""Lease to come, over which what is granted counts as if it had run [s]: the least time between two solves."""


ACCOUNT: Final = np.dtype(
    [
        ("job", int),
        ("entity", int),
        ("steps", float),  # that remain
        ("speed", float),  # of progress [steps per GPU-second]
        ("elapsed", float),  # time since arrival [s]
        ("attained", float),  # [GPU-s]
        ("owed", float),  # [GPU-s]
    ]
)
"""Account of one job, with what was attained and owed in GPU-time."""


class LongTerm:
    """Allocations of one simulation, the accounts of the jobs that run, and what ended ones attained.

    `grant` gives time fractions from the problem, throughputs where jobs can run (n, J), and targets (n,) [GPU].
    GPU-time is counted at each job's mean speed where `is_aware`; otherwise as held.
    """

    def __init__(self, grant: Callable[[Problem, FloatArray, FloatArray], FloatArray], is_aware: bool) -> None:
        self.grant = grant
        self.is_aware = is_aware
        self.account = np.zeros(0, ACCOUNT)  # of the jobs of the last problem, in their order
        self.ended: dict[int, float] = {}  # GPU-time attained by jobs that have ended, by entity [GPU-s]

    def __call__(self, problem: Problem) -> Allocation:
        """Bring the accounts up to now, then both phases, then the types; `InputError` if a job can run on no type."""
        # the agnostic twin reads from the steps that jobs did how long they ran
        throughput = np.where(problem.workers >= problem.scale_factor[:, None], problem.seen, 0.0)
        for m in np.flatnonzero(~throughput.any(axis=1)).tolist():
            raise InputError(
                f"ltgf: job {problem.job[m]} must be able to run on some accelerator type, its gang of "
                f"{problem.scale_factor[m]} runs on none of {', '.join(problem.types)}"
            )
        mean = dot(throughput, problem.workers) / problem.workers.sum()
        share = self.update(problem, mean)
        alone = self.grant(problem, throughput, self.two_phases(problem, share))
        if not self.is_aware:
            held = alone.sum(axis=1)
            mix = np.divide((alone * throughput).sum(axis=1), held, out=mean, where=held > 0)
            self.account["speed"] = mix / problem.scale_factor
        return problem.unshared(alone)

    def update(self, problem: Problem, mean: FloatArray) -> FloatArray:
        """Add what was attained and owed since the last call; return the fair shares of now (Eqs. 4, 6, 13) [GPU]."""
        quota = problem.workers.sum() * problem.entity_weight / problem.entity_weight.sum()
        active = np.bincount(problem.entity, problem.weight, len(quota))
        share = np.minimum(problem.scale_factor, (quota / np.maximum(active, 1e-300))[problem.entity] * problem.weight)
        row = {job: m for m, job in enumerate(self.account["job"].tolist())}
        for job in row.keys() - set(problem.job.tolist()):  # it has done all its steps
            a = self.account[row[job]]
            entity, attained = int(a["entity"]), float(a["attained"])
            self.ended[entity] = self.ended.get(entity, 0.0) + attained + float(a["steps"] / a["speed"])
        now = np.zeros(len(problem.job), ACCOUNT)
        now["job"], now["entity"], now["steps"] = problem.job, problem.entity, problem.steps
        now["speed"] = mean / problem.scale_factor
        before = np.array([row.get(job, -1) for job in problem.job.tolist()], np.int64)
        now[before >= 0] = self.account[before[before >= 0]]
        now["attained"] += np.maximum(now["steps"] - problem.steps, 0.0) / now["speed"]
        now["owed"] += np.maximum(problem.elapsed - now["elapsed"], 0.0) * share
        now["steps"], now["elapsed"] = problem.steps, problem.elapsed
        self.account = now
        return np.asarray(share)

    def two_phases(self, problem: Problem, share: FloatArray) -> FloatArray:
        """Return the GPUs that each job should hold on average over the next lease, shape (n,) [GPU]."""
        entities, gangs = len(problem.entity_weight), problem.scale_factor.astype(np.float64)
        attained = np.array([self.ended.get(e, 0.0) for e in range(entities)])
        np.add.at(attained, problem.entity, self.account["attained"])
        demand = np.bincount(problem.entity, gangs, entities).astype(np.float64)
        # Phase 1: rho_tenant (Eq. 12) with Eq. 16, of which only the weights differ from tenant to tenant
        granted = fill(attained / LEASE, problem.entity_weight, demand, float(problem.workers.sum()))
        # Phase 2: rho_job (Eq. 15)
        done = self.account["attained"] / LEASE
        due = self.account["owed"] / LEASE + share
        target = np.zeros(len(share))
        for e in np.unique(problem.entity):
            jobs = problem.entity == e
            target[jobs] = fill(done[jobs], due[jobs], gangs[jobs], granted[e])
        return target


def fill(attained: FloatArray, due: FloatArray, most: FloatArray, total: float) -> FloatArray:
    """Give `total` so that the least (attained + given) / due is as large as can be, then the next, and so on.

    Of each, (n,): `attained` is what it has, `due` what that is compared with (above 0), `most` the most that it can be
    given. The sum of `most` is given if that is less than `total`.
    """

    def given(level: FloatArray | float) -> FloatArray:
        return np.asarray(np.clip(np.multiply.outer(level, due) - attained, 0.0, most))

    kinks = np.unique(np.concatenate([attained / due, (attained + most) / due]))
    return given(float(np.interp(total, given(kinks).sum(axis=1), kinks)))


def spread(problem: Problem, throughput: FloatArray, target: FloatArray) -> FloatArray:
    """Time fractions in the mix of the cluster's types, cut to what each type has (`ltgf`)."""
    mix = (throughput > 0) * problem.workers
    alone = (target / problem.scale_factor / mix.sum(axis=1))[:, None] * mix
    load = dot(problem.scale_factor, alone)
    return np.asarray(alone * np.minimum(1.0, problem.workers / np.maximum(load, 1e-300)))


def choose_types(problem: Problem, throughput: FloatArray, target: FloatArray) -> FloatArray:
    """Time fractions by the two programs of the module's docstring (`ltgf-het`)."""
    n, types = throughput.shape
    if n == 0:
        return np.zeros((0, types))
    # throughput at which a job's service is one GPU-second per second [steps/s]
    unit = dot(throughput, problem.workers) / problem.workers.sum() / problem.scale_factor
    program = Program(problem, "ltgf-het")
    theta = program.max_min(target * unit).value
    x = program.maximize(program.total(1 / unit), theta * target * unit * (1 - SLACK))
    return program.allocation(x, theta).alone


LTGF = Allocator("ltgf", lambda: LongTerm(spread, is_aware=False), knows_speeds=False)
LTGF_HET = Allocator("ltgf-het", lambda: LongTerm(choose_types, is_aware=True))
