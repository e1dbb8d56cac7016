"""Apps, their jobs, and the cluster that they share ([Mahajan2020] §2, §4.3).

An app explores hyper-parameters: it trains many jobs of one model, each a gang of the same size, and a tuner ends the
poor ones early by their losses. An app is done when the best job has converged. How long a job needs, and which one
will be the best, nobody knows before: the losses here are read epoch by epoch, as jobs run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from astraea.core.arrays import FloatArray, IntArray
from astraea.core.checks import number, one_of, whole_number
from astraea.core.errors import InputError
from astraea.core.frozen import read_only


class Model(NamedTuple):
    """Use of GPUs by models of a kind."""

    power: float  # g GPUs on one machine are g**power times as fast as one; Optimus goes by it, times do not
    slowdown: float  # a gang on several machines is slower by this factor, at least 1


MODELS: Final = {
    "vgg16": Model(0.85, 2.0),
    "resnet50": Model(0.95, 1.25),
    "inception-v3": Model(0.98, 1.0),
}
"""Kinds of models. That VGG16 suffers much from being spread and Inception-v3 does not is [Mahajan2020] §3.1.2; the
numbers are this project's."""


class Tuner(NamedTuple):
    """Successive halving: train all jobs a little, keep the better ones, train these longer ([Jamieson2016]).

    Rung r trains n_r jobs until each has had `first * eta**r` epochs, or has converged; then the ceil(n_r / eta) jobs
    of the lowest last loss continue. The last job trains until it converges. A rung is over when its slowest job is
    done.
    """

    first: int = 4  # epochs of every job before the first cut
    eta: int = 2  # of the jobs of a rung, one in `eta` goes on, `eta` times as far
    tolerance: float = 5e-4  # a job has converged when one more epoch would lower its loss by less than this
    longest: int = 120  # epochs after which a job ends in any case


DEFAULT_TUNER: Final = Tuner()


@read_only
@dataclass(frozen=True, eq=False)
class App:
    """One exploration."""

    name: str
    arrival: float  # [s]
    model: str  # one of `MODELS`
    gang: int  # GPUs of each job
    epoch: float  # time of one epoch of a job whose gang is on one machine [s]
    loss: tuple[FloatArray, ...]  # of each job, the loss after every epoch until it converges
    tuner: Tuner = DEFAULT_TUNER

    @cached_property
    def slowdown(self) -> float:
        """Slowdown of a gang on several machines."""
        return MODELS[self.model].slowdown

    @cached_property
    def scaling(self) -> float:
        """Throughput of a gang on one machine for each GPU of it, in units of one GPU's."""
        return float(self.gang ** (MODELS[self.model].power - 1))

    @cached_property
    def stages(self) -> list[tuple[list[int], list[int]]]:
        """Jobs of every rung, unknown beforehand, and the epochs that each job may have had at its end.

        Those of the lowest last loss continue, the earlier job among equals.
        """
        jobs, out = list(range(len(self.loss))), []
        for _, epochs in rungs(len(jobs), self.tuner):
            had = [min(epochs, len(loss)) for loss in self.loss]
            last = [float(loss[n - 1]) for loss, n in zip(self.loss, had, strict=True)]
            out.append((jobs, had))
            jobs = sorted(sorted(jobs, key=last.__getitem__)[: -(-len(jobs) // self.tuner.eta)])
        return out

    @cached_property
    def curves(self) -> FloatArray:
        """`loss` as a table with a row per job, inf where it has converged."""
        out = np.full((len(self.loss), max(map(len, self.loss))), np.inf)
        for row, loss in zip(out, self.loss, strict=True):
            row[: len(loss)] = loss
        return out


@read_only
@dataclass(frozen=True, eq=False)
class AppTrace:
    """Apps in order of arrival, and the machines; `InputError` if anything is out of range."""

    name: str
    apps: tuple[App, ...]
    machines: IntArray  # GPUs of each

    def __post_init__(self) -> None:
        if not self.apps:
            raise InputError(f"{self.name}: a workload needs at least one app")
        if self.machines.dtype.kind not in "iu" or self.machines.ndim != 1:
            raise InputError(f"{self.name}: machines must be whole numbers of GPUs, got {self.machines.tolist()}")
        if len(self.machines) == 0 or self.machines.min() < 1:
            raise InputError(f"{self.name}: every machine needs at least one GPU, got {self.machines.tolist()}")
        for app in self.apps:
            _check(app, int(self.machines.max()))
        sizes = sorted({app.gang for app in self.apps})
        for small, large in pairwise(sizes):
            if large % small:
                raise InputError(f"{self.name}: every gang must divide the next larger one, got {small} and {large}")
        if len({app.name for app in self.apps}) < len(self.apps):
            raise InputError(f"{self.name}: two apps have the same name")
        for before, after in pairwise(self.apps):
            if after.arrival < before.arrival:
                raise InputError(f"app {after.name!r}: apps must come in order of arrival, got {after.arrival:g} s")

    @property
    def gpus(self) -> int:
        """GPUs of the cluster."""
        return int(self.machines.sum())


def _check(app: App, largest: int) -> None:
    """Refuse an app that cannot be simulated; `largest` is the number of GPUs of the largest machine."""
    place = f"app {app.name!r}"
    if not app.loss:
        raise InputError(f"{place}: it needs at least one job, got none")
    one_of(app.model, MODELS, f"{place}: model")
    number(app.arrival, f"{place}: arrival", least=0, expected="a time from 0 [s]")
    number(app.epoch, f"{place}: epoch", above=0, expected="a time above 0 [s]")
    gangs = f"from 1 to the {largest} GPUs of the largest machine"
    whole_number(app.gang, f"{place}: gang", least=1, most=largest, expected=gangs)
    t = app.tuner
    if t.first < 1 or t.eta < 2 or t.longest < t.first or not t.tolerance > 0:
        raise InputError(f"{place}: a tuner needs first >= 1, eta >= 2, longest >= first and tolerance > 0, got {t}")
    for j, loss in enumerate(app.loss):
        if not 1 <= len(loss) <= t.longest:
            raise InputError(f"{place}, job {j}: it must have from 1 to {t.longest} epochs, got {len(loss)}")
        bad = np.flatnonzero(~np.isfinite(loss))
        if len(bad):
            raise InputError(f"{place}, job {j}, epoch {bad[0] + 1}: the loss must be finite, got {loss[bad[0]]}")


class Phase(NamedTuple):
    """A rung, as far as it matters to how long it takes."""

    jobs: int  # how many
    work: float  # of all of them together, on gangs on one machine [gang-s]


def rungs(jobs: int, tuner: Tuner) -> list[tuple[int, int]]:
    """(jobs, epochs that each has had at the end) of every rung; the last one ends when its job has converged."""
    out, epochs = [], tuner.first
    while jobs > 1:
        out.append((jobs, min(epochs, tuner.longest)))
        jobs, epochs = -(-jobs // tuner.eta), epochs * tuner.eta
    return [*out, (1, tuner.longest)]


def course(app: App) -> list[Phase]:
    """Return the phases of the exploration, which are known afterwards only."""
    out, before = [], [0] * len(app.loss)
    for jobs, target in app.stages:
        out.append(Phase(len(jobs), sum([target[j] - before[j] for j in jobs]) * app.epoch))
        before = target
    return out
