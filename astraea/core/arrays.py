"""Types of arrays, and parts in whole numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
TextArray = npt.NDArray[np.object_]


def apportion(parts: FloatArray, total: int) -> IntArray:
    """Whole numbers near to some parts of `total` that add up to it: largest remainders, the first of equals."""
    out: IntArray = np.floor(parts).astype(np.int64)
    out[np.argsort(out - parts, kind="stable")[: total - int(out.sum())]] += 1
    return out
