"""The same jobs that Gavel's released generator draws, to compare averages with its authors'.

Two runs of so few jobs differ by more than two simulators: over the seeds 0, 1 and 2, jobs 4,000 to 4,999 of
continuous-single take 17.4, 16.2 and 18.1 h alone on a V100. So their random streams are drawn here as they are there,
by Python's generator: one for the jobs, one for their arrivals.
"""

from __future__ import annotations

import math
import random
from typing import Final

import numpy as np

from astraea.core.errors import InputError
from papers.gavel.throughputs.table import Throughputs
from papers.gavel.workload import Workload

BATCH_SIZES: Final[dict[str, tuple[int, ...]]] = {
    "ResNet-18": (16, 32, 64, 128, 256),
    "ResNet-50": (16, 32, 64, 128),
    "Transformer": (16, 32, 64, 128, 256),
    "LM": (5, 10, 20, 40, 80),
    "Recommendation": (512, 1024, 2048, 4096, 8192),
}
"""Models of [Narayanan2020] Table 2 in the order of the released list; A3C and CycleGAN follow."""

GANGS: Final = ("ResNet-18", "ResNet-50", "Transformer", "LM")
"""Models that are trained on several GPUs."""


def released_continuous(
    jobs: int, rate_per_hour: float, throughputs: Throughputs, *, multiple: bool, seed: int
) -> Workload:
    """Draw continuous-multiple or continuous-single as the released generator does; parameters as `continuous`.

    Raises
    ------
    InputError
        The throughputs lack one of the released job types on V100s.
    """
    kinds = [(f"{model} (batch size {size})", model in GANGS) for model in BATCH_SIZES for size in BATCH_SIZES[model]]
    kinds += [("A3C", False), ("CycleGAN", False)]
    draw, gap = random.Random(seed + 2), random.Random(seed + 3)
    name, gangs, duration, arrival = [], [], [], [0.0]
    for _ in range(jobs):
        size = draw.uniform(0, 1)  # drawn for jobs of one GPU too
        gang = _gang(size) if multiple else 1
        is_long = draw.random() >= 0.8
        duration.append(60.0 * 10.0 ** (draw.uniform(3, 4) if is_long else draw.uniform(1.5, 3)))
        kind, spreads = draw.choice(kinds)
        while gang > 1 and not spreads:
            kind, spreads = draw.choice(kinds)
        name.append(kind)
        gangs.append(gang)
        arrival.append(arrival[-1] - math.log(1.0 - gap.random()) * 3600.0 / rate_per_hour)
    v100 = throughputs.type_index("v100")
    rate = np.array([throughputs.alone(kind, gang)[v100] for kind, gang in zip(name, gangs, strict=True)])
    if not rate.all():
        stuck = int(np.flatnonzero(rate == 0)[0])
        raise InputError(
            f"{throughputs.name}: {name[stuck]} on {gangs[stuck]} V100s must be measured for the released workloads"
        )
    steps, times = np.floor(np.array(duration) * rate), np.array(arrival[:-1])
    given_name = f"released-continuous-{'multiple' if multiple else 'single'}"
    return Workload.of(given_name, name, np.array(gangs, np.int64), steps, times)


def _gang(u: float) -> int:
    """Size of a gang [GPU]."""
    return 1 if u < 0.7 else 2 if u < 0.8 else 4 if u < 0.95 else 8
