"""The smallest workloads that reverse [Mahajan2020] Figs 9 and 19.

Random explorations of a few jobs are run under Themis, with its f of 0.8, and under a rival. Where the largest
finish-time fairness of an app is strictly lower under the rival, the workload is shrunk for as long as it stays so. In
Fig 19 Themis with f = 0 is to take less GPU-time than with f = 1, which is the rival.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from astraea.core.result import Result
from astraea.experiments.grid import Grid
from papers.shrinking import reversal_grid, reversal_table
from papers.themis.apps import App, AppTrace
from papers.themis.metrics import rho_summary
from papers.themis.policies import get_policy
from papers.themis.simulate import simulate

KNOB: Final = "themis, f = 1"

FIG9: Final = "Themis: the worst app's finish-time fairness"
RIVALS: Final = {
    **dict.fromkeys(("tiresias", "optimus", "gandiva-packing", "slaq"), FIG9),
    KNOB: "Themis: GPU-time with f = 0 [GPU-h]",
}
"""The ordering of each rival."""

SEARCHED: Final = {"small": (10, 1), "paper": (100, 1)}
"""Random workloads for each rival, and how many of those that reverse the ordering are shrunk."""

LEASE: Final = 900.0
"""Lease, and the time of an epoch [s]."""

MODELS: Final = ("vgg16", "inception-v3")
"""Models that suffer from being spread, and that do not."""


class Exploration(NamedTuple):
    """An app: its arrival in leases, the gang of each job, its model, a place in `MODELS`, the epochs of its jobs."""

    arrival: int
    gang: int
    model: int
    epochs: tuple[int, ...]


class Explorations(NamedTuple):
    """Apps in order of arrival, and the GPUs of each machine."""

    machines: tuple[int, ...]
    apps: tuple[Exploration, ...]

    @property
    def size(self) -> tuple[int, ...]:
        """Measures of size in order of importance: apps, jobs, GPUs, machines, then the sums of all numbers."""
        epochs = [n for app in self.apps for n in app.epochs]
        rest = sum(app.gang + app.arrival + app.model for app in self.apps)
        return len(self.apps), len(epochs), sum(self.machines), len(self.machines), sum(epochs), rest

    @property
    def text(self) -> str:
        """The workload in words."""
        apps = (
            f"{chr(65 + i)} ({MODELS[app.model]}) from {app.arrival * LEASE / 60:g} min: GPUs per job {app.gang}, "
            f"epochs {' and '.join(map(str, app.epochs))}"
            for i, app in enumerate(self.apps)
        )
        return ". ".join([f"GPUs per machine: {' and '.join(map(str, self.machines))}", *apps])

    @property
    def trace(self) -> AppTrace:
        """The apps A, B, ...; a longer job ends with a lower loss."""
        apps = [
            App(chr(65 + i), LEASE * app.arrival, MODELS[app.model], app.gang, LEASE,
                tuple(1 / np.arange(1.0, n + 1) for n in app.epochs))
            for i, app in enumerate(self.apps)
        ]  # fmt: skip
        return AppTrace("example", tuple(apps), np.array(self.machines))


def random_explorations(seed: int) -> Explorations:
    """Two to four apps of one or two jobs on one or two machines of two or four GPUs."""
    rng = np.random.default_rng([seed])
    machines = tuple(int(n) for n in rng.choice([2, 4], rng.integers(1, 3)))
    apps = [
        Exploration(int(rng.integers(0, 4)), int(rng.choice([1, 2])), int(rng.integers(0, 2)),
                    tuple(int(n) for n in rng.integers(1, 7, rng.integers(1, 3))))
        for _ in range(rng.integers(2, 5))
    ]  # fmt: skip
    return _tidy(machines, apps)


def smaller(w: Explorations) -> Iterator[Explorations]:
    """Workloads of less `size`: without an app, a job, a machine, a GPU, or with one number lower."""
    apps = list(w.apps)
    if len(apps) > 1:
        yield from (_tidy(w.machines, apps[:k] + apps[k + 1 :]) for k in range(len(apps)))
    for k, app in enumerate(apps):
        if len(app.epochs) > 1:
            for j in range(len(app.epochs)):
                yield _with(w, k, app._replace(epochs=app.epochs[:j] + app.epochs[j + 1 :]))
    for k, gpus in enumerate(w.machines):
        if len(w.machines) > 1:
            yield w._replace(machines=w.machines[:k] + w.machines[k + 1 :])
        yield from (w._replace(machines=(*w.machines[:k], n, *w.machines[k + 1 :])) for n in range(1, gpus))
    for k, app in enumerate(apps):
        yield from (_with(w, k, app._replace(gang=n)) for n in range(1, app.gang))
        yield from (_with(w, k, app._replace(arrival=n)) for n in range(app.arrival))
        yield from (_with(w, k, app._replace(model=n)) for n in range(app.model))
        for j, epochs in enumerate(app.epochs):
            for n in range(1, epochs):
                yield _with(w, k, app._replace(epochs=(*app.epochs[:j], n, *app.epochs[j + 1 :])))


def _tidy(machines: tuple[int, ...], apps: list[Exploration]) -> Explorations:
    return Explorations(machines, tuple(sorted(apps, key=lambda app: app.arrival)))


def _with(w: Explorations, k: int, app: Exploration) -> Explorations:
    return _tidy(w.machines, [*w.apps[:k], app, *w.apps[k + 1 :]])


def run(w: Explorations, policy: str, f: float | None = None) -> Result:
    """Simulate a workload under a policy; `f` is Themis', and its usual one if not given."""
    return simulate(w.trace, get_policy(policy, **({} if f is None else {"f": f})), lease_term=LEASE)


@lru_cache(maxsize=1 << 16)
def measured(w: Explorations, measure: str, policy: str, f: float | None = None) -> float:
    """Return one figure of `rho_summary`; NaN if a gang fits no machine."""
    if max(app.gang for app in w.apps) > max(w.machines):
        return float("nan")
    return rho_summary(run(w, policy, f))[measure]


def values(rival: str, w: Explorations) -> tuple[float, float]:
    """Return what is compared, lower is better: the value of Themis, and that of a rival."""
    if rival == KNOB:
        return measured(w, "gpu_time", "themis", 0.0), measured(w, "gpu_time", "themis", 1.0)
    return measured(w, "max_rho", "themis"), measured(w, "max_rho", rival)


def reversals(rival: str, instances: int, starts: int) -> pd.DataFrame:
    """Search the workloads of seeds 0 to `instances` - 1; the row is as of `reversal_table`."""
    drawn = [random_explorations(seed) for seed in range(instances)]
    return reversal_table(drawn, partial(values, rival), smaller, starts)


def instance_of(row: Any) -> Explorations:
    """The workload of a row of `reversals`."""
    machines, apps = json.loads(row.instance)
    return Explorations(tuple(machines), tuple(Exploration(a, g, m, tuple(epochs)) for a, g, m, epochs in apps))


def falsifier_grid(scale: str = "paper") -> Grid:
    """The search of each rival; columns ordering, rival."""
    return reversal_grid(reversals, RIVALS, SEARCHED, scale)
