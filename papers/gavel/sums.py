"""Products of matrices and vectors that come out the same on every processor."""

from __future__ import annotations

from typing import Any

import numpy as np


def dot(a: Any, b: Any) -> Any:
    """Return ``a @ b``, added up in one order; BLAS has another order for each kind of processor.

    A last bit decides which of several optimal solutions a program takes, and with it the rest of a simulation.
    `a` is (n,) or (m, n), and `b` is (n,), or (n, k) where `a` is one row.
    """
    a, b = np.asarray(a), np.asarray(b)
    return (a[:, None] * b).sum(axis=0) if b.ndim == 2 else (a * b).sum(axis=-1)
