"""Workloads of hyper-parameter explorations, drawn from a seed.

From [Mahajan2020] is the setting, apps of many jobs whose models differ in what being spread costs them; all numbers
below are this project's. Every app has a random stream of its own and the arrivals have another, so app i of a seed is
the same app whatever the number of apps and the contention are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from astraea.core.arrays import IntArray
from astraea.core.checks import number, whole_number
from papers.themis.apps import DEFAULT_TUNER, App, AppTrace, course
from papers.themis.loss_curves import learning_curve

MACHINES: Final = (4,) * 48 + (2,) * 32
"""GPUs of each machine: 256 in all. A quarter of them is where a gang of 4 is always spread."""

JOBS: Final = (16.0, 0.6, 1.0, 64.0)
EPOCH: Final = (180.0, 0.6, 20.0, 1800.0)
"""Jobs of an app and time of an epoch [s]: median, sigma, least and most of a log-normal number."""

GANGS: Final = {2: 0.3, 4: 0.7}
KINDS: Final = {"vgg16": 0.4, "resnet50": 0.2, "inception-v3": 0.4}
"""Shares of each size of gang and of each model."""

FLOOR: Final = (0.2, 1.0)
SPAN: Final = (0.5, 2.0)
POWER: Final = (0.6, 1.4)
"""Ranges of the jobs' loss curves; poor hyper-parameters have a high floor. Nearly all take from 20 to 100 epochs."""

NOISE: Final = 0.01
"""Noise of an observed loss, as a part of the true one."""


def sample_workload(
    apps: int = 100, contention: float = 1.0, seed: int = 0, machines: IntArray | None = None
) -> AppTrace:
    """Draw apps that arrive as a Poisson process, the first at 0.

    Parameters
    ----------
    apps, seed : int
        How many, at least 1, and of which seed, at least 0.
    contention : float
        GPU-time of all apps, each gang on one machine, over the GPU-time of the cluster from the first to the last
        arrival. It holds exactly, and changes nothing but the arrivals. One app arrives at 0 whatever it is.
    machines : array of int, optional
        GPUs of each; `MACHINES` unless given. `InputError` if none can hold a gang.
    """
    apps, seed = whole_number(apps, "the number of apps", 1), whole_number(seed, "the seed")
    number(contention, "the contention", above=0)
    arrivals, *streams = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(apps + 1)]
    at_once = AppTrace(
        name=f"apps-{apps}-contention-{contention:g}-seed-{seed}",
        apps=tuple(_app(i, rng) for i, rng in enumerate(streams)),
        machines=np.array(MACHINES) if machines is None else machines,
    )
    needed = sum(phase.work * app.gang for app in at_once.apps for phase in course(app))
    times = np.cumsum([0.0, *arrivals.exponential(size=apps - 1)])
    if apps > 1:
        times = times / times[-1] * (needed / (at_once.gpus * contention))
    return replace(
        at_once, apps=tuple(replace(app, arrival=float(t)) for app, t in zip(at_once.apps, times, strict=True))
    )


def _app(i: int, rng: np.random.Generator) -> App:
    """App i, at time 0."""
    jobs = round(_log_normal(JOBS, rng))
    gang = int(rng.choice(list(GANGS), p=list(GANGS.values())))
    model = str(rng.choice(list(KINDS), p=list(KINDS.values())))
    epoch = _log_normal(EPOCH, rng)
    curves = [rng.uniform(low, high, jobs) for low, high in (FLOOR, SPAN, POWER)]
    loss = tuple(
        learning_curve(floor, span, power, NOISE, DEFAULT_TUNER, rng)
        for floor, span, power in zip(*curves, strict=True)
    )
    return App(f"app-{i}", 0.0, model, gang, epoch, loss)


def _log_normal(shape: tuple[float, float, float, float], rng: np.random.Generator) -> float:
    median, sigma, least, most = shape
    return float(min(max(rng.lognormal(np.log(median), sigma), least), most))
