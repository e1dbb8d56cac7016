"""Compact training speeds, for use without the authors' measurements.

The numbers are facts and fits of the measurements that Gavel's authors published (`simulation_throughputs.json` of
their artifact, the configurations of [Narayanan2020] Table 2), rounded to two digits. Everything else follows by three
rules (the numbers are in `speeds.toml`):

- **Gangs**: a worker waits `WAIT` seconds for the others after each step, so s workers make s / (1 / v + wait) steps/s
  where one makes v. The wait depends on the model and on the places of the gang, not on its size. Models that are not
  in `WAIT` train on one GPU only.
- **Contention**: beside another job, a job runs 1 + sensitivity x pressure times slower: its own sensitivity, the
  other's pressure. Gangs never share their GPUs (none of the measured ones does).
- **Memory**: two jobs share a GPU if their memories fit it; a job that fills its GPU trains on no gang, which needs
  buffers besides.

Waits are fitted to the least sum of absolute errors of the logarithm, sensitivities and pressures to its least robust
squares. Memories are fitted to the fewest pairs that are wrongly allowed or refused; they are no measured sizes.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

import numpy as np

from astraea.core.arrays import BoolArray, FloatArray

Tables = tuple[tuple[tuple[str, int], ...], FloatArray, FloatArray, BoolArray]
"""Configurations, solo, shared and measured, as `Throughputs` has them."""

TYPES: Final = ("v100", "p100", "k80")
"""Accelerator types, in the order of every table of throughputs."""

MEMORY: Final = np.array([16.0, 16.0, 12.0])
"""Memory of one GPU of each type [GB]."""

GANGS: Final = (2, 4, 8)
"""Sizes of the measured gangs [GPU]."""

_DATA: Final[dict[str, dict[str, Any]]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
CONFIGURATIONS: Final = _DATA["configurations"]
"""Job type -> steps/s of one GPU, sensitivity, pressure (each on V100, P100, K80), memory [GB]."""

WAIT: Final = _DATA["wait"]
"""Model -> seconds that a worker waits per step on each type, of a consolidated, then of an unconsolidated gang."""


def tables() -> Tables:
    """Every job type on one GPU, then those that train on gangs on each gang size."""
    keys = [(kind, 1) for kind in CONFIGURATIONS]
    keys += [(kind, size) for size in GANGS for kind in CONFIGURATIONS if _model(kind) in WAIT]
    n, count = len(CONFIGURATIONS), len(keys)
    speed, sensitivity, pressure, memory = (np.array(column) for column in zip(*CONFIGURATIONS.values(), strict=True))
    row = dict(zip(CONFIGURATIONS, range(n), strict=True))
    solo = np.zeros((2, count, len(TYPES)))
    for k, (kind, size) in enumerate(keys):
        of = row[kind]
        if size == 1:
            solo[:, k] = speed[of]
        else:
            solo[:, k] = np.where(memory[of] < MEMORY, size / (1 / speed[of] + np.array(WAIT[_model(kind)])), 0.0)
    fits = memory[:, None, None] + memory[None, :, None] <= MEMORY
    first = np.where(fits, speed[:, None] / (1 + sensitivity[:, None] * pressure[None, :]), 0.0)
    shared = np.zeros((2, count, count, 2, len(TYPES)))
    shared[:, :n, :n, 0], shared[:, :n, :n, 1] = first, first.transpose(1, 0, 2)
    gangs = np.array([size for _, size in keys])
    return tuple(keys), solo, shared, np.broadcast_to(gangs[:, None] == gangs, (2, count, count))


def _model(kind: str) -> str:
    return kind.split(" (")[0]
