"""Training speeds in short: what the simulator uses where the authors' measurements are not at hand.

The numbers are facts and fits of the measurements that Gavel's authors published (`simulation_throughputs.json` of
their artifact, the configurations of [Narayanan2020] Table 2), rounded to two digits. Everything else follows by three
rules:

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

from typing import Final

import numpy as np

from astraea.core.arrays import FloatArray

TYPES: Final = ("v100", "p100", "k80")
"""Accelerator types, in the order of every table of throughputs."""

MEMORY: Final = (16.0, 16.0, 12.0)
"""Memory of one GPU of each type [GB]."""

GANGS: Final = (2, 4, 8)
"""Sizes of the measured gangs [GPU]."""

_Triple = tuple[float, float, float]

#: job type -> steps/s of one GPU, sensitivity, pressure (each on V100, P100, K80), memory [GB]
CONFIGURATIONS: Final[dict[str, tuple[_Triple, _Triple, _Triple, float]]] = {
    "ResNet-18 (batch size 16)": ((32, 36, 4.8), (0.047, 0.62, 0.77), (0.18, 1.1, 1.3), 0.75),
    "ResNet-18 (batch size 32)": ((30, 36, 7.2), (0.12, 0.74, 0.91), (0.37, 1, 1), 0.25),
    "ResNet-18 (batch size 64)": ((24, 22, 7.1), (0.13, 0.52, 0.97), (0.93, 1.4, 1), 0.25),
    "ResNet-18 (batch size 128)": ((18, 12, 1.8), (0.089, 0.54, 0.64), (1.1, 1.5, 1.3), 0.25),
    "ResNet-18 (batch size 256)": ((10, 7.7, 0.89), (0.14, 0.7, 0.65), (1.7, 1.7, 1.5), 0.75),
    "ResNet-50 (batch size 16)": ((11, 9.1, 2.3), (1.8, 0.5, 0.9), (5, 1.8, 1.1), 0.25),
    "ResNet-50 (batch size 32)": ((7.8, 4.9, 1.2), (0.96, 0.47, 0.77), (4.4, 1.8, 1.3), 0.75),
    "ResNet-50 (batch size 64)": ((4.4, 2.6, 0.62), (0.46, 0.49, 0.6), (4.1, 1.9, 1.5), 7.75),
    "ResNet-50 (batch size 128)": ((2.5, 1.6, 0.35), (0.29, 0.74, 0), (1.5, 1.8, 0), 12),
    "Transformer (batch size 16)": ((11, 9.5, 5.5), (0.7, 0.33, 1.2), (0.47, 0.97, 0.82), 0.25),
    "Transformer (batch size 32)": ((11, 7.9, 3.5), (0.77, 0.57, 1.1), (0.49, 1.2, 0.91), 0.25),
    "Transformer (batch size 64)": ((8.6, 5.1, 1.8), (0.74, 0.64, 0.78), (0.58, 1.3, 1.1), 0.75),
    "Transformer (batch size 128)": ((5.4, 3.1, 0.98), (0.53, 0.74, 0.86), (0.79, 1.3, 1.3), 4.5),
    "Transformer (batch size 256)": ((1.6, 1.7, 0.46), (0.17, 0.79, 0.58), (2.6, 1.4, 1.5), 11.5),
    "A3C": ((7.2, 5.7, 3.4), (0.78, 0.5, 0.69), (0.77, 1.4, 1.7), 0.25),
    "LM (batch size 5)": ((110, 91, 25), (0.74, 1.3, 1.4), (0.54, 0.61, 0.64), 0.75),
    "LM (batch size 10)": ((82, 77, 24), (0.44, 1.2, 1.2), (0.56, 0.64, 0.67), 0.25),
    "LM (batch size 20)": ((65, 58, 17), (0.44, 1.1, 1), (0.72, 0.76, 0.81), 0.25),
    "LM (batch size 40)": ((45, 36, 11), (0.37, 0.92, 0.89), (0.89, 0.9, 1), 0.25),
    "LM (batch size 80)": ((28, 21, 6.1), (0.29, 0.81, 0.63), (1.2, 1, 1.2), 4.25),
    "Recommendation (batch size 512)": ((23, 49, 33), (1.4, 0.69, 1.4), (1.2, 0.29, 0.4), 0.25),
    "Recommendation (batch size 1024)": ((13, 31, 20), (1, 0.53, 1.1), (1.2, 0.36, 0.5), 0.25),
    "Recommendation (batch size 2048)": ((7.5, 17, 10), (0.93, 0.41, 0.77), (1.1, 0.44, 0.67), 0.25),
    "Recommendation (batch size 4096)": ((3.9, 8.9, 5.3), (0.55, 0.35, 0.63), (0.8, 0.51, 0.86), 4.5),
    "Recommendation (batch size 8192)": ((2.8, 5.5, 2.7), (1.1, 0.61, 0.66), (0.87, 0.56, 0.98), 4.5),
    "CycleGAN": ((4.4, 2.4, 0.5), (0.75, 0.78, 0.64), (1.2, 1.5, 1.4), 4.5),
}  # fmt: skip

#: model -> seconds that a worker waits per step on V100, P100, K80, of a consolidated, then of an unconsolidated gang
WAIT: Final[dict[str, tuple[_Triple, _Triple]]] = {
    "ResNet-18": ((0, 0.013, 0.038), (0.063, 0.044, 0.017)),
    "ResNet-50": ((0.16, 0.019, 0.085), (0.17, 0.065, 0)),
    "Transformer": ((0.056, 0.093, 0.22), (0.26, 0.23, 0.29)),
    "LM": ((0.0016, 0.025, 0.051), (0.1, 0.073, 0.079)),
}


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
