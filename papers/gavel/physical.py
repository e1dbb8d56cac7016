"""Table 3: the jobs of the experiments on the physical cluster ([Narayanan2020] §7.2).

8 V100s, 16 P100s and 24 K80s; rounds of 20 minutes. On the continuous trace LAS het. is compared with LAS by the
average JCT of 25 jobs in the steady state, on the static trace the makespan policy with Gandiva's packing by the time
to complete 100 jobs. The paper says no more of the traces. The files of its authors have gangs of 1, 2 and 4. Durations
on V100s are spread evenly, from 1 to 5 hours in the static trace and from about 45 minutes to 4 hours in the continuous
one, which has 96 jobs, 7.4 an hour. The jobs that are drawn here are like that. Which 25 jobs were measured is not
known; here it is those in the middle.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.core.units import HOUR
from papers.gavel.throughputs.table import Throughputs
from papers.gavel.workload import Workload

CLUSTER: Final = (8, 16, 24)
"""Numbers of V100s, P100s and K80s."""

ROUND: Final = 1200.0
"""Length of a round [s] (§7.1)."""

MEASURED: Final = 25
"""Jobs of the continuous trace that are measured, in the middle."""

GANGS: Final = (1, 2, 4)
"""GPUs of a job."""


class Shape(NamedTuple):
    """One of the two traces."""

    jobs: int
    rate: float  # of arrivals [1/h]; 0: all are there at time 0
    gangs: tuple[float, ...]  # how often each of `GANGS` occurs
    shortest: float  # time alone on V100s [h], evenly spread
    longest: float
    file: str  # the authors' one


SHAPES: Final = {
    "continuous": Shape(96, 7.4, (0.61, 0.20, 0.19), 0.75, 4.0, "max_min_fairness.trace"),
    "static": Shape(100, 0.0, (0.71, 0.06, 0.23), 1.0, 5.0, "minimize_makespan.trace"),
}

TABLE3: Final = pd.DataFrame(
    [
        ("continuous", "las-het", "average JCT", 3.6, 3.4),
        ("continuous", "las", "average JCT", 5.0, 5.2),
        ("static", "makespan-het", "makespan", 17.7, 17.9),
        ("static", "gandiva", "makespan", 21.3, 21.9),
    ],
    columns=["trace", "policy", "objective", "physical", "paper"],
)
"""Values that the paper prints for the physical cluster and for its simulation [h]."""


def physical(trace: str, throughputs: Throughputs, *, seed: int) -> Workload:
    """Draw the jobs of ``continuous`` or ``static``, as the module says."""
    shape, rng = SHAPES[trace], np.random.default_rng([seed, list(SHAPES).index(trace)])
    gang = rng.choice(GANGS, shape.jobs, p=shape.gangs)
    runs = {
        size: [kind for kind, s in throughputs.configurations if s == size and throughputs.alone(kind, s)[0] > 0]
        for size in GANGS
    }
    kinds = tuple(
        runs[int(size)][int(u * len(runs[int(size)]))] for size, u in zip(gang, rng.random(shape.jobs), strict=True)
    )
    speed = np.array([throughputs.alone(kind, int(size))[0] for kind, size in zip(kinds, gang, strict=True)])
    gaps = rng.standard_exponential(shape.jobs) * (HOUR / shape.rate if shape.rate else 0.0)
    steps = HOUR * rng.uniform(shape.shortest, shape.longest, shape.jobs) * speed
    return Workload.of(f"physical cluster, {trace}", kinds, gang, steps, np.cumsum(gaps) - gaps[0])


def objective(trace: str, jobs: pd.DataFrame) -> float:
    """Return the average JCT of the jobs in the middle of ``continuous``, or the makespan of ``static`` [h]."""
    if trace == "static":
        return float(jobs["end_time"].max()) / HOUR
    first = (len(jobs) - MEASURED) // 2
    return float(jobs["jct"].iloc[first : first + MEASURED].mean()) / HOUR
