"""Training speeds in short: what the simulator uses where the authors' measurements are not at hand.

The numbers are facts and fits of the measurements that Gavel's authors published (`simulation_throughputs.json` of
their artifact, the configurations of [Narayanan2020] Table 2), rounded to two digits. Everything else follows by three
rules (the numbers are in `speeds.toml`):

- **Gangs**: a worker waits `WAIT` seconds for the others after each step, so s workers make s / (1 / v + wait) steps/s
  where one makes v. The wait depends on the model and on where the gang stands, not on its size. Models that are not in
  `WAIT` train on one GPU only.
- **Contention**: beside another job, a job runs 1 + sensitivity x pressure times slower: its own sensitivity, the
  other's pressure. Gangs never share their GPUs (none of the measured ones does).
- **Memory**: two jobs share a GPU if their memories fit it; a job that fills its GPU trains on no gang, which needs
  buffers besides.

Waits are fitted to the least sum of absolute errors of the logarithm, sensitivities and pressures to the least robust
squares of it, memories to the fewest pairs that are wrongly allowed or refused (they are no measured sizes).
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

import numpy as np

from astraea.core.arrays import FloatArray

TYPES: Final = ("v100", "p100", "k80")
"""Accelerator types, in the order of every table of throughputs."""

MEMORY: Final = (16.0, 16.0, 12.0)
"""Memory of one GPU of each type [GB]."""

GANGS: Final = (2, 4, 8)
"""Sizes of the measured gangs [GPU]."""

_DATA: Final[dict[str, dict[str, Any]]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
CONFIGURATIONS: Final = _DATA["configurations"]
"""Job type -> steps/s of one GPU, sensitivity, pressure (each on V100, P100, K80), memory [GB]."""

WAIT: Final = _DATA["wait"]
"""Model -> seconds that a worker waits per step on each type, of a consolidated, then of an unconsolidated gang."""


def configurations() -> tuple[tuple[str, int], ...]:
    """Job types with their gang sizes, one GPU first, then each gang size."""
    alone = [(kind, 1) for kind in CONFIGURATIONS]
    return tuple(alone + [(kind, size) for size in GANGS for kind in CONFIGURATIONS if _model(kind) in WAIT])


def alone() -> FloatArray:
    """Steps/s of each configuration without a neighbour.

    Returns
    -------
    array, shape (2, K, J)
        Consolidated, then unconsolidated gangs; 0 where the configuration does not fit.
    """
    out = np.zeros((2, len(configurations()), len(TYPES)))
    for k, (kind, size) in enumerate(configurations()):
        speed, _, _, memory = CONFIGURATIONS[kind]
        if size == 1:
            out[:, k] = speed
        else:
            steps = size / (1 / np.array(speed) + np.array(WAIT[_model(kind)]))
            out[:, k] = np.where(memory < np.array(MEMORY), steps, 0.0)
    return out


def together() -> FloatArray:
    """Steps/s of each pair of configurations on the same GPU.

    Returns
    -------
    array, shape (K, K, 2, J)
        Of the first and of the second configuration; 0 where they do not share.
    """
    n, size = len(CONFIGURATIONS), len(configurations())
    speed, sensitivity, pressure = (np.array([row[c] for row in CONFIGURATIONS.values()]) for c in range(3))
    memory = np.array([row[3] for row in CONFIGURATIONS.values()])
    fits = memory[:, None, None] + memory[None, :, None] <= np.array(MEMORY)
    first = np.where(fits, speed[:, None] / (1 + sensitivity[:, None] * pressure[None, :]), 0.0)
    out = np.zeros((size, size, 2, len(TYPES)))
    out[:n, :n, 0] = first
    out[:n, :n, 1] = first.transpose(1, 0, 2)
    return out


def _model(kind: str) -> str:
    return kind.split(" (")[0]
