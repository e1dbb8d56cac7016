"""Which jobs and pairs a program has variables for, and how fast a policy believes them to be."""

from __future__ import annotations

import numpy as np

from astraea.core.arrays import FloatArray
from astraea.core.errors import InputError
from astraea.gavel.problem import Problem


def check(problem: Problem, policy: str) -> None:
    """Raise `InputError` for a number that no program can have, or a job that can run nowhere."""
    for what, values in (("throughput", problem.throughput), ("pair throughput", problem.pair_throughput)):
        if not (np.isfinite(values) & (values >= 0)).all():
            raise InputError(f"{policy}: every {what} must be 0 or more steps/s, and one of them is not")
    for what, values in (("weight", problem.weight), ("number of steps", problem.steps)):
        if (wrong := np.flatnonzero(~(np.isfinite(values) & (values > 0)))).size:
            job = wrong[0]
            raise InputError(f"{policy}: job {problem.job[job]} has the {what} {values[job]:g}, expected more than 0")
    runs = (problem.throughput > 0) & (problem.scale_factor[:, None] <= problem.workers)
    if (stuck := np.flatnonzero(~runs.any(axis=1))).size:
        job = stuck[0]
        raise InputError(
            f"{policy}: job {problem.job[job]} with a gang of {problem.scale_factor[job]} GPUs can run on none of the "
            f"accelerator types {', '.join(problem.types)}: its throughput is 0 there or the GPUs are too few"
        )


def useful(problem: Problem, alone: FloatArray) -> FloatArray:
    """Throughputs of the pairs, (P, 2, J), 0 where sharing gains nothing.

    If the two relative throughputs add up to 1 or less, the jobs have as much from taking turns on the same GPUs, so
    no optimum is lost.
    """
    if len(problem.pairs) == 0:
        return np.zeros((0, 2, problem.workers.size))
    both = alone[problem.pairs]
    together = problem.pair_throughput
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(both > 0, together / both, 0.0).sum(axis=1) > 1
    return np.asarray(np.where((gain & (both > 0).all(axis=1) & (together > 0).all(axis=1))[:, None], together, 0.0))


def blind(alone: FloatArray) -> FloatArray:
    """Throughputs of a policy that does not tell types apart: those of the first type; if it has none, the best."""
    known = np.where(alone[:, 0] > 0, alone[:, 0], alone.max(axis=1))
    return np.where(alone > 0, known[:, None], 0.0)
