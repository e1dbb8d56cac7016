"""Whether a problem is one that a program can have."""

from __future__ import annotations

import numpy as np

from astraea.core.errors import InputError
from papers.gavel.problem import Problem


def check(problem: Problem, policy: str) -> None:
    """Raise `InputError` for a number that no program can have, or a job that can run nowhere."""
    for what, values in (("throughput", problem.throughput), ("pair throughput", problem.together)):
        if not (values.min(initial=0.0) >= 0 and values.max(initial=0.0) < np.inf):  # nor NaN, which is neither
            raise InputError(f"{policy}: every {what} must be 0 or more steps/s, and one of them is not")
    for what, values in (("weight", problem.weight), ("number of steps", problem.steps)):
        if not (values.min() > 0 and values.max() < np.inf):
            job = int(np.argmin(np.isfinite(values) & (values > 0)))
            raise InputError(f"{policy}: job {problem.job[job]} has the {what} {values[job]:g}, expected more than 0")
    runs = (problem.throughput > 0) & (problem.scale_factor[:, None] <= problem.workers)
    if not (able := runs.any(axis=1)).all():
        job = int(np.argmin(able))
        raise InputError(
            f"{policy}: job {problem.job[job]} with a gang of {problem.scale_factor[job]} GPUs can run on none of the "
            f"accelerator types {', '.join(problem.types)}: its throughput is 0 there or the GPUs are too few"
        )
