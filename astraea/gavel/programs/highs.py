"""Linear programs as plain arrays, solved by HiGHS (https://highs.dev) through its own Python package.

Every program is solved from nothing, on one thread, with the same options: an answer depends on the program alone, not
on what was solved before.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import highspy
import numpy as np
from scipy import sparse

from astraea.core.arrays import FloatArray

OPTIONS: Final[dict[str, Any]] = {
    "output_flag": False,
    "threads": 1,
    "parallel": "off",
    "random_seed": 0,
    "primal_feasibility_tolerance": 1e-9,
    "solver": "simplex",
    "presolve": "off",
    "simplex_scale_strategy": 0,
    "simplex_dual_edge_weight_strategy": 0,
}
"""No presolve, no scaling, and Dantzig's rule in the dual simplex method: the programs have coefficients about 1, and
HiGHS' defaults, made for harder ones, take up to five times as long."""

DUAL, PRIMAL = 1, 4
"""Values of HiGHS' option `simplex_strategy`."""

ANSWERS: Final = (
    highspy.HighsModelStatus.kOptimal,
    highspy.HighsModelStatus.kInfeasible,
    highspy.HighsModelStatus.kUnbounded,
    highspy.HighsModelStatus.kUnboundedOrInfeasible,
)
"""Statuses that another method would give as well; after any other one the interior point method is tried."""


class Solution(NamedTuple):
    """What HiGHS found."""

    is_optimal: bool
    message: str  # HiGHS' own word for its status, or why it was not asked
    x: FloatArray  # (variables,)
    price: FloatArray  # (rows,) dual value of each row, at least 0


def maximize(
    objective: FloatArray, rows: sparse.csc_array, limits: FloatArray, upper: FloatArray | None = None, *,
    strategy: int = DUAL,
) -> Solution:  # fmt: skip
    """Maximize ``objective @ x`` subject to ``rows @ x <= limits`` and ``0 <= x <= upper``.

    Parameters
    ----------
    objective : array of float, shape (variables,)
    rows : sparse array by columns, shape (rows, variables)
    limits : array of float, shape (rows,)
        inf for a row without a limit.
    upper : array of float, shape (variables,), optional
    strategy : int
        `DUAL` is faster for the least of many shares, `PRIMAL` for a sum, and where variables far outnumber rows.
    """
    numbers = np.isfinite(objective).all() and np.isfinite(rows.data).all() and not np.isnan(limits).any()
    if not numbers:  # HiGHS would not stop
        return Solution(False, "a coefficient is no number", np.zeros(0), np.zeros(0))
    solver = highspy.Highs()
    for name, value in (OPTIONS | {"simplex_strategy": strategy}).items():
        solver.setOptionValue(name, value)
    count, size = rows.shape
    least, most = np.zeros(size), np.full(size, np.inf) if upper is None else upper
    solver.passModel(
        size, count, rows.nnz, int(highspy.MatrixFormat.kColwise), int(highspy.ObjSense.kMaximize), 0.0,
        objective, least, most, np.full(count, -np.inf), limits,
        rows.indptr, rows.indices, rows.data, np.zeros(size, np.int32),
    )  # fmt: skip
    solver.run()
    if solver.getModelStatus() not in ANSWERS:
        solver.clearSolver()
        solver.setOptionValue("solver", "ipm")
        solver.run()
    status = solver.getModelStatus()
    found = solver.getSolution()
    return Solution(
        status == highspy.HighsModelStatus.kOptimal,
        solver.modelStatusToString(status),
        np.maximum(found.col_value, 0.0),
        np.maximum(found.row_dual, 0.0),
    )
