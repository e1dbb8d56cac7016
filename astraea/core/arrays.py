"""Array types, and rounding of parts to whole numbers with a fixed sum."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
TextArray = npt.NDArray[np.object_]


def apportion(parts: FloatArray, total: int) -> IntArray:
    """Return whole numbers that are close to `parts` and add up to `total`: largest remainders, ties in order."""
    out: IntArray = np.floor(parts).astype(np.int64)
    out[np.argsort(out - parts, kind="stable")[: total - int(out.sum())]] += 1
    return out
